/* The guest's kernel as the recorder reads it; kernel.h says how. */
#include "kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t layout[WORDS];
static const char *const words[WORDS] = {
    "do_syscall_64", "do_exit", "linux_banner", "page_offset_base", "__per_cpu_offset", "current_task", "top_of_stack",
    "task.pid", "task.tgid", "task.flags", "task.mm", "task.real_parent", "task.signal", "task.files",
    "task.clear_child_tid", "signal.group_exit_code", "signal.live", "mm.pgd", "mm.exe_file", "mm.start_code",
    "mm.end_code", "mm.start_data", "mm.start_brk", "file.dentry", "dentry.parent", "dentry.name", "files.fdt",
    "fdt.fd", "fdt.max_fds", "file.inode", "file.private", "inode.mode", "inode.number", "socket.sock", "sock.family",
    "sock.port", "sock.peer_port", "unix.peer",
};

/* Virtual begin of the kernel's text and data; with `nokaslr` the same byte is there at physical address 0. */
static const uint64_t KERNEL = 0xffffffff80000000, KERNEL_BYTES = 1ull << 30;
/* Begin of the direct mapping of all memory where tables have five levels. */
static const uint64_t FIVE_LEVELS = 0xff11000000000000;
static const uint64_t GIB = 1ull << 30;
enum { PAGE = 4096, REGISTERS_BYTES = 168, MOST_NAMES = 32, LARGE = 1 << 7, PRESENT = 1 };

static const char *base;
static uint64_t direct;

/* Where an instruction of the kernel's text lies in QEMU: where the guest's memory begins. */
void kernel_base(const void *host, uint64_t address)
{
    if (!base && host && address >= KERNEL && address - KERNEL < KERNEL_BYTES)
        base = (const char *)host - (address - KERNEL);
}

/* Bytes at a physical address, which lie in one page; NULL if there is no memory. QEMU's machine `pc` has a gap between
   3 and 4 GiB if the guest has 3.5 GiB or more. */
static const char *at(uint64_t physical, size_t length)
{
    uint64_t low = conf.memory_bytes >= 7 * GIB / 2 ? 3 * GIB : conf.memory_bytes;
    uint64_t offset = physical < low ? physical : physical >= 4 * GIB ? physical - 4 * GIB + low : conf.memory_bytes;
    if (!base || offset >= conf.memory_bytes || conf.memory_bytes - offset < length)
        return NULL;
    return base + offset;
}

/* Bytes at an address of the kernel that is in its text and data, or in the direct mapping. */
static const char *of_kernel(uint64_t address, size_t length)
{
    if (address >= KERNEL && address - KERNEL < KERNEL_BYTES)
        return at(address - KERNEL, length);
    return direct && address >= direct ? at(address - direct, length) : NULL;
}

uint64_t kernel_number(uint64_t address, size_t bytes)
{
    const char *here = of_kernel(address, bytes);
    uint64_t value = 0;
    if (here)
        memcpy(&value, here, bytes);
    return value;
}

const char *kernel_describe(uint64_t offset)
{
    static char text[PAGE + 1], why[200];
    size_t length = PAGE - offset % PAGE;
    if (!base || offset >= conf.memory_bytes || conf.memory_bytes - offset < length)
        return "the guest's memory is not found in QEMU";
    memcpy(text, base + offset, length);
    bool has[WORDS] = {false};
    for (char *rest = NULL, *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *space = strchr(line, ' ');
        if (!space)
            continue;
        *space = 0;
        for (int w = 0; w < WORDS; w++)
            if (!strcmp(line, words[w])) {
                layout[w] = strtoull(space + 1, NULL, 16);
                has[w] = true;
            }
    }
    for (int w = 0; w < WORDS; w++)
        if (!has[w]) {
            snprintf(why, sizeof why, "the guest does not say where `%s` is", words[w]);
            return why;
        }
    const char *banner = of_kernel(layout[BANNER], 14);
    if (!banner || memcmp(banner, "Linux version ", 14))
        return "the kernel's text is not where it was looked for; expected a kernel that obeys `nokaslr`";
    direct = kernel_number(layout[PAGE_OFFSET_BASE], 8);
    if (direct >> 56 != 0xff)
        return "the kernel's direct mapping is not found";
    return NULL;
}

