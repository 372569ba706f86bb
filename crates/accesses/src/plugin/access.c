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

static inline void access(unsigned vcpu, const struct thread *t, mem_info info, uint64_t address)
{
    uint64_t line = address >> LINE_SHIFT, front = t->front[line & (FRONT - 1)];
    if (__builtin_expect(front >> FRONT_FLAGS == line && (!(info & STORE_HINT) || (front & WRITTEN)), 1))
        return;
    on_change(vcpu, info, address);
}

static void on_memory(unsigned vcpu, mem_info info, uint64_t address, void *data)
{
    (void)data;
    access(vcpu, threads[vcpu & (MAX_VCPUS - 1)], info, address);
}

/* An access that comes whenever its block runs. `data` is the number of the block's instructions. */
static void on_counted_memory(unsigned vcpu, mem_info info, uint64_t address, void *data)
{
    struct thread *t = threads[vcpu & (MAX_VCPUS - 1)];
    t->insns += (uintptr_t)data;
    access(vcpu, t, info, address);
}

static void on_block(unsigned vcpu, void *data)
{
    threads[vcpu & (MAX_VCPUS - 1)]->insns += (uintptr_t)data;
}

/* Reads of a block whose lines other accesses of the block visit, so that nothing is lost without them.

   Problem: most of what a recording costs are calls for accesses, and most accesses of a block go to few objects.
   Approach: accesses with the same registers, unchanged between them, differ by their offsets alone. Of three of them
   within a line's length the one in the middle visits a line of the others. Only reads are left out: writes tell which
   bytes a thread writes.
   Bounds: the first MOST_INSNS instructions of a block. Only the order within a block changes. */
enum { MOST_INSNS = 128, LINE = 1 << LINE_SHIFT };
struct place { uint64_t registers; int32_t offset; uint8_t insn; bool writes; };

static bool is_before(const struct place *a, const struct place *b)
{
    if (a->registers != b->registers)
        return a->registers < b->registers;
    return a->offset != b->offset ? a->offset < b->offset : a->writes > b->writes;
}

/* Marks those reads in `left_out`. Places are sorted; each run of equal registers is gone through once. */
static void leave_out(struct place *p, size_t n, bool *left_out)
{
    for (size_t i = 1; i < n; i++)
        for (size_t j = i; j > 0 && is_before(&p[j], &p[j - 1]); j--) {
            struct place swapped = p[j];
            p[j] = p[j - 1], p[j - 1] = swapped;
        }
    for (size_t kept = 0; kept < n; ) {
        /* The farthest one within a line's length covers all between. */
        size_t far = kept;
        while (far + 1 < n && p[far + 1].registers == p[kept].registers && p[far + 1].offset - p[kept].offset <= LINE)
            far++;
        for (size_t i = kept + 1; i <= far; i++)
            left_out[p[i].insn] = !p[i].writes && (i < far || p[i].offset == p[kept].offset);
        kept = far > kept ? far : kept + 1;
    }
}

static void find_left_out(struct qemu_plugin_tb *block, size_t n, bool *left_out)
{
    struct place places[MOST_INSNS];
    uint8_t changed[16] = {0};
    size_t found = 0;
    for (size_t i = 0; i < n && i < MOST_INSNS; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(block, i);
        const uint8_t *bytes = qemu_plugin_insn_data(insn);
        size_t length = qemu_plugin_insn_size(insn);
        struct operand o = decode_operand(bytes, length);
        if (o.is_memory && !decode_is_stack(bytes, length)) {
            uint64_t base = o.base, index = o.index < 16 ? o.index : 16;
            uint64_t versions = (uint64_t)changed[base] << 8 | (index < 16 ? changed[index] : 0);
            uint64_t registers = versions << 32 | base << 16 | index << 8 | o.scale;
            places[found++] = (struct place){registers, o.offset, (uint8_t)i, o.writes};
        }
        for (int r = 0; r < 16; r++)
            changed[r] += o.changes >> r & 1;
    }
    leave_out(places, found, left_out);
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
    bool left_out[MOST_INSNS] = {0};
    find_left_out(block, n, left_out);
    for (size_t i = 0; i < n; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(block, i);
        const uint8_t *bytes = qemu_plugin_insn_data(insn);
        size_t length = qemu_plugin_insn_size(insn);
        if (decode_is_stack(bytes, length) || (i < MOST_INSNS && left_out[i]))
            continue;
        bool counts = !is_counted && decode_is_single(bytes, length);
        is_counted |= counts;
        on_access *f = counts ? on_counted_memory : on_memory;
        qemu_plugin_register_vcpu_mem_cb(insn, f, NO_REGISTERS, READ_AND_WRITE, (void *)n);
    }
    if (!is_counted)
        qemu_plugin_register_vcpu_tb_exec_cb(block, on_block, NO_REGISTERS, (void *)n);
}
