/* What the kernel does for a thread: system calls by kind, bytes that they copy, and messages from other processes.

   Problem: an emulated program's kernel work is not seen, and a program that waits for messages waits no model time.
   Approach: calls are counted by kind. What a kind needs, in instructions, stands in `control`, and the
   thread's clock goes on by it. Who sends through a connection or a pipe notes its clock at a place of that connection;
   who receives goes on no earlier.
   Bounds: places are found by a hash. Two connections that share one, or a sender that is several messages ahead, make
   a wait longer. */
#include "recorder.h"

#include <sys/syscall.h>

static struct work *work_of(struct thread *t)
{
    if (t->work)
        return t->work;
    t->work = file_unit(t, WORK);
    if (!t->work) {
        t->scrap_work = (struct work){0};
        t->work = &t->scrap_work;
    }
    t->work->slice = t->slice;
    return t->work;
}

enum way { NO_WAY, IN, OUT };

static enum way way_of(int64_t number)
{
    switch (number) {
    case SYS_read: case SYS_pread64: case SYS_readv: case SYS_preadv: case SYS_recvfrom: case SYS_recvmsg: return IN;
    case SYS_write: case SYS_pwrite64: case SYS_writev: case SYS_pwritev: case SYS_sendto: case SYS_sendmsg: return OUT;
    default: return NO_WAY;
    }
}

/* The C library asks the kernel's page for the time (vDSO), which QEMU 7.2 does not have. */
static bool is_of_clock(int64_t number)
{
    return number == SYS_clock_gettime || number == SYS_gettimeofday || number == SYS_time || number == SYS_getcpu;
}

static bool is_poll(int64_t number)
{
    return number == SYS_poll || number == SYS_ppoll || number == SYS_select || number == SYS_pselect6
        || number == SYS_epoll_wait || number == SYS_epoll_pwait;
}

static uint64_t *place_of(const struct peer *peer)
{
    return &control->told[peer->connection * 0x9e3779b97f4a7c15ull >> 56];
}

/* Lets a place show a time, unless it shows a later one. */
static void show(uint64_t *place, uint64_t clock)
{
    uint64_t seen = __atomic_load_n(place, __ATOMIC_RELAXED);
    while (seen < clock && !__atomic_compare_exchange_n(place, &seen, clock, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

static uint64_t *place_of_end(uint32_t pid)
{
    return &control->ended[pid * 2654435761u >> 25];
}

/* A thread ends with its process: who waits for that goes on no earlier. */
void work_over(const struct thread *t)
{
    show(place_of_end(t->image->head->pid), CLOCK(t));
}

/* When a process ended, in model time; 0 if it is not known. */
uint64_t work_over_at(uint32_t pid)
{
    return __atomic_load_n(place_of_end(pid), __ATOMIC_RELAXED);
}

/* Who sends notes its time before the message is there. */
void work_begin(struct thread *t, int64_t number)
{
    if (way_of(number) != OUT)
        return;
    struct peer peer = mode->peer_of(t, number, (int)t->call_a1, true);
    if (!peer.connection)
        return;
    const struct costs *costs = &control->costs;
    uint64_t call = peer.kind == NETWORK ? costs->sent : peer.kind == UNIX_SOCKET ? costs->received : costs->file;
    show(place_of(&peer), CLOCK(t) + call);
}

/* A message has come: the thread goes on no earlier than it was sent. Returns the instructions of the sleep. */
static uint64_t received(struct thread *t, const struct peer *peer)
{
    uint64_t until = peer->connection ? __atomic_load_n(place_of(peer), __ATOMIC_RELAXED) : 0, clock = CLOCK(t);
    if (until <= clock)
        return 0;
    struct work *w = work_of(t);
    w->awaited += until - clock;
    w->sleeps++;
    t->ahead += until - clock;
    return control->costs.sleep;
}

static uint64_t copied(struct thread *t, int64_t number, enum way way, uint64_t bytes)
{
    struct work *w = work_of(t);
    struct peer peer = mode->peer_of(t, number, (int)t->call_a1, way == OUT);
    if (way == OUT && peer.kind == NETWORK) {
        w->sent++;
        w->sent_bytes += bytes;
        return control->costs.sent + bytes * control->costs.sent_kib / 1024;
    }
    /* What is sent through a socket of Unix costs about as much as what is received (docs/log/access-fits.md). */
    if (way == OUT && peer.kind == UNIX_SOCKET) {
        w->received++;
        w->sent_bytes += bytes;
        return control->costs.received + bytes * control->costs.sent_kib / 1024;
    }
    uint64_t slept = way == IN && bytes ? received(t, &peer) : 0;
    bool is_message = peer.kind == NETWORK || peer.kind == UNIX_SOCKET;
    w->copied_bytes += bytes;
    *(is_message ? &w->received : &w->files) += 1;
    uint64_t call = is_message ? control->costs.received : control->costs.file;
    return slept + call + bytes * control->costs.copied_kib / 1024;
}

/* A system call has returned. Futexes and sleeps are counted with the slice. */
void work_end(struct thread *t, int64_t number, int64_t result)
{
    if (is_of_clock(number))
        return;
    enum way way = way_of(number);
    uint64_t insns = control->costs.call;
    if (way != NO_WAY && result >= 0) {
        insns = copied(t, number, way, (uint64_t)result);
    } else if (is_poll(number)) {
        work_of(t)->polls++;
        insns = control->costs.poll;
    } else if (number == SYS_epoll_ctl) {
        work_of(t)->changes++;
        insns = control->costs.change;
    } else if (number == SYS_futex) {
        insns = control->costs.futex;
    } else if (number == SYS_nanosleep || number == SYS_clock_nanosleep) {
        insns = control->costs.sleep;
    } else if (number == SYS_madvise && !result && (t->call_a3 == 22 || t->call_a3 == 23) /* MADV_POPULATE_* */) {
        uint64_t pages = t->call_a2 >> PAGE_SHIFT;
        work_of(t)->populated += (uint32_t)pages;
        insns = pages * control->costs.page;
    } else {
        work_of(t)->others++;
    }
    t->ahead += insns;
}
