/* Loaded into recorded programs (LD_PRELOAD): notes who asked for large blocks of memory, in a file of text. It changes
   nothing else. Programs that are linked statically, or have an allocator of their own, are not seen. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LEAST_BYTES = 1 << 20, FRAMES = 12, MOST_EVENTS = 4096, MOST_FILE = 4 << 20, LINE = 4096 };

static const char *file;
static char program[2048];
static void *program_base;
static unsigned long program_bias;
static int events;
static __thread int busy;

static void *(*real_malloc)(size_t);
static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static int (*real_posix_memalign)(void **, size_t, size_t);
static void *(*real_aligned_alloc)(size_t, size_t);
static void *(*real_mmap)(void *, size_t, int, int, int, off_t);

#define FIND(name)                                                                                                     \
    if (!real_##name)                                                                                                  \
    *(void **)&real_##name = dlsym(RTLD_NEXT, #name)

/* Adds a line to the file, if it has room. */
static void say(const char *line, size_t length)
{
    int f = open(file, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (f < 0)
        return;
    if (lseek(f, 0, SEEK_END) < MOST_FILE && write(f, line, length) < 0)
        events = MOST_EVENTS;
    close(f);
}

static void note(void *block, size_t bytes)
{
    if (!file || bytes < LEAST_BYTES || !block || block == MAP_FAILED || busy
        || __atomic_fetch_add(&events, 1, __ATOMIC_RELAXED) >= MOST_EVENTS)
        return;
    busy = 1;
    void *frames[FRAMES];
    char line[LINE];
    int n = backtrace(frames, FRAMES);
    int used = snprintf(line, LINE, "block\t%d\t%lx\t%zu", (int)getpid(), (unsigned long)block, bytes);
    /* The first two frames are this file's. The first call of all loads a library, which asks for memory itself. */
    for (int i = 2; i < n && used < LINE - 1; i++) {
        Dl_info info;
        if (!dladdr(frames[i], &info) || !info.dli_fname)
            continue;
        bool is_program = info.dli_fbase == program_base;
        unsigned long begin = is_program ? program_bias : (unsigned long)info.dli_fbase;
        int more = snprintf(line + used, LINE - used, "\t%lx %s", (unsigned long)frames[i] - begin,
                            is_program ? program : info.dli_fname);
        if (used + more >= LINE - 1)
            break;
        used += more;
    }
    line[used++] = '\n';
    say(line, (size_t)used);
    busy = 0;
}

/* The program itself is the first of all objects. */
static int note_program(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    char line[LINE];
    Dl_info entry;
    if (dladdr((void *)getauxval(AT_ENTRY), &entry))
        program_base = entry.dli_fbase;
    program_bias = info->dlpi_addr;
    int used = snprintf(line, LINE, "program\t%d\t%lx\t%s\n", (int)getpid(), program_bias, program);
    say(line, (size_t)used);
    return 1;
}

/* QEMU itself inherits the environment when a program executes another one. It is not what is recorded. */
static bool is_qemu(void)
{
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    const char *qemu = getenv("NUMALAB_SITES_QEMU");
    return n <= 0 || !qemu || !strcmp(program, qemu);
}

__attribute__((constructor)) static void begin(void)
{
    FIND(malloc);
    FIND(calloc);
    FIND(realloc);
    FIND(posix_memalign);
    FIND(aligned_alloc);
    FIND(mmap);
    if (is_qemu())
        return;
    file = getenv("NUMALAB_SITES");
    if (file)
        dl_iterate_phdr(note_program, NULL);
}

#pragma GCC visibility push(default)

void *malloc(size_t bytes)
{
    FIND(malloc);
    void *block = real_malloc(bytes);
    note(block, bytes);
    return block;
}

void *calloc(size_t count, size_t bytes)
{
    /* dlsym itself may ask for memory, and can do without. */
    static __thread int finding;
    if (finding)
        return NULL;
    finding = 1;
    FIND(calloc);
    finding = 0;
    void *block = real_calloc(count, bytes);
    note(block, count * bytes);
    return block;
}

void *realloc(void *old, size_t bytes)
{
    FIND(realloc);
    void *block = real_realloc(old, bytes);
    note(block, bytes);
    return block;
}

int posix_memalign(void **block, size_t alignment, size_t bytes)
{
    FIND(posix_memalign);
    int error = real_posix_memalign(block, alignment, bytes);
    if (!error)
        note(*block, bytes);
    return error;
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    FIND(aligned_alloc);
    void *block = real_aligned_alloc(alignment, bytes);
    note(block, bytes);
    return block;
}

void *mmap(void *address, size_t bytes, int protection, int flags, int descriptor, off_t offset)
{
    FIND(mmap);
    void *block = real_mmap(address, bytes, protection, flags, descriptor, offset);
    if (flags & MAP_ANONYMOUS && protection & PROT_WRITE)
        note(block, bytes);
    return block;
}

#pragma GCC visibility pop
