/* Every access of the recorded program: which of them are counted, and for which thread. */
#include "recorder.h"

struct thread *threads[MAX_VCPUS];
bool (*access_of_nobody)(unsigned vcpu, mem_info info, uint64_t address);

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
    if (__builtin_expect(t->is_nobody, 0)) {
        if (!access_of_nobody || !access_of_nobody(vcpu, info, address))
            return;
        t = threads[vcpu & (MAX_VCPUS - 1)];
    }
    uint64_t line = address >> LINE_SHIFT;
    bool writes = qemu_plugin_mem_is_store(info);
    struct shared_line *shared = writes ? shared_find(t->image, line) : NULL;
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
void access_translate(struct qemu_plugin_tb *block)
{
    size_t n = qemu_plugin_tb_n_insns(block);
    if (!n)
        return;
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
