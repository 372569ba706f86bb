/* The recorder in a guest: which thread runs on a virtual CPU, and its processes and system calls.

   Problem: QEMU tells of accesses by virtual CPU, and the kernel changes the threads that run there.
   Approach: only the kernel changes who runs, and it returns to a program by one of two instructions (sysret, iret). A
   callback before them asks the guest's memory for the current task (kernel.c). A task is a thread of a program image,
   which is known by process and address space: a new address space of a process is an exec. Callbacks where the kernel
   begins a system call and ends a task tell of the calls and ends. The kernel itself runs unobserved.
   Which programs: all but process 1, which is the worker, and what it has forked and not yet replaced.
   Locks: `registry` guards tasks and processes. A thread's own figures are its CPU's alone. */
#include "kernel.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MARK_LAYOUT = 3, TEXT_AT = 64, BUCKETS = 4096, MOST_CPUS = 256 };
static const uint64_t MARK_PAGE = 0x4e554d410;
static const unsigned KILLED = 0x7f;
/* A flag of a task that ends (PF_EXITING). */
static const unsigned ENDS = 4;

struct process {
    uint32_t tgid;
    uint64_t mm;
    struct image *image;
    struct guest_task *tasks;
    struct process *next;
};
/* A thread's task; never given back, since another CPU may just be looking at it. */
struct guest_task {
    uint64_t task, mm;
    uint32_t pid;
    struct process *process;
    struct thread *thread;
    int64_t call;                   /* the system call in which it is, or -1 */
    int64_t cut_call;               /* one whose return led to a signal handler, or -1 */
    uint64_t cut_arguments[6];
    uint64_t clones;                /* when it began to create a thread or process last; 0 = never */
    struct guest_task *next, *sibling;
};

static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;
static struct guest_task *tasks[BUCKETS], *spare;
static struct process *processes;
static struct guest_task *last[MOST_CPUS];
/* The task that ended last on a CPU: the kernel says so itself only a little later. */
static struct { uint64_t task; uint32_t pid; } ended[MOST_CPUS];
static struct image nowhere;
static struct thread *nobody[MOST_CPUS];
static uint64_t worker_file, clones;
static plugin_id own_id;
static unsigned cpu_count;
static bool is_described;

static bool creates(int64_t call)
{
    return call == SYS_clone || call == SYS_clone3 || call == SYS_fork || call == SYS_vfork;
}

static struct process *process_of(uint32_t tgid)
{
    struct process *p = processes;
    while (p && p->tgid != tgid)
        p = p->next;
    return p;
}

/* Who created a thread that is new: the one that began to do so last. */
static struct guest_task *creator_in(struct process *p)
{
    struct guest_task *best = p ? p->tasks : NULL;
    for (struct guest_task *g = best; g; g = g->sibling)
        if (g->clones > best->clones)
            best = g;
    return best;
}

/* The thread that executes another program: the others have ended or are about to. */
static struct guest_task *executing_in(struct process *p, uint64_t task)
{
    struct guest_task *g = p->tasks;
    while (g && g->task != task)
        g = g->sibling;
    return g ? g : p->tasks;
}

/* Takes a task out of the lists, and ends its thread. */
static void end_task(struct guest_task *g)
{
    struct guest_task **at = &tasks[g->pid % BUCKETS];
    while (*at != g)
        at = &(*at)->next;
    *at = g->next;
    for (at = &g->process->tasks; *at != g; at = &(*at)->sibling)
        ;
    *at = g->sibling;
    for (unsigned v = 0; v < cpu_count; v++) {
        if (last[v] == g)
            last[v] = NULL;
        if (threads[v] == g->thread)
            threads[v] = nobody[v];
    }
    work_over(g->thread);
    thread_end(g->thread);
    g->task = 0;
    g->next = spare;
    spare = g;
}

/* Ends the image of a process with all threads that are left. */
static void end_process(struct process *p, enum ended how)
{
    while (p->tasks)
        end_task(p->tasks);
    p->image->head->ended = how;
    file_end(p->image);
    touched_free(p->image);
    free(p->image);
    struct process **at = &processes;
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    free(p);
}

