/* The memory of a language model that makes tokens: for each token all weights are read once, by threads that have a
 * slice of every layer, and a vector is handed from layer to layer. The first thread has loaded the weights.
 * The argument says how many tokens: 8 if there is none. */
#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 4, LAYERS = 16, ROWS = 1024, WIDTH = 1024 };
static int tokens = 8;
static float *weights, vector[2][WIDTH];
static pthread_barrier_t met;

static void *work(void *x)
{
    long from = (long)x * (ROWS / THREADS), to = from + ROWS / THREADS;
    for (int token = 0; token < tokens; token++)
        for (int layer = 0; layer < LAYERS; layer++) {
            const float *rows = weights + (long)layer * ROWS * WIDTH, *in = vector[layer & 1];
            for (long row = from; row < to; row++) {
                float sum = 0;
                for (long k = 0; k < WIDTH; k++)
                    sum += rows[row * WIDTH + k] * in[k];
                vector[~layer & 1][row] = sum;
            }
            pthread_barrier_wait(&met);
        }
    return 0;
}

int main(int argc, char **argv)
{
    pthread_t t[THREADS];
    if (argc > 1)
        tokens = atoi(argv[1]);
    pthread_barrier_init(&met, 0, THREADS);
    weights = malloc(sizeof *weights * LAYERS * ROWS * WIDTH);
    for (long i = 0; i < (long)LAYERS * ROWS * WIDTH; i++)
        weights[i] = 1.0f / WIDTH;
    for (int i = 0; i < WIDTH; i++)
        vector[0][i] = 1;
    for (long i = 0; i < THREADS; i++)
        pthread_create(&t[i], 0, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], 0);
    return vector[0][7] > 0 ? 0 : 1;
}
