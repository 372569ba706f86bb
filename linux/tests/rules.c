// SPDX-License-Identifier: GPL-2.0
/*
 * The pure rules of the patches against their vectors, in user space. The
 * headers are those that the patches make; scripts/linux-rules.sh takes them
 * out of there.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "linux/numalab_2012_rules.h"
#include "linux/numalab_imb_rules.h"
#include "linux/numalab_page_rules.h"
#include "linux/numalab_thp_rules.h"
#include "linux/numalab_vma_rules.h"
#include "vectors.h"
#include "check.h"

static unsigned int rows, failures;

#define RUN(name) do {							\
	unsigned int count = sizeof(numalab_##name##_vectors) /		\
			     sizeof(numalab_##name##_vectors[0]), i;	\
									\
	for (i = 0; i < count; i++, rows++)				\
		if (!numalab_check_##name(&numalab_##name##_vectors[i])) { \
			printf("row %u of " #name " fails\n", i + 1);	\
			failures++;					\
		}							\
} while (0)

int main(void)
{
	RUN(vma_filter);
	RUN(page_filter);
	RUN(imbalance_threshold);
	RUN(imbalance_fork);
	RUN(imbalance_pull);
	RUN(imbalance_placement);
	RUN(thp_attempt);
	RUN(thp_mpol_huge);
	RUN(thp_ladder);
	RUN(page_migrate);
	RUN(exchange);
	printf("%u vectors, %u failures\n", rows, failures);
	return failures || !rows;
}
