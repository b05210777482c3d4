// Memory whose pages go to whoever touches them: 64-bit words, of which number i is i * GROWS + key, written, read and changed. A thread takes 16 bytes at a time.
//
// The first parameter is the device's own area, where each block leaves the sum of what it read: word i counts 2 i + 1 times, so that no word can stand in another one's place.

#define GROWS 0x9e3779b97f4a7c15ull

KERNEL(256) numabench_moving_write(u64 *sums, ulonglong2 *pairs, u64 count, u64 key) {
    for (u64 at = blockIdx.x * (u64)blockDim.x + threadIdx.x; at < count; at += (u64)gridDim.x * blockDim.x) {
        pairs[at] = make_ulonglong2(2 * at * GROWS + key, (2 * at + 1) * GROWS + key);
    }
}

KERNEL(256) numabench_moving_read(u64 *sums, const ulonglong2 *pairs, u64 count) {
    __shared__ u64 shared[256];
    u64 sum = 0;
    for (u64 at = blockIdx.x * (u64)blockDim.x + threadIdx.x; at < count; at += (u64)gridDim.x * blockDim.x) {
        const ulonglong2 pair = pairs[at];
        sum += (4 * at + 1) * pair.x + (4 * at + 3) * pair.y;
    }
    shared[threadIdx.x] = sum;
    __syncthreads();
    for (u32 half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            shared[threadIdx.x] += shared[threadIdx.x + half];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = shared[0];
    }
}

KERNEL(256) numabench_moving_add(u64 *sums, ulonglong2 *pairs, u64 count, u64 more) {
    for (u64 at = blockIdx.x * (u64)blockDim.x + threadIdx.x; at < count; at += (u64)gridDim.x * blockDim.x) {
        ulonglong2 pair = pairs[at];
        pair.x += more;
        pair.y += more;
        pairs[at] = pair;
    }
}
