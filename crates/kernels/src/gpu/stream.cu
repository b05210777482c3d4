// Kernels that memory's rate bounds: triad, reduction, scan, the stencil of nine points, sparse matrix times vector.

// c[i] = a[i] + scalar * b[i], in fours: `a, b, c, fours`.
KERNEL(256) numabench_triad(u64 a, u64 b, u64 c, u64 fours) {
    const float4 *first = (const float4 *)a;
    const float4 *second = (const float4 *)b;
    float4 *sums = (float4 *)c;
    const float scalar = 1.75f;
    u64 step = (u64)gridDim.x * blockDim.x;
    for (u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x; at < fours; at += step) {
        float4 x = first[at], y = second[at];
        sums[at] = make_float4(x.x + scalar * y.x, x.y + scalar * y.y, x.z + scalar * y.z, x.w + scalar * y.w);
    }
}

__device__ __forceinline__ float block_sum(float value, float *shared) {
    for (u32 by = 16; by > 0; by /= 2) value += shuffle_xor(value, by);
    if (lane_id() == 0) shared[threadIdx.x / 32] = value;
    __syncthreads();
    float sum = 0.0f;
    if (threadIdx.x == 0) {
        for (u32 warp = 0; warp < blockDim.x / 32; warp++) sum += shared[warp];
    }
    return sum;
}

// The sum of all: `values, fours, parts, done, result`. `parts` has room for one word a block, `done` is 0 before and after: the block that is last to end
// adds the parts up, so that one launch is all there is and the order of the additions is always the same.
KERNEL(256) numabench_reduce(u64 values, u64 fours, u64 parts, u64 done, u64 result) {
    __shared__ float warps[8];
    __shared__ bool is_last;
    const float4 *from = (const float4 *)values;
    volatile float *part = (volatile float *)parts;
    float sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    u64 step = (u64)gridDim.x * blockDim.x;
    u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    for (; at + 3 * step < fours; at += 4 * step) {
        float4 four[4];
#pragma unroll
        for (int k = 0; k < 4; k++) four[k] = from[at + k * step];
#pragma unroll
        for (int k = 0; k < 4; k++) sums[k] += (four[k].x + four[k].y) + (four[k].z + four[k].w);
    }
    for (; at < fours; at += step) {
        float4 four = from[at];
        sums[0] += (four.x + four.y) + (four.z + four.w);
    }
    float sum = block_sum((sums[0] + sums[1]) + (sums[2] + sums[3]), warps);
    if (threadIdx.x == 0) {
        part[blockIdx.x] = sum;
        __threadfence();
        is_last = atomicInc((u32 *)done, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (is_last) {
        __threadfence();
        float mine = 0.0f;
        for (u32 block = threadIdx.x; block < gridDim.x; block += blockDim.x) mine += part[block];
        __syncthreads();
        sum = block_sum(mine, warps);
        if (threadIdx.x == 0) *(float *)result = sum;
    }
}

// Sets words of 32 bits to 0, in fours: `address, fours`.
KERNEL(256) numabench_clear(u64 address, u64 fours) {
    uint4 *words = (uint4 *)address;
    u64 step = (u64)gridDim.x * blockDim.x;
    for (u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x; at < fours; at += step) words[at] = make_uint4(0, 0, 0, 0);
}

// The sums of all values up to and with each: `from, to, state`; a block takes the next tile of 4096 values. `state` is 0 before: a counter of tiles, and from
// the second word of 64 bits on one for each tile, the tile's own sum (flag 1) or that of all up to it (flag 2) with the flag above it. A tile looks back over
// those before it until it meets a flag 2 (Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back", 2016). Tiles are counted, not
// taken from the block's number, because only those that are under way may be waited for.
KERNEL(256) numabench_scan(u64 from, u64 to, u64 state) {
    __shared__ float warp_sums[8];
    __shared__ float before_tile;
    __shared__ u32 tile_number;
    if (threadIdx.x == 0) tile_number = atomicAdd((u32 *)state, 1u);
    __syncthreads();
    u32 tile = tile_number, lane = lane_id(), warp = threadIdx.x / 32;
    volatile u64 *status = (volatile u64 *)state + 1;
    u64 first = (u64)tile * 1024 + warp * 128 + lane;
    float4 four[4];
#pragma unroll
    for (int k = 0; k < 4; k++) four[k] = ((const float4 *)from)[first + k * 32];
    float before = 0.0f;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        four[k].y += four[k].x;
        four[k].z += four[k].y;
        four[k].w += four[k].z;
        float sum = four[k].w;
        for (u32 by = 1; by < 32; by *= 2) {
            float other = shuffle_up(sum, by);
            if (lane >= by) sum += other;
        }
        float left = before + (sum - four[k].w);
        before += shuffle(sum, 31);
        four[k].x += left;
        four[k].y += left;
        four[k].z += left;
        four[k].w += left;
    }
    if (lane == 0) warp_sums[warp] = before;
    __syncthreads();
    float in_tile = 0.0f, of_tile = 0.0f;
    for (u32 other = 0; other < 8; other++) {
        float sum = warp_sums[other];
        if (other < warp) in_tile += sum;
        of_tile += sum;
    }
    if (warp == 0) {
        if (lane == 0) status[tile] = ((u64)(tile == 0 ? 2u : 1u) << 32) | __float_as_uint(of_tile);
        float prefix = 0.0f;
        // Lanes look at the 32 tiles before, the nearest by the lowest lane.
        for (long long nearest = (long long)tile - 1; nearest >= 0; nearest -= 32) {
            long long mine = nearest - lane;
            u64 word = (u64)2 << 32;
            if (mine >= 0) {
                do word = status[mine];
                while (word >> 32 == 0);
            }
            warp_sync();
            u32 complete = votes(word >> 32 == 2);
            u32 last = complete ? __ffs((int)complete) - 1 : 31;
            float value = lane <= last ? __uint_as_float((u32)word) : 0.0f;
            for (u32 by = 16; by > 0; by /= 2) value += shuffle_xor(value, by);
            prefix += value;
            if (complete) break;
        }
        if (lane == 0) {
            if (tile > 0) status[tile] = ((u64)2 << 32) | __float_as_uint(prefix + of_tile);
            before_tile = prefix;
        }
    }
    __syncthreads();
    float left = before_tile + in_tile;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        four[k].x += left;
        four[k].y += left;
        four[k].z += left;
        four[k].w += left;
        ((float4 *)to)[first + k * 32] = four[k];
    }
}

