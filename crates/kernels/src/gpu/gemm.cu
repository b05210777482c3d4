// Dense matrices: C = A B, all by rows, n by n, n a multiple of 128. A block of 256 threads has a tile of C of 128 by 128, and goes along k in steps of 8
// while the next step's numbers are on their way.

// A thread has 8 by 8 numbers, in four squares of 4 by 4 that lie 64 apart: so the lanes of a warp read neighbouring words of shared memory.
template <typename T> struct __align__(16) Four { T x, y, z, w; };

template <typename T> __device__ __forceinline__ void multiply(const T *a, const T *b, T *c, u32 n) {
    __shared__ __align__(16) T left[2][8][132];
    __shared__ __align__(16) T right[2][8][128];
    u32 thread = threadIdx.x, tiles = n / 128;
    u32 row = blockIdx.x / tiles * 128, column = blockIdx.x % tiles * 128;
    u32 my_row = thread / 16 * 4, my_column = thread % 16 * 4;
    const T *from_a = a + (u64)(row + thread / 2) * n + thread % 2 * 4;
    const T *from_b = b + (u64)(thread / 32) * n + column + thread % 32 * 4;
    T next_a[4], next_b[4], sums[8][8];
#pragma unroll
    for (int i = 0; i < 8; i++)
#pragma unroll
        for (int j = 0; j < 8; j++) sums[i][j] = 0;
    auto load = [&]() {
        Four<T> one = *(const Four<T> *)from_a, other = *(const Four<T> *)from_b;
        next_a[0] = one.x, next_a[1] = one.y, next_a[2] = one.z, next_a[3] = one.w;
        next_b[0] = other.x, next_b[1] = other.y, next_b[2] = other.z, next_b[3] = other.w;
        from_a += 8;
        from_b += (u64)8 * n;
    };
    auto store = [&](u32 to) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            left[to][thread % 2 * 4 + k][thread / 2] = next_a[k];
            right[to][thread / 32][thread % 32 * 4 + k] = next_b[k];
        }
    };
    load();
    store(0);
    __syncthreads();
    u32 steps = n / 8;
    for (u32 step = 0; step < steps; step++) {
        u32 now = step & 1;
        if (step + 1 < steps) load();
#pragma unroll
        for (int k = 0; k < 8; k++) {
            T x[8], y[8];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                x[i] = left[now][k][my_row + i];
                x[i + 4] = left[now][k][my_row + 64 + i];
                y[i] = right[now][k][my_column + i];
                y[i + 4] = right[now][k][my_column + 64 + i];
            }
#pragma unroll
            for (int i = 0; i < 8; i++)
#pragma unroll
                for (int j = 0; j < 8; j++) sums[i][j] += x[i] * y[j];
        }
        if (step + 1 < steps) store(now ^ 1);
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 8; i++) {
        T *to = c + (u64)(row + my_row + i % 4 + i / 4 * 64) * n + column + my_column;
#pragma unroll
        for (int j = 0; j < 8; j++) to[j % 4 + j / 4 * 64] = sums[i][j];
    }
}

// Single precision: `a, b, c, n`.
KERNEL(256) numabench_sgemm(u64 a, u64 b, u64 c, u64 n) {
    multiply<float>((const float *)a, (const float *)b, (float *)c, (u32)n);
}

// Double precision: `a, b, c, n`. NVIDIA's GPUs since compute capability 8.0 multiply 8x4 by 4x8 numbers in one instruction of a warp: there each of the 8 warps
// has 64 by 32 numbers.
KERNEL(256) numabench_dgemm(u64 a, u64 b, u64 c, u64 n) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    // Rows that are 132 apart put the 16 lanes that read at once on 16 different pairs of banks.
    __shared__ __align__(16) double left[2][8][132];
    __shared__ __align__(16) double right[2][8][132];
    u32 size = (u32)n, thread = threadIdx.x, lane = lane_id(), warp = thread / 32, tiles = size / 128;
    u32 row = blockIdx.x / tiles * 128, column = blockIdx.x % tiles * 128;
    u32 my_row = warp / 4 * 64 + lane / 4, my_column = warp % 4 * 32 + lane / 4, my_k = lane % 4;
    const double2 *from_a = (const double2 *)((const double *)a + (u64)(row + thread / 2) * size + thread % 2 * 4);
    const double2 *from_b = (const double2 *)((const double *)b + (u64)(thread / 32) * size + column + thread % 32 * 4);
    double2 next_a[2], next_b[2];
    double sums[8][4][2];
#pragma unroll
    for (int i = 0; i < 8; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) sums[i][j][0] = sums[i][j][1] = 0.0;
    auto load = [&]() {
        next_a[0] = from_a[0], next_a[1] = from_a[1];
        next_b[0] = from_b[0], next_b[1] = from_b[1];
        from_a += 4;
        from_b += (u64)4 * size;
    };
    auto store = [&](u32 to) {
        u32 k = thread % 2 * 4;
        left[to][k][thread / 2] = next_a[0].x;
        left[to][k + 1][thread / 2] = next_a[0].y;
        left[to][k + 2][thread / 2] = next_a[1].x;
        left[to][k + 3][thread / 2] = next_a[1].y;
        double2 *line = (double2 *)&right[to][thread / 32][thread % 32 * 4];
        line[0] = next_b[0];
        line[1] = next_b[1];
    };
    load();
    store(0);
    __syncthreads();
    u32 steps = size / 8;
    for (u32 step = 0; step < steps; step++) {
        u32 now = step & 1;
        if (step + 1 < steps) load();
#pragma unroll
        for (int k = 0; k < 8; k += 4) {
            double x[8], y[4];
#pragma unroll
            for (int i = 0; i < 8; i++) x[i] = left[now][k + my_k][my_row + 8 * i];
#pragma unroll
            for (int j = 0; j < 4; j++) y[j] = right[now][k + my_k][my_column + 8 * j];
#pragma unroll
            for (int i = 0; i < 8; i++)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                                 : "+d"(sums[i][j][0]), "+d"(sums[i][j][1])
                                 : "d"(x[i]), "d"(y[j]));
        }
        if (step + 1 < steps) store(now ^ 1);
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 8; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            u64 at = (u64)(row + my_row + 8 * i) * size + column + warp % 4 * 32 + 8 * j + lane % 4 * 2;
            *(double2 *)((double *)c + at) = make_double2(sums[i][j][0], sums[i][j][1]);
        }
#else
    multiply<double>((const double *)a, (const double *)b, (double *)c, (u32)n);
#endif
}
