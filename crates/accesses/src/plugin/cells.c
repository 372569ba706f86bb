/* Threads, their slices of time, and the cells that count lines. */
#include "recorder.h"

#include <stdlib.h>
#include <string.h>

struct thread *numbered[1 << 16];
enum { MOST_DOUBLINGS = 11 };

/* Pages that some thread of the image has touched: a bit for each, by chunk. Two levels, filled when needed. */
enum { LEAF_BITS = TOUCHED_LEAF_BITS };

static void *made(void **slot, size_t bytes)
{
    void *there = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    if (there)
        return there;
    void *fresh = calloc(1, bytes), *none = NULL;
    if (!fresh)
        abort();
    if (__atomic_compare_exchange_n(slot, &none, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return fresh;
    free(fresh);
    return none;
}

static bool is_first_touch(struct image *image, uint32_t chunk, unsigned page)
{
    pages **leaf = made((void **)&image->touched[chunk >> LEAF_BITS], sizeof(pages *) << LEAF_BITS);
    uint64_t *bits = made((void **)&leaf[chunk & ((1 << LEAF_BITS) - 1)], sizeof(pages));
    uint64_t bit = 1ull << (page & 63);
    if (__atomic_load_n(&bits[page >> 6], __ATOMIC_RELAXED) & bit)
        return false;
    return !(__atomic_fetch_or(&bits[page >> 6], bit, __ATOMIC_RELAXED) & bit);
}

/* The pages are gone: who touches them next touches them first. */
void touched_forget(struct image *image, uint64_t address, uint64_t length)
{
    uint64_t end = address + length;
    if (end < address || end >> 47)
        return;
    for (uint64_t page = (address + 4095) >> PAGE_SHIFT; page < end >> PAGE_SHIFT; ) {
        uint32_t chunk = (uint32_t)(page >> 9);
        pages **leaf = image->touched[chunk >> LEAF_BITS];
        pages *bits = leaf ? leaf[chunk & ((1 << LEAF_BITS) - 1)] : NULL;
        if (!bits) {
            page = leaf ? (uint64_t)(chunk + 1) << 9 : ((uint64_t)(chunk >> LEAF_BITS) + 1) << (LEAF_BITS + 9);
            continue;
        }
        __atomic_fetch_and(&(*bits)[(page & 511) >> 6], ~(1ull << (page & 63)), __ATOMIC_RELAXED);
        page++;
    }
}

/* The child of a fork has its parent's pages. */
void touched_copy(const struct image *from, struct image *to)
{
    for (uint32_t top = 0; top < TOUCHED_TOP; top++) {
        pages **leaf = __atomic_load_n(&from->touched[top], __ATOMIC_ACQUIRE);
        for (uint32_t i = 0; leaf && i < 1 << LEAF_BITS; i++) {
            pages *bits = __atomic_load_n(&leaf[i], __ATOMIC_ACQUIRE);
            if (!bits)
                continue;
            pages **mine = made((void **)&to->touched[top], sizeof(pages *) << LEAF_BITS);
            memcpy(made((void **)&mine[i], sizeof(pages)), bits, sizeof(pages));
        }
    }
}

void touched_free(struct image *image)
{
    for (uint32_t top = 0; top < TOUCHED_TOP; top++) {
        pages **leaf = image->touched[top];
        for (uint32_t i = 0; leaf && i < 1 << LEAF_BITS; i++)
            free(leaf[i]);
        free(leaf);
        image->touched[top] = NULL;
    }
}

/* Length of a slice: it doubles each time another sixteenth of the record's room is used. */
static uint64_t slice_length(void)
{
    uint64_t doublings = control->used_bytes * 16 / (control->limit_bytes + 1);
    return conf.slice_insns << (doublings < MOST_DOUBLINGS ? doublings : MOST_DOUBLINGS);
}

void slice_begin(struct thread *t)
{
    t->slice++;
    t->used = 0;
    t->work = NULL;
    memset(t->recent, 0, sizeof t->recent);
    t->slice_end = t->insns + slice_length();
    t->slice_insns = t->insns;
    t->slice_waited = t->waited;
    t->slice_slept_ns = t->slept_ns;
    t->now = file_unit(t, sampling_is_sparing() ? SPARED_SLICE : SLICE);
    if (!t->now) {
        t->scrap_slice = (struct slice){0};
        t->now = &t->scrap_slice;
    }
    t->now->slice = t->slice;
    t->now->begin_clock = t->now->end_clock = CLOCK(t);
}

/* The slice is over, in code of the program. */
void slice_change(struct thread *t)
{
    bool was_recorded = t->now->kind != SPARED_SLICE;
    uint64_t insns = t->insns - t->slice_insns;
    slice_tell(t);
    slice_begin(t);
    sampling_slice(t, was_recorded, insns);
}

/* Brings the figures of the thread and its slice in the file up to date. */
void slice_tell(struct thread *t)
{
    t->now->end_clock = t->born->end_clock = CLOCK(t);
    t->now->insns = t->insns - t->slice_insns;
    t->now->waited = t->waited - t->slice_waited;
    t->now->slept_ns = t->slept_ns - t->slice_slept_ns;
    t->born->insns = t->insns;
    __atomic_fetch_add(&control->insns, t->insns - t->told_insns, __ATOMIC_RELAXED);
    __atomic_fetch_add(&control->lines, t->lines - t->told_lines, __ATOMIC_RELAXED);
    t->told_insns = t->insns;
    t->told_lines = t->lines;
    if (t->scrap.lines)
        __atomic_fetch_add(&t->image->head->lost_lines, t->scrap.lines, __ATOMIC_RELAXED);
    t->scrap.lines = 0;
}

static void begin(struct thread *t, uint32_t creator, uint64_t clock)
{
    t->number = __atomic_fetch_add(&t->image->head->threads, 1, __ATOMIC_RELAXED);
    t->units = t->units_end = NULL;
    t->ahead = clock - t->insns;
    memset(t->edges, 0, sizeof t->edges);
    t->born = file_unit(t, THREAD);
    if (!t->born)
        t->born = &t->scrap_born;
    t->born->creator = creator == UINT32_MAX ? t->number : creator;
    t->born->begin_clock = t->born->end_clock = clock;
    __atomic_store_n(&t->image->numbered[t->number & 0xffff], t, __ATOMIC_RELEASE);
    slice_begin(t);
}

/* Threads that have ended. Their memory is used again and never given back: another thread may just be taking a line
   away from one of them, which then costs a count and nothing else. */
static struct thread *spare;
static bool spare_lock;

static struct thread *taken_spare(void)
{
    while (__atomic_test_and_set(&spare_lock, __ATOMIC_ACQUIRE))
        ;
    struct thread *t = spare;
    spare = t ? t->next_spare : NULL;
    __atomic_clear(&spare_lock, __ATOMIC_RELEASE);
    return t;
}

static void give_spare(struct thread *t)
{
    while (__atomic_test_and_set(&spare_lock, __ATOMIC_ACQUIRE))
        ;
    t->next_spare = spare;
    spare = t;
    __atomic_clear(&spare_lock, __ATOMIC_RELEASE);
}

static struct thread *made_thread(void)
{
    struct thread *t = taken_spare();
    if (t)
        memset(t, 0, sizeof *t);
    else
        t = calloc(1, sizeof *t);
    if (!t)
        abort();
    t->space = 64;
    t->cells = calloc(t->space, sizeof *t->cells);
    if (!t->cells)
        abort();
    caches_make(t);
    return t;
}

/* A thread that begins at a model time. */
struct thread *thread_begin(struct image *image, uint32_t creator, uint64_t clock)
{
    struct thread *t = made_thread();
    t->image = image;
    begin(t, creator, clock);
    return t;
}

/* The calling thread in the child of a fork, where it is the only one, with a file of its own. */
void thread_forked(struct thread *t)
{
    uint64_t clock = CLOCK(t);
    spare_lock = false;
    t->insns = t->told_insns = t->lines = t->told_lines = t->waited = t->slept_ns = 0;
    begin(t, UINT32_MAX, clock);
    sampling_forked(t);
}

/* A thread that is in no file. */
struct thread *thread_nobody(struct image *image)
{
    struct thread *t = made_thread();
    t->image = image;
    t->is_nobody = true;
    t->now = &t->scrap_slice;
    t->work = &t->scrap_work;
    t->born = &t->scrap_born;
    t->slice = t->slice_end = 1;
    return t;
}

void thread_end(struct thread *t)
{
    slice_tell(t);
    __atomic_store_n(&t->image->numbered[t->number & 0xffff], NULL, __ATOMIC_RELEASE);
    free(t->cells);
    free(t->near_cache.tags);
    free(t->far_cache.tags);
    give_spare(t);
}

static void grow(struct thread *t)
{
    struct open_cell *old = t->cells;
    uint32_t space = t->space;
    t->space *= 2;
    t->cells = calloc(t->space, sizeof *t->cells);
    if (!t->cells)
        abort();
    for (uint32_t i = 0; i < space; i++) {
        if (old[i].slice != t->slice)
            continue;
        uint32_t at = old[i].chunk & (t->space - 1);
        while (t->cells[at].slice == t->slice)
            at = (at + 1) & (t->space - 1);
        t->cells[at] = old[i];
    }
    free(old);
    memset(t->recent, 0, sizeof t->recent);
}

/* The thread's cell of a chunk in the running slice. Cells of earlier slices are free places: none is removed within a
   slice, so a search ends at the first of them. */
static struct open_cell *open_cell(struct thread *t, uint32_t chunk)
{
    struct open_cell **recent = &t->recent[chunk & (RECENT - 1)];
    if (*recent && (*recent)->chunk == chunk)
        return *recent;
    if (t->used * 2 >= t->space)
        grow(t);
    uint32_t at = chunk & (t->space - 1);
    while (t->cells[at].slice == t->slice && t->cells[at].chunk != chunk)
        at = (at + 1) & (t->space - 1);
    struct open_cell *o = &t->cells[at];
    if (o->slice != t->slice) {
        *o = (struct open_cell){.chunk = chunk, .slice = t->slice, .cell = file_unit(t, CELL)};
        for (int i = 0; i < STREAMS; i++)
            o->streams[i].line = ~0ull;
        t->used++;
        sampling_chunk(t, chunk);
        if (o->cell) {
            o->cell->slice = t->slice;
            o->cell->chunk = chunk;
            o->cell->low = 511;
        } else {
            o->cell = &t->scrap;
        }
        slice_tell(t);
    }
    *recent = o;
    return o;
}

static void count_page(struct thread *t, struct open_cell *o, unsigned page)
{
    struct cell *c = o->cell;
    bool is_first = is_first_touch(t->image, o->chunk, page);
    t->fresh_pages += is_first;
    o->pages[page >> 6] |= 1ull << (page & 63);
    c->pages++;
    c->first += is_first;
    if (page < c->low)
        c->low = (uint16_t)page;
    if (page > c->high)
        c->high = (uint16_t)page;
}

/* Makes a stream the last one. */
static struct stream *bring_forward(struct open_cell *o, int n)
{
    const struct stream own = o->streams[n];
    for (; n > 0; n--)
        o->streams[n] = o->streams[n - 1];
    o->streams[0] = own;
    return &o->streams[0];
}

/* Counts how a line follows the others. Arrays that lie in one cell are gone through by turns, so it may go on with any
   of the last streams. Returns its own. */
static struct stream *count_order(struct open_cell *o, uint64_t line)
{
    struct cell *c = o->cell;
    int strided = -1;
    for (int i = 0; i < STREAMS; i++) {
        int64_t distance = (int64_t)(line - o->streams[i].line);
        if (distance == 1) {
            c->forward++;
            o->streams[i] = (struct stream){line, 1, 0, true};
            return bring_forward(o, i);
        }
        if (strided < 0 && distance && distance == o->streams[i].distance)
            strided = i;
    }
    if (strided >= 0) {
        c->strided++;
        c->stride = (int32_t)o->streams[strided].distance;
        o->streams[strided] = (struct stream){line, c->stride, 0, true};
        return bring_forward(o, strided);
    }
    c->runs++;
    o->streams[STREAMS - 1] = (struct stream){line, (int64_t)(line - o->streams[0].line), 0, false};
    return bring_forward(o, STREAMS - 1);
}

/* The stream that is at a line; -1: none. */
static int stream_at(const struct open_cell *o, uint64_t line)
{
    for (int i = 0; i < STREAMS; i++)
        if (o->streams[i].line == line)
            return i;
    return -1;
}

/* Counts a line that the core does not hold. */
void visit(struct thread *t, uint64_t line, bool writes)
{
    if (t->insns >= t->slice_end)
        slice_change(t);
    uint64_t *front = &t->front[line & (FRONT - 1)];
    struct open_cell *o = open_cell(t, (uint32_t)(line >> (CHUNK_SHIFT - LINE_SHIFT)));
    struct cell *c = o->cell;
    /* Streams may take each other's place in the front filter; none has left its line. A place is free if another
       thread has written the line. */
    int at = stream_at(o, line);
    if (at == 0 || (at > 0 && o->streams[at].goes_on && *front)) {
        unsigned flags = bring_forward(o, at)->flags;
        *front = line << FRONT_FLAGS | flags;
        if (writes && (!(flags & WRITTEN) || !caches_owned(t, line)))
            visit_written(t, line);
        return;
    }
    t->lines++;
    c->lines++;
    c->writes += writes;
    struct stream *own = count_order(o, line);
    unsigned page = (line >> (PAGE_SHIFT - LINE_SHIFT)) & 511;
    if (!(o->pages[page >> 6] & 1ull << (page & 63)))
        count_page(t, o, page);
    c->foreign += caches_foreign(t, line, writes);
    unsigned misses = caches_miss(t, line);
    if (misses) {
        *(writes ? &c->near_writes : &c->near_reads) += 1;
        if (misses & FAR_MISS)
            *(writes ? &c->far_writes : &c->far_reads) += 1;
    }
    own->flags = (writes ? WRITTEN : 0) | misses << 1;
    *front = line << FRONT_FLAGS | own->flags;
}

/* A line that was visited by a read is written before the core lets it go: the visit was a write. */
void visit_written(struct thread *t, uint64_t line)
{
    uint64_t *front = &t->front[line & (FRONT - 1)];
    struct open_cell *o = open_cell(t, (uint32_t)(line >> (CHUNK_SHIFT - LINE_SHIFT)));
    struct cell *c = o->cell;
    c->foreign += caches_foreign(t, line, true);
    if (c->writes < c->lines)
        c->writes++;
    if ((*front & WAS_NEAR_MISS) && c->near_reads) {
        c->near_reads--;
        c->near_writes++;
    }
    if ((*front & WAS_FAR_MISS) && c->far_reads) {
        c->far_reads--;
        c->far_writes++;
    }
    *front |= WRITTEN;
    int at = stream_at(o, line);
    if (at >= 0)
        o->streams[at].flags |= WRITTEN;
}