/* What the kernel has mapped for a program without system calls: its code and its data. An image is known before the
   kernel has mapped them, so this waits for its first system call. */
static void name_image(struct guest_task *g)
{
    struct thread *t = g->thread;
    uint64_t mm = g->mm;
    if (t->image->head->end_code)
        return;
    uint64_t code = kernel_number(mm + layout[MM_START_CODE], 8);
    uint64_t code_end = kernel_number(mm + layout[MM_END_CODE], 8);
    uint64_t data = kernel_number(mm + layout[MM_START_DATA], 8) & ~4095ull;
    uint64_t data_end = kernel_number(mm + layout[MM_START_BRK], 8);
    char path[1024] = "";
    kernel_path(kernel_number(mm + layout[MM_EXE_FILE], 8), path, sizeof path);
    t->image->head->start_code = code;
    t->image->head->end_code = code_end;
    calls_map(t, code, code_end - code, path);
    struct mapping *m = data_end > data ? calls_map(t, data, data_end - data, path) : NULL;
    if (m) {
        m->call = SYS_mmap;
        m->protection = PROT_READ | PROT_WRITE;
    }
}

static struct guest_task *add_task(struct process *p, uint64_t task, uint32_t pid, uint32_t creator, uint64_t clock)
{
    struct guest_task *g = spare;
    if (g)
        spare = g->next;
    else if (!(g = malloc(sizeof *g)))
        abort();
    struct thread *t = thread_begin(p->image, creator, clock);
    *g = (struct guest_task){.mm = p->mm, .pid = pid, .process = p, .thread = t, .call = -1, .cut_call = -1,
                             .next = tasks[pid % BUCKETS], .sibling = p->tasks};
    __atomic_store_n(&g->task, task, __ATOMIC_RELEASE);
    t->task = g;
    p->tasks = tasks[pid % BUCKETS] = g;
    return g;
}

/* The first thread of a program image: after an exec if the process is known, else after a fork. NULL for a process
   that neither the program nor the worker began. */
static struct guest_task *add_process(uint64_t task, uint32_t pid, uint32_t tgid, uint64_t mm)
{
    struct process *before = process_of(tgid);
    uint32_t parent = kernel_number(kernel_number(task + layout[TASK_PARENT], 8) + layout[TASK_TGID], 4);
    struct process *forked = before ? NULL : process_of(parent);
    if (!before && !forked && parent != 1)
        return NULL;
    struct process *p = calloc(1, sizeof *p);
    struct image *image = calloc(1, sizeof *image);
    if (!p || !image)
        abort();
    image->head = &image->nowhere;
    struct guest_task *creator = before ? executing_in(before, task) : creator_in(forked);
    uint64_t clock = creator ? CLOCK(creator->thread) : 0;
    if (forked) {
        touched_copy(forked->image, image);
        image->end_of_heap = forked->image->end_of_heap;
    }
    file_begin(image, tgid, before ? tgid : forked ? parent : 0, clock);
    if (before)
        end_process(before, EXECUTED);
    *p = (struct process){.tgid = tgid, .mm = mm, .image = image, .next = processes};
    processes = p;
    return add_task(p, task, pid, UINT32_MAX, clock);
}

/* Whether a task has ended, though the kernel still runs it. */
static bool has_ended(uint64_t task, uint32_t pid)
{
    bool found = kernel_number(task + layout[TASK_FLAGS], 4) & ENDS;
    for (unsigned v = 0; v < cpu_count; v++)
        found |= ended[v].task == task && ended[v].pid == pid;
    return found;
}

