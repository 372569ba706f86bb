/* What the recorder reads of a guest's kernel: who runs on a CPU, what that is, and the memory of programs.

   Problem: the plugin interface tells of accesses by virtual CPU. It knows no processes, and reads no registers.
   Approach: the worker in the guest tells where the kernel keeps what is needed (the symbols of /proc/kallsyms, the
   fields that BTF describes), as text in its page of marks. With it the plugin reads the guest's memory itself: it is
   one block in QEMU, whose begin follows from where an instruction of the kernel lies.
   Invariant: every read is checked against the size of the guest's memory. What is not there reads as 0. */
#ifndef NUMALAB_KERNEL_H
#define NUMALAB_KERNEL_H

#include "recorder.h"

#pragma GCC visibility push(hidden)

/* The words of the text; kernel.c has their names in the same order. */
enum word {
    DO_SYSCALL, DO_EXIT, BANNER, PAGE_OFFSET_BASE, PER_CPU_OFFSET, PER_CPU_CURRENT, PER_CPU_STACK,
    TASK_PID, TASK_TGID, TASK_FLAGS, TASK_MM, TASK_PARENT, TASK_SIGNAL, TASK_FILES, TASK_CLEAR_TID, SIGNAL_EXIT_CODE,
    SIGNAL_LIVE, MM_PGD, MM_EXE_FILE, MM_START_CODE, MM_END_CODE, MM_START_DATA, MM_START_BRK, FILE_DENTRY,
    DENTRY_PARENT, DENTRY_NAME, FILES_TABLE, TABLE_FILES, TABLE_SIZE, FILE_INODE, FILE_PRIVATE,
    INODE_MODE, INODE_NUMBER, SOCKET_SOCK, SOCK_FAMILY, SOCK_PORT, SOCK_PEER_PORT, UNIX_PEER, WORDS
};
extern uint64_t layout[WORDS];

/* Arguments and result of a system call, from the registers that the kernel has saved. */
struct registers {
    int64_t number, result;
    uint64_t arguments[6];
    uint64_t stack;                 /* of the program */
};

void kernel_base(const void *host, uint64_t address);
/* Reads the text at an offset in the guest's memory, as version 1 of the interface tells of places in a first node.
   Unlike physical addresses it has no gap. Returns what is wrong, or NULL. */
const char *kernel_describe(uint64_t offset);
uint64_t kernel_current(unsigned cpu);
/* A number of 2, 4 or 8 bytes. */
uint64_t kernel_number(uint64_t address, size_t bytes);
bool kernel_registers(unsigned cpu, uint64_t mm, struct registers *to);
bool kernel_user_read(uint64_t mm, uint64_t address, void *to, size_t length);
bool kernel_path(uint64_t file, char *path, size_t space);
uint64_t kernel_open_file(uint64_t task, int descriptor);

#pragma GCC visibility pop
#endif
