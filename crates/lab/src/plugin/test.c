/* Tests of the plugin without QEMU: caches, and virtual time on a fake decrementer. */
#include "numalab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cpu cpus[MAX_CPUS];

static void check(bool good, const char *what, double got)
{
    if (!good) {
        printf("FAILED %s: %f\n", what, got);
        exit(1);
    }
}

static bool near(double a, double b, double share) { return a > b * (1 - share) && a < b * (1 + share); }

static void test_caches(void)
{
    /* Near caches of 16 lines, a shared last-level cache of 256 lines. */
    int misses = 0, llc = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int l = 0; l < 200; l++) {
            enum level level = cache_access(0, l);
            if (pass == 0)
                misses += level == MISS;
            else
                llc += level == HIT_LLC;
        }
    check(misses == 200, "every line misses once", misses);
    check(llc > 180, "the second pass hits the last-level cache", llc);
    check(cache_access(1, 100) == HIT_LLC, "the domain shares its cache", 0);
    check(cache_access(1, 100) == HIT_NEAR, "a line just used is near", 0);
    check(cache_access(2, 100) == MISS, "another domain does not", 0);
    int hits = 0;
    for (int pass = 0; pass < 3; pass++)
        for (int l = 1000; l < 1512; l++)
            hits += cache_access(0, l) != MISS;
    check(hits == 0, "a sweep of twice the cache never hits", hits);
}

/* Offset of the decrementer from `env` in QEMU 7.2. */
enum { AT = -16, FULL = 60000 };
static char memory[4][128];
static char *env_of(unsigned vcpu) { return memory[vcpu] + 64; }
static uint16_t *low_of(unsigned vcpu) { return (uint16_t *)(env_of(vcpu) + AT); }

/* Runs a block of `n` instructions; returns the time that it took, in instructions. */
static int block(unsigned vcpu, unsigned n, unsigned flags)
{
    uint16_t *low = low_of(vcpu);
    if (*low < 20000)
        *low = FULL;
    int before = *low;
    *low -= (uint16_t)n;
    charge_block(vcpu, n | flags, env_of(vcpu));
    return before - *low;
}

static void test_search(void)
{
    for (int i = 0; i < 5000; i++)
        block(0, 3 + i % 7, 0);
    check(strstr(charge_state(), "decrementer at -16") != NULL, charge_state(), 0);
}

static void test_memory(void)
{
    uint16_t before = *low_of(0);
    charge_memory(&cpus[0], 80000);
    check(before - *low_of(0) == 10, "80 ns are ten instructions of 8 ns", before - *low_of(0));
    for (int i = 0; i < 8; i++)
        charge_memory(&cpus[0], 1000);
    check(before - *low_of(0) == 11, "parts of an instruction add up", before - *low_of(0));
}

/* Time of `count` blocks of 10 instructions on each of two CPUs, in instructions of virtual time. */
static double two(unsigned a, unsigned b, int count)
{
    long time = 0;
    for (int i = 0; i < count; i++) {
        time += block(a, 10, 0);
        time += block(b, 10, 0);
    }
    return (double)time;
}

static void test_side_by_side(void)
{
    double time = two(0, 2, 10000);
    check(near(time, 100000, 0.01), "two CPUs do two times the work", time);
    uint16_t before = *low_of(0);
    charge_memory(&cpus[0], 160000);
    check(before - *low_of(0) == 10, "waiting for memory runs side by side too", before - *low_of(0));
    block(2, 1, BLOCK_HALTS);
    long alone = 0;
    for (int i = 0; i < 10000; i++)
        alone += block(0, 10, 0);
    check(near((double)alone, 100000, 0.01), "a halted CPU takes no time", (double)alone);
    /* CPUs 0 and 1 are threads of one core: each runs at 0.62 of its speed. */
    double smt = two(0, 1, 10000);
    check(near(smt, 100000 / 0.62, 0.02), "SMT siblings slow each other", smt);
    block(1, 1, BLOCK_HALTS);
}

static void test_traffic(void)
{
    check(charge_wait_ps(0) == 0, "no traffic, no wait", (double)charge_wait_ps(0));
    /* A node serves one line per 20 ns. The load is first half of that, then twice as much. */
    for (int load = 0; load < 2; load++)
        for (int i = 0; i < 400000; i++) {
            block(0, 10, 0);
            for (int l = 0; l < (load ? 8 : 2); l++)
                charge_traffic(0);
            if (i == 399999 && !load)
                check(near((double)charge_wait_ps(0), 80000 / 8, 0.15), "half load waits an eighth of the latency", (double)charge_wait_ps(0));
        }
    check(charge_wait_ps(0) > 400000, "overload waits until demand falls", (double)charge_wait_ps(0));
    check(charge_wait_ps(1) == 0, "the other node is free", (double)charge_wait_ps(1));
}

/* Makes more marks than there is room for. The calling test reads the log. */
static void test_marks(void)
{
    strcpy(conf.log, "marks.log");
    report_mark(0);
    for (int i = 0; i < 100010; i++) {
        cpus[0].local++;
        report_mark(1);
    }
    cpus[0].local += 5;
    report_mark(2);
    report_end();
}

int main(void)
{
    conf.cpus = 4;
    conf.nodes = 2;
    conf.charge = 1;
    conf.insn_ps = 8000;
    conf.smt_permille = 620;
    conf.l2_bytes = 16 * 64;
    conf.llc_bytes = 256 * 64;
    conf.latency_ps[0][0] = conf.latency_ps[1][1] = 80000;
    conf.line_ps[0] = conf.line_ps[1] = 20000;
    for (int c = 0; c < 4; c++) {
        conf.node_of[c] = conf.llc_of[c] = c / 2;
        conf.core_of[c] = c / 2;
    }
    /* In the test of caches, every CPU has its own core. */
    for (int c = 0; c < 4; c++)
        conf.core_of[c] = c;
    cache_init();
    test_caches();
    for (int c = 0; c < 4; c++)
        conf.core_of[c] = c / 2;
    for (unsigned c = 0; c < 4; c++)
        *low_of(c) = FULL;
    charge_init();
    test_search();
    test_memory();
    test_side_by_side();
    test_traffic();
    test_marks();
    printf("passed\n");
    return 0;
}
