/* Copies known bytes through HIP, reached in one of three ways: linked (-DLINKED), `dlsym`, or `hipGetProcAddress`. Its
 * words say what it does; it says what it copied, and ends with 42. Each copy is looked at, and a call of its own that
 * succeeded must leave no last error.
 *
 *   hip_copies WAY WORK...   WAY: linked, dlsym, asked, own (a thread's own stream); WORK: pinned, pageable, managed,
 *                            default, far=NODE, device=N, streams, boxes, symbol, driver, graph, refused, pending,
 *                            crash
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { HOST_TO_HOST, TO_DEVICE, TO_HOST, ON_DEVICE, DEFAULT };

typedef int (*copy_call)(void *, const void *, size_t, int);

#ifdef LINKED
extern int hipMemcpy(void *, const void *, size_t, int);
#endif

static void *hip;
static char *device;
static copy_call copy;

static void *function(const char *name)
{
    void *found = dlsym(hip, name);
    if (!found) {
        fprintf(stderr, "no %s\n", name);
        exit(9);
    }
    return found;
}

#define CALL(name, types, ...) check(#name, ((int (*)types)function(#name))(__VA_ARGS__))

/* The thread's last error, where the library keeps one. */
static int last_error(void)
{
    int (*last)(void) = (int (*)(void))dlsym(hip, "hipGetLastError");
    return last ? last() : 0;
}

static void check(const char *name, int code)
{
    int last = last_error();
    if (code || last) {
        fprintf(stderr, "%s: %d, and the last error %d\n", name, code, last);
        exit(8);
    }
}

static void open_library(const char *way)
{
    hip = dlopen("libamdhip64.so.7", RTLD_NOW);
    if (!hip) {
        fprintf(stderr, "%s\n", dlerror());
        exit(7);
    }
    CALL(hipInit, (unsigned), 0);
    CALL(hipSetDevice, (int), 0);
    CALL(hipMalloc, (void **, size_t), (void **)&device, 4 << 20);
    if (!strcmp(way, "asked")) {
        int status = 0;
        CALL(hipGetProcAddress, (const char *, void *, int, unsigned long long, int *), "hipMemcpy", &copy, 602, 0, &status);
    } else if (strcmp(way, "linked"))
        copy = (copy_call)dlsym(hip, strcmp(way, "own") ? "hipMemcpy" : "hipMemcpy_spt");
#ifdef LINKED
    if (!strcmp(way, "linked"))
        copy = hipMemcpy;
#endif
}

static char *pinned(size_t bytes)
{
    void *memory = NULL;
    CALL(hipHostMalloc, (void **, size_t, unsigned), &memory, bytes, 0);
    memset(memory, 1, bytes);
    return memory;
}

static char *pages(size_t bytes, int node)
{
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned long mask = 1ul << (node < 0 ? 0 : node);
    if (node >= 0 && syscall(SYS_mbind, memory, bytes, 2, &mask, 64ul, 0))
        perror("mbind"), exit(6);
    memset(memory, 2, bytes);
    return memory;
}

/* Copies to the device and back, and compares. */
static void there_and_back(char *memory, size_t in, int times_in, size_t out, int times_out, int kind_in, int kind_out)
{
    char *kept = malloc(out);
    for (size_t at = 0; at < in; at++)
        memory[at] = (char)(at * 7);
    for (int at = 0; at < times_in; at++)
        check("hipMemcpy", copy(device, memory, in, kind_in));
    memcpy(kept, memory, out);
    memset(memory, 0, out);
    for (int at = 0; at < times_out; at++)
        check("hipMemcpy", copy(memory, device, out, kind_out));
    if (memcmp(kept, memory, out))
        fprintf(stderr, "other bytes came back\n"), exit(5);
    free(kept);
}

static size_t stream(void)
{
    size_t made;
    CALL(hipStreamCreateWithFlags, (size_t *, unsigned), &made, 1);
    return made;
}

static void finish(size_t queue)
{
    CALL(hipStreamSynchronize, (size_t), queue);
    usleep(200000); /* The times of queued copies are read a moment later. */
    CALL(hipStreamDestroy, (size_t), queue);
}

