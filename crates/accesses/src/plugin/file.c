/* The file of a program image, and the control file of the record. */
#include "recorder.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* A small first part, since a program may start a great many others. */
enum { FIRST = 16 << 10, EXTENT = 256 << 10, BLOCK = 64 * UNIT };
static const uint64_t MAGIC = 0x31534343414c4e;  /* NLACCS1 */

struct control *control;

/* Maps the control file. */
bool file_attach(void)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/control", conf.dir);
    int f = open(path, O_RDWR | O_CLOEXEC);
    if (f < 0)
        return false;
    control = mmap(NULL, CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, f, 0);
    close(f);
    return control != MAP_FAILED && control->magic == MAGIC;
}

/* Takes `bytes` of the room that all processes share. */
static bool take_room(uint64_t bytes)
{
    if (__atomic_add_fetch(&control->used_bytes, bytes, __ATOMIC_RELAXED) <= control->limit_bytes)
        return true;
    __atomic_sub_fetch(&control->used_bytes, bytes, __ATOMIC_RELAXED);
    control->full = 1;
    return false;
}

/* Makes the file longer, with its blocks on the disk, so that no write through the mapping can fail later. */
static bool grow(struct image *m, uint64_t need)
{
    bool fits = true;
    pthread_mutex_lock(&m->growing);
    while (fits && m->allocated < need) {
        uint64_t more = m->allocated ? EXTENT : FIRST;
        fits = m->allocated + more <= control->limit_bytes && take_room(more);
        if (fits && posix_fallocate(m->file, (off_t)m->allocated, (off_t)more)) {
            __atomic_sub_fetch(&control->used_bytes, more, __ATOMIC_RELAXED);
            control->full = 2;
            fits = false;
        }
        if (fits)
            __atomic_store_n(&m->allocated, m->allocated + more, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&m->growing);
    return fits;
}

/* Closes the file of an image. What was counted in it stays there. */
void file_end(struct image *m)
{
    if (m->has_file) {
        close(m->file);
        munmap(m->base, control->limit_bytes);
    }
    m->has_file = m->is_recording = false;
    m->head = &m->nowhere;
}

uint64_t time_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Begins the file of an image: after the start, and in the child of a fork. Without room nothing is recorded. */
void file_begin(struct image *m, uint32_t pid, uint32_t parent, uint64_t clock)
{
    static pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    memcpy(&m->growing, &fresh, sizeof m->growing);  /* a thread that is not in the child may have held it */
    file_end(m);
    m->allocated = m->used = 0;
    m->began_ns = time_ns();
    uint64_t number = __atomic_fetch_add(&control->images, 1, __ATOMIC_RELAXED);
    char path[4096];
    snprintf(path, sizeof path, "%s/%llu.units", conf.dir, (unsigned long long)number);
    m->file = number < control->most_images ? open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    int access = PROT_READ | PROT_WRITE, kind = MAP_SHARED | MAP_NORESERVE;
    m->base = m->file < 0 ? MAP_FAILED : mmap(NULL, control->limit_bytes, access, kind, m->file, 0);
    if (m->file >= 0 && m->base == MAP_FAILED)
        close(m->file);
    m->has_file = m->base != MAP_FAILED;
    if (!m->has_file || !grow(m, FIRST)) {
        __atomic_add_fetch(&control->unrecorded_images, 1, __ATOMIC_RELAXED);
        m->nowhere.pid = pid;
        return;
    }
    m->head = (struct head *)m->base;
    *m->head = (struct head){.kind = HEAD, .version = 1, .pid = pid, .parent = parent, .magic = MAGIC,
                             .begin_clock = clock};
    m->used = BLOCK;
    m->is_recording = true;
}

/* A new unit of zeros in the thread's part of the file; NULL without room. */
void *file_unit(struct thread *t, enum kind kind)
{
    struct image *m = t->image;
    if (t->units == t->units_end) {
        if (!m->is_recording)
            return NULL;
        uint64_t at = __atomic_fetch_add(&m->used, BLOCK, __ATOMIC_RELAXED);
        if (at + BLOCK > __atomic_load_n(&m->allocated, __ATOMIC_ACQUIRE) && !grow(m, at + BLOCK)) {
            m->is_recording = false;
            return NULL;
        }
        t->units = m->base + at;
        t->units_end = m->base + at + BLOCK;
    }
    char *unit = t->units;
    t->units = unit + UNIT;
    *(uint16_t *)unit = (uint16_t)kind;
    *(uint16_t *)(unit + 2) = (uint16_t)t->number;
    return unit;
}

/* Number of a unit in its file. */
uint32_t file_number(const struct thread *t, const void *unit)
{
    return unit ? (uint32_t)(((const char *)unit - t->image->base) / UNIT) : 0;
}
