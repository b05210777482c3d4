/* Copies known bytes through the CUDA driver, reached in one of three ways: linked (-DLINKED), `dlsym`, or
 * `cuGetProcAddress` (as the static CUDA runtime does). Its words say what it does; it says what it copied, and ends
 * with 42.
 *
 *   copies WAY WORK...     WAY: linked, dlsym, asked; WORK: pinned, pageable, far=NODE, threads, fork, plane, unified,
 *                          refused, queued, graph, crash, none,
 *                          meet=FILE (makes the file, and waits for FILE.go),
 *                          loss=NODE:PU:pinned|pageable:BYTES:COUNT:HOW, which says how long it took by
 *                          CLOCK_MONOTONIC_RAW; HOW is in, out (these block), queued, both (ways at once),
 *                          kernels=BLOCKS (beside queued copies), beside=BLOCKS (beside copies that block)
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef unsigned long long address;
typedef int (*copy_in)(address, const void *, size_t);
typedef int (*copy_out)(void *, address, size_t);

#ifdef LINKED
extern int cuMemcpyHtoD_v2(address, const void *, size_t), cuMemcpyDtoH_v2(void *, address, size_t);
#endif

static void *driver;
static size_t context;
static address device;
static copy_in in;
static copy_out out;

static void *function(const char *name)
{
    void *found = dlsym(driver, name);
    if (!found) {
        fprintf(stderr, "no %s\n", name);
        exit(9);
    }
    return found;
}

#define CALL(name, types, ...) check(#name, ((int (*)types)function(#name))(__VA_ARGS__))

static void check(const char *name, int code)
{
    if (code) {
        fprintf(stderr, "%s: %d\n", name, code);
        exit(8);
    }
}

static void open_driver(const char *way)
{
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) {
        fprintf(stderr, "%s\n", dlerror());
        exit(7);
    }
    CALL(cuInit, (unsigned), 0);
    CALL(cuDevicePrimaryCtxRetain, (size_t *, int), &context, 0);
    CALL(cuCtxSetCurrent, (size_t), context);
    CALL(cuMemAlloc_v2, (address *, size_t), &device, 4 << 20);
    in = (copy_in)function("cuMemcpyHtoD_v2");
    out = (copy_out)function("cuMemcpyDtoH_v2");
    if (!strcmp(way, "asked")) {
        int status = 0;
        CALL(cuGetProcAddress_v2, (const char *, void *, int, address, int *), "cuMemcpyHtoD", &in, 12080, 0, &status);
        CALL(cuGetProcAddress_v2, (const char *, void *, int, address, int *), "cuMemcpyDtoH", &out, 12080, 0, &status);
    }
#ifdef LINKED
    in = cuMemcpyHtoD_v2;
    out = cuMemcpyDtoH_v2;
#endif
}

static void *pinned(size_t bytes)
{
    void *memory = NULL;
    CALL(cuMemHostAlloc, (void **, size_t, unsigned), &memory, bytes, 0);
    memset(memory, 1, bytes);
    return memory;
}

static void *pages(size_t bytes, int node)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned long mask = 1ul << (node < 0 ? 0 : node);
    if (node >= 0 && syscall(SYS_mbind, memory, bytes, 2, &mask, 64ul, 0))
        perror("mbind"), exit(6);
    memset(memory, 2, bytes);
    return memory;
}

static void *in_thread(void *memory)
{
    CALL(cuCtxSetCurrent, (size_t), context);
    for (int at = 0; at < 100; at++)
        check("in", in(device, memory, 4096));
    return NULL;
}

static long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return now.tv_sec * 1000000000l + now.tv_nsec;
}

/* Copies by a thread of a PU with memory of a node, in one of several ways. */
static void lose(const char *what)
{
    char kind[16], how[16];
    unsigned node, pu, blocks = 0;
    unsigned long bytes, count, at;
    size_t streams[2], module, kernel;
    if (sscanf(what, "%u:%u:%15[a-z]:%lu:%lu:%15[a-z]=%u", &node, &pu, kind, &bytes, &count, how, &blocks) < 6)
        exit(5);
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(pu, &set);
    if (sched_setaffinity(0, sizeof set, &set))
        perror("sched_setaffinity"), exit(5);
    char *memory = pages(2 * bytes, node);
    if (!strcmp(kind, "pinned"))
        CALL(cuMemHostRegister_v2, (void *, size_t, unsigned), memory, 2 * bytes, 0);
    for (at = 0; at < 2; at++)
        CALL(cuStreamCreate, (size_t *, unsigned), &streams[at], 1);
    CALL(cuModuleLoadData, (size_t *, const char *), &module, ".visible .entry numabench_clear() {}");
    CALL(cuModuleGetFunction, (size_t *, size_t, const char *), &kernel, module, "numabench_clear");

    long began = now_ns();
    address cleared = device + (3 << 20), sixteens = 1;
    void *parameters[2] = {&cleared, &sixteens};
    if (blocks)
        CALL(cuLaunchKernel, (size_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, size_t, void **, void **),
             kernel, blocks, 1, 1, 32, 1, 1, 0, streams[1], parameters, NULL);
    int blocks_host = !strcmp(how, "in") || !strcmp(how, "beside");
    for (at = 0; at < count; at++) {
        if (!strcmp(how, "out"))
            check("out", out(memory, device, bytes));
        else if (blocks_host)
            check("in", in(device, memory, bytes));
        else
            CALL(cuMemcpyHtoDAsync_v2, (address, void *, size_t, size_t), device, memory, bytes, streams[0]);
        if (!strcmp(how, "both"))
            CALL(cuMemcpyDtoHAsync_v2, (void *, address, size_t, size_t), memory + bytes, device + (1 << 20), bytes, streams[1]);
    }
    for (at = 0; at < 2; at++)
        CALL(cuStreamSynchronize, (size_t), streams[at]);
    printf("%s took %ld ns\n", what, now_ns() - began);
    fflush(stdout);
    usleep(50000); /* The times of queued copies are read a moment later. */
    for (at = 0; at < 2; at++)
        CALL(cuStreamDestroy_v2, (size_t), streams[at]);
    CALL(cuModuleUnload, (size_t), module);
}

