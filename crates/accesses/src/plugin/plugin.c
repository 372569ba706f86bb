/* numalab's recorder: a plugin for QEMU's user mode. Here are its settings and what QEMU calls; recorder.h says how it
   works. */
#define _GNU_SOURCE
#include "recorder.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

EXPORT int qemu_plugin_version = 1;
struct config conf;
uint64_t guest_base;
/* The thread whose system call this host thread carries out: the creator of a thread that begins meanwhile. */
static __thread struct thread *calling;
/* Stands for a virtual CPU without a thread; what it counts is in no file. */
static struct thread *nobody;

static inline bool is_near(const struct thread *t, uint64_t line)
{
    return t->front[line & (FRONT - 1)] >> FRONT_FLAGS == line;
}

/* Version 1 of the interface has the direction of an access in these bits. What depends on it is asked of QEMU too. */
enum { STORE_HINT = 2 << 16 };

/* A line that the core does not hold, or its first write there. */
static __attribute__((noinline)) void on_change(unsigned vcpu, mem_info info, uint64_t address)
{
    struct thread *t = threads[vcpu & (MAX_VCPUS - 1)];
    uint64_t line = address >> LINE_SHIFT;
    bool writes = qemu_plugin_mem_is_store(info);
    struct shared_line *shared = writes ? shared_find(line) : NULL;
    if (!is_near(t, line)) {
        if (!(address >> 47))
            visit(t, line, writes);
    } else if (writes && !shared) {
        visit_written(t, line);
    }
    if (shared) {
        shared_count(shared, t, address, 1u << qemu_plugin_mem_size_shift(info));
        /* So that the next write comes here too. */
        if (is_near(t, line))
            t->front[line & (FRONT - 1)] &= ~(uint64_t)WRITTEN;
    }
}

/* `data` is the number of instructions that this access stands for. */
static void on_memory(unsigned vcpu, mem_info info, uint64_t address, void *data)
{
    struct thread *t = threads[vcpu & (MAX_VCPUS - 1)];
    uint64_t line = address >> LINE_SHIFT, front = t->front[line & (FRONT - 1)];
    t->insns += (uintptr_t)data;
    if (__builtin_expect(front >> FRONT_FLAGS == line && (!(info & STORE_HINT) || (front & WRITTEN)), 1))
        return;
    on_change(vcpu, info, address);
}

static void on_block(unsigned vcpu, void *data)
{
    threads[vcpu & (MAX_VCPUS - 1)]->insns += (uintptr_t)data;
}

/* Instructions of a block are counted with its first access that surely comes, or in a callback of their own. Those that
   repeat a string instruction are not counted again. */
static void on_translation(plugin_id id, struct qemu_plugin_tb *block)
{
    (void)id;
    static bool has_base;
    size_t n = qemu_plugin_tb_n_insns(block);
    if (!n)
        return;
    if (!has_base) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(block, 0);
        guest_base = (uintptr_t)qemu_plugin_insn_haddr(insn) - qemu_plugin_insn_vaddr(insn);
        has_base = true;
    }
    struct qemu_plugin_insn *only = qemu_plugin_tb_get_insn(block, 0);
    bool is_counted = n == 1 && decode_is_repeated(qemu_plugin_insn_data(only), qemu_plugin_insn_size(only));
    for (size_t i = 0; i < n; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(block, i);
        const uint8_t *bytes = qemu_plugin_insn_data(insn);
        size_t length = qemu_plugin_insn_size(insn);
        if (decode_is_stack(bytes, length))
            continue;
        bool counts = !is_counted && decode_is_single(bytes, length);
        is_counted |= counts;
        qemu_plugin_register_vcpu_mem_cb(insn, on_memory, NO_REGISTERS, READ_AND_WRITE, (void *)(counts ? n : 0));
    }
    if (!is_counted)
        qemu_plugin_register_vcpu_tb_exec_cb(block, on_block, NO_REGISTERS, (void *)n);
}

