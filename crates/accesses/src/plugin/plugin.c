/* numalab's recorder, a plugin for QEMU: its settings, and whether it is in QEMU's user mode (user.c) or in a guest
   (guest.c). recorder.h says how it works. */
#include "recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

EXPORT int qemu_plugin_version = 1;
struct config conf;
const struct mode *mode;

static bool take(const char *word, const char *value)
{
    const struct { const char *word; char *to; } texts[] = {
        {"dir", conf.dir}, {"qemu", conf.qemu}, {"library", conf.library},
    };
    for (int i = 0; i < 3; i++)
        if (!strcmp(word, texts[i].word))
            return snprintf(texts[i].to, sizeof conf.dir, "%s", value) < (int)sizeof conf.dir;
    if (!strcmp(word, "log"))
        return true;
    uint64_t number = strtoull(value, NULL, 10);
    if (!strcmp(word, "slice")) conf.slice_insns = number;
    else if (!strcmp(word, "near")) conf.near_bytes = number;
    else if (!strcmp(word, "far")) conf.far_bytes = number;
    else if (!strcmp(word, "clock")) conf.clock = number;
    else if (!strcmp(word, "parent")) conf.parent = (uint32_t)number;
    else if (!strcmp(word, "memory")) conf.memory_bytes = number;
    else if (!strcmp(word, "stretch")) conf.stretch = number;
    else return false;
    return true;
}

/* Settings of a file, a word and its value in each line. */
static bool take_file(const char *path)
{
    FILE *f = fopen(path, "r");
    if (!f)
        return false;
    char line[4096];
    bool good = true;
    while (good && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        char *space = strchr(line, ' ');
        good = space != NULL;
        if (good) {
            *space = 0;
            good = take(line, space + 1);
        }
    }
    fclose(f);
    return good;
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
        if (!strcmp(argv[i], "conf") ? !take_file(equals + 1) : !take(argv[i], equals + 1))
            return false;
    }
    return conf.dir[0] && conf.slice_insns >= 1000 && conf.near_bytes >= 4096 && conf.far_bytes >= conf.near_bytes
        && conf.far_bytes <= 1ull << 30;
}

EXPORT int qemu_plugin_install(plugin_id id, const struct plugin_info *info, int argc, char **argv)
{
    if (strcmp(info->target_name, "x86_64")) {
        fprintf(stderr, "numalab recorder: expected QEMU for x86_64, not %s\n", info->target_name);
        return -1;
    }
    /* The second time it is loaded by another path, and is the same library all the same. */
    if (argc == 1 && !strcmp(argv[0], "translates=on")) {
        if (control)
            sampling_install(id);
        return control ? 0 : -1;
    }
    if (!settings(argc, argv) || !file_attach()) {
        fprintf(stderr, "numalab recorder: expected dir=DIR with the file `control`, and known settings\n");
        return -1;
    }
    mode = info->system_emulation ? &guest_mode : &user_mode;
    bool good = info->system_emulation ? guest_install(id, (unsigned)info->system.max_vcpus) : user_install(id);
    return good ? 0 : -1;
}
