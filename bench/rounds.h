/* What both C programs share: binding, the clock, and what a list of rounds says. The same clock and the same statistics as
 * numabench's host timing, in the fewest lines, so that what is compared is the copying. */
#ifndef ROUNDS_H
#define ROUNDS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static void die(const char *what) {
    fprintf(stderr, "%s: %s\n", what, errno ? strerror(errno) : "bad value");
    exit(1);
}

/* CLOCK_MONOTONIC_RAW: never slewed by NTP. */
static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static unsigned long long number(const char *text) {
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || end == text || *end) die(text);
    return value;
}

/* Before anything is allocated, so that first touch puts the memory beside this CPU. */
static void bind_to(const char *cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((int)number(cpu), &set);
    if (sched_setaffinity(0, sizeof set, &set)) die("sched_setaffinity");
}

/* Page-aligned memory that asks for huge pages, as numabench's own buffers do; every page touched. */
static unsigned char *map_touched(size_t bytes, int value) {
    size_t huge = 2u << 20, whole = (bytes + huge - 1) / huge * huge;
    /* One huge page more, to start on a boundary: an unaligned mapping gets small pages at its ends. */
    unsigned char *p = mmap(NULL, whole + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) die("mmap");
    p = (unsigned char *)(((uintptr_t)p + huge - 1) / huge * huge);
    madvise(p, whole, MADV_HUGEPAGE); /* a wish: kernels without huge pages refuse it, and the copy works all the same */
    memset(p, value, whole);
    return p;
}

/* What came back must be what was sent, else the figures are of nothing. */
static inline void check_all(const unsigned char *p, size_t size, unsigned char value) {
    errno = 0;
    for (size_t i = 0; i < size; i++) {
        if (p[i] != value) die("the copies did not arrive");
    }
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* One line per direction: key=value, times of one round in microseconds, the rate of the median round in 1e9 bytes/s. */
static inline void print_rounds(const char *direction, unsigned long long bytes_per_round, double *ns, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += ns[i];
    qsort(ns, count, sizeof *ns, by_value);
    double median = (ns[(count - 1) / 2] + ns[count / 2]) / 2;
    printf("direction=%s rounds=%zu median_us=%.4f mean_us=%.4f min_us=%.4f median_gb_per_s=%.4f\n", direction, count,
           median / 1e3, sum / (double)count / 1e3, ns[0] / 1e3, (double)bytes_per_round / median);
}

#endif
