/* What a C loop reads, writes and copies on this machine, by numabench's definition, and STREAM's triad: the yardstick for `matrix --backend host` and `kernels --backend host`.
 *
 *   stream read|write|copy|triad RANGE_BYTES BLOCKS BLOCK_MS CPU...
 *
 * A thread on each CPU goes over a range of its own, 8 bytes a step, for BLOCK_MS; the threads' rates over the time in which all
 * were at work are added up, and the median of the blocks is printed. A copy is memcpy's, and counts bytes read and bytes written. A triad is over all of the range in three arrays of
 * floats, one behind the other, and counts all three. */
#include "rounds.h"

#include <pthread.h>

enum { SLICE = 16 << 20, MOST = 1 << 16 };

/* Bytes that a slice counts for. */
static double counted;

static const char *access_;
static size_t range, blocks, threads;
static double block_ns;
static pthread_barrier_t begin;

struct worker {
    const char *cpu;
    uint64_t *first, *second, sum;
    /* The end of each slice in this block, after its beginning. */
    double *at;
    size_t slices;
};

static void once(struct worker *w, size_t at, uint64_t value) {
    uint64_t *first = w->first + at / 8;
    size_t words = SLICE / 8;
    if (*access_ == 't') {
        size_t numbers = range / 3 / sizeof(float);
        const float *a = (const float *)w->first, *b = a + numbers;
        float *restrict c = (float *)w->first + 2 * numbers;
        for (size_t i = 0; i < numbers; i++) c[i] = a[i] + 1.75f * b[i];
        __asm__ volatile("" ::: "memory");
        return;
    }
    if (*access_ == 'r') {
        /* A line at a time into as many sums: with one sum, gcc's loop is held up by its additions and leaves bandwidth. */
        uint64_t sums[8] = {0};
        for (size_t i = 0; i < words; i += 8)
            for (size_t j = 0; j < 8; j++) sums[j] += first[i + j];
        for (size_t j = 0; j < 8; j++) w->sum += sums[j];
    } else if (*access_ == 'w') {
        for (size_t i = 0; i < words; i++) first[i] = value;
    } else {
        memcpy(w->second + at / 8, first, SLICE);
    }
    __asm__ volatile("" ::: "memory");
}

static void *work(void *of) {
    struct worker *w = of;
    bind_to(w->cpu);
    w->first = (uint64_t *)map_touched(range, 1);
    if (*access_ == 'c') w->second = (uint64_t *)map_touched(range, 2);
    size_t at = 0;
    for (size_t block = 0; block < blocks; block++) {
        pthread_barrier_wait(&begin);
        double start = now_ns();
        w->slices = 0;
        w->at[0] = start;
        do {
            once(w, at, block);
            at = at + 2 * SLICE <= range ? at + SLICE : 0;
            w->at[++w->slices] = now_ns();
        } while (w->at[w->slices] - start < block_ns && w->slices + 1 < MOST);
        pthread_barrier_wait(&begin);
        /* The main thread reads what was done. */
        pthread_barrier_wait(&begin);
    }
    return NULL;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Bytes a second of this thread between two moments, by the whole slices that lie there. */
static double rate(const struct worker *w, double from, double to) {
    size_t first = 0, last;
    while (first < w->slices && w->at[first] < from) first++;
    for (last = w->slices; last > first && w->at[last] > to; last--) {}
    return last > first ? (double)(last - first) * counted / (w->at[last] - w->at[first]) * 1e9 : 0;
}

int main(int argc, char **argv) {
    if (argc < 6 || !strchr("rwct", *argv[1])) {
        fprintf(stderr, "usage: %s read|write|copy|triad RANGE_BYTES BLOCKS BLOCK_MS CPU...\n", argv[0]);
        return 2;
    }
    access_ = argv[1];
    range = number(argv[2]), blocks = number(argv[3]), block_ns = (double)number(argv[4]) * 1e6, threads = (size_t)argc - 5;
    if (range < SLICE || !blocks) die("RANGE_BYTES must be 16 MiB at least, BLOCKS not 0");
    counted = *access_ == 't' ? (double)(range / 3 / sizeof(float)) * 12 : (double)SLICE * (*access_ == 'c' ? 2 : 1);
    struct worker *workers = calloc(threads, sizeof *workers);
    pthread_t *ids = calloc(threads, sizeof *ids);
    double *rates = calloc(blocks, sizeof *rates);
    if (!workers || !ids || !rates || pthread_barrier_init(&begin, NULL, (unsigned)threads + 1)) die("threads");
    for (size_t i = 0; i < threads; i++) {
        workers[i].cpu = argv[5 + i];
        workers[i].at = calloc(MOST, sizeof *workers[i].at);
        if (!workers[i].at || pthread_create(&ids[i], NULL, work, &workers[i])) die("pthread_create");
    }
    for (size_t block = 0; block < blocks; block++) {
        pthread_barrier_wait(&begin);
        pthread_barrier_wait(&begin);
        double from = 0, to = 1e300;
        for (size_t i = 0; i < threads; i++) {
            const struct worker *w = &workers[i];
            if (w->at[0] > from) from = w->at[0];
            if (w->at[w->slices] < to) to = w->at[w->slices];
        }
        for (size_t i = 0; i < threads; i++) rates[block] += rate(&workers[i], from, to);
        pthread_barrier_wait(&begin);
    }
    for (size_t i = 0; i < threads; i++) pthread_join(ids[i], NULL);
    qsort(rates, blocks, sizeof *rates, by_size);
    printf("access=%s threads=%zu blocks=%zu median_gb_per_s=%.3f best_gb_per_s=%.3f\n", argv[1], threads, blocks,
           (rates[(blocks - 1) / 2] + rates[blocks / 2]) / 2e9, rates[blocks - 1] / 1e9);
    return 0;
}
