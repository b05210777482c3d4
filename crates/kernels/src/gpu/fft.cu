// Many Fourier transforms of 512 complex points, 64 threads each with 8 points: three passes of 8-point transforms, and two exchanges over shared memory between
// them (Volkov and Kazian, "Fitting FFT onto the G80 Architecture", 2008, as SHOC). `from, to`; two transforms a block.

template <typename T> struct __align__(2 * sizeof(T)) Complex { T re, im; };

template <typename T> __device__ __forceinline__ Complex<T> operator+(Complex<T> a, Complex<T> b) { return {a.re + b.re, a.im + b.im}; }
template <typename T> __device__ __forceinline__ Complex<T> operator-(Complex<T> a, Complex<T> b) { return {a.re - b.re, a.im - b.im}; }
template <typename T> __device__ __forceinline__ Complex<T> operator*(Complex<T> a, Complex<T> b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

// A number turned by a quarter, exp(-i pi / 2) = -i.
template <typename T> __device__ __forceinline__ Complex<T> quarter(Complex<T> a) { return {a.im, -a.re}; }

// An 8-point transform in place; point k of the result is at k.
template <typename T> __device__ __forceinline__ void eight(Complex<T> *p) {
    const T half = (T)0.70710678118654752440;
    Complex<T> a0 = p[0] + p[4], a1 = p[1] + p[5], a2 = p[2] + p[6], a3 = p[3] + p[7];
    Complex<T> b0 = p[0] - p[4], b1 = p[1] - p[5], b2 = p[2] - p[6], b3 = p[3] - p[7];
    b1 = {(b1.re + b1.im) * half, (b1.im - b1.re) * half};
    b2 = quarter(b2);
    b3 = {(b3.im - b3.re) * half, -(b3.re + b3.im) * half};
    Complex<T> c0 = a0 + a2, c1 = a1 + a3, c2 = a0 - a2, c3 = quarter(a1 - a3);
    Complex<T> d0 = b0 + b2, d1 = b1 + b3, d2 = b0 - b2, d3 = quarter(b1 - b3);
    p[0] = c0 + c1, p[4] = c0 - c1, p[2] = c2 + c3, p[6] = c2 - c3;
    p[1] = d0 + d1, p[5] = d0 - d1, p[3] = d2 + d3, p[7] = d2 - d3;
}

__device__ __forceinline__ Complex<float> turn(float halves) {
    Complex<float> w;
    sincospif(halves, &w.im, &w.re);
    return w;
}
__device__ __forceinline__ Complex<double> turn(double halves) {
    Complex<double> w;
    sincospi(halves, &w.im, &w.re);
    return w;
}

// Point k times the k-th power of exp(i pi halves).
template <typename T> __device__ __forceinline__ void twist(Complex<T> *p, T halves) {
    Complex<T> w1 = turn(halves), w2 = w1 * w1, w3 = w2 * w1, w4 = w2 * w2;
    p[1] = p[1] * w1, p[2] = p[2] * w2, p[3] = p[3] * w3, p[4] = p[4] * w4;
    p[5] = p[5] * (w4 * w1), p[6] = p[6] * (w4 * w2), p[7] = p[7] * (w4 * w3);
}

template <typename T> __device__ __forceinline__ void transform(const Complex<T> *from, Complex<T> *to) {
    // Strides of 72 and 9 words keep the lanes of a warp on different banks.
    __shared__ T real[2][576], imaginary[2][576];
    u32 t = threadIdx.x % 64, mine = threadIdx.x / 64;
    u64 first = ((u64)blockIdx.x * 2 + mine) * 512 + t;
    T *re = real[mine], *im = imaginary[mine];
    Complex<T> p[8];
#pragma unroll
    for (int k = 0; k < 8; k++) p[k] = from[first + 64 * k];
    eight(p);
    twist(p, (T)t * (T)(-2.0 / 512));
#pragma unroll
    for (int k = 0; k < 8; k++) re[k * 72 + t] = p[k].re, im[k * 72 + t] = p[k].im;
    __syncthreads();
    u32 high = t / 8, low = t % 8;
#pragma unroll
    for (int k = 0; k < 8; k++) p[k] = {re[high * 72 + low + 8 * k], im[high * 72 + low + 8 * k]};
    eight(p);
    twist(p, (T)low * (T)(-2.0 / 64));
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 8; k++) re[k * 72 + high * 9 + low] = p[k].re, im[k * 72 + high * 9 + low] = p[k].im;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 8; k++) p[k] = {re[high * 72 + low * 9 + k], im[high * 72 + low * 9 + k]};
    eight(p);
#pragma unroll
    for (int k = 0; k < 8; k++) to[first + 64 * k] = p[k];
}

KERNEL(128) numabench_fft(u64 from, u64 to) { transform<float>((const Complex<float> *)from, (Complex<float> *)to); }

KERNEL(128) numabench_fft_double(u64 from, u64 to) { transform<double>((const Complex<double> *)from, (Complex<double> *)to); }
