/* What system calls cost in a guest of timing `modelled`, in instructions of the kernel: the table of
   crates/accesses/src/costs.rs. It knows no program of the list.

   numalab run --backend vm --timing modelled --machine 1x1x1x1 --kernel off -- out/recorded/bin/calls
   An instruction takes 8 ns there. It ends with 1, so that the guest's last lines are shown. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 400, SMALL = 64, LARGE = 4096 };
#define INSTRUCTION_NS 8.0

static char data[1 << 16];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void say(const char *what, double ns, double times)
{
    printf("%s %.0f; ", what, ns / INSTRUCTION_NS / times);
}

static void must(long result)
{
    if (result < 0) {
        perror("calls");
        exit(3);
    }
}

static void plain_calls(void)
{
    double begin = now();
    for (int i = 0; i < ROUNDS; i++)
        syscall(SYS_getppid);
    say("call", now() - begin, ROUNDS);
    begin = now();
    for (int i = 0; i < ROUNDS; i++)
        now();
    say("clock", now() - begin, ROUNDS);
}

static void files(void)
{
    int f = open("/tmp/numalab-calls", O_RDWR | O_CREAT | O_TRUNC, 0600);
    must(f);
    must(write(f, data, sizeof data));
    for (int size = SMALL; size <= LARGE; size += LARGE - SMALL) {
        double begin = now();
        for (int i = 0; i < ROUNDS; i++)
            must(pread(f, data, (size_t)size, 0));
        printf("%d bytes: ", size);
        say("file read", now() - begin, ROUNDS);
        begin = now();
        for (int i = 0; i < ROUNDS; i++)
            must(pwrite(f, data, (size_t)size, 0));
        say("file written", now() - begin, ROUNDS);
    }
    close(f);
    unlink("/tmp/numalab-calls");
}

/* Requests and answers between two ends that one thread has, so nobody waits. */
static void messages(const char *name, const int to[2], const int back[2])
{
    for (int size = SMALL; size <= LARGE; size += LARGE - SMALL) {
        double sent = 0, received = 0;
        for (int i = 0; i < 2 * ROUNDS; i++) {
            const int *way = i % 2 ? back : to;
            double begin = now();
            must(write(way[1], data, (size_t)size));
            double between = now();
            must(read(way[0], data, (size_t)size));
            received += now() - between;
            sent += between - begin;
        }
        printf("%d bytes: %s ", size, name);
        say("sent", sent, 2 * ROUNDS);
        say("received", received, 2 * ROUNDS);
    }
}

static void connected(int out[2])
{
    int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof at;
    must(bind(listener, (void *)&at, sizeof at));
    must(listen(listener, 1));
    must(getsockname(listener, (void *)&at, &length));
    out[0] = socket(AF_INET, SOCK_STREAM, 0);
    must(connect(out[0], (void *)&at, sizeof at));
    must(out[1] = accept(listener, NULL, NULL));
    for (int i = 0; i < 2; i++)
        must(setsockopt(out[i], 6 /* TCP */, 1 /* NODELAY */, &one, sizeof one));
    close(listener);
}

static void polls(const int *ready, int count)
{
    int e = epoll_create1(0);
    must(e);
    for (int i = 0; i < count; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.fd = ready[i]};
        must(epoll_ctl(e, EPOLL_CTL_ADD, ready[i], &event));
    }
    struct epoll_event events[16];
    double begin = now();
    for (int i = 0; i < ROUNDS; i++)
        must(epoll_wait(e, events, 16, 0));
    say("poll", now() - begin, ROUNDS);
    begin = now();
    for (int i = 0; i < ROUNDS; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.fd = ready[0]};
        must(epoll_ctl(e, EPOLL_CTL_DEL, ready[0], &event));
        must(epoll_ctl(e, EPOLL_CTL_ADD, ready[0], &event));
    }
    say("what is polled changed", now() - begin, 2 * ROUNDS);
    close(e);
}