static void work(const char *what)
{
    char *memory;
    if (!strcmp(what, "pinned")) {
        there_and_back(pinned(1 << 20), 65536, 10, 8192, 3, TO_DEVICE, TO_HOST);
    } else if (!strcmp(what, "pageable")) {
        there_and_back(pages(1 << 20, -1), 1 << 20, 5, 4097, 1, TO_DEVICE, TO_HOST);
    } else if (!strcmp(what, "managed")) {
        void *managed;
        CALL(hipMallocManaged, (void **, size_t, unsigned), &managed, 1 << 16, 1);
        there_and_back(managed, 5000, 2, 700, 1, TO_DEVICE, TO_HOST);
    } else if (!strcmp(what, "default")) {
        there_and_back(pages(1 << 16, -1), 50000, 1, 30000, 1, DEFAULT, DEFAULT);
        check("hipMemcpy", copy(device + (1 << 20), device, 20000, DEFAULT));
        check("hipMemcpy", copy(pinned(4096), pages(4096, -1), 4000, DEFAULT));
    } else if (!strncmp(what, "far=", 4)) {
        /* Not at a page's beginning, and over a page's end. */
        memory = pages(1 << 20, atoi(what + 4));
        CALL(hipHostRegister, (void *, size_t, unsigned), memory, 1 << 20, 0);
        there_and_back(memory + 100, 300000, 7, 100000, 1, TO_DEVICE, TO_HOST);
    } else if (!strncmp(what, "device=", 7)) {
        /* The stream of another device than the thread's current one. */
        void *there;
        memory = pinned(4096);
        CALL(hipSetDevice, (int), atoi(what + 7));
        CALL(hipMalloc, (void **, size_t), &there, 4096);
        size_t queue = stream();
        check("hipMemcpy", copy(there, memory, 3000, TO_DEVICE));
        CALL(hipSetDevice, (int), 0);
        CALL(hipMemcpyAsync, (void *, void *, size_t, int, size_t), there, memory, 4096, TO_DEVICE, queue);
        finish(queue);
    } else if (!strcmp(what, "streams")) {
        size_t queue = stream();
        memory = pinned(1 << 20);
        for (int at = 0; at < 20; at++)
            CALL(hipMemcpyAsync, (void *, void *, size_t, int, size_t), device, memory, 1 << 20, TO_DEVICE, queue);
        for (int at = 0; at < 3; at++)
            CALL(hipMemcpyWithStream, (void *, void *, size_t, int, size_t), memory, device, 1 << 19, TO_HOST, queue);
        finish(queue);
    } else if (!strcmp(what, "boxes")) {
        /* 5 rows of 100 bytes, 256 apart; the same from row 2, byte 8 on; 2 slices of 3 rows of 40 bytes. */
        memory = pinned(1 << 16);
        CALL(hipMemcpy2D, (void *, size_t, void *, size_t, size_t, size_t, int), device, 100, memory, 256, 100, 5, TO_DEVICE);
        size_t plane[16] = {8, 2, 0, (size_t)memory, 0, 0, 256, 0, 0, 0, 0, (size_t)device, 0, 100, 100, 5};
        CALL(hipMemcpyParam2D, (void *), plane);
        size_t box[20] = {0, 0, 0, 0, (size_t)device, 40, 40, 3, 0, 4, 1, 0, (size_t)memory, 64, 64, 8, 40, 3, 2, TO_HOST};
        CALL(hipMemcpy3D, (void *), box);
    } else if (!strcmp(what, "symbol")) {
        static char *symbol;
        symbol = device;
        CALL(hipMemcpyToSymbol, (void *, void *, size_t, size_t, int), &symbol, pinned(4096), 64, 8, DEFAULT);
    } else if (!strcmp(what, "driver")) {
        memory = pinned(1 << 16);
        for (int at = 0; at < 4; at++)
            CALL(hipMemcpyHtoD, (void *, void *, size_t), device, memory, 9000);
        CALL(hipMemcpyDtoH, (void *, void *, size_t), memory, device, 500);
        size_t queue = stream();
        CALL(hipMemcpyHtoDAsync, (void *, void *, size_t, size_t), device, memory, 60000, queue);
        finish(queue);
    } else if (!strcmp(what, "graph")) {
        /* A stream is captured with a copy: two launches; and one without: one launch. Copies are queued before. */
        size_t queue = stream(), graph, exec;
        memory = pinned(1 << 20);
        for (int at = 0; at < 20; at++)
            CALL(hipMemcpyAsync, (void *, void *, size_t, int, size_t), device, memory, 1 << 20, TO_DEVICE, queue);
        for (int copies = 1; copies >= 0; copies--) {
            CALL(hipStreamBeginCapture, (size_t, int), queue, 0);
            if (copies)
                CALL(hipMemcpyAsync, (void *, void *, size_t, int, size_t), device, memory, 2000, TO_DEVICE, queue);
            usleep(150000);
            CALL(hipStreamEndCapture, (size_t, size_t *), queue, &graph);
            CALL(hipGraphInstantiateWithFlags, (size_t *, size_t, unsigned long long), &exec, graph, 0);
            for (int at = 0; at < 1 + copies; at++)
                CALL(hipGraphLaunch, (size_t, size_t), exec, queue);
        }
        finish(queue);
    } else if (!strcmp(what, "refused")) {
        int code = copy(device, pinned(4096), (size_t)1 << 40, TO_DEVICE);
        int last = last_error();
        if (!code || last != code)
            fprintf(stderr, "%d, and the last error %d\n", code, last), exit(5);
    } else if (!strcmp(what, "pending")) {
        /* An error that is asked for after a copy of memory that nobody has met before. */
        int wrong = ((int (*)(int))function("hipSetDevice"))(99);
        int code = copy(device, pages(1 << 16, -1), 1 << 16, TO_DEVICE);
        int last = last_error();
        if (!wrong || code || last != wrong)
            fprintf(stderr, "%d, %d, and the last error %d\n", wrong, code, last), exit(5);
    } else if (!strcmp(what, "crash")) {
        check("hipMemcpy", copy(device, pinned(4096), 4096, TO_DEVICE));
        fflush(stdout);
        raise(SIGSEGV);
    }
}

int main(int count, char **words)
{
    if (count > 2)
        open_library(words[1]);
    for (int at = 2; at < count; at++)
        work(words[at]);
    puts("the program's own words");
    fprintf(stderr, "and its own errors\n");
    return 42;
}
