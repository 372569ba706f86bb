/* The part of QEMU's plugin interface, version 1 (QEMU 6.2 to 8.1), that the recorder uses. Names, types and signatures
   are declared here, so that it builds without a QEMU header. */
#ifndef NUMALAB_API_H
#define NUMALAB_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t plugin_id;
typedef uint32_t mem_info;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_hwaddr;

struct plugin_info {
    const char *target_name;
    struct { int min, cur; } version;
    bool system_emulation;
    struct { int smp_vcpus, max_vcpus; } system;
};

enum { NO_REGISTERS = 0 };
enum { READ_AND_WRITE = 3 };

typedef void on_vcpu(plugin_id id, unsigned vcpu);
typedef void on_translate(plugin_id id, struct qemu_plugin_tb *block);
typedef void on_exec(unsigned vcpu, void *data);
typedef void on_access(unsigned vcpu, mem_info info, uint64_t address, void *data);
typedef void on_reset(plugin_id id);
typedef void on_exit_of_qemu(plugin_id id, void *data);
typedef void on_call(plugin_id id, unsigned vcpu, int64_t number, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4,
                     uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8);
typedef void on_return(plugin_id id, unsigned vcpu, int64_t number, int64_t result);

void qemu_plugin_register_vcpu_init_cb(plugin_id id, on_vcpu *f);
void qemu_plugin_register_vcpu_exit_cb(plugin_id id, on_vcpu *f);
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, on_translate *f);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *block, on_exec *f, int registers, void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, on_access *f, int registers, int kind, void *data);
void qemu_plugin_register_vcpu_syscall_cb(plugin_id id, on_call *f);
void qemu_plugin_register_vcpu_syscall_ret_cb(plugin_id id, on_return *f);
void qemu_plugin_register_atexit_cb(plugin_id id, on_exit_of_qemu *f, void *data);
void qemu_plugin_reset(plugin_id id, on_reset *f);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *insn);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
bool qemu_plugin_mem_is_store(mem_info info);
unsigned qemu_plugin_mem_size_shift(mem_info info);
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(mem_info info, uint64_t address);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *where);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *where);
const char *qemu_plugin_path_to_binary(void);
uint64_t qemu_plugin_start_code(void);
uint64_t qemu_plugin_end_code(void);

#endif