/* The thread of a task; NULL if it is none of the recorded program. */
static struct guest_task *find(uint64_t task, uint32_t pid, uint64_t mm)
{
    uint32_t tgid = kernel_number(task + layout[TASK_TGID], 4);
    uint64_t file = kernel_number(mm + layout[MM_EXE_FILE], 8);
    if (tgid == 1)
        worker_file = file;
    if (tgid == 1 || file == worker_file || !mm)
        return NULL;
    pthread_mutex_lock(&registry);
    struct guest_task *g = tasks[pid % BUCKETS];
    while (g && (g->pid != pid || g->task != task || g->mm != mm))
        g = g->next;
    if (!g && !has_ended(task, pid)) {
        struct process *p = process_of(tgid);
        struct guest_task *creator = p && p->mm == mm ? creator_in(p) : NULL;
        if (creator)
            g = add_task(p, task, pid, creator->thread->number, CLOCK(creator->thread));
        else if (p && p->mm == mm)
            g = add_task(p, task, pid, 0, p->image->head->begin_clock);
        else
            g = add_process(task, pid, tgid, mm);
    }
    pthread_mutex_unlock(&registry);
    return g;
}

/* The task that runs on a virtual CPU, which its accesses are counted for from now on. */
static struct guest_task *current(unsigned vcpu)
{
    uint64_t task = kernel_current(vcpu);
    uint32_t pid = kernel_number(task + layout[TASK_PID], 4);
    uint64_t mm = kernel_number(task + layout[TASK_MM], 8);
    struct guest_task *g = last[vcpu];
    if (!g || g->task != task || g->pid != pid || g->mm != mm)
        last[vcpu] = g = find(task, pid, mm);
    threads[vcpu] = g ? g->thread : nobody[vcpu];
    return g;
}

/* Segments whose sizes are known, by their numbers: those that a recorded program asked for with a size. */
enum { SEGMENTS = 256 };
static struct { int segment; uint64_t bytes; } segments[SEGMENTS];

static void note_segment(int64_t segment, uint64_t bytes)
{
    if (segment < 0 || segment > INT32_MAX || !bytes)
        return;
    pthread_mutex_lock(&registry);
    unsigned at = (uint32_t)segment * 2654435761u >> 24;
    bool is_larger = segments[at].segment != segment || segments[at].bytes < bytes;
    if (is_larger) {
        segments[at].segment = (int)segment;
        segments[at].bytes = bytes;
    }
    pthread_mutex_unlock(&registry);
}

static void finish_call(unsigned vcpu, struct guest_task *g)
{
    struct registers r;
    int64_t call = g->call;
    g->call = -1;
    if (call < 0 || !kernel_registers(vcpu, g->mm, &r))
        return;
    if (call == SYS_shmget)
        note_segment(r.result, g->thread->call_a2);
    calls_end(g->thread, call, r.result);
}

/* A call has returned to a signal handler, and not where it was made: its result is in the frame of the signal. */
static void note_cut(struct guest_task *g)
{
    struct thread *t = g->thread;
    if (g->call < 0 || g->call == SYS_execve || g->call == SYS_execveat || g->call == SYS_rt_sigreturn)
        return;
    g->cut_call = g->call;
    memcpy(g->cut_arguments, (uint64_t[]){t->call_a1, t->call_a2, t->call_a3, t->call_a4, t->call_a5, 0},
           sizeof g->cut_arguments);
}

/* A handler returns: with that the call returns which the signal had cut, unless it is made again. */
static void finish_cut(struct guest_task *g, uint64_t stack)
{
    /* struct ucontext of a 64-bit frame: ax and ip of sigcontext. */
    enum { FRAME_AX = 144, FRAME_IP = 168 };
    struct thread *t = g->thread;
    int64_t call = g->cut_call, result;
    uint64_t next;
    uint8_t code[2] = {0};
    g->cut_call = -1;
    if (call < 0 || !kernel_user_read(g->mm, stack + FRAME_AX, &result, sizeof result)
        || !kernel_user_read(g->mm, stack + FRAME_IP, &next, sizeof next)
        || !kernel_user_read(g->mm, next, code, sizeof code) || (code[0] == 0x0f && code[1] == 0x05))
        return;
    const uint64_t *a = g->cut_arguments;
    t->call_a1 = a[0], t->call_a2 = a[1], t->call_a3 = a[2], t->call_a4 = a[3], t->call_a5 = a[4];
    calls_end(t, call, result);
}

