/* Virtual time: the cost of memory accesses, and the parallel time of CPUs that QEMU runs in turns.

   With icount, all vCPUs run in turns on one host thread and share one clock, which counts instructions. Before each
   block of instructions, the generated code subtracts their number from a 16-bit decrementer. It lies in front of the
   vCPU's architecture state (`env`), whose address is in a register when a callback is called. Subtracting more from
   the decrementer makes time pass; adding to it makes time pass more slowly.

   Charging: a miss subtracts its latency, in instructions, from the decrementer.
   Parallel time: while N vCPUs are not halted, each block costs 1/N of its time, because the N-1 other vCPUs use the
   same time in their turns. A thread costs more while its SMT sibling runs (`smt_permille`).
   Turns: QEMU lets a vCPU run until the next timer expires, which takes long and varies. If QEMU exports the two
   functions that this needs, a vCPU's turn ends after its share of a round of ROUND_PS.

   The place of the decrementer depends on the build of QEMU, so it is searched: it is the one place near `env` that
   falls by exactly the length of every block. Until it is found, nothing is charged. */
#include "numalab.h"

#include <stdio.h>
#include <string.h>

enum { PLACES = 8, TRIALS = 4000 };
static const int place[PLACES] = {-4, -8, -12, -16, -20, -24, -28, -32};
static int falls[PLACES], trials, found;
static uint16_t before[PLACES];
static unsigned trial_cpu = ~0u;
static char state[160] = "searching";

static int running; /* vCPUs that are not halted */
static int siblings[MAX_CPUS]; /* running vCPUs of each core */

/* Functions of QEMU; null if QEMU does not export them. */
extern void *qemu_get_cpu(int index) __attribute__((weak));
extern void cpu_exit(void *cpu) __attribute__((weak));
static const int64_t ROUND_PS = 1000000000;
static unsigned turn_of = ~0u;
static int64_t turn_ps;

/* Traffic of nodes in the current epoch of virtual time. */
static const int64_t EPOCH_PS = 1000000000;
static int64_t clock_ps, epoch_end_ps = 1000000000;
static uint64_t lines[MAX_NODES];
static int64_t wait_ps[MAX_NODES], excess_ps[MAX_NODES];

void charge_init(void)
{
#if !defined(__x86_64__)
    snprintf(state, sizeof state, "refused: the host is not x86-64");
    trials = TRIALS;
#endif
    if (!conf.charge)
        snprintf(state, sizeof state, "off");
}

const char *charge_state(void) { return state; }
int64_t charge_clock_ns(void) { return clock_ps / 1000; }
int64_t charge_wait_ps(int node) { return wait_ps[node]; }

static uint16_t *decrementer(char *env) { return (uint16_t *)(env + found); }

/* Compares each candidate place before and after a block of `n` instructions. */
static void search(unsigned vcpu, unsigned n, char *env)
{
    for (int p = 0; p < PLACES; p++) {
        uint16_t now = *(uint16_t *)(env + place[p]);
        if (vcpu == trial_cpu && (uint16_t)(before[p] - now) == n)
            falls[p]++;
        before[p] = now;
    }
    trials += vcpu == trial_cpu;
    trial_cpu = vcpu;
    if (trials < TRIALS)
        return;
    int best = 0, good = 0;
    for (int p = 0; p < PLACES; p++) {
        if (falls[p] > falls[best])
            best = p;
        good += falls[p] > TRIALS / 2;
    }
    if (good == 1) {
        found = place[best];
        snprintf(state, sizeof state, "decrementer at %d (%d of %d blocks)", found, falls[best], TRIALS);
    } else {
        snprintf(state, sizeof state, "refused: no instruction decrementer near env (best %d of %d blocks)",
                 falls[best], TRIALS);
    }
}

/* Computes how long a line of each node waits, from the traffic of the last epoch: the load-latency curve, and in
   saturation an excess that grows until the traffic falls to what the node can serve. */
