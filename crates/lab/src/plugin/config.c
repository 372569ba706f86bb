/* The configuration file: one word and its numbers per line. */
#include "numalab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct config conf;

static int numbers(char *text, int64_t *out, int most)
{
    int n = 0;
    for (char *w = strtok(text, " \t\n"); w && n < most; w = strtok(NULL, " \t\n"))
        out[n++] = strtoll(w, NULL, 0);
    return n;
}

static void ints(int *to, const int64_t *from, int n)
{
    for (int i = 0; i < n; i++)
        to[i] = (int)from[i];
}

/* Reads one line; false if its word is unknown. */
static bool take(const char *word, char *rest)
{
    int64_t v[MAX_CPUS];
    if (!strcmp(word, "log")) {
        rest[strcspn(rest, "\n")] = 0;
        snprintf(conf.log, sizeof conf.log, "%s", rest);
        return true;
    }
    int n = numbers(rest, v, MAX_CPUS);
    if (n < 1)
        return false;
    if (!strcmp(word, "cpus")) conf.cpus = (int)v[0];
    else if (!strcmp(word, "nodes")) conf.nodes = (int)v[0];
    else if (!strcmp(word, "charge")) conf.charge = (int)v[0];
    else if (!strcmp(word, "insn_ps")) conf.insn_ps = v[0];
    else if (!strcmp(word, "smt_permille")) conf.smt_permille = v[0];
    else if (!strcmp(word, "llc_ps")) conf.llc_ps = v[0];
    else if (!strcmp(word, "l2_bytes")) conf.l2_bytes = (uint64_t)v[0];
    else if (!strcmp(word, "llc_bytes")) conf.llc_bytes = (uint64_t)v[0];
    else if (!strcmp(word, "mark_page")) conf.mark_page = (uint64_t)v[0];
    else if (!strcmp(word, "node_of")) ints(conf.node_of, v, n);
    else if (!strcmp(word, "core_of")) ints(conf.core_of, v, n);
    else if (!strcmp(word, "llc_of")) ints(conf.llc_of, v, n);
    else if (!strcmp(word, "node_bytes")) for (int i = 0; i < n && i < MAX_NODES; i++) conf.node_bytes[i] = (uint64_t)v[i];
    else if (!strcmp(word, "line_ps")) for (int i = 0; i < n && i < MAX_NODES; i++) conf.line_ps[i] = v[i];
    else if (!strcmp(word, "latency_ps") && v[0] >= 0 && v[0] < MAX_NODES)
        for (int j = 1; j < n && j <= MAX_NODES; j++) conf.latency_ps[v[0]][j - 1] = v[j];
    else return false;
    return true;
}

int config_read(const char *path)
{
    FILE *f = fopen(path, "r");
    if (!f)
        return -1;
    char line[16384];
    while (fgets(line, sizeof line, f)) {
        char *space = strchr(line, ' ');
        if (!space || (*space = 0, !take(line, space + 1))) {
            fprintf(stderr, "numalab plugin: %s: bad line `%s`\n", path, line);
            fclose(f);
            return -1;
        }
    }
    fclose(f);
    bool good = conf.cpus > 0 && conf.cpus <= MAX_CPUS && conf.nodes > 0 && conf.nodes <= MAX_NODES && conf.insn_ps > 0;
    for (int c = 0; good && c < conf.cpus; c++)
        good = conf.node_of[c] >= 0 && conf.node_of[c] < conf.nodes && conf.core_of[c] >= 0 && conf.core_of[c] < conf.cpus
            && conf.llc_of[c] >= 0 && conf.llc_of[c] < conf.cpus;
    return good ? 0 : -1;
}
