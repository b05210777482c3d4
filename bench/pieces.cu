// The same pieces as `numabench sweep --pieces`, sent the same ways: a line a direction and size, with the rates (GB/s) of loop, batch, kernel and packed; medians of N rounds.
//
// nvcc -O3 -arch=native -o pieces pieces.cu -lcuda && ./pieces [N]      (CUDA 13)
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <vector>
#include "checked.h"

static const u64 TOTAL = 64ull << 20;

extern "C" __global__ void __launch_bounds__(256)
move_pieces(unsigned char *area, unsigned char *other, u64 piece, u64 pieces, u64 area_step, u64 other_step, u64 slots, u64 to_area) {
    const u64 parts = piece / 4096;
    for (u64 at = blockIdx.x; at < pieces * parts; at += gridDim.x) {
        const u64 number = at / parts, within = at % parts * 4096 + 16 * threadIdx.x;
        uint4 *in_area = (uint4 *)(area + number * area_step % slots * piece + within);
        uint4 *in_other = (uint4 *)(other + number * other_step % slots * piece + within);
        if (to_area) *in_area = *in_other; else *in_other = *in_area;
    }
}

static u64 step_of(u64 slots, double part) {
    u64 step = (u64)(slots * part) | 1;
    while (std::gcd(step, slots) != 1) step += 2;
    return step;
}

int main(int count, char **words) {
    const int rounds = count > 1 ? atoi(words[1]) : 15;
    CUdevice device;
    CUcontext context;
    CUstream stream;
    unsigned char *host;
    CUdeviceptr area;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuMemHostAlloc((void **)&host, 5 * TOTAL, CU_MEMHOSTALLOC_PORTABLE));
    memset(host, 1, 5 * TOTAL);
    CHECK(cuMemAlloc(&area, 5 * TOTAL));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemcpyHtoD(area, host, 5 * TOTAL));
    unsigned char *packed = host + 4 * TOTAL;
    for (int to_device = 1; to_device >= 0; to_device--) {
        for (u64 piece = 4096; piece <= 1 << 20; piece *= 2) {
            const u64 pieces = TOTAL / piece, slots = 2 * pieces;
            const u64 host_step = step_of(slots, 0.62), area_step = step_of(slots, 0.27);
            const u64 host_at = to_device ? 0 : 2 * TOTAL, area_at = to_device ? 2 * TOTAL : 0;
            const unsigned blocks = std::min<u64>(TOTAL / 4096, 4096);
            std::vector<unsigned char *> in_host(pieces);
            std::vector<CUdeviceptr> in_area(pieces), to(pieces), from(pieces);
            std::vector<size_t> bytes(pieces, piece);
            for (u64 i = 0; i < pieces; i++) {
                in_host[i] = host + host_at + i * host_step % slots * piece;
                in_area[i] = area + area_at + i * area_step % slots * piece;
                to[i] = to_device ? in_area[i] : (CUdeviceptr)in_host[i];
                from[i] = to_device ? (CUdeviceptr)in_host[i] : in_area[i];
            }
            CUmemcpyAttributes attributes;
            memset(&attributes, 0, sizeof attributes);
            attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
            size_t first = 0;
            auto spread = [&](void *other, u64 other_step) {
                move_pieces<<<blocks, 256, 0, (cudaStream_t)stream>>>((unsigned char *)(area + area_at), (unsigned char *)other, piece, pieces,
                                                                      area_step, other_step, slots, to_device);
            };
            printf("%s %llu", to_device ? "h2d" : "d2h", piece);
            for (int way = 0; way < 4; way++) {
                std::vector<double> rates;
                for (int round = 0; round < rounds + 2; round++) {
                    const double began = now_ns();
                    if (way == 0) {
                        for (u64 i = 0; i < pieces; i++) {
                            if (to_device) CHECK(cuMemcpyHtoDAsync(in_area[i], in_host[i], piece, stream));
                            else CHECK(cuMemcpyDtoHAsync(in_host[i], in_area[i], piece, stream));
                        }
                    } else if (way == 1) {
                        CHECK(cuMemcpyBatchAsync(to.data(), from.data(), bytes.data(), pieces, &attributes, &first, 1, stream));
                    } else if (way == 2) {
                        spread(host + host_at, host_step);
                    } else if (to_device) {
                        for (u64 i = 0; i < pieces; i++) memcpy(packed + i * piece, in_host[i], piece);
                        CHECK(cuMemcpyHtoDAsync(area + 4 * TOTAL, packed, TOTAL, stream));
                        spread((void *)(area + 4 * TOTAL), 1);
                    } else {
                        spread((void *)(area + 4 * TOTAL), 1);
                        CHECK(cuMemcpyDtoHAsync(packed, area + 4 * TOTAL, TOTAL, stream));
                        CHECK(cuStreamSynchronize(stream));
                        for (u64 i = 0; i < pieces; i++) memcpy(in_host[i], packed + i * piece, piece);
                    }
                    CHECK(cuStreamSynchronize(stream));
                    if (round >= 2) rates.push_back(TOTAL / (now_ns() - began));
                }
                std::sort(rates.begin(), rates.end());
                printf(" %.3f", rates[rates.size() / 2]);
            }
            printf("\n");
        }
    }
}
