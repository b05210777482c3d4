// Memory that moves by itself, as `numabench sweep --memory managed|system` takes it: a line a size, with the rates (GB/s) of the GPU's and of this core's accesses (first touch, after the other
// side, again, prefetched) and of both in turns; medians of N rounds. Then what of the pages the kernel finds on the host after the GPU's and the core's first access, per cent.
//
// nvcc -O3 -arch=native -o moving moving.cu -lcuda && ./moving managed|system [N]      (CUDA 13)
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include "checked.h"

static const u64 GROWS = 0x9e3779b97f4a7c15ull;

extern "C" __global__ void __launch_bounds__(256) set_words(ulonglong2 *pairs, u64 count, u64 key) {
    for (u64 at = blockIdx.x * (u64)blockDim.x + threadIdx.x; at < count; at += (u64)gridDim.x * blockDim.x)
        pairs[at] = make_ulonglong2(2 * at * GROWS + key, (2 * at + 1) * GROWS + key);
}
extern "C" __global__ void __launch_bounds__(256) sum_words(const ulonglong2 *pairs, u64 count, u64 *sums) {
    __shared__ u64 shared[256];
    u64 sum = 0;
    for (u64 at = blockIdx.x * (u64)blockDim.x + threadIdx.x; at < count; at += (u64)gridDim.x * blockDim.x) {
        const ulonglong2 pair = pairs[at];
        sum += (4 * at + 1) * pair.x + (4 * at + 3) * pair.y;
    }
    shared[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = shared[0];
}
extern "C" __global__ void __launch_bounds__(256) add_words(ulonglong2 *pairs, u64 count, u64 more) {
    for (u64 at = blockIdx.x * (u64)blockDim.x + threadIdx.x; at < count; at += (u64)gridDim.x * blockDim.x) {
        ulonglong2 pair = pairs[at];
        pair.x += more;
        pair.y += more;
        pairs[at] = pair;
    }
}

static CUdevice device;
static CUstream stream;
static u64 *words, *sums, bytes;
static bool managed;
static volatile u64 sink;
static const int BLOCKS = 4096;

static void make() {
    if (managed) {
        CHECK(cuMemAllocManaged((CUdeviceptr *)&words, bytes, CU_MEM_ATTACH_GLOBAL));
    } else {
        words = (u64 *)mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (words == MAP_FAILED) exit(1);
    }
}
static void unmake() {
    if (managed) CHECK(cuMemFree((CUdeviceptr)words));
    else munmap(words, bytes);
}
static void settle() { CHECK(cuStreamSynchronize(stream)); }
static void gpu_set(u64 key) {
    set_words<<<BLOCKS, 256, 0, stream>>>((ulonglong2 *)words, bytes / 16, key);
    settle();
}
static void gpu_sum() {
    sum_words<<<BLOCKS, 256, 0, stream>>>((const ulonglong2 *)words, bytes / 16, sums);
    settle();
}
static void gpu_add() {
    add_words<<<BLOCKS, 256, 0, stream>>>((ulonglong2 *)words, bytes / 16, 1);
    settle();
}
static void core_set(u64 key) { for (u64 at = 0; at < bytes / 8; at++) words[at] = at * GROWS + key; }
static void core_sum() {
    u64 sum = 0;
    for (u64 at = 0; at < bytes / 8; at++) sum += words[at];
    sink = sum;
}
static void core_add() { for (u64 at = 0; at < bytes / 8; at++) words[at] += 1; }
static void prefetch(bool to_device) {
    CUmemLocation where;
    where.type = to_device ? CU_MEM_LOCATION_TYPE_DEVICE : CU_MEM_LOCATION_TYPE_HOST;
    where.id = to_device ? device : 0;
    CHECK(cuMemPrefetchAsync((CUdeviceptr)words, bytes, where, 0, stream));
    settle();
}

template <class Before, class Timed> static double rate(int rounds, double moved, Before before, Timed timed) {
    std::vector<double> times;
    for (int round = 0; round <= rounds; round++) {
        before(round);
        const double began = now_ns();
        timed(round);
        if (round > 0) times.push_back(now_ns() - began);
    }
    std::sort(times.begin(), times.end());
    return moved / times[times.size() / 2];
}

static double on_host() {
    const u64 page = 4096, count = bytes / page;
    std::vector<void *> pages(count);
    std::vector<int> status(count);
    for (u64 at = 0; at < count; at++) pages[at] = (char *)words + at * page;
    if (syscall(SYS_move_pages, 0, count, pages.data(), nullptr, status.data(), 0) != 0) return -1;
    u64 there = 0, absent = 0, other = 0;
    for (int node : status) {
        if (node >= 0) there++;
        else if (node == -ENOENT) absent++;
        else other++;
    }
    if (other > 0) fprintf(stderr, "%llu pages: errno %d and others\n", other, -*std::min_element(status.begin(), status.end()));
    return 100.0 * there / count;
}

int main(int count, char **given) {
    managed = count < 2 || strcmp(given[1], "system") != 0;
    const int rounds = count > 2 ? atoi(given[2]) : 9;
    CUcontext context;
    int concurrent = 0, pageable = 0, tables = 0, version = 0;
    CHECK(cuInit(0));
    CHECK(cuDriverGetVersion(&version));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuDeviceGetAttribute(&concurrent, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, device));
    CHECK(cuDeviceGetAttribute(&pageable, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, device));
    CHECK(cuDeviceGetAttribute(&tables, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, device));
    fprintf(stderr, "driver %d: concurrent managed access %d, pageable memory access %d, by the host's page tables %d\n", version, concurrent, pageable, tables);
    if (managed ? !concurrent : !pageable) {
        fprintf(stderr, "this GPU cannot\n");
        return 77;
    }
    CHECK(cuMemAlloc((CUdeviceptr *)&sums, BLOCKS * 8));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    printf("%s    size: GPU first touch, moved, again, prefetched; core the same; in turns; on the host after the GPU, after the core\n", managed ? "managed" : "system");
    for (bytes = 4ull << 20; bytes <= 256ull << 20; bytes *= 4) {
        const double moved = bytes;
        auto anew = [](int round) { if (round > 0) unmake(); make(); };
        printf("%10llu", bytes);
        printf(" %9.2f", rate(rounds, moved, anew, [](int round) { gpu_set(round); }));
        printf(" %9.2f", rate(rounds, moved, core_set, [](int) { gpu_sum(); }));
        const double after_gpu = on_host();
        printf(" %9.2f", rate(rounds, moved, [](int round) { gpu_set(round); gpu_sum(); }, [](int) { gpu_sum(); }));
        printf(" %9.2f", rate(rounds, moved, core_set, [](int) { prefetch(true); }));
        unmake();
        printf(" %9.2f", rate(rounds, moved, anew, core_set));
        printf(" %9.2f", rate(rounds, moved, gpu_set, [](int) { core_sum(); }));
        const double after_core = on_host();
        printf(" %9.2f", rate(rounds, moved, core_set, [](int) { core_sum(); }));
        printf(" %9.2f", rate(rounds, moved, gpu_set, [](int) { prefetch(false); }));
        printf(" %9.2f", rate(rounds, 2 * moved, [](int) {}, [](int) { gpu_add(); core_add(); }));
        printf("  %5.1f %5.1f\n", after_gpu, after_core);
        unmake();
    }
    return 0;
}
