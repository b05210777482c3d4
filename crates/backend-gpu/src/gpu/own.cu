// Fill device memory with a pattern, and compare it with one: the word at `index` is device::Pattern::word's, computed alike. Each thread takes
// every (threads in all)-th word. The comparison leaves the smallest index that differs in *lowest, which holds all ones before; a thread ends at
// the first difference it sees, which is its smallest.
//
// Copy: 16 bytes at a time, four loads of a thread in flight, then the rest one at a time, then up to 15 bytes by as many threads.
//
// Chase: from the offset in *state, each load's value is the next load's offset; the last one is left in *state. One thread.
//
// Answer: gives each new word at *question back at *answer, until it is all ones, or so many looks in a row saw nothing new (then *answer is all ones
// but the last). One thread.
//
// HIP compiles this text at run time; CUDA's driver is given the PTX beside it. What is used and not declared here (uint4, atomicMin, the threads' numbers) both compilers
// declare themselves: nothing is included.

typedef unsigned long long word;

// A link of a chain: volatile on AMD's GPUs, so that no cache of theirs answers for host memory; the plain load on NVIDIA's.
#if defined(__HIP_PLATFORM_AMD__) || defined(__HIP__)
typedef const volatile word link;
#else
typedef const word link;
#endif

static __device__ word first_of_thread() { return (word)blockIdx.x * blockDim.x + threadIdx.x; }

static __device__ word threads_in_all() { return (word)gridDim.x * blockDim.x; }

static __device__ word pattern(word index, word key, word page_key, word invert) {
    word value = (index % 512 == 0 ? page_key : key) + index * 0x9e3779b97f4a7c15ull;
    value ^= value >> 32;
    value += value << 21;
    value ^= value >> 29;
    value += value << 9;
    return value ^ invert;
}

extern "C" __global__ void numabench_fill(word *memory, word words, word key, word page_key, word invert) {
    for (word index = first_of_thread(); index < words; index += threads_in_all())
        memory[index] = pattern(index, key, page_key, invert);
}

extern "C" __global__ void numabench_compare(
    const word *memory, word words, word key, word page_key, word invert, word *lowest) {
    for (word index = first_of_thread(); index < words; index += threads_in_all())
        if (memory[index] != pattern(index, key, page_key, invert)) {
            atomicMin(lowest, index);
            return;
        }
}

extern "C" __global__ void numabench_copy(char *to, const char *from, word bytes) {
    const word first = first_of_thread(), threads = threads_in_all(), lines = bytes / 16;
    uint4 *out = (uint4 *)to;
    const uint4 *in = (const uint4 *)from;
    word at = first;
    for (; at + 3 * threads < lines; at += 4 * threads) {
        const uint4 a = in[at], b = in[at + threads], c = in[at + 2 * threads], d = in[at + 3 * threads];
        out[at] = a;
        out[at + threads] = b;
        out[at + 2 * threads] = c;
        out[at + 3 * threads] = d;
    }
    for (; at < lines; at += threads)
        out[at] = in[at];
    if (first < bytes % 16)
        to[lines * 16 + first] = from[lines * 16 + first];
}

extern "C" __global__ void numabench_chase(const char *base, word steps, word *state) {
    word at = *state;
    for (; steps != 0; steps -= 1)
        at = *(link *)(base + at);
    *state = at;
}

extern "C" __global__ void numabench_answer(const volatile word *question, volatile word *answer, word looks) {
    word last = 0;
    for (word left = looks; left != 0; left -= 1) {
        const word seen = *question;
        if (seen == last)
            continue;
        if (seen == ~0ull)
            return;
        *answer = last = seen;
        left = looks;
    }
    *answer = ~1ull;
}
