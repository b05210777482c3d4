// Forces between atoms by Lennard and Jones: each atom has 128 neighbours in a list, and feels those within the distance 4, with SHOC's constants. Eight lanes share an
// atom. `positions, neighbours, forces, atoms`; positions and forces are fours of which the last number is 0.

template <typename T> struct __align__(16) Position { T x, y, z, w; };

__device__ __forceinline__ float inverse(float value) { return __fdividef(1.0f, value); }
__device__ __forceinline__ double inverse(double value) { return 1.0 / value; }

template <typename T> __device__ __forceinline__ void forces_on(u64 positions, u64 neighbours, u64 forces, u64 atoms) {
    const Position<T> *position = (const Position<T> *)positions;
    u32 part = threadIdx.x % 8;
    u64 atom = ((u64)blockIdx.x * blockDim.x + threadIdx.x) / 8;
    // Lanes of atoms beyond the last one take part in the exchange below.
    bool is = atom < atoms;
    u64 mine = is ? atom : atoms - 1;
    Position<T> own = position[mine];
    const uint4 *list = (const uint4 *)((const u32 *)neighbours + mine * 128) + part;
    T x = 0, y = 0, z = 0;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        uint4 four = list[8 * k];
        u32 other[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int j = 0; j < 4; j++) {
            Position<T> that = position[other[j]];
            T dx = own.x - that.x, dy = own.y - that.y, dz = own.z - that.z;
            T square = dx * dx + dy * dy + dz * dz;
            if (square < (T)16) {
                T two = inverse(square), six = two * two * two;
                T force = two * six * ((T)1.5 * six - (T)2);
                x += dx * force;
                y += dy * force;
                z += dz * force;
            }
        }
    }
    for (u32 by = 4; by > 0; by /= 2) {
        x += shuffle_xor(x, by);
        y += shuffle_xor(y, by);
        z += shuffle_xor(z, by);
    }
    if (is && part == 0) ((Position<T> *)forces)[atom] = {x, y, z, 0};
}

KERNEL(256) numabench_md(u64 positions, u64 neighbours, u64 forces, u64 atoms) { forces_on<float>(positions, neighbours, forces, atoms); }

KERNEL(256) numabench_md_double(u64 positions, u64 neighbours, u64 forces, u64 atoms) { forces_on<double>(positions, neighbours, forces, atoms); }
