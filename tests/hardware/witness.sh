#!/usr/bin/env bash
# witness.sh - holds what `numabench witness` counts against what programs of CUDA's driver and of its static runtime count
# themselves, and measures what the library costs.
#
#   witness.sh FOLDER [OUT]    FOLDER has numabench and libnumabench_witness.so (and libhwloc.so.15, where the machine has none);
#                              OUT gets the documents and the output of each run [default: a folder that is removed]
#
# Two minutes on a machine with one GPU, nvcc and python3; no network. The cost is measured in turns, without and with the
# library: asynchronous and blocking copies of 4 KiB, and a torch training step where torch is installed.
#
# Exit: 0 every count is the same and the costs are within 3 % (4 KiB) and 1 % (torch); 1 not; 2 wrong usage; 77 no nvcc, GPU
# or python3.
set -euo pipefail

die() { echo "witness: $2" >&2; exit "$1"; }
[ $# -ge 1 ] || die 2 "usage: witness.sh FOLDER [OUT]"
tools=$(cd "$1" && pwd)
for file in numabench libnumabench_witness.so; do
    [ -f "$tools/$file" ] || die 2 "$tools lacks $file"
done
for need in nvcc nvidia-smi python3; do
    command -v $need >/dev/null || PATH=$PATH:/usr/local/cuda/bin
    command -v $need >/dev/null || die 77 "no $need"
done
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
out=${2:-$work} && mkdir -p "$out"
export LD_LIBRARY_PATH=$tools${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} COLUMNS=100

# Both print what they copied, a line each: WAY MEMORY COPIES BYTES.
cat >"$work/runtime.cu" <<'CUDA'
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <utility>
static std::map<std::string, std::pair<long, long>> sums;
static void add(const char *what, long copies, long bytes) { sums[what].first += copies; sums[what].second += copies * bytes; }
#define OK(call) do { cudaError_t e = (call); if (e) { fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e)); exit(1); } } while (0)
__global__ void touch(char *p) { p[threadIdx.x] += 1; }
int main() {
    const size_t MiB = 1 << 20;
    char *device, *other, *pinned, *plain = (char *)malloc(64 * MiB);
    OK(cudaMalloc(&device, 64 * MiB)); OK(cudaMalloc(&other, 64 * MiB)); OK(cudaMallocHost(&pinned, 64 * MiB));
    for (size_t i = 0; i < 64 * MiB; i += 4096) plain[i] = pinned[i] = 1;
    cudaStream_t stream; OK(cudaStreamCreate(&stream));
    for (int i = 0; i < 1000; i++) OK(cudaMemcpyAsync(device, pinned, 4096, cudaMemcpyHostToDevice, stream));
    add("h2d pinned", 1000, 4096);
    for (int i = 0; i < 20; i++) OK(cudaMemcpyAsync(pinned, device, 64 * MiB, cudaMemcpyDeviceToHost, stream));
    add("d2h pinned", 20, 64 * MiB);
    OK(cudaStreamSynchronize(stream));
    for (int i = 0; i < 100; i++) OK(cudaMemcpy(device, plain, MiB + 7, cudaMemcpyHostToDevice));
    add("h2d pageable", 100, MiB + 7);
    for (int i = 0; i < 10; i++) OK(cudaMemcpy(plain, device, 12345, cudaMemcpyDefault));
    add("d2h pageable", 10, 12345);
    for (int i = 0; i < 5; i++) OK(cudaMemcpy2D(device, 512, pinned, 1024, 300, 1000, cudaMemcpyHostToDevice));
    add("h2d pinned", 5, 300 * 1000);
    for (int i = 0; i < 6; i++) OK(cudaMemcpy(other, device, MiB, cudaMemcpyDeviceToDevice));
    add("devices", 6, MiB);
    // A captured graph with a copy and a kernel: the copy is made at each launch, not while it is captured.
    cudaGraph_t graph; cudaGraphExec_t exec;
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    OK(cudaMemcpyAsync(device, pinned, 65536, cudaMemcpyHostToDevice, stream));
    touch<<<1, 32, 0, stream>>>(device);
    OK(cudaMemcpyAsync(pinned, device, 32768, cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamEndCapture(stream, &graph)); OK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 30; i++) OK(cudaGraphLaunch(exec, stream));
    add("h2d pinned", 30, 65536); add("d2h pinned", 30, 32768);
    OK(cudaStreamSynchronize(stream));
    std::thread threads[4];
    for (auto &thread : threads) thread = std::thread([=] { for (int i = 0; i < 500; i++) OK(cudaMemcpy(device, pinned, 8192, cudaMemcpyHostToDevice)); });
    for (auto &thread : threads) thread.join();
    add("h2d pinned", 2000, 8192);
    // Pinned and unpinned again: the same address is of two kinds.
    OK(cudaHostRegister(plain, MiB, 0)); OK(cudaMemcpy(device, plain, 1000, cudaMemcpyHostToDevice)); add("h2d pinned", 1, 1000);
    OK(cudaHostUnregister(plain)); OK(cudaMemcpy(device, plain, 1000, cudaMemcpyHostToDevice)); add("h2d pageable", 1, 1000);
    for (auto &sum : sums) printf("%s %ld %ld\n", sum.first.c_str(), sum.second.first, sum.second.second);
    return 3;
}
CUDA
cat >"$work/driver.cu" <<'CUDA'
#include <cuda.h>
#include <cstdio>
#include <cstdlib>
#define OK(call) do { CUresult e = (call); if (e) { fprintf(stderr, "%s: %d\n", #call, (int)e); exit(1); } } while (0)
int main() {
    CUdevice gpu; CUcontext context; CUdeviceptr device; void *pinned; CUstream stream;
    char *plain = (char *)calloc(1, 1 << 20);
    OK(cuInit(0)); OK(cuDeviceGet(&gpu, 0)); OK(cuDevicePrimaryCtxRetain(&context, gpu)); OK(cuCtxSetCurrent(context));
    OK(cuMemAlloc(&device, 1 << 20)); OK(cuMemHostAlloc(&pinned, 1 << 20, 0)); OK(cuStreamCreate(&stream, 0));
    for (int i = 0; i < 300; i++) OK(cuMemcpyHtoD(device, pinned, 4096));
    for (int i = 0; i < 200; i++) OK(cuMemcpyDtoHAsync(pinned, device, 1 << 20, stream));
    for (int i = 0; i < 50; i++) OK(cuMemcpyHtoD(device, plain, 70000));
    CUDA_MEMCPY3D box = {};
    box.srcMemoryType = CU_MEMORYTYPE_HOST; box.srcHost = pinned; box.srcPitch = 256; box.srcHeight = 20;
    box.dstMemoryType = CU_MEMORYTYPE_DEVICE; box.dstDevice = device; box.dstPitch = 128; box.dstHeight = 10;
    box.WidthInBytes = 100; box.Height = 10; box.Depth = 7;
    OK(cuMemcpy3DAsync(&box, stream)); OK(cuStreamSynchronize(stream));
    OK(cuCtxSynchronize());
    printf("h2d pinned 301 %ld\nd2h pinned 200 %ld\nh2d pageable 50 3500000\n", 300L * 4096 + 7000, 200L << 20);
    return 3;
}
CUDA
# 4 KiB copies: nanoseconds a copy, asynchronous and blocking.
cat >"$work/cost.cu" <<'CUDA'
#include <cuda_runtime.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
int main(int, char **words) {
    bool blocks = !strcmp(words[1], "blocking");
    char *device, *pinned; cudaStream_t stream;
    cudaMalloc(&device, 4096); cudaMallocHost(&pinned, 4096); cudaStreamCreate(&stream);
    auto copies = [&](int count) {
        for (int i = 0; i < count; i++) {
            if (blocks) cudaMemcpy(device, pinned, 4096, cudaMemcpyHostToDevice);
            else cudaMemcpyAsync(device, pinned, 4096, cudaMemcpyHostToDevice, stream);
            if (!blocks && i % 512 == 511) cudaStreamSynchronize(stream);
        }
        cudaStreamSynchronize(stream);
    };
    copies(5000);
    auto begin = std::chrono::steady_clock::now();
    copies(200000);
    printf("%.2f\n", std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() / 200000);
}
CUDA
for name in runtime cost; do nvcc -O2 -std=c++17 -cudart static -o "$work/$name" "$work/$name.cu" -lpthread; done
nvcc -O2 -o "$work/driver" "$work/driver.cu" -lcuda

bad=0
cat >"$work/held.py" <<'PYTHON'
import json, sys
document, own = json.load(open(sys.argv[1])), open(sys.argv[2]).read().split('\n')
wanted = {}
for line in filter(None, own):
    *what, copies, size = line.split()
    wanted[' '.join(what)] = (int(copies), int(size))
seen = {}
for buffer in document['buffers']:
    key = f"{buffer['direction']} {buffer['memory']}"
    copies, size = seen.get(key, (0, 0))
    seen[key] = (copies + buffer['copies'], size + buffer['bytes'])
devices = [sum(process[name] for process in document['processes']) for name in ('device_copies', 'device_bytes')]
if devices[0]: seen['devices'] = tuple(devices)
wrong = 0
for key in sorted(wanted.keys() | seen.keys()):
    same = wanted.get(key) == seen.get(key)
    wrong += not same
    print(f"  {'same ' if same else 'OTHER'} {key}: the program {wanted.get(key)}, witness {seen.get(key)}")
print('  not seen:', document['not_seen'], 'exit', document['exit_code'])
sys.exit(wrong > 0 or document['exit_code'] != 3)
PYTHON
for name in driver runtime; do
    for more in "" "--time all --pages all"; do
        echo "== counts: $name $more"
        # shellcheck disable=SC2086 # options are words
        "$tools/numabench" witness $more --json "$out/$name${more:+-all}.json" -- "$work/$name" >"$out/$name.own" 2>"$out/$name${more:+-all}.answer" || [ $? -eq 3 ] || { cat "$out/$name"*.answer; bad=1; continue; }
        python3 "$work/held.py" "$out/$name${more:+-all}.json" "$out/$name.own" || bad=1
    done
done
echo "== the answer of the runtime's program"; cat "$out/runtime.answer"

median() { sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
cost() { # NAME LIMIT COMMAND...: the command prints one number; in turns, without and with the library
    local name=$1 limit=$2; shift 2
    : >"$work/without"; : >"$work/with"
    for _ in $turns; do
        "$@" >>"$work/without" 2>"$work/log"
        "$tools/numabench" witness -- "$@" >>"$work/with" 2>"$work/log" || { cat "$work/log"; bad=1; return; }
    done
    python3 - "$name" "$limit" "$(median <"$work/without")" "$(median <"$work/with")" "$(tr '\n' ' ' <"$work/without")" "$(tr '\n' ' ' <"$work/with")" <<'PYTHON' || bad=1
import sys
name, limit, without, with_it, all_without, all_with = sys.argv[1:]
percent = (float(with_it) / float(without) - 1) * 100
print(f"== cost, {name}: {without} without, {with_it} with: {percent:+.2f} % (limit {limit} %)\n  without {all_without}\n  with    {all_with}")
sys.exit(percent > float(limit))
PYTHON
}
turns="1 2 3 4 5 6 7"
cost "asynchronous 4 KiB copies, ns each" 3 "$work/cost" queued
cost "blocking 4 KiB copies, ns each" 3 "$work/cost" blocking
if python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
    cat >"$work/step.py" <<'PYTHON'
import time, torch
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(4096, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 4096)).cuda()
sgd = torch.optim.SGD(model.parameters(), 1e-3)
data = torch.randn(4, 2048, 4096)
def step(at):
    batch = data[at % 4].cuda()
    sgd.zero_grad(); model(batch).square().mean().backward(); sgd.step()
for at in range(20): step(at)
torch.cuda.synchronize(); begin = time.perf_counter()
for at in range(200): step(at)
torch.cuda.synchronize(); print((time.perf_counter() - begin) / 200 * 1e6)
PYTHON
    # Each turn imports torch twice.
    turns="1 2 3"
    cost "a torch training step, us" 1 python3 "$work/step.py"
else
    echo "== cost, torch: not installed here"
fi
exit $bad