static void on_begin_of_call(unsigned vcpu, void *data)
{
    (void)data;
    struct guest_task *g = current(vcpu);
    struct registers r;
    if (!g || !kernel_registers(vcpu, g->mm, &r))
        return;
    name_image(g);
    note_cut(g);
    if (r.number == SYS_rt_sigreturn)
        finish_cut(g, r.stack);
    g->call = r.number;
    if (creates(r.number))
        g->clones = __atomic_add_fetch(&clones, 1, __ATOMIC_RELAXED);
    calls_begin(g->thread, r.number, r.arguments);
}

static void on_sysret(unsigned vcpu, void *data)
{
    (void)data;
    struct guest_task *g = current(vcpu);
    if (g)
        finish_call(vcpu, g);
}

/* An iret may return to the kernel, from inside of a system call. */
static void on_iret(unsigned vcpu, void *data)
{
    (void)data;
    current(vcpu);
}

static void on_exit_of_task(unsigned vcpu, void *data)
{
    (void)data;
    struct guest_task *g = current(vcpu);
    if (!g)
        return;
    uint64_t signal = kernel_number(g->task + layout[TASK_SIGNAL], 8);
    bool was_killed = kernel_number(signal + layout[SIGNAL_EXIT_CODE], 4) & KILLED;
    uint64_t cleared = kernel_number(g->task + layout[TASK_CLEAR_TID], 8);
    name_image(g);
    pthread_mutex_lock(&registry);
    ended[vcpu].task = g->task;
    ended[vcpu].pid = g->pid;
    if (cleared)
        calls_wake(g->thread, cleared);
    struct process *p = g->process;
    /* Threads that have not run yet are not in the list. */
    bool is_last = p->tasks == g && !g->sibling && kernel_number(signal + layout[SIGNAL_LIVE], 4) <= 1;
    if (is_last && !was_killed)
        calls_over(g->thread);
    end_task(g);
    if (is_last)
        end_process(p, was_killed ? RUNNING : EXITED);
    pthread_mutex_unlock(&registry);
}

enum leaves { STAYS, BY_SYSRET, BY_IRET };

/* Whether a block of the kernel ends with a return to a program. */
static enum leaves leaves(const struct qemu_plugin_tb *block)
{
    const struct qemu_plugin_insn *end = qemu_plugin_tb_get_insn(block, qemu_plugin_tb_n_insns(block) - 1);
    const uint8_t *bytes = qemu_plugin_insn_data(end);
    size_t n = qemu_plugin_insn_size(end);
    if (n == 3 && bytes[0] == 0x48 && bytes[1] == 0x0f && bytes[2] == 0x07)
        return BY_SYSRET;
    return n == 2 && bytes[0] == 0x48 && bytes[1] == 0xcf ? BY_IRET : STAYS;
}

static void on_translation(plugin_id id, struct qemu_plugin_tb *block)
{
    (void)id;
    if (!qemu_plugin_tb_n_insns(block))
        return;
    uint64_t begin = qemu_plugin_tb_vaddr(block);
    if (!(begin >> 47)) {
        access_translate(block);
        return;
    }
    kernel_base(qemu_plugin_insn_haddr(qemu_plugin_tb_get_insn(block, 0)), begin);
    if (!is_described)
        return;
    enum leaves how = leaves(block);
    on_exec *f = begin == layout[DO_SYSCALL] ? on_begin_of_call
        : begin == layout[DO_EXIT]           ? on_exit_of_task
        : how == BY_SYSRET                   ? on_sysret
        : how == BY_IRET                     ? on_iret
                                             : NULL;
    if (f)
        qemu_plugin_register_vcpu_tb_exec_cb(block, f, NO_REGISTERS, NULL);
}

static void on_end(plugin_id id, void *data)
{
    (void)id, (void)data;
    pthread_mutex_lock(&registry);
    for (struct process *p = processes; p; p = p->next)
        for (struct guest_task *g = p->tasks; g; g = g->sibling)
            slice_tell(g->thread);
    pthread_mutex_unlock(&registry);
}

static void begin(plugin_id id)
{
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_atexit_cb(id, on_end, NULL);
}

