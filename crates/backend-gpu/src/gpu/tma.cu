// Copies by the tensor memory accelerator (TMA) of NVIDIA's GPUs from compute capability 9.0 on. A block is one thread, which moves pieces through
// shared memory by bulk copies: each piece is loaded into a stage, whose barrier counts its bytes, and stored from there as soon as all have arrived.
// No register holds any of them. Every (blocks in all)-th piece is a block's; as many loads are in flight as there are stages.
//
// Bulk copies are of whole lines of 16 bytes; up to 15 bytes behind them are the first block's, one at a time.

typedef unsigned long long word;

#define LINE 16
#define PIECE 8192
#define STAGES 5

static __device__ unsigned in_shared(const void *address) { return (unsigned)__cvta_generic_to_shared(address); }

static __device__ word in_global(const void *address) { return (word)__cvta_generic_to_global(address); }

static __device__ void make_barrier(word *barrier) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(in_shared(barrier)) : "memory");
}

// From here on the accelerator sees what this thread wrote to shared memory: the barriers.
static __device__ void show_barriers() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

static __device__ void load(char *stage, const char *from, unsigned bytes, word *barrier) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(in_shared(barrier)), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(in_shared(stage)),
                 "l"(in_global(from)), "r"(bytes), "r"(in_shared(barrier))
                 : "memory");
}

static __device__ void wait_for(word *barrier, unsigned parity) {
    unsigned has_arrived = 0;
    while (!has_arrived)
        asm volatile("{\n\t"
                     ".reg .pred arrived;\n\t"
                     "mbarrier.try_wait.parity.shared::cta.b64 arrived, [%1], %2;\n\t"
                     "selp.u32 %0, 1, 0, arrived;\n\t"
                     "}"
                     : "=r"(has_arrived)
                     : "r"(in_shared(barrier)), "r"(parity)
                     : "memory");
}

static __device__ void store(char *to, const char *stage, unsigned bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(in_global(to)), "r"(in_shared(stage)), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Waits until all stores but the last one have read their stages.
static __device__ void wait_for_earlier_stages() { asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory"); }

static __device__ void wait_for_stores() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

static __device__ word smaller(word one, word other) { return one < other ? one : other; }

extern "C" __global__ void numabench_tma_copy(char *to, const char *from, word bytes) {
    __shared__ __align__(128) char stages[STAGES][PIECE];
    __shared__ __align__(8) word barriers[STAGES];
    const word lines = bytes / LINE * LINE, pieces = (lines + PIECE - 1) / PIECE;
    const word first = (word)blockIdx.x * PIECE, step = (word)gridDim.x * PIECE;
    const word mine = pieces > blockIdx.x ? (pieces - blockIdx.x - 1) / gridDim.x + 1 : 0;

    for (unsigned stage = 0; stage < STAGES; stage += 1)
        make_barrier(&barriers[stage]);
    show_barriers();

    word loaded = 0;
#pragma unroll 1
    for (word stored = 0; stored < mine; stored += 1) {
        // The piece before the last one that was stored: its stage is the next to load into.
        if (stored > 1)
            wait_for_earlier_stages();
        const word room = stored > 1 ? stored + STAGES - 1 : STAGES;
#pragma unroll 1
        for (; loaded < smaller(room, mine); loaded += 1) {
            const word at = first + loaded * step, into = loaded % STAGES;
            load(stages[into], from + at, (unsigned)smaller(lines - at, PIECE), &barriers[into]);
        }

        const word at = first + stored * step, stage = stored % STAGES;
        wait_for(&barriers[stage], stored / STAGES % 2);
        store(to + at, stages[stage], (unsigned)smaller(lines - at, PIECE));
    }
    wait_for_stores();

    if (blockIdx.x == 0)
        for (word at = lines; at < bytes; at += 1)
            to[at] = from[at];
}
