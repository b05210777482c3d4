// What the C programs of this folder have in common that speak to CUDA's driver: calls that end the program with the driver's words, a clock, a word of 64 bits.
#include <cuda.h>
#include <time.h>
#include <cstdio>
#include <cstdlib>

typedef unsigned long long u64;

static void check(CUresult result, const char *call) {
    if (result == CUDA_SUCCESS) return;
    const char *text = "";
    cuGetErrorString(result, &text);
    fprintf(stderr, "%s: %s\n", call, text);
    exit(1);
}
#define CHECK(call) check(call, #call)

static double now_ns() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}
