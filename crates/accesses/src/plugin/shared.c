/* Lines that threads write by turns, and which bytes of them each one writes: what tells a line that is shared from one
   in which neighbours lie by chance (false sharing).

   Problem: a core that holds a line writes it without a word, so a visit is counted once however often others write the
   line meanwhile.
   Approach: who writes a line last is known (caches.c). A line whose writer has changed several times comes into this
   table, and every write to it is counted from then on, by thread and byte. A thread whose line another one has written
   has to visit it again.
   Bounds: SHARED_SETS × SHARED_WAYS lines with SHARED_WRITERS threads each; of lines that find no place the least
   written one gives way. */
#include "recorder.h"

#include <string.h>

static void take_lock(struct image *image)
{
    while (__atomic_test_and_set(&image->is_sharing, __ATOMIC_ACQUIRE))
        ;
}

static void give_lock(struct image *image)
{
    __atomic_clear(&image->is_sharing, __ATOMIC_RELEASE);
}

/* Lines that lie together have different places. */
static struct shared_line *set_of(struct image *image, uint64_t line)
{
    return image->shared[(line * 0x9e3779b97f4a7c15ull) >> 56];
}

struct shared_line *shared_find(struct image *image, uint64_t line)
{
    if (!__atomic_load_n(&image->has_shared, __ATOMIC_RELAXED))
        return NULL;
    struct shared_line *set = set_of(image, line);
    for (int w = 0; w < SHARED_WAYS; w++)
        if (__atomic_load_n(&set[w].line, __ATOMIC_RELAXED) == line + 1)
            return &set[w];
    return NULL;
}

static uint64_t writes_of(const struct shared_line *s)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < s->count; i++)
        sum += s->writers[i]->writes;
    return sum;
}

/* The line is written by turns: from now on its writes are counted. The least written line of its set gives way, and
   its units serve again. */
void shared_add(struct image *image, uint64_t line)
{
    if (shared_find(image, line))
        return;
    take_lock(image);
    struct shared_line *set = set_of(image, line), *least = &set[0];
    for (int w = 0; w < SHARED_WAYS && !shared_find(image, line); w++) {
        if (!set[w].line) {
            least = &set[w];
            break;
        }
        if (writes_of(&set[w]) < writes_of(least))
            least = &set[w];
    }
    if (!shared_find(image, line)) {
        for (uint32_t i = 0; i < least->count; i++) {
            struct writer *writer = least->writers[i];
            writer->line = line;
            writer->bytes = writer->writes = 0;
        }
        __atomic_store_n(&least->line, line + 1, __ATOMIC_RELAXED);
        __atomic_store_n(&image->has_shared, true, __ATOMIC_RELAXED);
    }
    give_lock(image);
}

static struct writer *writer_of(struct shared_line *s, struct thread *t, uint64_t line)
{
    for (uint32_t i = 0; i < __atomic_load_n(&s->count, __ATOMIC_ACQUIRE); i++)
        if (s->writers[i]->thread == (uint16_t)t->number)
            return s->writers[i];
    if (s->count >= SHARED_WRITERS)
        return NULL;
    struct writer *fresh = file_unit(t, WRITER);
    if (!fresh)
        return NULL;
    fresh->line = line;
    take_lock(t->image);
    if (s->count < SHARED_WRITERS) {
        s->writers[s->count] = fresh;
        __atomic_store_n(&s->count, s->count + 1, __ATOMIC_RELEASE);
    }
    give_lock(t->image);
    return fresh;
}

/* Counts a write of `size` bytes to a line of the table. */
void shared_count(struct shared_line *s, struct thread *t, uint64_t address, unsigned size)
{
    struct writer *writer = writer_of(s, t, address >> LINE_SHIFT);
    if (!writer)
        return;
    unsigned at = address & 63, n = size < 64 - at ? size : 64 - at;
    writer->writes++;
    writer->bytes |= (n >= 64 ? ~0ull : (1ull << n) - 1) << at;
}

/* In the child of a fork, whose units are in another file. */
void shared_forget(struct image *image)
{
    memset(image->shared, 0, sizeof image->shared);
    image->is_sharing = image->has_shared = false;
}