static void work(const char *what)
{
    void *memory;
    if (!strcmp(what, "pinned")) {
        memory = pinned(1 << 20);
        for (int at = 0; at < 10; at++)
            check("in", in(device, memory, 65536));
        for (int at = 0; at < 3; at++)
            check("out", out(memory, device, 8192));
    } else if (!strcmp(what, "pageable")) {
        memory = pages(1 << 20, -1);
        for (int at = 0; at < 5; at++)
            check("in", in(device, memory, 1 << 20));
        check("out", out(memory, device, 4097));
    } else if (!strncmp(what, "far=", 4)) {
        /* Not at a page's beginning, and over a page's end. */
        char *far = pages(1 << 20, atoi(what + 4));
        CALL(cuMemHostRegister_v2, (void *, size_t, unsigned), far, 1 << 20, 0);
        for (int at = 0; at < 7; at++)
            check("in", in(device, far + 100, 300000));
    } else if (!strncmp(what, "loss=", 5)) {
        lose(what + 5);
    } else if (!strcmp(what, "threads")) {
        pthread_t threads[4];
        for (int at = 0; at < 4; at++)
            pthread_create(&threads[at], NULL, in_thread, pinned(4096));
        for (int at = 0; at < 4; at++)
            pthread_join(threads[at], NULL);
    } else if (!strcmp(what, "fork")) {
        memory = pinned(4096);
        check("in", in(device, memory, 1000));
        if (fork() == 0) {
            for (int at = 0; at < 7; at++)
                check("in", in(device, memory, 4096));
            _exit(0);
        }
        wait(NULL);
    } else if (!strcmp(what, "plane")) {
        /* 5 rows of 100 bytes, 256 apart, from row 2, byte 8 on. */
        size_t words[16] = {8, 2, 1, (size_t)pinned(1 << 16), 0, 0, 256, 0, 0, 2, 0, device, 0, 100, 100, 5};
        CALL(cuMemcpy2D_v2, (void *), words);
    } else if (!strcmp(what, "unified")) {
        memory = pages(1 << 16, -1);
        CALL(cuMemcpy, (address, address, size_t), device, (address)memory, 50000);
        CALL(cuMemcpy, (address, address, size_t), (address)memory, device, 30000);
        CALL(cuMemcpy, (address, address, size_t), device, device + (1 << 20), 20000);
    } else if (!strcmp(what, "refused")) {
        memory = pinned(4096);
        if (in(device, memory, (size_t)1 << 40) == 0)
            exit(5);
    } else if (!strcmp(what, "queued")) {
        size_t stream;
        memory = pinned(1 << 20);
        CALL(cuStreamCreate, (size_t *, unsigned), &stream, 0);
        for (int at = 0; at < 20; at++)
            CALL(cuMemcpyHtoDAsync_v2, (address, void *, size_t, size_t), device, memory, 1 << 20, stream);
        CALL(cuStreamSynchronize, (size_t), stream);
        usleep(200000);
        CALL(cuStreamDestroy_v2, (size_t), stream);
    } else if (!strcmp(what, "graph")) {
        /* A copy of 1000 bytes to the device and one of 500 back, three launches; then one of a changed graph. */
        size_t graph, exec, node;
        size_t to[25] = {0}, from[25] = {0};
        memory = pinned(4096);
        to[4] = 1, to[5] = (size_t)memory, to[15] = 2, to[17] = device, to[22] = 1000, to[23] = to[24] = 1;
        from[4] = 2, from[6] = device, from[15] = 1, from[16] = (size_t)memory, from[22] = 500, from[23] = from[24] = 1;
        CALL(cuGraphCreate, (size_t *, unsigned), &graph, 0);
        CALL(cuGraphAddMemcpyNode, (size_t *, size_t, void *, size_t, void *, size_t), &node, graph, NULL, 0, to, context);
        CALL(cuGraphAddMemcpyNode, (size_t *, size_t, void *, size_t, void *, size_t), &node, graph, NULL, 0, from, context);
        CALL(cuGraphInstantiateWithFlags, (size_t *, size_t, address), &exec, graph, 0);
        for (int at = 0; at < 3; at++)
            CALL(cuGraphLaunch, (size_t, size_t), exec, 0);
        CALL(cuGraphExecMemcpyNodeSetParams, (size_t, size_t, void *, size_t), exec, node, to, context);
        CALL(cuGraphLaunch, (size_t, size_t), exec, 0);
    } else if (!strncmp(what, "meet=", 5)) {
        char go[4096];
        snprintf(go, sizeof go, "%s.go", what + 5);
        fclose(fopen(what + 5, "w"));
        for (int at = 0; at < 6000 && access(go, F_OK); at++)
            usleep(10000);
    } else if (!strcmp(what, "crash")) {
        memory = pinned(4096);
        check("in", in(device, memory, 4096));
        fflush(stdout);
        raise(SIGSEGV);
    }
}

int main(int count, char **words)
{
    if (count > 2 && strcmp(words[2], "none"))
        open_driver(words[1]);
    for (int at = 2; at < count; at++)
        work(words[at]);
    puts("the program's own words");
    fprintf(stderr, "and its own errors\n");
    return 42;
}
