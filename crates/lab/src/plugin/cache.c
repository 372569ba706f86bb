/* Caches: a private one per core, a last-level one per domain, both tagged by physical line, both LRU.
   Writes by other caches do not invalidate lines: sharing costs nothing here. */
#include "numalab.h"

#include <stdlib.h>

enum { WAYS = 8 };

struct cache {
    uint64_t *tags; /* sets × WAYS, most recently used first; 0 = empty */
    uint64_t sets;
};

static struct cache near_cache[MAX_CPUS], last_cache[MAX_CPUS];

static void make(struct cache *c, uint64_t bytes)
{
    uint64_t sets = bytes >> LINE_SHIFT >> 3;
    c->sets = sets ? sets : 1;
    c->tags = calloc(c->sets * WAYS, sizeof *c->tags);
    if (!c->tags)
        abort();
}

void cache_init(void)
{
    for (int i = 0; i < conf.cpus; i++) {
        struct cache *core = &near_cache[conf.core_of[i]], *llc = &last_cache[conf.llc_of[i]];
        if (!core->tags)
            make(core, conf.l2_bytes);
        if (!llc->tags)
            make(llc, conf.llc_bytes);
    }
}

/* Looks a line up and makes it the most recent of its set. Several host threads may do this at once in the
   `counters` mode: a tag is then lost or doubled now and then, which the counts do not notice. */
static bool lookup(struct cache *c, uint64_t line)
{
    uint64_t tag = line + 1;
    /* Physical memory is handed out in runs: a modulus spreads them over the sets, also for odd sizes. */
    uint64_t *set = c->tags + (line % c->sets) * WAYS;
    uint64_t carried = tag;
    for (int w = 0; w < WAYS; w++) {
        uint64_t here = __atomic_load_n(&set[w], __ATOMIC_RELAXED);
        __atomic_store_n(&set[w], carried, __ATOMIC_RELAXED);
        if (here == tag)
            return true;
        carried = here;
    }
    return false;
}

enum level cache_access(unsigned cpu, uint64_t line)
{
    if (lookup(&near_cache[conf.core_of[cpu]], line))
        return HIT_NEAR;
    return lookup(&last_cache[conf.llc_of[cpu]], line) ? HIT_LLC : MISS;
}
