/* The recorder under QEMU's user mode: one program image, whose threads QEMU tells of, with their system calls. */
#define _GNU_SOURCE
#include "recorder.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

uint64_t guest_base;
static struct image own;
/* The thread whose system call this host thread carries out: the creator of a thread that begins meanwhile. */
static __thread struct thread *calling;
/* Stands for a virtual CPU without a thread. */
static struct thread *nobody;

/* Notes where the data of the program lies, which QEMU maps without system calls: its writable segments. */
static void note_data(struct thread *t, const char *path)
{
    Elf64_Ehdr elf;
    Elf64_Phdr part[64];
    int f = open(path, O_RDONLY | O_CLOEXEC);
    if (f < 0)
        return;
    bool is_read = read(f, &elf, sizeof elf) == sizeof elf && elf.e_phnum <= 64 && elf.e_phentsize == sizeof part[0]
        && pread(f, part, elf.e_phnum * sizeof part[0], (off_t)elf.e_phoff) == (ssize_t)(elf.e_phnum * sizeof part[0]);
    close(f);
    uint64_t code = UINT64_MAX;
    for (int i = 0; is_read && i < elf.e_phnum; i++)
        if (part[i].p_type == PT_LOAD && part[i].p_flags & PF_X && part[i].p_vaddr < code)
            code = part[i].p_vaddr;
    for (int i = 0; is_read && i < elf.e_phnum; i++) {
        if (part[i].p_type != PT_LOAD || !(part[i].p_flags & PF_W))
            continue;
        struct mapping *m = calls_map(t, qemu_plugin_start_code() - code + part[i].p_vaddr, part[i].p_memsz, path);
        if (!m)
            return;
        m->call = SYS_mmap;
        m->protection = PROT_READ | PROT_WRITE;
    }
}

/* The image of the program itself, which QEMU loads without system calls. */
static void name_image(struct thread *t)
{
    const char *path = qemu_plugin_path_to_binary();
    uint64_t start = qemu_plugin_start_code();
    if (!calls_map(t, start, qemu_plugin_end_code() - start, path ? path : ""))
        return;
    if (path)
        note_data(t, path);
}

static bool path_of(struct thread *t, int descriptor, char *path, size_t space)
{
    (void)t;
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t n = readlink(link, path, space - 1);
    if (n <= 0)
        return false;
    path[n] = 0;
    return true;
}

static uint16_t port_of(const struct sockaddr_storage *at)
{
    return at->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)at)->sin6_port
                                     : ((const struct sockaddr_in *)at)->sin_port;
}

/* QEMU's descriptors are the program's. A connection is known by its two ports, in the order of the way. */
static struct peer peer_of(struct thread *t, int64_t number, int descriptor, bool sends)
{
    (void)t, (void)number;
    struct stat about;
    if (fstat(descriptor, &about) || !(S_ISSOCK(about.st_mode) || S_ISFIFO(about.st_mode)))
        return (struct peer){PLAIN_FILE, 0};
    if (S_ISFIFO(about.st_mode))
        return (struct peer){PIPE, about.st_ino};
    struct sockaddr_storage own = {0}, other = {0};
    socklen_t size = sizeof own, other_size = sizeof other;
    bool has_family = !getsockname(descriptor, (void *)&own, &size);
    if (has_family && own.ss_family == AF_UNIX)
        return (struct peer){UNIX_SOCKET, unix_connection(descriptor, sends)};
    if (!has_family || (own.ss_family != AF_INET && own.ss_family != AF_INET6))
        return (struct peer){PIPE, 0};
    if (getpeername(descriptor, (void *)&other, &other_size))
        return (struct peer){NETWORK, 0};
    uint64_t from = port_of(sends ? &own : &other), to = port_of(sends ? &other : &own);
    return (struct peer){NETWORK, 1ull << 32 | from << 16 | to};
}

static uint64_t segment_bytes(int segment)
{
    struct shmid_ds about;
    return shmctl(segment, IPC_STAT, &about) ? 0 : about.shm_segsz;
}

const struct mode user_mode = {user_read, path_of, peer_of, segment_bytes};

