// Jacobi's iteration of Laplace's equation on a plane: a cell becomes the mean of its four neighbours, and the largest change of all cells is kept.
//
// The order of the additions is the same everywhere (those above and below, those left and right, the two sums), and a product with 0.25 is exact, so that every device and every
// core gives the same bits. A row has `pitch` numbers, a multiple of a line; a thread has 16 bytes of a row and goes down a strip of rows, of which it keeps three.

template <typename V> struct Parts;
template <> struct Parts<float4> { typedef float Number; enum { COUNT = 4 }; };
template <> struct Parts<double2> { typedef double Number; enum { COUNT = 2 }; };

__device__ __forceinline__ void keep_largest(u64 at, float value) { atomicMax((u32 *)at, __float_as_uint(value)); }
__device__ __forceinline__ void keep_largest(u64 at, double value) { atomicMax((u64 *)at, (u64)__double_as_longlong(value)); }
__device__ __forceinline__ float larger(float one, float other) { return fmaxf(one, other); }
__device__ __forceinline__ double larger(double one, double other) { return fmax(one, other); }
__device__ __forceinline__ float size_of_change(float change) { return fabsf(change); }
__device__ __forceinline__ double size_of_change(double change) { return fabs(change); }

template <typename V> union Cells {
    V all;
    typename Parts<V>::Number each[Parts<V>::COUNT];
};

// What a thread keeps while it goes down its strip.
template <typename V> struct Strip {
    typedef typename Parts<V>::Number T;
    enum { COUNT = Parts<V>::COUNT };
    const T *in;
    T *out;
    u64 pitch;
    // How many cells it has, and whether it loads its neighbours itself: the one on the right is another thread's, unless that has none. Then it is the border.
    int cells;
    bool loads_left, loads_right;
    Cells<V> above, here;
    T most;

    // So many rows: all loads come first, so that many are under way.
    template <int ROWS> __device__ __forceinline__ void rows() {
        Cells<V> below[ROWS];
        T left[ROWS], right[ROWS];
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            const T *line = in + row * pitch;
            if (cells > 0) below[row].all = *(const V *)(line + pitch);
            if (loads_left) left[row] = line[-1];
            if (loads_right) right[row] = line[COUNT];
        }
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            T before = shuffle_up(here.each[COUNT - 1], 1u), after = shuffle(here.each[0], (lane_id() + 1) & 31u);
            if (loads_left) before = left[row];
            if (loads_right) after = right[row];
            Cells<V> becomes;
#pragma unroll
            for (int k = 0; k < COUNT; k++) {
                T one = k == 0 ? before : here.each[k > 0 ? k - 1 : 0];
                T other = k == COUNT - 1 ? after : here.each[k < COUNT - 1 ? k + 1 : 0];
                becomes.each[k] = T(0.25) * ((above.each[k] + below[row].each[k]) + (one + other));
                if (k < cells) most = larger(most, size_of_change(becomes.each[k] - here.each[k]));
            }
            T *line = out + row * pitch;
            if (cells == COUNT) {
                *(V *)line = becomes.all;
            } else {
#pragma unroll
                for (int k = 0; k < COUNT; k++)
                    if (k < cells) line[k] = becomes.each[k];
            }
            above.all = here.all;
            here.all = below[row].all;
        }
        in += ROWS * pitch;
        out += ROWS * pitch;
    }
};

#define STRIP_ROWS 32
#define ROWS_AT_ONCE 4

// Rows `first` to `last` (without) of `columns` cells each, from one field to the other; both addresses are of the first cell of the first row that is no border.
template <typename V>
__device__ __forceinline__ void jacobi(u64 from, u64 to, u64 pitch, u64 columns, u64 first, u64 last, u64 largest) {
    typedef typename Parts<V>::Number T;
    const int COUNT = Parts<V>::COUNT;
    __shared__ T warps[8];
    u64 across = (columns + 256 * COUNT - 1) / (256 * COUNT);
    u64 column = (blockIdx.x % across * 256 + threadIdx.x) * COUNT;
    u64 row = first + blockIdx.x / across * STRIP_ROWS;
    int rows = row + STRIP_ROWS < last ? STRIP_ROWS : (int)(last - row);
    bool is_in = column < columns;
    Strip<V> strip;
    strip.in = (const T *)from + row * pitch + column;
    strip.out = (T *)to + row * pitch + column;
    strip.pitch = pitch;
    strip.cells = is_in ? (columns - column < (u64)COUNT ? (int)(columns - column) : COUNT) : 0;
    strip.loads_left = is_in && lane_id() == 0;
    strip.loads_right = is_in && (lane_id() == 31 || column + COUNT >= columns);
    strip.most = T(0);
#pragma unroll
    for (int k = 0; k < COUNT; k++) strip.above.each[k] = strip.here.each[k] = T(0);
    if (is_in) {
        strip.above.all = *(const V *)(strip.in - pitch);
        strip.here.all = *(const V *)strip.in;
    }
    int row_at = 0;
    for (; row_at + ROWS_AT_ONCE <= rows; row_at += ROWS_AT_ONCE) strip.template rows<ROWS_AT_ONCE>();
    for (; row_at < rows; row_at++) strip.template rows<1>();
    T most = strip.most;
    for (u32 by = 16; by > 0; by /= 2) most = larger(most, shuffle_xor(most, by));
    if (lane_id() == 0) warps[threadIdx.x / 32] = most;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (u32 warp = 1; warp < blockDim.x / 32; warp++) most = larger(most, warps[warp]);
        keep_largest(largest, most);
    }
}

// One step of single precision: `from, to, pitch, columns, first row, last row, where the largest change is kept`. That word of 64 bits is 0 before.
KERNEL(256) numabench_jacobi(u64 from, u64 to, u64 pitch, u64 columns, u64 first, u64 last, u64 largest) {
    jacobi<float4>(from, to, pitch, columns, first, last, largest);
}

// The same of double precision.
KERNEL(256) numabench_jacobi_double(u64 from, u64 to, u64 pitch, u64 columns, u64 first, u64 last, u64 largest) {
    jacobi<double2>(from, to, pitch, columns, first, last, largest);
}
