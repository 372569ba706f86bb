/* System calls: changes of the address space, waits, sleeps. */
#include "recorder.h"

#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <time.h>

/* Children of an image whose ends are noted. */
enum { MOST_REAPED = 4096 };

/* Model time at which a thread last woke others through an address, by its hash: a waiter that it wakes goes on no
   earlier. Two addresses may share a place, which only makes a wait longer. */
static uint64_t *place_of(struct image *image, uint64_t address)
{
    return &image->woken[(address >> 2) * 2654435761u % PLACES];
}

static void count_edge(struct thread *t, uint64_t address, bool wakes)
{
    for (int i = 0; i < EDGES; i++) {
        struct edge *e = t->edges[i];
        if (!e) {
            e = t->edges[i] = file_unit(t, EDGE);
            if (!e)
                return;
            e->address = address;
            e->wakes = wakes;
        }
        if (e->address == address && e->wakes == wakes) {
            e->count++;
            return;
        }
    }
}

static bool is_wait(uint64_t op) { return op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET || op == FUTEX_LOCK_PI; }

static bool is_wake(uint64_t op)
{
    return op == FUTEX_WAKE || op == FUTEX_WAKE_BITSET || op == FUTEX_WAKE_OP || op == FUTEX_REQUEUE
        || op == FUTEX_CMP_REQUEUE || op == FUTEX_UNLOCK_PI;
}

