// Small pieces moved by one kernel: between places in slots of the device's area and of another range, which is pinned host memory or the same area elsewhere.
//
// Piece i lies in slot (i * step) % slots of a range; a step of 1 is one behind the other. A block moves 4 KiB at a time, a thread 16 bytes of them.

KERNEL(256) numabench_pieces(unsigned char *area, unsigned char *other, u64 piece, u64 pieces, u64 area_step, u64 other_step, u64 slots, u64 to_area) {
    const u64 parts = piece / 4096;
    for (u64 at = blockIdx.x; at < pieces * parts; at += gridDim.x) {
        const u64 number = at / parts, within = at % parts * 4096 + 16 * threadIdx.x;
        uint4 *in_area = (uint4 *)(area + number * area_step % slots * piece + within);
        uint4 *in_other = (uint4 *)(other + number * other_step % slots * piece + within);
        if (to_area) {
            *in_area = *in_other;
        } else {
            *in_other = *in_area;
        }
    }
}