static uint64_t per_cpu(unsigned cpu, enum word w)
{
    return kernel_number(kernel_number(layout[PER_CPU_OFFSET] + 8 * (uint64_t)cpu, 8) + layout[w], 8);
}

/* The task that runs on a CPU. */
uint64_t kernel_current(unsigned cpu)
{
    return per_cpu(cpu, PER_CPU_CURRENT);
}

/* Walks the page tables of an address space; NULL if nothing is there. The bytes must lie in one page. */
static const char *walk(uint64_t mm, uint64_t address, size_t length)
{
    static const uint64_t FRAME = 0x000ffffffffff000;
    uint64_t table = kernel_number(mm + layout[MM_PGD], 8) - direct;
    for (int level = direct == FIVE_LEVELS ? 4 : 3; ; level--) {
        int shift = 12 + 9 * level;
        const char *slot = at((table & FRAME) + 8 * (address >> shift & 511), 8);
        uint64_t entry = 0;
        if (slot)
            memcpy(&entry, slot, 8);
        if (!(entry & PRESENT))
            return NULL;
        uint64_t offset = address & ((1ull << shift) - 1);
        if (!level || (level < 3 && entry & LARGE))
            return at((entry & FRAME & ~((1ull << shift) - 1)) + offset, length);
        table = entry;
    }
}

/* Copies memory of a program; false where some of it is not there. */
bool kernel_user_read(uint64_t mm, uint64_t address, void *to, size_t length)
{
    for (char *out = to; length; ) {
        size_t part = PAGE - address % PAGE < length ? PAGE - address % PAGE : length;
        const char *here = walk(mm, address, part);
        if (!here)
            return false;
        memcpy(out, here, part);
        out += part;
        address += part;
        length -= part;
    }
    return true;
}

/* The registers that the kernel saved at the top of the current task's stack when it was entered (struct pt_regs). */
bool kernel_registers(unsigned cpu, uint64_t mm, struct registers *to)
{
    uint64_t saved[REGISTERS_BYTES / 8];
    if (!kernel_user_read(mm, per_cpu(cpu, PER_CPU_STACK) - REGISTERS_BYTES, saved, sizeof saved))
        return false;
    enum { R10 = 7, R9 = 8, R8 = 9, AX = 10, DX = 12, SI = 13, DI = 14, NUMBER = 15, SP = 19 };
    *to = (struct registers){(int64_t)saved[NUMBER], (int64_t)saved[AX],
                             {saved[DI], saved[SI], saved[DX], saved[R10], saved[R8], saved[R9]},
                             saved[SP]};
    return true;
}

/* The path of a file in its file system. */
bool kernel_path(uint64_t file, char *path, size_t space)
{
    char names[1024];
    size_t begin = sizeof names - 1;
    names[begin] = 0;
    uint64_t entry = file ? kernel_number(file + layout[FILE_DENTRY], 8) : 0;
    for (int n = 0; entry && n < MOST_NAMES; n++) {
        uint64_t parent = kernel_number(entry + layout[DENTRY_PARENT], 8);
        if (parent == entry)
            break;
        uint64_t name = kernel_number(entry + layout[DENTRY_NAME], 8);
        size_t length = 0;
        const char *letter;
        while (length < 255 && (letter = of_kernel(name + length, 1)) && *letter)
            length++;
        const char *text = of_kernel(name, length);
        if (!length || !text || length + 1 > begin)
            break;
        begin -= length;
        memcpy(names + begin, text, length);
        names[--begin] = '/';
        entry = parent;
    }
    return begin < sizeof names - 1 && snprintf(path, space, "%s", names + begin) > 0;
}

/* An open file of a task (struct file). */
uint64_t kernel_open_file(uint64_t task, int descriptor)
{
    uint64_t table = kernel_number(kernel_number(task + layout[TASK_FILES], 8) + layout[FILES_TABLE], 8);
    if (!table || descriptor < 0 || (uint32_t)descriptor >= kernel_number(table + layout[TABLE_SIZE], 4))
        return 0;
    return kernel_number(kernel_number(table + layout[TABLE_FILES], 8) + 8 * (uint64_t)descriptor, 8);
}
