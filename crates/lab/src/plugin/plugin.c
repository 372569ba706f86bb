/* numalab's QEMU plugin: observes memory accesses, models caches and counts local and remote misses per CPU. In the
   timing mode `modelled` it also charges the misses in virtual time (charge.c). */
#include "numalab.h"

#include <stdio.h>
#include <string.h>

EXPORT int qemu_plugin_version = 1;
struct cpu cpus[MAX_CPUS];

/* Node of an address; -1 if there is none. With one memory object per node, version 1 of the interface reports twice
   the node's start plus the offset in the node. Newer versions report guest-physical addresses and are refused. */
static int node_of_address(uint64_t address)
{
    uint64_t start = 0;
    for (int n = 0; n < conf.nodes; n++) {
        if (conf.node_bytes[n] && address >= 2 * start && address < 2 * start + conf.node_bytes[n])
            return n;
        start += conf.node_bytes[n];
    }
    return -1;
}

/* Frame and node of a page. They are cached until the kernel runs, because only the kernel can change the mapping. */
static struct translation *translate(struct cpu *c, mem_info info, uint64_t address)
{
    uint64_t page = address >> PAGE_SHIFT;
    struct translation *t = &c->translation[page % TRANSLATIONS];
    if (t->page == page && t->age == c->age)
        return t;
    struct qemu_plugin_hwaddr *where = qemu_plugin_get_hwaddr(info, address);
    if (!where || qemu_plugin_hwaddr_is_io(where))
        return NULL;
    uint64_t physical = qemu_plugin_hwaddr_phys_addr(where);
    int node = node_of_address(physical);
    if (node < 0)
        return NULL;
    *t = (struct translation){page, physical >> PAGE_SHIFT, c->age, node};
    return t;
}

static void on_memory(unsigned vcpu, mem_info info, uint64_t address, void *data)
{
    (void)data;
    /* Only accesses of programs count; kernel addresses have the top bits set. */
    if (address >> 47 || vcpu >= (unsigned)conf.cpus)
        return;
    if (address >> PAGE_SHIFT == conf.mark_page) {
        report_mark((unsigned)(address & 0xfff) / 8);
        return;
    }
    struct cpu *c = &cpus[vcpu];
    c->accesses++;
    uint64_t line = address >> LINE_SHIFT;
    struct filter *near = &c->filter[line % FILTER];
    if (near->line == line && near->age == c->age)
        return;
    *near = (struct filter){line, c->age};
    struct translation *t = translate(c, info, address);
    if (!t)
        return;
    uint64_t in_page = line & ((1 << (PAGE_SHIFT - LINE_SHIFT)) - 1);
    enum level level = cache_access(vcpu, t->frame << (PAGE_SHIFT - LINE_SHIFT) | in_page);
    if (level == HIT_NEAR)
        return;
    if (level == HIT_LLC) {
        c->llc_hits++;
        if (conf.charge)
            charge_memory(c, conf.llc_ps);
        return;
    }
    int me = conf.node_of[vcpu];
    if (me == t->node)
        c->local++;
    else
        c->remote++;
    charge_traffic(t->node);
    if (conf.charge)
        charge_memory(c, conf.latency_ps[me][t->node] + charge_wait_ps(t->node));
}

/* `env` is in %rbp when generated code calls a callback. It becomes the third argument. */
#if defined(__x86_64__)
__attribute__((used)) static void on_block_env(unsigned vcpu, void *data, char *env)
#else
static void on_block(unsigned vcpu, void *data);
static void on_block_env(unsigned vcpu, void *data, char *env);
static void on_block(unsigned vcpu, void *data) { on_block_env(vcpu, data, NULL); }
static void on_block_env(unsigned vcpu, void *data, char *env)
#endif
{
    if (vcpu >= (unsigned)conf.cpus)
        return;
    struct cpu *c = &cpus[vcpu];
    bool user = (uintptr_t)data & BLOCK_USER;
    if (!user && c->user)
        c->age++;
    c->user = user;
    if (conf.charge)
        charge_block(vcpu, (unsigned)(uintptr_t)data, env);
}

#if defined(__x86_64__)
void on_block(unsigned vcpu, void *data);
__asm__(".text\n.globl on_block\n.hidden on_block\n.type on_block, @function\n"
        "on_block:\n\tmovq %rbp, %rdx\n\tjmp on_block_env\n");
#endif

static bool halts(const struct qemu_plugin_insn *insn)
{
    const unsigned char *bytes = qemu_plugin_insn_data(insn);
    return qemu_plugin_insn_size(insn) == 1 && bytes[0] == 0xf4;
}

static void on_translation(plugin_id id, struct qemu_plugin_tb *block)
{
    (void)id;
    size_t n = qemu_plugin_tb_n_insns(block);
    if (!n)
        return;
    bool user = !(qemu_plugin_tb_vaddr(block) >> 47);
    uintptr_t data = n & 0xffff;
    if (user)
        data |= BLOCK_USER;
    else if (halts(qemu_plugin_tb_get_insn(block, n - 1)))
        data |= BLOCK_HALTS;
    qemu_plugin_register_vcpu_tb_exec_cb(block, on_block, NO_REGISTERS, (void *)data);
    if (!user)
        return;
    for (size_t i = 0; i < n; i++)
        qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(block, i), on_memory, NO_REGISTERS, READ_AND_WRITE, NULL);
}

static void on_end(plugin_id id, void *data)
{
    (void)id;
    (void)data;
    report_end();
}

EXPORT int qemu_plugin_install(plugin_id id, const struct plugin_info *info, int argc, char **argv)
{
    if (argc != 1 || strncmp(argv[0], "conf=", 5) || config_read(argv[0] + 5)) {
        fprintf(stderr, "numalab plugin: conf=FILE expected\n");
        return -1;
    }
    if (!info->system_emulation || info->system.max_vcpus > conf.cpus) {
        fprintf(stderr, "numalab plugin: configured for %d CPUs\n", conf.cpus);
        return -1;
    }
    cache_init();
    charge_init();
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_atexit_cb(id, on_end, NULL);
    return 0;
}