void sampling_translate(plugin_id id, struct qemu_plugin_tb *block)
{
    (void)id;
    static bool has_base;
    if (!has_base && qemu_plugin_tb_n_insns(block)) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(block, 0);
        guest_base = (uintptr_t)qemu_plugin_insn_haddr(insn) - qemu_plugin_insn_vaddr(insn);
        has_base = true;
    }
    access_translate(block);
}

static void on_vcpu_begin(plugin_id id, unsigned vcpu)
{
    (void)id;
    struct thread *creator = calling;
    uint64_t clock = creator ? CLOCK(creator) : conf.clock;
    struct thread *t = thread_begin(&own, creator ? creator->number : UINT32_MAX, clock);
    if (creator && (creator->call_a1 & CLONE_CHILD_CLEARTID))
        t->exit_address = creator->call_a4;
    threads[vcpu & (MAX_VCPUS - 1)] = t;
}

static void on_vcpu_end(plugin_id id, unsigned vcpu)
{
    (void)id;
    struct thread *t = threads[vcpu & (MAX_VCPUS - 1)];
    threads[vcpu & (MAX_VCPUS - 1)] = nobody;
    if (t != nobody)
        thread_end(t);
}

static void on_call_begin(plugin_id id, unsigned vcpu, int64_t number, uint64_t a1, uint64_t a2, uint64_t a3,
                          uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8)
{
    (void)id, (void)a7, (void)a8;
    calling = threads[vcpu & (MAX_VCPUS - 1)];
    /* QEMU knows the image of the program only once it runs. */
    if (!own.head->end_code) {
        own.head->start_code = qemu_plugin_start_code();
        own.head->end_code = qemu_plugin_end_code();
        name_image(calling);
    }
    const uint64_t arguments[6] = {a1, a2, a3, a4, a5, a6};
    calls_begin(calling, number, arguments);
    __atomic_store_n(&calling->is_in_call, true, __ATOMIC_RELAXED);
}

static void on_call_end(plugin_id id, unsigned vcpu, int64_t number, int64_t result)
{
    (void)id;
    struct thread *t = threads[vcpu & (MAX_VCPUS - 1)];
    /* The C library does without these three, and asks for them always. */
    if (result == -ENOSYS && number != SYS_rseq && number != SYS_clone3 && number != SYS_set_robust_list)
        t->image->head->unknown_call = (uint32_t)number + 1;
    if (result >= 0)
        unix_made(t, number, result);
    calls_end(t, number, result);
    __atomic_store_n(&t->is_in_call, false, __ATOMIC_RELAXED);
}

/* In the child of a fork: the calling thread alone goes on, in a file of its own. */
static void on_fork(void)
{
    struct thread *self = calling;
    for (unsigned v = 0; v < MAX_VCPUS; v++)
        if (threads[v] != self)
            threads[v] = nobody;
    shared_forget(&own);
    memset(own.numbered, 0, sizeof own.numbered);
    own.reaped = 0;
    conf.parent = own.head->pid;
    conf.clock = self ? CLOCK(self) : conf.clock;
    file_begin(&own, (uint32_t)getpid(), conf.parent, conf.clock);
    if (self)
        thread_forked(self);
}

static void on_end(plugin_id id, void *data)
{
    (void)id, (void)data;
    for (unsigned v = 0; v < MAX_VCPUS; v++)
        if (threads[v] != nobody) {
            slice_tell(threads[v]);
            work_over(threads[v]);
        }
    if (calling)
        calls_over(calling);
    own.head->ended = EXITED;
}

bool user_install(plugin_id id)
{
    nobody = thread_nobody(&own);
    for (unsigned v = 0; v < MAX_VCPUS; v++)
        threads[v] = nobody;
    file_begin(&own, (uint32_t)getpid(), conf.parent, conf.clock);
    pthread_atfork(NULL, NULL, on_fork);
    qemu_plugin_register_vcpu_init_cb(id, on_vcpu_begin);
    qemu_plugin_register_vcpu_exit_cb(id, on_vcpu_end);
    qemu_plugin_register_vcpu_syscall_cb(id, on_call_begin);
    qemu_plugin_register_vcpu_syscall_ret_cb(id, on_call_end);
    qemu_plugin_register_atexit_cb(id, on_end, NULL);
    return true;
}
