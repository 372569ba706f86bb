/* STREAM's triad: threads of OpenMP's kind, each with its own part of three arrays, which it has touched first.
 * The argument says how many passes: 8 if there is none. */
#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 4, LONGS = 4 << 20 };
static int passes = 8;
static double *a, *b, *c;
static pthread_barrier_t met;

static void *work(void *x)
{
    long from = (long)x * (LONGS / THREADS), to = from + LONGS / THREADS;
    for (long k = from; k < to; k++)
        a[k] = 1, b[k] = 2, c[k] = 0;
    for (int pass = 0; pass < passes; pass++) {
        pthread_barrier_wait(&met);
        for (long k = from; k < to; k++)
            c[k] = a[k] + 3 * b[k];
    }
    return 0;
}

int main(int argc, char **argv)
{
    pthread_t t[THREADS];
    if (argc > 1)
        passes = atoi(argv[1]);
    pthread_barrier_init(&met, 0, THREADS);
    a = malloc(LONGS * sizeof *a);
    b = malloc(LONGS * sizeof *b);
    c = malloc(LONGS * sizeof *c);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&t[i], 0, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], 0);
    return c[7] == 7 ? 0 : 1;
}
