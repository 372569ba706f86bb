// SPDX-License-Identifier: GPL-2.0
/*
 * Process 1 of a small guest of two nodes that shows what knobs change: where
 * huge pages come from, which shared pages a scan spares, and who moves tasks.
 * Each line says what was seen; a check says what had to be seen.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"

#define MB (1UL << 20)
#define HUGE (2 * MB)
#define PAGE 4096UL

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		printf("numalab-guest: FAIL %s to %s: %s\n", text, path, strerror(errno)), failures++;
	if (fd >= 0)
		close(fd);
}

static void knob(const char *name, const char *word)
{
	char path[128];

	snprintf(path, sizeof(path), DIR "%s", name);
	put(path, word);
}

/* The number behind a word in a file of lines "word number". */
static long number(const char *path, const char *word)
{
	char line[256], name[128];
	FILE *f = fopen(path, "r");
	long value = -1, n;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%127s %ld", name, &n) == 2 && !strcmp(name, word))
			value = n;
	if (f)
		fclose(f);
	return value;
}

static long vmstat(const char *name)
{
	return number("/proc/vmstat", name);
}

static long plain(const char *name)
{
	char path[128];
	long n = -1;
	FILE *f;

	snprintf(path, sizeof(path), DIR "%s", name);
	f = fopen(path, "r");
	if (f && fscanf(f, "%ld", &n) != 1)
		n = -1;
	if (f)
		fclose(f);
	return n;
}