static void on_vcpu_begin(plugin_id id, unsigned vcpu)
{
    (void)id;
    struct thread *creator = calling;
    struct thread *t = thread_begin(creator ? creator->number : UINT32_MAX, creator ? CLOCK(creator) : conf.clock);
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
    calling = threads[vcpu & (MAX_VCPUS - 1)];
    /* QEMU knows the image of the program only once it runs. */
    if (!head->end_code) {
        head->start_code = qemu_plugin_start_code();
        head->end_code = qemu_plugin_end_code();
        calls_name_image(calling);
    }
    on_system_call(id, vcpu, number, a1, a2, a3, a4, a5, a6, a7, a8);
}

/* In the child of a fork: the calling thread alone goes on, in a file of its own. */
static void on_fork(void)
{
    struct thread *self = calling;
    for (unsigned v = 0; v < MAX_VCPUS; v++)
        if (threads[v] != self)
            threads[v] = nobody;
    shared_forget();
    memset(numbered, 0, sizeof numbered);
    conf.parent = head->pid;
    conf.clock = self ? CLOCK(self) : conf.clock;
    file_begin();
    if (self)
        thread_forked(self);
}

static void on_end(plugin_id id, void *data)
{
    (void)id, (void)data;
    for (unsigned v = 0; v < MAX_VCPUS; v++)
        if (threads[v] != nobody)
            slice_tell(threads[v]);
    head->ended = EXITED;
}

static bool take(const char *word, const char *value)
{
    const struct { const char *word; char *to; } texts[] = {
        {"dir", conf.dir}, {"qemu", conf.qemu}, {"library", conf.library},
    };
    for (int i = 0; i < 3; i++)
        if (!strcmp(word, texts[i].word))
            return snprintf(texts[i].to, sizeof conf.dir, "%s", value) < (int)sizeof conf.dir;
    uint64_t number = strtoull(value, NULL, 10);
    if (!strcmp(word, "slice")) conf.slice_insns = number;
    else if (!strcmp(word, "near")) conf.near_bytes = number;
    else if (!strcmp(word, "far")) conf.far_bytes = number;
    else if (!strcmp(word, "clock")) conf.clock = number;
    else if (!strcmp(word, "parent")) conf.parent = (uint32_t)number;
    else return false;
    return true;
}

static bool settings(int argc, char **argv)
{
    conf.slice_insns = 1 << 20;
    conf.near_bytes = 2 << 20;
    conf.far_bytes = 4 << 20;
    for (int i = 0; i < argc; i++) {
        char *equals = strchr(argv[i], '=');
        if (!equals)
            return false;
        *equals = 0;
        if (!take(argv[i], equals + 1))
            return false;
    }
    return conf.dir[0] && conf.slice_insns >= 1000 && conf.near_bytes >= 4096 && conf.far_bytes >= conf.near_bytes
        && conf.far_bytes <= 1ull << 30;
}

EXPORT int qemu_plugin_install(plugin_id id, const struct plugin_info *info, int argc, char **argv)
{
    if (info->system_emulation || strcmp(info->target_name, "x86_64")) {
        fprintf(stderr, "numalab recorder: expected qemu-x86_64, not %s\n", info->target_name);
        return -1;
    }
    if (!settings(argc, argv) || !file_attach()) {
        fprintf(stderr, "numalab recorder: expected dir=DIR with the file `control`, and known settings\n");
        return -1;
    }
    nobody = thread_nobody();
    for (unsigned v = 0; v < MAX_VCPUS; v++)
        threads[v] = nobody;
    file_begin();
    pthread_atfork(NULL, NULL, on_fork);
    qemu_plugin_register_vcpu_init_cb(id, on_vcpu_begin);
    qemu_plugin_register_vcpu_exit_cb(id, on_vcpu_end);
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_vcpu_syscall_cb(id, on_call_begin);
    qemu_plugin_register_vcpu_syscall_ret_cb(id, on_system_return);
    qemu_plugin_register_atexit_cb(id, on_end, NULL);
    return 0;
}
