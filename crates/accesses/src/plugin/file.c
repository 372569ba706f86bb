/* The file of a process, and the control file of the record. */
#include "recorder.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A small first part, since a program may start a great many others. */
enum { FIRST = 16 << 10, EXTENT = 256 << 10, BLOCK = 64 * UNIT };
static const uint64_t MAGIC = 0x31534343414c4e;  /* NLACCS1 */

struct head *head;
struct control *control;
bool is_recording;

static pthread_mutex_t growing = PTHREAD_MUTEX_INITIALIZER;
static int file = -1;
static char *base;
static uint64_t allocated, used;
static struct head nowhere;

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
static bool grow(uint64_t need)
{
    bool fits = true;
    pthread_mutex_lock(&growing);
    while (fits && allocated < need) {
        uint64_t more = allocated ? EXTENT : FIRST;
        fits = allocated + more <= control->limit_bytes && take_room(more);
        if (fits && posix_fallocate(file, (off_t)allocated, (off_t)more)) {
            __atomic_sub_fetch(&control->used_bytes, more, __ATOMIC_RELAXED);
            control->full = 2;
            fits = false;
        }
        if (fits)
            __atomic_store_n(&allocated, allocated + more, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&growing);
    return fits;
}

/* Begins the file of this image: after the start, and in the child of a fork. Without room nothing is recorded. */
void file_begin(void)
{
    static pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    memcpy(&growing, &fresh, sizeof growing);  /* a thread that is not in the child may have held it */
    if (file >= 0)
        close(file);
    if (base && base != MAP_FAILED)
        munmap(base, control->limit_bytes);
    head = &nowhere;
    is_recording = false;
    allocated = used = 0;
    uint64_t number = __atomic_fetch_add(&control->images, 1, __ATOMIC_RELAXED);
    char path[4096];
    snprintf(path, sizeof path, "%s/%llu.units", conf.dir, (unsigned long long)number);
    file = number < control->most_images ? open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    base = file < 0 ? MAP_FAILED
                    : mmap(NULL, control->limit_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    if (base == MAP_FAILED || !grow(FIRST)) {
        __atomic_add_fetch(&control->unrecorded_images, 1, __ATOMIC_RELAXED);
        return;
    }
    head = (struct head *)base;
    *head = (struct head){.kind = HEAD, .version = 1, .pid = (uint32_t)getpid(), .parent = conf.parent, .magic = MAGIC,
                          .begin_clock = conf.clock};
    used = BLOCK;
    is_recording = true;
}

/* A new unit of zeros in the thread's part of the file; NULL without room. */
void *file_unit(struct thread *t, enum kind kind)
{
    if (t->units == t->units_end) {
        if (!is_recording)
            return NULL;
        uint64_t at = __atomic_fetch_add(&used, BLOCK, __ATOMIC_RELAXED);
        if (at + BLOCK > __atomic_load_n(&allocated, __ATOMIC_ACQUIRE) && !grow(at + BLOCK)) {
            is_recording = false;
            return NULL;
        }
        t->units = base + at;
        t->units_end = base + at + BLOCK;
    }
    char *unit = t->units;
    t->units = unit + UNIT;
    *(uint16_t *)unit = (uint16_t)kind;
    *(uint16_t *)(unit + 2) = (uint16_t)t->number;
    return unit;
}

/* Number of a unit in its file. */
uint32_t file_number(const void *unit)
{
    return unit ? (uint32_t)(((const char *)unit - base) / UNIT) : 0;
}
