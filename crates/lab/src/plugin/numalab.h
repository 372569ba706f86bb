/* State that the parts of the plugin share. Units: times in ps, cache lines of 64 bytes, instructions. */
#ifndef NUMALAB_H
#define NUMALAB_H

#include "api.h"

enum { MAX_CPUS = 256, MAX_NODES = 64, LINE_SHIFT = 6, PAGE_SHIFT = 12, FILTER = 64, TRANSLATIONS = 64 };

/* Settings from the configuration file; config.c has the words. */
struct config {
    int cpus, nodes, charge;
    int64_t insn_ps;                          /* virtual time of one instruction */
    int64_t smt_permille;                     /* speed of a thread while its SMT sibling runs, per thousand */
    int node_of[MAX_CPUS], core_of[MAX_CPUS], llc_of[MAX_CPUS];
    uint64_t node_bytes[MAX_NODES];
    int64_t latency_ps[MAX_NODES][MAX_NODES]; /* from the node of the CPU to the node of the page */
    int64_t llc_ps;                           /* a hit in the last-level cache */
    int64_t line_ps[MAX_NODES];               /* least time between two lines that a node serves, 0 = no limit */
    uint64_t l2_bytes, llc_bytes;
    uint64_t mark_page;
    char log[4096];
};
extern struct config conf;

/* Properties of an instruction block, packed into the data of its callback. */
#define BLOCK_INSNS(data) ((unsigned)((uintptr_t)(data) & 0xffff))
#define BLOCK_USER 0x10000u
#define BLOCK_HALTS 0x20000u

struct filter { uint64_t line; uint32_t age; };
struct translation { uint64_t page, frame; uint32_t age; int node; };

struct cpu {
    /* Lines and pages accessed since the kernel last ran. Entries with another `age` are invalid. */
    uint32_t age;
    bool user, running;
    struct filter filter[FILTER];
    struct translation translation[TRANSLATIONS];
    /* Virtual time; see charge.c. */
    char *env;
    int64_t low_before;    /* decrementer after the corrections of the last block */
    int64_t insns_before;  /* instructions of that block */
    int64_t taken_since;   /* instructions charged since that block */
    int64_t credit;        /* time to give back, in 1/1024 instruction */
    int64_t debt_ps;       /* memory time not charged yet */
    /* Counters. */
    uint64_t accesses, llc_hits, local, remote;
} __attribute__((aligned(128)));
extern struct cpu cpus[MAX_CPUS];

/* config.c */
int config_read(const char *path);

/* cache.c */
void cache_init(void);
enum level { HIT_NEAR, HIT_LLC, MISS };
enum level cache_access(unsigned cpu, uint64_t line);

/* charge.c */
void charge_init(void);
void charge_block(unsigned vcpu, unsigned data, char *env);
void charge_memory(struct cpu *c, int64_t ps);
void charge_traffic(int node);
int64_t charge_wait_ps(int node);
int64_t charge_clock_ns(void);
const char *charge_state(void);

/* report.c */
void report_mark(unsigned kind);
void report_end(void);

#endif
