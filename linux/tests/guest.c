// SPDX-License-Identifier: GPL-2.0
/*
 * Process 1 of a small guest that tries every knob: what a file shows, that
 * each word is taken, that others are refused, and what has no word. The list
 * /knobs comes from series.toml (scripts/linux-guest.sh writes it).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

#define GET_SPAN 0x4e4c0002

/* Writes a text; 0 or errno. */
static int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY), error = 0;

	if (fd < 0)
		return errno;
	if (write(fd, text, strlen(text)) < 0)
		error = errno;
	close(fd);
	return error;
}

static int get(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY);
	ssize_t n;

	text[0] = '\0';
	if (fd < 0)
		return errno;
	n = read(fd, text, size - 1);
	close(fd);
	if (n < 0)
		return EIO;
	text[n] = '\0';
	if (n && text[n - 1] == '\n')
		text[n - 1] = '\0';
	return 0;
}

/* The list of words with one of them in brackets, as a file shows it. */
static void shown(const char *values, const char *word, char *out)
{
	char copy[512], *w;

	out[0] = '\0';
	strcpy(copy, values);
	for (w = strtok(copy, " "); w; w = strtok(NULL, " "))
		sprintf(out + strlen(out), strcmp(w, word) ? "%s%s" : "%s[%s]",
			out[0] ? " " : "", w);
}

static void words(const char *path, const char *values, const char *standard)
{
	char text[512], expected[512], copy[512], *w, *rest;

	get(path, text, sizeof(text));
	shown(values, standard, expected);
	CHECK(!strcmp(text, expected), "%s shows %s, not %s", path, text, expected);
	strcpy(copy, values);
	for (w = strtok_r(copy, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
		CHECK(put(path, w) == 0, "%s does not take %s", path, w);
		get(path, text, sizeof(text));
		shown(values, w, expected);
		CHECK(!strcmp(text, expected), "%s shows %s, not %s", path, text, expected);
	}
	CHECK(put(path, "bogus") == EINVAL, "%s takes a word that it has not", path);
	CHECK(put(path, standard) == 0, "%s does not go back", path);
}

static void number(const char *path, const char *min, const char *max,
		   const char *standard)
{
	char text[64], beyond[32];

	get(path, text, sizeof(text));
	CHECK(!strcmp(text, standard), "%s shows %s, not %s", path, text, standard);
	CHECK(put(path, min) == 0 && put(path, max) == 0, "%s", path);
	get(path, text, sizeof(text));
	CHECK(!strcmp(text, max), "%s shows %s, not %s", path, text, max);
	sprintf(beyond, "%llu", strtoull(max, NULL, 10) + 1);
	CHECK(put(path, beyond) != 0, "%s takes %s", path, beyond);
	CHECK(put(path, "bogus") == EINVAL, "%s takes a word", path);
	get(path, text, sizeof(text));
	CHECK(!strcmp(text, max), "%s is %s after what it refused", path, text);
	CHECK(put(path, standard) == 0, "%s does not go back", path);
}

static void knobs(void)
{
	char line[1024], *path, *kind, *values, *standard;
	FILE *list = fopen("/knobs", "r");
	int seen = 0;

	CHECK(list != NULL, "no list of knobs");
	while (list && fgets(line, sizeof(line), list)) {
		path = strtok(line, "\t\n");
		kind = strtok(NULL, "\t\n");
		values = strtok(NULL, "\t\n");
		standard = strtok(NULL, "\t\n");
		seen++;
		if (!strcmp(kind, "words")) {
			words(path, values, standard);
		} else {
			char *max = strchr(values, ' ');

			*max++ = '\0';
			number(path, values, max, standard);
		}
	}
	printf("numalab-guest: %d knobs\n", seen);
}

/* A mode of a process: refused values, and what a child has. */
static void span(void)
{
	int status;
	pid_t child;

	CHECK(prctl(GET_SPAN, 0, 0, 0, 0) == 0, "no mode at first");
	CHECK(prctl(SET_SPAN, 2, 0, 0, 0) < 0 && errno == EINVAL, "2 is no mode");
	CHECK(prctl(SET_SPAN, 1, 1, 0, 0) < 0 && errno == EINVAL, "more arguments");
	CHECK(prctl(SET_SPAN, 1, 0, 0, 0) == 0, "set");
	child = fork();
	if (!child)
		_exit(prctl(GET_SPAN, 0, 0, 0, 0));
	waitpid(child, &status, 0);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1, "a child has the mode");
	CHECK(prctl(SET_SPAN, 0, 0, 0, 0) == 0 && prctl(GET_SPAN, 0, 0, 0, 0) == 0,
	      "taken back");
}

#define MB (1UL << 20)
enum { DEFAULT, PREFERRED, BIND };

static int set_policy(void *p, size_t size, int mode, unsigned long nodes, int flags)
{
	return syscall(SYS_mbind, p, size, (long)mode, &nodes, 65UL, flags) ? errno : 0;
}

/* Mode of a range, with its nodes from the ninth bit on, or errno below 0. */
static int policy_of(void *p, int flags)
{
	unsigned long nodes = 0;
	int mode = -1;

	if (syscall(SYS_get_mempolicy, &mode, &nodes, 65UL, p, (long)flags))
		return -errno;
	return mode | nodes << 8;
}

#define OWN(p) policy_of(p, 2 /* MPOL_F_ADDR */)
#define HUGE(p) policy_of(p, 2 | HUGE_POLICY)

