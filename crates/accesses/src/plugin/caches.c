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
    size_t size = sizeof *c->tags * WAYS << c->set_bits;
    c->tags = aligned_alloc(1 << LINE_SHIFT, size < 1 << LINE_SHIFT ? 1 << LINE_SHIFT : size);
    if (!c->tags)
        abort();
    memset(c->tags, 0, size);
}

void caches_make(struct thread *t)
{
    make(&t->near_cache, conf.near_bytes);
    make(&t->far_cache, conf.far_bytes);
}

#define PLACE(c, line) ((c)->tags + ((line) & ((1ull << (c)->set_bits) - 1)) * WAYS)

/* Four tags at once, as every processor of x86-64 has them; others do with the compiler's code. */
typedef uint32_t four __attribute__((vector_size(16), aligned(16)));
typedef int32_t signed_four __attribute__((vector_size(16)));

/* Whether a cache holds a line, which becomes the most recently used of its set: those before it move by one. */
static inline bool lookup(struct cache *c, uint64_t line)
{
    uint32_t tag = (uint32_t)(line >> c->set_bits) + 1;
    uint32_t *set = PLACE(c, line);
    if (set[0] == tag)
        return true;
    four *halves = (four *)set, low = halves[0], high = halves[1];
    signed_four in_low = low == tag, in_high = high == tag;
    four moved_low = {tag, low[0], low[1], low[2]}, moved_high = {low[3], high[0], high[1], high[2]};
    uint64_t l[2], h[2];
    memcpy(l, &in_low, sizeof l);
    memcpy(h, &in_high, sizeof h);
    if (l[0] | l[1]) {
        /* In the lower half: those after it stay. */
        signed_four after = {0, in_low[0], in_low[0] | in_low[1], in_low[0] | in_low[1] | in_low[2]};
        halves[0] = (four)((moved_low & (four)~after) | (low & (four)after));
        return true;
    }
    signed_four after = {0, in_high[0], in_high[0] | in_high[1], in_high[0] | in_high[1] | in_high[2]};
    halves[0] = moved_low;
    halves[1] = (four)((moved_high & (four)~after) | (high & (four)after));
    return (h[0] | h[1]) != 0;
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
