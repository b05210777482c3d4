// Radix sort of 32-bit keys with 32-bit values: four passes over digits of 8 bits, each one launch (Adinarayan and others, "Onesweep: A Faster Least
// Significant Digit Radix Sort for GPUs", 2022). Keys come in tiles of 4096; there is a whole number of tiles and there are fewer than 2^30 keys.

#define SORT_TILE 4096u
#define SORT_ITEMS 16

// How often each digit of each pass is met: `keys, tiles, counts` (4 times 256 words, 0 before).
KERNEL(256) numabench_sort_count(u64 keys, u64 tiles, u64 counts) {
    __shared__ u32 count[4][256];
    for (u32 pass = 0; pass < 4; pass++) count[pass][threadIdx.x] = 0;
    __syncthreads();
    const uint4 *from = (const uint4 *)keys;
    u64 fours = tiles * (SORT_TILE / 4), step = (u64)gridDim.x * blockDim.x;
    for (u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x; at < fours; at += step) {
        uint4 four = from[at];
        u32 key[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int k = 0; k < 4; k++) {
#pragma unroll
            for (int pass = 0; pass < 4; pass++) atomicAdd(&count[pass][(key[k] >> (8 * pass)) & 255u], 1u);
        }
    }
    __syncthreads();
    for (u32 pass = 0; pass < 4; pass++) atomicAdd((u32 *)counts + pass * 256 + threadIdx.x, count[pass][threadIdx.x]);
}

// The sums of 256 values, one a thread, before each of them.
__device__ __forceinline__ u32 sum_before(u32 value, u32 *warps) {
    u32 lane = lane_id(), sum = value;
    for (u32 by = 1; by < 32; by *= 2) {
        u32 other = shuffle_up(sum, by);
        if (lane >= by) sum += other;
    }
    if (lane == 31) warps[threadIdx.x / 32] = sum;
    __syncthreads();
    u32 before = 0;
    for (u32 warp = 0; warp < threadIdx.x / 32; warp++) before += warps[warp];
    __syncthreads();
    return before + sum - value;
}

// Where each digit begins, in place of how often it is met: `counts`; a block a pass.
KERNEL(256) numabench_sort_begin(u64 counts) {
    __shared__ u32 warps[8];
    u32 *count = (u32 *)counts + blockIdx.x * 256 + threadIdx.x;
    *count = sum_before(*count, warps);
}

// One pass: `keys, values, to_keys, to_values, begins, state, shift`. `state` is 0 before: four words, the first one a counter of tiles, then a word for each tile and digit: how
// many keys of the tile (flag 1 in the two highest bits) or of all tiles up to it (flag 2) have the digit.
KERNEL(256) numabench_sort_pass(u64 keys, u64 values, u64 to_keys, u64 to_values, u64 begins, u64 state, u64 shift) {
    __shared__ u32 counts[8][256];
    __shared__ u32 tile_begin[256];
    __shared__ u32 base[256];
    __shared__ u32 staged[SORT_TILE];
    __shared__ u32 warps[8];
    __shared__ u32 tile_number;
    u32 thread = threadIdx.x, lane = lane_id(), warp = thread / 32;
    if (thread == 0) tile_number = atomicAdd((u32 *)state, 1u);
    for (u32 other = 0; other < 8; other++) counts[other][thread] = 0;
    __syncthreads();
    u32 tile = tile_number;
    u64 first = (u64)tile * SORT_TILE + warp * (32 * SORT_ITEMS) + lane;
    u32 key[SORT_ITEMS], rank[SORT_ITEMS];
#pragma unroll
    for (int k = 0; k < SORT_ITEMS; k++) key[k] = ((const u32 *)keys)[first + 32 * k];
    // The lanes of a warp with one digit have one who counts them; what came before in the warp is lower.
#pragma unroll
    for (int k = 0; k < SORT_ITEMS; k++) {
        u32 digit = (key[k] >> shift) & 255u, alike = 0xffffffffu;
#pragma unroll
        for (u32 bit = 0; bit < 8; bit++) {
            bool is = (digit >> bit) & 1u;
            u32 those = votes(is);
            alike &= is ? those : ~those;
        }
        u32 leader = __ffs((int)alike) - 1, before = 0;
        if (lane == leader) {
            before = counts[warp][digit];
            counts[warp][digit] = before + __popc(alike);
        }
        warp_sync();
        rank[k] = shuffle(before, leader) + __popc(alike & ((1u << lane) - 1));
    }
    __syncthreads();
    // A thread a digit.
    u32 in_tile = 0;
    for (u32 other = 0; other < 8; other++) {
        u32 count = counts[other][thread];
        counts[other][thread] = in_tile;
        in_tile += count;
    }
    volatile u32 *status = (volatile u32 *)state + 4;
    status[tile * 256u + thread] = ((tile == 0 ? 2u : 1u) << 30) | in_tile;
    u32 begin = sum_before(in_tile, warps);
    tile_begin[thread] = begin;
    u32 before = 0;
    for (u32 other = tile; other > 0;) {
        u32 word = status[(other - 1) * 256u + thread];
        if (word >> 30 == 0) continue;
        before += word & 0x3fffffffu;
        if (word >> 30 == 2) break;
        other--;
    }
    if (tile > 0) status[tile * 256u + thread] = (2u << 30) | (before + in_tile);
    base[thread] = ((const u32 *)begins)[thread] + before - begin;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < SORT_ITEMS; k++) {
        u32 digit = (key[k] >> shift) & 255u;
        rank[k] += tile_begin[digit] + counts[warp][digit];
        staged[rank[k]] = key[k];
    }
    __syncthreads();
    u32 to[SORT_ITEMS];
#pragma unroll
    for (int k = 0; k < SORT_ITEMS; k++) {
        u32 sorted = staged[thread + 256 * k];
        to[k] = base[(sorted >> shift) & 255u] + thread + 256 * k;
        ((u32 *)to_keys)[to[k]] = sorted;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < SORT_ITEMS; k++) staged[rank[k]] = ((const u32 *)values)[first + 32 * k];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < SORT_ITEMS; k++) ((u32 *)to_values)[to[k]] = staged[thread + 256 * k];
}

// Sets words of 32 bits to 0, in fours: `address, fours`.
KERNEL(256) numabench_sort_clear(u64 address, u64 fours) {
    uint4 *words = (uint4 *)address;
    u64 step = (u64)gridDim.x * blockDim.x;
    for (u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x; at < fours; at += step) words[at] = make_uint4(0, 0, 0, 0);
}
