// What the kernels have in common, for CUDA and HIP. Both languages take these files; what differs between them stands here and nowhere else.
//
// Every parameter of every kernel is a 64-bit word (an address or a number), so that one way to launch serves all of them. A warp is 32 lanes everywhere:
// on AMD's GPUs of 64 lanes it is half of a wavefront. No header of a toolkit is included: run-time compilers have what is used here built in.

typedef unsigned int u32;
typedef unsigned long long u64;

#if defined(__HIP_PLATFORM_AMD__) || defined(__HIP__)
#define NUMABENCH_HIP 1
// The lane among the 32 of a warp, and where the warp begins in its wavefront.
__device__ __forceinline__ u32 lane_id() { return __lane_id() & 31u; }
__device__ __forceinline__ u32 votes(bool is) { return (u32)(__ballot(is) >> (__lane_id() & 32u)); }
__device__ __forceinline__ void warp_sync() { __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront"); __builtin_amdgcn_wave_barrier(); }
template <typename T> __device__ __forceinline__ T shuffle(T value, u32 lane) { return __shfl(value, (int)lane, 32); }
template <typename T> __device__ __forceinline__ T shuffle_up(T value, u32 by) { return __shfl_up(value, by, 32); }
template <typename T> __device__ __forceinline__ T shuffle_xor(T value, u32 mask) { return __shfl_xor(value, (int)mask, 32); }
#else
__device__ __forceinline__ u32 lane_id() { return threadIdx.x & 31u; }
__device__ __forceinline__ u32 votes(bool is) { return __ballot_sync(0xffffffffu, is); }
__device__ __forceinline__ void warp_sync() { __syncwarp(); }
template <typename T> __device__ __forceinline__ T shuffle(T value, u32 lane) { return __shfl_sync(0xffffffffu, value, lane); }
template <typename T> __device__ __forceinline__ T shuffle_up(T value, u32 by) { return __shfl_up_sync(0xffffffffu, value, by); }
template <typename T> __device__ __forceinline__ T shuffle_xor(T value, u32 mask) { return __shfl_xor_sync(0xffffffffu, value, mask); }
#endif

#define KERNEL(threads) extern "C" __global__ void __launch_bounds__(threads)