// One step of the stencil of nine points with the weights of SHOC (centre 0.25, sides 0.15, corners 0.05 of the sums): `from, to, width, height`. The border stays as it
// is. A thread goes down 16 rows of a column and keeps what three rows have in common.
KERNEL(256) numabench_stencil(u64 from, u64 to, u64 width, u64 height) {
    const float *in = (const float *)from;
    float *out = (float *)to;
    u32 columns = (u32)width, rows = (u32)height;
    u32 strips = (columns + blockDim.x - 1) / blockDim.x;
    u32 column = blockIdx.x % strips * blockDim.x + threadIdx.x;
    u32 first = blockIdx.x / strips * 16;
    if (column >= columns) return;
    bool border = column == 0 || column == columns - 1;
    u32 left = column == 0 ? 0 : column - 1, right = border ? column : column + 1;
    u32 row_above = first == 0 ? 0 : first - 1;
    u64 line = (u64)row_above * columns;
    float above = in[line + column], above_sides = in[line + left] + in[line + right];
    line = (u64)first * columns;
    float here = in[line + column], here_sides = in[line + left] + in[line + right];
#pragma unroll 4
    for (u32 k = 0; k < 16; k++) {
        u32 row = first + k;
        if (row >= rows) return;
        u64 next = (u64)(row + 1 < rows ? row + 1 : row) * columns;
        float below = in[next + column], below_sides = in[next + left] + in[next + right];
        float value = 0.25f * here + 0.15f * (above + below + here_sides) + 0.05f * (above_sides + below_sides);
        bool stays = border || row == 0 || row == rows - 1;
        out[(u64)row * columns + column] = stays ? here : value;
        above = here;
        above_sides = here_sides;
        here = below;
        here_sides = below_sides;
    }
}

// A sparse matrix (CSR) times a vector, a warp a row: `values, columns, starts, vector, result, rows`.
KERNEL(256) numabench_spmv(u64 values, u64 columns, u64 starts, u64 vector, u64 result, u64 rows) {
    const float *value = (const float *)values, *x = (const float *)vector;
    const u32 *column = (const u32 *)columns, *start = (const u32 *)starts;
    u32 lane = lane_id();
    u64 row = ((u64)blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (row >= rows) return;
    u32 at = start[row] + lane, end = start[row + 1];
    float sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (; at + 96 < end; at += 128) {
#pragma unroll
        for (int k = 0; k < 4; k++) sums[k] += value[at + 32 * k] * __ldg(x + column[at + 32 * k]);
    }
    for (; at < end; at += 32) sums[0] += value[at] * __ldg(x + column[at]);
    float sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    for (u32 by = 16; by > 0; by /= 2) sum += shuffle_xor(sum, by);
    if (lane == 0) ((float *)result)[row] = sum;
}