static void end_epoch(void)
{
    for (int n = 0; n < conf.nodes; n++) {
        if (!conf.line_ps[n])
            continue;
        int64_t percent = (int64_t)lines[n] * conf.line_ps[n] / (EPOCH_PS / 100);
        int64_t base = conf.latency_ps[n][n];
        if (percent > 96)
            excess_ps[n] += base / 8 + excess_ps[n] / 8;
        else if (percent < 90)
            excess_ps[n] -= excess_ps[n] / 8;
        int64_t u = percent > 96 ? 96 : percent;
        /* The curve's factor is 1/8. Half of the difference per epoch damps the loop. */
        int64_t want = base * u / (100 - u) / 8 + excess_ps[n];
        wait_ps[n] = (wait_ps[n] + want) / 2;
        lines[n] = 0;
    }
}

static void advance(int64_t insns)
{
    clock_ps += insns * conf.insn_ps;
    turn_ps += insns * conf.insn_ps;
    if (clock_ps >= epoch_end_ps) {
        end_epoch();
        epoch_end_ps = clock_ps + EPOCH_PS;
    }
}

void charge_traffic(int node) { __atomic_fetch_add(&lines[node], 1, __ATOMIC_RELAXED); }

/* Subtracts uncharged memory time from the decrementer, down to zero at most. */
static void collect(struct cpu *c)
{
    int64_t insns = c->debt_ps / conf.insn_ps;
    uint16_t *low = decrementer(c->env);
    if (insns > *low)
        insns = *low;
    if (insns <= 0)
        return;
    *low -= (uint16_t)insns;
    c->debt_ps -= insns * conf.insn_ps;
    c->taken_since += insns;
    advance(insns);
}

void charge_memory(struct cpu *c, int64_t ps)
{
    if (!found || !c->env)
        return;
    c->debt_ps += ps / (running > 1 ? running : 1);
    collect(c);
}

/* Updates the numbers of running vCPUs, in the machine and in each core. */
static void set_running(unsigned vcpu, bool now)
{
    struct cpu *c = &cpus[vcpu];
    if (c->running == now)
        return;
    c->running = now;
    running += now ? 1 : -1;
    siblings[conf.core_of[vcpu]] += now ? 1 : -1;
}

/* Ends this vCPU's turn when it has used its share of a round. */
static void end_turn(unsigned vcpu)
{
    if (turn_of != vcpu) {
        turn_of = vcpu;
        turn_ps = 0;
    } else if (running > 1 && turn_ps * running >= ROUND_PS && qemu_get_cpu && cpu_exit) {
        turn_ps = 0;
        cpu_exit(qemu_get_cpu((int)vcpu));
    }
}

/* Called before every block, after the generated code has subtracted its instructions from the decrementer. */
void charge_block(unsigned vcpu, unsigned data, char *env)
{
    struct cpu *c = &cpus[vcpu];
    unsigned n = BLOCK_INSNS(data);
    c->env = env;
    set_running(vcpu, true);
    if (!found) {
        if (trials < TRIALS)
            search(vcpu, n, env);
        return;
    }
    uint16_t *low = decrementer(env);
    int64_t now = *low;
    /* Instructions that the previous block executed: after a fault in its middle, QEMU adds the rest back. If QEMU has
       set a new budget, the difference is out of range and the block counts as fully executed. */
    int64_t executed = c->insns_before - (now + n - c->low_before + c->taken_since);
    if (executed < 0 || executed > c->insns_before)
        executed = c->insns_before;
    advance(executed);
    int64_t weight = siblings[conf.core_of[vcpu]] > 1 ? 1024000 / conf.smt_permille : 1024;
    /* Time beyond this vCPU's share of parallel time, to be given back. */
    c->credit += executed * (1024 - weight / running);
    int64_t give = c->credit / 1024;
    if (give > (int64_t)n)
        give = n;
    if (give > 0xffff - now)
        give = 0xffff - now;
    if (give > 0) {
        *low = (uint16_t)(now + give);
        c->credit -= give * 1024;
        advance(-give);
    } else if (give < 0) {
        /* The block costs more than its instructions, as an SMT sibling runs and few other vCPUs do: charge the rest
           like memory. */
        c->debt_ps -= give * conf.insn_ps;
        c->credit -= give * 1024;
    }
    c->taken_since = 0;
    c->low_before = *low;
    c->insns_before = n;
    if (c->debt_ps >= conf.insn_ps)
        collect(c);
    end_turn(vcpu);
    if (data & BLOCK_HALTS)
        set_running(vcpu, false);
}