/* The worker's mark says that its page describes the kernel. All blocks are then translated anew, with callbacks. */
static bool on_access_of_nobody(unsigned vcpu, mem_info info, uint64_t address)
{
    (void)vcpu;
    if (address >> PAGE_SHIFT != MARK_PAGE || (address & 0xfff) / 8 != MARK_LAYOUT || is_described)
        return false;
    struct qemu_plugin_hwaddr *where = qemu_plugin_get_hwaddr(info, address);
    const char *wrong = "the page of marks is not in memory";
    if (where && !qemu_plugin_hwaddr_is_io(where))
        wrong = kernel_describe((qemu_plugin_hwaddr_phys_addr(where) & ~0xfffull) + TEXT_AT);
    if (wrong) {
        fprintf(stderr, "numalab recorder: %s\n", wrong);
        fflush(stderr);
        _exit(1);
    }
    is_described = true;
    qemu_plugin_reset(own_id, begin);
    return false;
}

static bool read_of(struct thread *t, uint64_t address, void *to, size_t length)
{
    return kernel_user_read(t->task->mm, address, to, length);
}

static bool path_of(struct thread *t, int descriptor, char *path, size_t space)
{
    return kernel_path(kernel_open_file(t->task->task, descriptor), path, space);
}

/* By the file behind the descriptor. A connection is known by its two ports, in the order of the way, a pipe by its
   number, and what goes through sockets of Unix by the receiver's. */
static struct peer peer_of(struct thread *t, int64_t number, int descriptor, bool sends)
{
    (void)number;
    uint64_t file = kernel_open_file(t->task->task, descriptor);
    uint64_t inode = file ? kernel_number(file + layout[FILE_INODE], 8) : 0;
    uint16_t mode_of = inode ? kernel_number(inode + layout[INODE_MODE], 2) : 0;
    if (S_ISFIFO(mode_of))
        return (struct peer){PIPE, kernel_number(inode + layout[INODE_NUMBER], 8)};
    if (!S_ISSOCK(mode_of))
        return (struct peer){PLAIN_FILE, 0};
    uint64_t sock = kernel_number(kernel_number(file + layout[FILE_PRIVATE], 8) + layout[SOCKET_SOCK], 8);
    uint16_t family = sock ? kernel_number(sock + layout[SOCK_FAMILY], 2) : 0;
    if (family == AF_UNIX && !layout[UNIX_PEER])
        return (struct peer){UNIX_SOCKET, 0};
    if (family == AF_UNIX)
        return (struct peer){UNIX_SOCKET, sends ? kernel_number(sock + layout[UNIX_PEER], 8) : sock};
    if (family != AF_INET && family != AF_INET6)
        return (struct peer){PIPE, 0};
    uint64_t own = kernel_number(sock + layout[SOCK_PORT], 2);
    uint64_t other = ntohs((uint16_t)kernel_number(sock + layout[SOCK_PEER_PORT], 2));
    if (!other)
        return (struct peer){NETWORK, 0};
    return (struct peer){NETWORK, 1ull << 32 | (sends ? own : other) << 16 | (sends ? other : own)};
}

static uint64_t segment_bytes(int segment)
{
    pthread_mutex_lock(&registry);
    unsigned at = (uint32_t)segment * 2654435761u >> 24;
    uint64_t bytes = segments[at].segment == segment ? segments[at].bytes : 0;
    pthread_mutex_unlock(&registry);
    return bytes;
}

const struct mode guest_mode = {read_of, path_of, peer_of, segment_bytes};

bool guest_install(plugin_id id, unsigned cpus)
{
    if (cpus > MOST_CPUS || !conf.memory_bytes) {
        fprintf(stderr, "numalab recorder: expected at most %d CPUs, and memory=BYTES\n", MOST_CPUS);
        return false;
    }
    own_id = id;
    cpu_count = cpus;
    nowhere.head = &nowhere.nowhere;
    for (unsigned v = 0; v < cpus; v++)
        threads[v] = nobody[v] = thread_nobody(&nowhere);
    access_of_nobody = on_access_of_nobody;
    begin(id);
    return true;
}