static int word[2];

static void *other(void *data)
{
    (void)data;
    for (int i = 0; i < ROUNDS; i++) {
        while (!__atomic_exchange_n(&word[0], 0, __ATOMIC_SEQ_CST))
            syscall(SYS_futex, &word[0], FUTEX_WAIT_PRIVATE, 0, NULL);
        __atomic_store_n(&word[1], 1, __ATOMIC_SEQ_CST);
        syscall(SYS_futex, &word[1], FUTEX_WAKE_PRIVATE, 1);
    }
    return NULL;
}

/* Two wake-ups, two waits. */
static void futexes(void)
{
    pthread_t thread;
    must(-pthread_create(&thread, NULL, other, NULL));
    double begin = now();
    for (int i = 0; i < ROUNDS; i++) {
        __atomic_store_n(&word[0], 1, __ATOMIC_SEQ_CST);
        syscall(SYS_futex, &word[0], FUTEX_WAKE_PRIVATE, 1);
        while (!__atomic_exchange_n(&word[1], 0, __ATOMIC_SEQ_CST))
            syscall(SYS_futex, &word[1], FUTEX_WAIT_PRIVATE, 0, NULL);
    }
    say("wake and wait", now() - begin, 2 * ROUNDS);
    pthread_join(thread, NULL);
}

struct end { int epoll, in, out; };

static int taken(struct end *end)
{
    struct epoll_event event;
    must(epoll_wait(end->epoll, &event, 1, -1));
    return (int)read(end->in, data, SMALL);
}

static void *answering(void *data)
{
    struct end *end = data;
    for (int i = 0; i < ROUNDS; i++) {
        must(taken(end));
        must(write(end->out, end, sizeof *end));
    }
    return NULL;
}

static struct end end_of(int in, int out)
{
    struct end end = {epoll_create1(0), in, out};
    struct epoll_event event = {.events = EPOLLIN};
    must(epoll_ctl(end.epoll, EPOLL_CTL_ADD, in, &event));
    return end;
}

/* As `messages`, between two threads that sleep in a poll until one comes: the rest is the sleep. */
static void answers(const char *name, struct end one, struct end two)
{
    pthread_t thread;
    must(-pthread_create(&thread, NULL, answering, &two));
    double begin = now();
    for (int i = 0; i < ROUNDS; i++) {
        must(write(one.out, &one, sizeof one));
        must(taken(&one));
    }
    printf("%s ", name);
    say("polled, received and sent", now() - begin, 2 * ROUNDS);
    pthread_join(thread, NULL);
}

static void populated(void)
{
    size_t bytes = 8 << 20;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    memset(memory, 1, bytes);
    double begin = now();
    for (int i = 0; i < 4; i++)
        must(madvise(memory, bytes, 22 /* MADV_POPULATE_READ */));
    say("populated page", now() - begin, 4.0 * (double)bytes / 4096);
}

int main(void)
{
    int to[2], back[2], tcp[2], pair[2];
    must(pipe(to));
    must(pipe(back));
    connected(tcp);
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    int forth[2] = {tcp[1], tcp[0]}, reverse[2] = {tcp[0], tcp[1]};
    int there[2] = {pair[1], pair[0]}, again[2] = {pair[0], pair[1]};
    plain_calls();
    files();
    messages("pipe", to, back);
    messages("tcp", forth, reverse);
    messages("unix", there, again);
    must(write(to[1], data, 1));
    polls(to, 1);
    must(read(to[0], data, 1));
    futexes();
    answers("pipe", end_of(back[0], to[1]), end_of(to[0], back[1]));
    answers("tcp", end_of(tcp[0], tcp[0]), end_of(tcp[1], tcp[1]));
    answers("unix", end_of(pair[0], pair[0]), end_of(pair[1], pair[1]));
    populated();
    printf("\n");
    fflush(stdout);
    return 1;
}
