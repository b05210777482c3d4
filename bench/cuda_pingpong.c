/* The smallest program that copies to a GPU and back with cudaMemcpy: the yardstick for numabench's host timing.
 *
 *   cuda_pingpong SIZE_BYTES ROUNDS WARMUP pinned|pinned-driver|pageable CPU
 *
 * One bound thread, GPU 0 of those visible. The kinds of memory are numabench's: pinned is mapped and registered,
 * pinned-driver is cudaHostAlloc's, pageable is malloc's. Built with `nvcc -O2`. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>

#include "rounds.h"

#define CUDA(call)                                                                                                     \
    do {                                                                                                               \
        cudaError_t status = (call);                                                                                   \
        if (status != cudaSuccess) {                                                                                   \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status));                                            \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static unsigned char *host_memory(const char *kind, size_t size) {
    unsigned char *host = NULL;
    if (!strcmp(kind, "pinned")) {
        host = map_touched(size, 0xa5);
        CUDA(cudaHostRegister(host, size, cudaHostRegisterDefault));
    } else if (!strcmp(kind, "pinned-driver")) {
        CUDA(cudaHostAlloc((void **)&host, size, cudaHostAllocDefault));
    } else if (!strcmp(kind, "pageable")) {
        host = malloc(size);
        if (!host) die("malloc");
    } else {
        die(kind);
    }
    memset(host, 0xa5, size);
    return host;
}

int main(int argc, char **argv) {
    if (argc != 6) {
        fprintf(stderr, "usage: %s SIZE_BYTES ROUNDS WARMUP pinned|pinned-driver|pageable CPU\n", argv[0]);
        return 2;
    }
    size_t size = number(argv[1]), rounds = number(argv[2]), warmup = number(argv[3]);
    if (!size || !rounds) die("SIZE_BYTES and ROUNDS must not be 0");
    bind_to(argv[5]);
    CUDA(cudaSetDevice(0));
    unsigned char *host = host_memory(argv[4], size);
    void *device;
    CUDA(cudaMalloc(&device, size));
    CUDA(cudaMemset(device, 0, size));
    CUDA(cudaDeviceSynchronize());
    double *ns = malloc(rounds * sizeof *ns);
    if (!ns) die("malloc");

    static const char *const directions[] = {"h2d", "d2h", "roundtrip"};
    for (int d = 0; d < 3; d++) {
        if (d == 1) memset(host, 0, size); /* so that only the copies back can fill it again */
        for (size_t i = 0; i < warmup + rounds; i++) {
            double start = now_ns();
            if (d != 1) CUDA(cudaMemcpy(device, host, size, cudaMemcpyHostToDevice));
            if (d != 0) CUDA(cudaMemcpy(host, device, size, cudaMemcpyDeviceToHost));
            double end = now_ns();
            if (i >= warmup) ns[i - warmup] = end - start;
        }
        print_rounds(directions[d], d == 2 ? 2 * size : size, ns, rounds);
    }
    check_all(host, size, 0xa5);
    return 0;
}
