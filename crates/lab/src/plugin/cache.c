/* Caches: a private one per core and a last-level one per domain. Both are tagged by physical line and replace the
   least recently used line. Writes through other caches do not invalidate lines, so sharing costs nothing. */
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

/* Whether a cache holds a line, which becomes the most recently used of its set. In the timing mode `counters`, several
   host threads may do this at once; a tag is then lost or doubled occasionally, which hardly changes the counts. */
static bool lookup(struct cache *c, uint64_t line)
{
    uint64_t tag = line + 1;
    /* Physical memory is allocated in contiguous runs. A modulus spreads them over any number of sets. */
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
