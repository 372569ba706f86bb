/* Modelled caches: a private one and a share of the last-level cache for each thread, and who wrote a line last. All are
   tagged by virtual line. */
#include "recorder.h"

#include <stdlib.h>
#include <string.h>

enum { WAYS = 8 };

static void make(struct cache *c, uint64_t bytes)
{
    uint64_t sets = bytes >> LINE_SHIFT >> 3;
    c->set_bits = 0;
    while ((2ull << c->set_bits) <= sets)
        c->set_bits++;
    c->tags = calloc((size_t)WAYS << c->set_bits, sizeof *c->tags);
    if (!c->tags)
        abort();
}

void caches_make(struct thread *t)
{
    make(&t->near_cache, conf.near_bytes);
    make(&t->far_cache, conf.far_bytes);
}

/* Whether a cache holds a line, which becomes the most recently used of its set. */
static inline bool lookup(struct cache *c, uint64_t line)
{
    uint32_t tag = (uint32_t)(line >> c->set_bits) + 1;
    uint32_t *set = c->tags + ((line & ((1ull << c->set_bits) - 1)) * WAYS);
    if (set[0] == tag)
        return true;
    int at = WAYS;
    for (int w = WAYS - 1; w > 0; w--)
        at = set[w] == tag ? w : at;
    bool is_there = at < WAYS;
    /* A miss moves all of them: a length that the compiler knows. */
    if (is_there)
        memmove(set + 1, set, (size_t)at * sizeof *set);
    else
        memmove(set + 1, set, (WAYS - 1) * sizeof *set);
    set[0] = tag;
    return is_there;
}

/* Which of the thread's caches miss a line. */
unsigned caches_miss(struct thread *t, uint64_t line)
{
    if (lookup(&t->near_cache, line))
        return 0;
    return lookup(&t->far_cache, line) ? NEAR_MISS : NEAR_MISS | FAR_MISS;
}

/* The last writers of lines: changes << 58 | line << 17 | thread << 1 | whether only the writer has it. A table of 512 Ki
   lines, which all threads of an image use without locks: a lost update changes a count by one. */
enum { LINE_BITS = 41 };
/* Changes of the writer from which a line is one that is written by turns. Data that is handed on once has one. */
enum { MANY_CHANGES = 8 };
#define OWNED_LINE(seen) ((seen) >> 17 & ((1ull << LINE_BITS) - 1))

/* Another thread writes a line: who wrote it before has to fetch it again. A race with that thread costs a count. */
static void take_away(struct image *image, uint64_t seen, uint64_t line)
{
    struct thread *before = __atomic_load_n(&image->numbered[seen >> 1 & 0xffff], __ATOMIC_ACQUIRE);
    uint64_t *front = before ? &before->front[line & (FRONT - 1)] : NULL;
    if (front && __atomic_load_n(front, __ATOMIC_RELAXED) >> FRONT_FLAGS == line)
        __atomic_store_n(front, 0, __ATOMIC_RELAXED);
}

/* Whether nobody else has written a line since the thread did. */
bool caches_owned(struct thread *t, uint64_t line)
{
    uint64_t seen = __atomic_load_n(&t->image->owners[line & ((1 << OWNER_BITS) - 1)], __ATOMIC_RELAXED);
    return OWNED_LINE(seen) != line || (seen >> 1 & 0xffff) == (t->number & 0xffff);
}

/* Whether another thread wrote a line last, and nobody fetched it from there since. */
bool caches_foreign(struct thread *t, uint64_t line, bool writes)
{
    /* The only thread so far reads nothing of others; the table is larger than a core's cache. */
    if (!writes && t->image->head->threads == 1)
        return false;
    uint64_t *slot = &t->image->owners[line & ((1 << OWNER_BITS) - 1)];
    uint64_t seen = __atomic_load_n(slot, __ATOMIC_RELAXED);
    uint64_t mine = line << 17 | (uint64_t)(t->number & 0xffff) << 1;
    bool is_there = OWNED_LINE(seen) == line;
    bool is_others = is_there && (seen >> 1 & 0xffff) != (mine >> 1 & 0xffff);
    bool is_foreign = is_others && (seen & 1);
    uint64_t changes = is_there ? seen >> 58 : 0;
    if (writes && is_others) {
        take_away(t->image, seen, line);
        changes += changes < MANY_CHANGES;
        if (changes == MANY_CHANGES)
            shared_add(t->image, line);
    }
    uint64_t next = writes ? changes << 58 | mine | 1 : is_foreign ? seen & ~1ull : seen;
    if (next != seen)
        __atomic_store_n(slot, next, __ATOMIC_RELAXED);
    return is_foreign;
}
