/* SPDX-License-Identifier: GPL-2.0 */
/* What both guests use: where the knobs are, and checks that count. */
#ifndef NUMALAB_GUEST_H
#define NUMALAB_GUEST_H

#include <stdio.h>

#define DIR "/sys/kernel/debug/numalab/"
#define SET_SPAN 0x4e4c0001
/* In the mode of mbind(): for huge pages of the range alone. */
#define HUGE_POLICY (1 << 12)

static int checks, failures;

#define CHECK(what, ...) do {						\
	checks++;							\
	if (!(what)) {							\
		failures++;						\
		printf("numalab-guest: FAIL %s: ", #what);		\
		printf(__VA_ARGS__);					\
		putchar('\n');						\
	}								\
} while (0)

#endif
