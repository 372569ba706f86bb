/* Executed programs: QEMU would start them without itself, so the recorder starts QEMU with them. */
#define _GNU_SOURCE
#include "recorder.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MOST_WORDS = 1 << 16, MOST_SCRIPTS = 4, PLUGIN_TEXT = 16384 };

/* Copies memory of the program; false if it is not there. */
static bool guest_read(uint64_t address, void *to, size_t length)
{
    struct iovec mine = {to, length}, theirs = {(void *)(uintptr_t)(address + guest_base), length};
    return process_vm_readv(getpid(), &mine, 1, &theirs, 1, 0) == (ssize_t)length;
}

bool user_read(struct thread *t, uint64_t address, void *to, size_t length)
{
    (void)t;
    return guest_read(address, to, length);
}

static char *word_of(uint64_t address)
{
    return (char *)(uintptr_t)(address + guest_base);
}

/* Number of pointers up to the null pointer; -1 if some are not there. */
static int count_words(uint64_t list)
{
    uint64_t word;
    char first;
    for (int n = 0; n < MOST_WORDS; n++) {
        if (!guest_read(list + 8 * (uint64_t)n, &word, 8))
            return -1;
        if (!word)
            return n;
        if (!guest_read(word, &first, 1))
            return -1;
    }
    return -1;
}

enum form { FOREIGN, PROGRAM, SCRIPT };

/* What a file is. Of a script, its interpreter and that one's argument, if it has one, are in `line`. */
static enum form form_of(const char *path, char *line, size_t space, char **argument)
{
    int f = open(path, O_RDONLY | O_CLOEXEC);
    if (f < 0)
        return FOREIGN;
    ssize_t n = read(f, line, space - 1);
    close(f);
    if (n < 4)
        return FOREIGN;
    line[n] = 0;
    Elf64_Ehdr elf;
    if ((size_t)n >= sizeof elf && !memcmp(line, ELFMAG, SELFMAG)) {
        memcpy(&elf, line, sizeof elf);
        return elf.e_ident[EI_CLASS] == ELFCLASS64 && elf.e_machine == EM_X86_64 ? PROGRAM : FOREIGN;
    }
    if (line[0] != '#' || line[1] != '!')
        return FOREIGN;
    line[strcspn(line, "\n")] = 0;
    memmove(line, line + 2 + strspn(line + 2, " \t"), strlen(line) - 1 - strspn(line + 2, " \t"));
    char *blank = line + strcspn(line, " \t");
    *argument = NULL;
    if (*blank) {
        *blank = 0;
        *argument = blank + 1 + strspn(blank + 1, " \t");
    }
    return SCRIPT;
}

/* Replaces this process by QEMU with the program, as the system call would replace it by the program. Returns if the
   system call is to fail, or if the program is none for this QEMU. */
void exec_under_qemu(struct thread *t, uint64_t path, uint64_t arguments, uint64_t environment)
{
    char first;
    int words = arguments ? count_words(arguments) : 0, variables = environment ? count_words(environment) : 0;
    if (words < 0 || variables < 0 || !guest_read(path, &first, 1))
        return;
    char *file = word_of(path);
    if (!strcmp(file, "/proc/self/exe"))
        file = (char *)qemu_plugin_path_to_binary();
    if (!file || access(file, X_OK))
        return;
    static char lines[MOST_SCRIPTS][512];
    char *before[2 * MOST_SCRIPTS + 1];
    int scripts = 0, used = 2 * MOST_SCRIPTS;
    before[used] = file;
    enum form form;
    char *argument;
    while ((form = form_of(before[used], lines[scripts], sizeof lines[0], &argument)) == SCRIPT) {
        if (argument && *argument)
            before[--used] = argument;
        before[--used] = lines[scripts];
        if (++scripts == MOST_SCRIPTS)
            return;
    }
    if (form == FOREIGN) {
        __atomic_add_fetch(&control->foreign_execs, 1, __ATOMIC_RELAXED);
        return;
    }
    char **list = calloc((size_t)words + 2 * MOST_SCRIPTS + 10, sizeof *list);
    char **rest = calloc((size_t)variables + 1, sizeof *rest);
    char *plugin = malloc(PLUGIN_TEXT), *again = malloc(PLUGIN_TEXT);
    if (!list || !rest || !plugin || !again)
        return;
    unsigned long long slice = conf.slice_insns, near = conf.near_bytes, far = conf.far_bytes, stretch = conf.stretch;
    snprintf(plugin, PLUGIN_TEXT,
             "%s,library=%s,dir=%s,qemu=%s,slice=%llu,near=%llu,far=%llu,clock=%llu,parent=%d,stretch=%llu",
             conf.library, conf.library, conf.dir, conf.qemu, slice, near, far, (unsigned long long)CLOCK(t),
             (int)getpid(), stretch);
    const char *name = strrchr(conf.library, '/');
    snprintf(again, PLUGIN_TEXT, "%.*s/.%s,translates=on", (int)(name - conf.library), conf.library, name);
    int n = 0;
    list[n++] = conf.qemu;
    list[n++] = "-plugin";
    list[n++] = plugin;
    list[n++] = "-plugin";
    list[n++] = again;
    if (!scripts && words) {
        list[n++] = "-0";
        list[n++] = word_of(((uint64_t *)word_of(arguments))[0]);
    }
    for (int i = used; i <= 2 * MOST_SCRIPTS; i++)
        list[n++] = before[i];
    for (int i = 1; i < words; i++)
        list[n++] = word_of(((uint64_t *)word_of(arguments))[i]);
    for (int i = 0; i < variables; i++)
        rest[i] = word_of(((uint64_t *)word_of(environment))[i]);
    slice_tell(t);
    t->image->head->ended = EXECUTED;
    execve(conf.qemu, list, rest);
    t->image->head->ended = RUNNING;
    free(list);
    free(rest);
    free(plugin);
    free(again);
}