static void on_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void on_any(void)
{
	cpu_set_t set;
	int cpu;

	CPU_ZERO(&set);
	for (cpu = 0; cpu < 4; cpu++)
		CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* CPUs 0 and 1 are node 0. */
static int here(void)
{
	return sched_getcpu() / 2;
}

#define PREFERRED 1
#define BIND 2

static void policy(void *p, size_t size, int mode, int node)
{
	unsigned long mask = 1UL << node;

	if (syscall(SYS_mbind, p, size, (long)mode, &mask, 8UL, 0))
		printf("numalab-guest: FAIL mbind: %s\n", strerror(errno)), failures++;
}

static void bind_to(void *p, size_t size, int node)
{
	policy(p, size, BIND, node);
}

static int node_of(void *p)
{
	int status = -1;

	syscall(SYS_move_pages, 0, 1UL, &p, NULL, &status, 0);
	return status;
}

static void *map(size_t size)
{
	char *p = mmap(NULL, size + HUGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return (void *)(((unsigned long)p + HUGE - 1) & ~(HUGE - 1));
}

static void nap(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

static long free_kb(int node)
{
	char path[64], line[128];
	long kb = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/meminfo", node);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, "MemFree:"))
			sscanf(strstr(line, "MemFree:"), "MemFree: %ld", &kb);
	if (f)
		fclose(f);
	return kb;
}

/*
 * Takes all of node 0 but a little in small pages, and gives every second page
 * back: half of it is free, and no huge page.
 */
static char *fragment(size_t *size)
{
	char *p;
	size_t i;

	*size = (free_kb(0) * 1024UL - 24 * MB) & ~(HUGE - 1);
	p = map(*size);
	madvise(p, *size, MADV_NOHUGEPAGE);
	bind_to(p, *size, 0);
	for (i = 0; i < *size; i += PAGE)
		p[i] = 1;
	for (i = 0; i < *size; i += 2 * PAGE)
		madvise(p + i, PAGE, MADV_DONTNEED);
	/* What the CPU keeps back of it. */
	nap(200);
	return p;
}

/* Takes the huge pages that node 0 still has, or has again. */
static void take_huge(void)
{
	long before;
	char *p;

	knob("thp_locality", "thp_thisnode");
	do {
		before = vmstat("thp_fault_alloc");
		p = map(HUGE);
		madvise(p, HUGE, MADV_HUGEPAGE);
		bind_to(p, HUGE, 0);
		*p = 1;
	} while (vmstat("thp_fault_alloc") > before);
	munmap(p, HUGE);
}

#define BLOCKS 4

/* Policies of the range that fault() touches; a mode of 0 is none. */
static struct {
	int mode, node, huge_mode, huge_node;
} range;

/*
 * Touches some huge pages in a child on node 0; what it got. The range and its
 * policies are those of the parent.
 */
static void fault(const char *name, int span, int *huge, int *remote)
{
	int pipes[2], got[2] = { -1, -1 };
	char *p = map(BLOCKS * HUGE);
	pid_t child;

	*huge = *remote = -1;
	if (pipe(pipes))
		return;
	madvise(p, BLOCKS * HUGE, MADV_HUGEPAGE);
	if (range.mode)
		policy(p, BLOCKS * HUGE, range.mode, range.node);
	if (range.huge_mode)
		policy(p, BLOCKS * HUGE, range.huge_mode | HUGE_POLICY, range.huge_node);
	child = fork();
	if (!child) {
		long before = vmstat("thp_fault_alloc");
		int i;

		on_cpu(0);
		if (span)
			prctl(SET_SPAN, 1, 0, 0, 0);
		for (i = 0; i < BLOCKS; i++)
			p[i * HUGE] = 1;
		got[0] = vmstat("thp_fault_alloc") - before;
		for (got[1] = 0, i = 0; i < BLOCKS; i++)
			got[1] += node_of(p + i * HUGE) == 1;
		if (write(pipes[1], got, sizeof(got)) < 0)
			_exit(1);
		_exit(0);
	}
	if (read(pipes[0], got, sizeof(got)) != sizeof(got))
		failures++;
	waitpid(child, NULL, 0);
	close(pipes[0]);
	close(pipes[1]);
	munmap(p, BLOCKS * HUGE);
	*huge = got[0];
	*remote = got[1];
	printf("numalab-guest: thp %s: %d of %d huge, %d on node 1\n", name, *huge, BLOCKS, *remote);
}

static void expect(const char *word, const char *name, int span, int away)
{
	int huge, remote;

	take_huge();
	knob("thp_locality", word);
	fault(name, span, &huge, &remote);
	if (away)
		CHECK(huge == BLOCKS && remote == BLOCKS, "%s: huge pages of node 1", name);
	else
		CHECK(huge == 0 && remote == 0, "%s: base pages of node 0", name);
}

/*
 * Ranges with a policy for huge pages. The last two may reclaim and compact, so
 * what is in the way is locked, and compaction leaves it.
 */
static void ranges(char *filler, size_t size)
{
	int huge, remote;

	expect("mpol_huge", "mpol_huge, no range has a policy", 0, 0);
	range.huge_mode = PREFERRED;
	range.huge_node = 1;
	expect("mpol_huge", "mpol_huge, huge pages of node 1 preferred", 0, 1);
	expect("thp_two_step", "thp_two_step, which does not follow it", 0, 0);
	range.mode = BIND;
	expect("mpol_huge", "mpol_huge, the same, base pages bound to node 0", 0, 1);
	range.node = 1;
	range.huge_mode = BIND;
	range.huge_node = 0;
	take_huge();
	knob("thp_locality", "mpol_huge");
	fault("mpol_huge, huge pages bound to node 0, base pages to node 1", 0, &huge, &remote);
	CHECK(huge == 0 && remote == BLOCKS, "no huge page of node 0, so base pages by the other policy");

	syscall(SYS_mlock2, filler, size, 1 /* MLOCK_ONFAULT */);
	put("/proc/sys/vm/compact_unevictable_allowed", "0");
	put("/sys/kernel/mm/transparent_hugepage/defrag", "madvise");
	range.mode = 0;
	range.huge_mode = PREFERRED;
	expect("mpol_huge", "mpol_huge, huge pages of node 0 preferred, reclaim", 0, 1);
	knob("huge_strict", "true");
	expect("mpol_huge", "mpol_huge, the same, strict", 0, 0);
	knob("huge_strict", "false");
	range.huge_mode = 0;
	put("/sys/kernel/mm/transparent_hugepage/defrag", "never");
	munlock(filler, size);
}

/* No fault reclaims or compacts, so node 0 has base pages and node 1 huge ones. */
static void huge_pages(void)
{
	char text[8192];
	size_t size;
	char *filler;
	int fd, n;

	put("/sys/kernel/mm/transparent_hugepage/enabled", "always");
	put("/sys/kernel/mm/transparent_hugepage/defrag", "never");
	put("/sys/kernel/mm/transparent_hugepage/khugepaged/defrag", "0");
	put("/proc/sys/vm/compaction_proactiveness", "0");
	on_cpu(0);
	filler = fragment(&size);
	printf("numalab-guest: node 0 has %ld MiB free, node 1 %ld\n", free_kb(0) >> 10, free_kb(1) >> 10);
	expect("thp_two_step", "thp_two_step", 0, 0);
	expect("thp_thisnode", "thp_thisnode", 0, 0);
	expect("thp_relaxed", "thp_relaxed", 0, 0);
	expect("thp_two_step_54", "thp_two_step_54", 0, 0);
	expect("thp_zonelist", "thp_zonelist", 0, 1);
	expect("prctl_span", "prctl_span", 0, 1);
	knob("thp_span", "false");
	expect("prctl_span", "prctl_span, not asked for", 0, 0);
	expect("prctl_span", "prctl_span, asked for by prctl", 1, 1);
	knob("span_max_class", "0");
	expect("prctl_span", "prctl_span, up to class 0", 1, 0);
	knob("span_max_class", "255");
	knob("thp_span", "true");
	expect("ladder_sorted", "ladder_sorted, base pages cost 42 % more", 0, 0);
	knob("base_page_pct", "200");
	expect("ladder_sorted", "ladder_sorted, base pages cost 200 % more", 0, 1);
	knob("base_page_pct", "42");
	knob("ladder", "D0 THP | D1 THP | D0 4k");
	expect("ladder_custom", "ladder_custom, D0 THP | D1 THP | D0 4k", 0, 1);
	knob("ladder", "D0 THP | D0 4k | D1 THP");
	expect("ladder_custom", "ladder_custom, D0 THP | D0 4k | D1 THP", 0, 0);
	knob("ladder", "none");

	put("/sys/kernel/tracing/events/numalab/numalab_thp_step/enable", "1");
	expect("thp_zonelist", "thp_zonelist, traced", 0, 1);
	expect("thp_two_step", "thp_two_step, traced", 0, 0);
	put("/sys/kernel/tracing/events/numalab/numalab_thp_step/enable", "0");
	fd = open("/sys/kernel/tracing/trace", O_RDONLY);
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	CHECK(strstr(text, "rule=thp_zonelist step=0 class=-1 preferred=0 nid=1"), "trace: %s", text);
	CHECK(strstr(text, "rule=thp_two_step step=1 class=-1 preferred=0 nid=-1"), "trace: %s", text);
	ranges(filler, size);
	munmap(filler, size);
}

/* Reads every page of a range for so long. */
static void reads(volatile char *p, size_t size, long ms)
{
	struct timespec a, b;
	size_t i;

	clock_gettime(CLOCK_MONOTONIC, &a);
	do {
		for (i = 0; i < size; i += PAGE)
			(void)p[i];
		clock_gettime(CLOCK_MONOTONIC, &b);
	} while ((b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000 < ms);
}

/* Two processes read the same 16 MiB, which only copies on write. */
static void shared(const char *word, long *marked, long *spared)
{
	char event[64];
	char *p = map(16 * MB);
	pid_t child;

	madvise(p, 16 * MB, MADV_NOHUGEPAGE);
	memset(p, 1, 16 * MB);
	knob("page_filter", word);
	snprintf(event, sizeof(event), "numalab_skip_%s", word);
	*marked = vmstat("numa_pte_updates");
	*spared = vmstat(event);
	child = fork();
	reads(p, 16 * MB, 6000);
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
	*marked = vmstat("numa_pte_updates") - *marked;
	*spared = vmstat(event) - *spared;
	munmap(p, 16 * MB + HUGE);
	printf("numalab-guest: page_filter %s: %ld marked, %ld spared\n", word, *marked, *spared);
}

static void shared_pages(void)
{
	static const char *const spare[] = {
		"cow_shared_or_pinned", "cow_mapcount1", "cow_refcount1",
		"mapcount1_any", "can_map_prot_numa",
	};
	long marked, spared, pages = 16 * MB / PAGE;
	unsigned int i;

	put("/sys/kernel/debug/sched/numa_balancing/scan_delay_ms", "200");
	put("/sys/kernel/debug/sched/numa_balancing/scan_period_min_ms", "200");
	/* A process maps far fewer other pages than these 4096. */
	for (i = 0; i < sizeof(spare) / sizeof(spare[0]); i++) {
		shared(spare[i], &marked, &spared);
		CHECK(marked < pages / 4 && spared > pages, "%s spares them", spare[i]);
	}
	shared("none", &marked, &spared);
	CHECK(marked > pages, "they are marked");
	shared("mapcount_threshold", &marked, &spared);
	CHECK(marked > pages && spared < pages / 4, "2 are not above 5");
	put("/proc/sys/vm/numa_mapcount_limit", "1");
	shared("mapcount_threshold", &marked, &spared);
	CHECK(marked < pages / 4 && spared > pages, "2 are above 1");
	put("/proc/sys/vm/numa_mapcount_limit", "5");
	/* The first spared page ends the VMA: a page for each scan, not all of them. */
	shared("cow_skip_vma", &marked, &spared);
	CHECK(marked < pages / 4 && spared > 0 && spared < pages / 4, "one page a scan");
	knob("page_filter", "cow_shared_or_pinned");
}

#define TASKS_MAX 8

/*
 * As many tasks on each node, whose memory is on the other. Returns how many of
 * the tasks end where their memory is.
 */
static int crossed(const char *tasks, const char *pages, int count)
{
	int i, status, together = 0;
	pid_t child[TASKS_MAX];
	char *p;

	knob("task_migrate", tasks);
	knob("page_migrate", pages);
	for (i = 0; i < count; i++) {
		child[i] = fork();
		if (child[i])
			continue;
		on_cpu(i % 4 < 2 ? 2 : 0);
		p = map(16 * MB);
		madvise(p, 16 * MB, MADV_NOHUGEPAGE);
		memset(p, 1, 16 * MB);
		on_cpu(i % 4);
		on_any();
		reads(p, 16 * MB, 8000);
		_exit(here() == node_of(p + 8 * MB));
	}
	for (i = 0; i < count; i++) {
		waitpid(child[i], &status, 0);
		together += WEXITSTATUS(status) == 1;
	}
	return together;
}

static void tasks_of(const char *tasks, const char *pages, int count)
{
	long moved = vmstat("numa_pages_migrated"), exchanges = plain("exchanges"), pulls = plain("home_pulls");
	int together = crossed(tasks, pages, count);

	moved = vmstat("numa_pages_migrated") - moved;
	exchanges = plain("exchanges") - exchanges;
	pulls = plain("home_pulls") - pulls;
	printf("numalab-guest: task_migrate %s, page_migrate %s: %ld exchanges, %ld pulls, %ld pages moved, %d of %d tasks at their memory\n",
	       tasks, pages, exchanges, pulls, moved, together, count);
	CHECK((exchanges > 0) == !strcmp(tasks, "exchange"), "%ld exchanges under %s", exchanges, tasks);
	CHECK((pulls > 0) == !strcmp(tasks, "home_node"), "%ld pulls under %s", pulls, tasks);
}

int main(void)
{
	mount("proc", "/proc", "proc", 0, NULL);
	mount("sys", "/sys", "sysfs", 0, NULL);
	mount("debug", "/sys/kernel/debug", "debugfs", 0, NULL);
	mount("trace", "/sys/kernel/tracing", "tracefs", 0, NULL);
	setvbuf(stdout, NULL, _IONBF, 0);
	if (access(DIR, F_OK)) {
		printf("numalab-guest: this kernel has no knobs\n");
	} else {
		huge_pages();
		on_any();
		shared_pages();
		tasks_of("none", "schednuma", 4);
		tasks_of("preferred", "schednuma", 4);
		tasks_of("exchange", "schednuma", 4);
		/* A task is pulled while it waits, so there are more than CPUs. */
		tasks_of("preferred", "schednuma", 8);
		tasks_of("home_node", "schednuma", 8);
		tasks_of("none", "autonuma", 4);
		tasks_of("none", "v420", 4);
		printf("numalab-guest: %d checks, %d failures\n", checks, failures);
	}
	reboot(RB_POWER_OFF);
	return 0;
}