/* A policy for huge pages: what keeps it, what ends it, and what is refused. */
static void huge_policy(void)
{
	int bind1 = BIND | 2 << 8, preferred0 = PREFERRED | 1 << 8, status;
	char *p = mmap(NULL, 8 * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *shared = mmap(NULL, MB, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned long node = 2;
	pid_t child;

	CHECK(HUGE(p) == DEFAULT && OWN(p) == DEFAULT, "none at first");
	CHECK(set_policy(p, 8 * MB, BIND | HUGE_POLICY, 2, 0) == 0, "set: %s", strerror(errno));
	CHECK(HUGE(p) == bind1, "it is %x", HUGE(p));
	CHECK(OWN(p) == DEFAULT, "the policy of other pages is %x", OWN(p));
	child = fork();
	if (!child)
		_exit(HUGE(p + 4 * MB) == bind1);
	waitpid(child, &status, 0);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1, "a child has it");

	CHECK(set_policy(p + 2 * MB, 2 * MB, DEFAULT | HUGE_POLICY, 0, 0) == 0, "taken back in the middle");
	CHECK(HUGE(p) == bind1 && HUGE(p + 2 * MB) == DEFAULT && HUGE(p + 4 * MB) == bind1, "there alone");
	CHECK(mprotect(p + 6 * MB, MB, PROT_READ) == 0, "split");
	CHECK(HUGE(p + 5 * MB) == bind1 && HUGE(p + 6 * MB) == bind1 && HUGE(p + 7 * MB) == bind1, "each part has it");

	CHECK(set_policy(p, MB, PREFERRED, 1, 0) == 0 && OWN(p) == preferred0, "an ordinary policy");
	CHECK(HUGE(p) == DEFAULT && HUGE(p + MB) == bind1, "ends that of its range");
	CHECK(set_policy(p, MB, BIND | HUGE_POLICY, 2, 0) == 0, "set beside it");
	CHECK(OWN(p) == preferred0 && HUGE(p) == bind1, "both are there");
	CHECK(set_policy(p, MB, DEFAULT | HUGE_POLICY, 0, 0) == 0, "taken back");
	CHECK(OWN(p) == preferred0 && HUGE(p) == DEFAULT, "the ordinary one stays");

	CHECK(set_policy(p, MB, BIND | HUGE_POLICY, 2, 2) == EINVAL, "pages do not move");
	CHECK(set_policy(p, MB, BIND | HUGE_POLICY, 0, 0) == EINVAL, "no node");
	CHECK(set_policy(p, MB, BIND | HUGE_POLICY | 1 << 13, 2, 0) == EINVAL, "with NUMA balancing");
	CHECK(set_policy(p, MB, 99 | HUGE_POLICY, 2, 0) == EINVAL, "no mode");
	CHECK(set_policy(shared, MB, BIND | HUGE_POLICY, 2, 0) == EOPNOTSUPP, "shared memory");
	CHECK(policy_of(NULL, HUGE_POLICY) == -EINVAL, "no address");
	CHECK(syscall(SYS_set_mempolicy, BIND | HUGE_POLICY, &node, 65UL) && errno == EINVAL, "of a process");
	CHECK(munmap(p + MB, MB) == 0 && set_policy(p, 8 * MB, BIND | HUGE_POLICY, 2, 0) == EFAULT, "a hole");
	CHECK(HUGE(p) == DEFAULT, "nothing was set");
	munmap(p, 8 * MB);
}

static void files(void)
{
	char text[4096];

	get(DIR "imb_numa_nr", text, sizeof(text));
	printf("numalab-guest: imb_numa_nr\n%s\n", text);
	CHECK(strstr(text, "cpu0 domain"), "imb_numa_nr is %s", text);
	CHECK(put(DIR "imb_numa_nr", "99 1") == EINVAL, "a level that is not there");
	CHECK(put(DIR "imb_numa_nr", "x") == EINVAL, "no number");
	CHECK(put(DIR "vma_state", "-1") == EINVAL, "no process");
	CHECK(put(DIR "vma_state", "1") == 0, "process 1");
	get(DIR "vma_state", text, sizeof(text));
	CHECK(!strncmp(text, "passes ", 7), "vma_state is %s", text);
	CHECK(put(DIR "ladder", "D0 THP | D1 THP|D0 4k\n") == 0, "a ladder");
	get(DIR "ladder", text, sizeof(text));
	CHECK(!strcmp(text, "D0 THP | D1 THP | D0 4k"), "ladder is %s", text);
	CHECK(put(DIR "ladder", "D0 THP | D0 THP") == EINVAL, "a rung twice");
	CHECK(put(DIR "ladder", "D0 2M") == EINVAL, "a size that is not there");
	CHECK(put(DIR "ladder", "none") == 0, "no ladder");
}

/* Thresholds follow the rule: of a rule without one they are 0. */
static void thresholds(void)
{
	char before[4096], none[4096], after[4096];

	get(DIR "imb_numa_nr", before, sizeof(before));
	put(DIR "imbalance", "none");
	get(DIR "imb_numa_nr", none, sizeof(none));
	put(DIR "imbalance", "imb_6_0");
	get(DIR "imb_numa_nr", after, sizeof(after));
	CHECK(!strcmp(before, after), "thresholds come back");
	CHECK(strcmp(before, none), "thresholds of no rule are %s", none);
}

int main(void)
{
	mount("proc", "/proc", "proc", 0, NULL);
	mount("sys", "/sys", "sysfs", 0, NULL);
	mount("debug", "/sys/kernel/debug", "debugfs", 0, NULL);
	setvbuf(stdout, NULL, _IONBF, 0);
	if (access(DIR, F_OK)) {
		printf("numalab-guest: this kernel has no knobs\n");
	} else {
		knobs();
		span();
		huge_policy();
		files();
		thresholds();
		printf("numalab-guest: %d checks, %d failures\n", checks, failures);
	}
	reboot(RB_POWER_OFF);
	return 0;
}