void calls_wake(struct thread *t, uint64_t address)
{
    uint64_t *place = place_of(t->image, address), clock = CLOCK(t);
    uint64_t seen = __atomic_load_n(place, __ATOMIC_RELAXED);
    while (seen < clock && !__atomic_compare_exchange_n(place, &seen, clock, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

/* The thread goes on no earlier than at a time. */
static void waited(struct thread *t, uint64_t until, bool counts)
{
    uint64_t clock = CLOCK(t);
    if (until <= clock)
        return;
    /* A slice holds no long wait, so what was counted in it lies close together in time. */
    bool is_long = until - clock > conf.slice_insns / 8;
    if (is_long)
        slice_tell(t);
    t->ahead += until - clock;
    if (counts)
        t->waited += until - clock;
    if (is_long)
        slice_begin(t);
}

/* What a thread does from here on is in another slice, unless the one before is a very short one. */
static void part(struct thread *t)
{
    if (t->insns - t->slice_insns > conf.slice_insns / 64) {
        slice_tell(t);
        slice_begin(t);
    }
}

/* The thread has waited for the end of a child. */
static void reaped(struct thread *t, uint32_t child)
{
    part(t);
    waited(t, work_over_at(child), false);
    struct mapping *m = t->image->reaped < MOST_REAPED ? file_unit(t, MAPPING) : NULL;
    if (!m)
        return;
    t->image->reaped++;
    m->call = SYS_wait4;
    m->clock = CLOCK(t);
    m->address = child;
}

/* The process ends with this thread. Which of two processes ends first is not known by their clocks: they may wait for
   each other in ways that nobody sees. */
void calls_over(struct thread *t)
{
    struct mapping *m = file_unit(t, MAPPING);
    if (!m)
        return;
    m->call = SYS_exit_group;
    m->clock = CLOCK(t);
    m->address = time_ns();
    m->length = m->address - t->image->began_ns;
}

/* Of which child waitid tells; 0: of none. */
static uint32_t told_child(struct thread *t, uint64_t about)
{
    siginfo_t info = {0};
    return about && mode->read(t, about, &info, sizeof info) ? (uint32_t)info.si_pid : 0;
}

static void name_file(struct thread *t, struct mapping *m, const char *name)
{
    struct text *text = file_unit(t, TEXT);
    if (!text)
        return;
    size_t length = strlen(name), cut = length > sizeof text->bytes ? length - sizeof text->bytes : 0;
    text->length = (uint16_t)(length - cut);
    memcpy(text->bytes, name + cut, text->length);
    m->text = file_number(t, text);
}

/* Notes a part of the address space that is there without a system call; as an image of a program unless the caller
   says otherwise. */
struct mapping *calls_map(struct thread *t, uint64_t address, uint64_t length, const char *path)
{
    struct mapping *m = file_unit(t, MAPPING);
    if (!m)
        return NULL;
    m->call = SYS_execve;
    m->clock = CLOCK(t);
    m->address = address;
    m->length = length;
    name_file(t, m, path);
    return m;
}

static void name_descriptor(struct thread *t, struct mapping *m, int descriptor)
{
    char path[1024];
    if (mode->path_of(t, descriptor, path, sizeof path))
        name_file(t, m, path);
}

/* Notes a change of the address space that has succeeded. */
static void note_mapping(struct thread *t, int64_t call, int64_t result)
{
    uint64_t address = t->call_a1, length = t->call_a2;
    if (call == SYS_brk) {
        uint64_t end = (uint64_t)result, was = t->image->end_of_heap;
        t->image->end_of_heap = end;
        if (!was || end <= was)
            return;
        address = was;
        length = end - was;
    }
    if (call != SYS_munmap && length >= 1 << CHUNK_SHIFT)
        sampling_disturb(t);
    struct mapping *m = file_unit(t, MAPPING);
    if (!m)
        return;
    m->call = (uint32_t)call;
    m->clock = CLOCK(t);
    if (call == SYS_mmap || call == SYS_mremap)
        address = (uint64_t)result;
    if (call == SYS_mremap) {
        m->from = t->call_a1;
        m->from_length = t->call_a2;
        length = t->call_a3;
    }
    m->address = address;
    m->length = length;
    m->protection = (uint32_t)t->call_a3;
    m->flags = call == SYS_mmap ? (uint32_t)t->call_a4 : 0;
    if (call == SYS_mmap && (int)t->call_a5 >= 0 && !(t->call_a4 & 0x20 /* MAP_ANONYMOUS */))
        name_descriptor(t, m, (int)t->call_a5);
    if (call == SYS_munmap || (call == SYS_madvise && t->call_a3 == 4 /* MADV_DONTNEED */))
        touched_forget(t->image, address, length);
}

/* A segment of System V is shared memory with a name, as a file that is mapped shared. */
static void note_segment(struct thread *t, uint64_t address)
{
    uint64_t length = mode->segment_bytes((int)t->call_a1);
    struct mapping *m = length ? file_unit(t, MAPPING) : NULL;
    if (!m)
        return;
    m->call = SYS_mmap;
    m->clock = CLOCK(t);
    m->address = address;
    m->length = length;
    m->protection = PROT_READ | (t->call_a3 & SHM_RDONLY ? 0 : PROT_WRITE);
    m->flags = MAP_SHARED;
    char name[32];
    snprintf(name, sizeof name, "/segment_%u", (unsigned)t->call_a1);
    name_file(t, m, name);
}

static void count_sleep(struct thread *t, uint64_t address)
{
    struct timespec asked;
    t->now->sleeps++;
    if (address && mode->read(t, address, &asked, sizeof asked) && asked.tv_sec >= 0 && asked.tv_sec < 1 << 20)
        t->slept_ns += (uint64_t)asked.tv_sec * 1000000000u + (uint64_t)asked.tv_nsec;
}

void calls_begin(struct thread *t, int64_t number, const uint64_t arguments[6])
{
    uint64_t a1 = arguments[0], a2 = arguments[1], a3 = arguments[2], a4 = arguments[3], a5 = arguments[4];
    t->call_a1 = a1, t->call_a2 = a2, t->call_a3 = a3, t->call_a4 = a4, t->call_a5 = a5;
    work_begin(t, number);
    uint64_t op = a2 & 127;
    switch (number) {
    case SYS_futex:
        t->now->waits += is_wait(op);
        t->now->wakes += is_wake(op);
        if (is_wait(op) || is_wake(op))
            count_edge(t, a1, is_wake(op));
        if (is_wake(op))
            calls_wake(t, a1);
        if (op == FUTEX_WAKE_OP || op == FUTEX_REQUEUE || op == FUTEX_CMP_REQUEUE)
            calls_wake(t, a5);
        break;
    case SYS_nanosleep: count_sleep(t, a1); break;
    case SYS_clock_nanosleep: count_sleep(t, a2 ? 0 : a3); break;
    case SYS_read: case SYS_write: case SYS_pread64: case SYS_pwrite64: case SYS_readv: case SYS_writev:
    case SYS_recvfrom: case SYS_sendto: case SYS_recvmsg: case SYS_sendmsg: case SYS_poll: case SYS_ppoll:
    case SYS_select: case SYS_pselect6: case SYS_epoll_wait: case SYS_epoll_pwait: case SYS_accept: case SYS_accept4:
        t->now->io++;
        break;
    case SYS_execve:
        if (mode == &user_mode)
            exec_under_qemu(t, a1, a2, a3);
        break;
    /* Who creates a thread begins a slice, so that what it did alone lies before it. */
    case SYS_clone: case SYS_clone3: case SYS_fork: case SYS_vfork:
        sampling_keep();
        sampling_disturb(t);
        part(t);
        break;
    case SYS_exit:
        t->born->exited_ns = time_ns() - t->image->began_ns + 1;
        calls_wake(t, t->exit_address);
        break;
    default: break;
    }
    slice_tell(t);
}

void calls_end(struct thread *t, int64_t number, int64_t result)
{
    bool failed = result < 0 && result > -4096;
    work_end(t, number, result);
    switch (number) {
    case SYS_futex:
        if (is_wait(t->call_a2 & 127))
            waited(t, __atomic_load_n(place_of(t->image, t->call_a1), __ATOMIC_RELAXED), true);
        break;
    case SYS_mmap: case SYS_munmap: case SYS_mremap: case SYS_madvise: case SYS_brk: case SYS_mbind:
        if (!failed)
            note_mapping(t, number, result);
        break;
    case SYS_shmat:
        if (!failed)
            note_segment(t, (uint64_t)result);
        break;
    case SYS_wait4:
        if (!failed && result)
            reaped(t, (uint32_t)result);
        break;
    case SYS_waitid: {
        uint32_t child = failed ? 0 : told_child(t, t->call_a3);
        if (child)
            reaped(t, child);
        break;
    }
    case SYS_clone: case SYS_clone3: case SYS_fork: case SYS_vfork: sampling_release(); break;
    default: break;
    }
}
