/* The log: all counters at every mark of the worker, written when QEMU ends. */
#include "numalab.h"

#include <stdio.h>
#include <stdlib.h>

struct row { unsigned kind; int64_t clock_ns; uint64_t *counts; };
enum { BEGIN, SAMPLE, END };
enum { MAX_ROWS = 100000 };
static struct row *rows;
static int count, space;

/* Stores all counters. Samples beyond MAX_ROWS are dropped, and the end of the run replaces the last row. */
void report_mark(unsigned kind)
{
    if (count >= MAX_ROWS) {
        if (kind != END)
            return;
        free(rows[--count].counts);
    }
    if (count == space) {
        int more = space ? space * 2 : 64;
        struct row *grown = realloc(rows, (size_t)more * sizeof *rows);
        if (!grown)
            return;
        rows = grown;
        space = more;
    }
    uint64_t *counts = malloc((size_t)conf.cpus * 4 * sizeof *counts);
    if (!counts)
        return;
    for (int c = 0; c < conf.cpus; c++) {
        counts[4 * c] = cpus[c].accesses;
        counts[4 * c + 1] = cpus[c].llc_hits;
        counts[4 * c + 2] = cpus[c].local;
        counts[4 * c + 3] = cpus[c].remote;
    }
    rows[count++] = (struct row){kind, charge_clock_ns(), counts};
}

void report_end(void)
{
    FILE *f = fopen(conf.log, "w");
    if (!f)
        return;
    fprintf(f, "charge %s\n", charge_state());
    for (int r = 0; r < count; r++) {
        fprintf(f, "mark %u %lld", rows[r].kind, (long long)rows[r].clock_ns);
        for (int i = 0; i < conf.cpus * 4; i++)
            fprintf(f, " %llu", (unsigned long long)rows[r].counts[i]);
        fputc('\n', f);
    }
    fprintf(f, "end\n");
    fclose(f);
}
