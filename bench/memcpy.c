/* What plain memcpy reaches on this machine: the yardstick for numabench's host backend.
 *
 *   memcpy SIZE_BYTES ROUNDS WARMUP CPU
 *
 * Two touched buffers beside one bound thread, copied forth (h2d) and back (d2h), every round timed by itself. */
#include "rounds.h"

int main(int argc, char **argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: %s SIZE_BYTES ROUNDS WARMUP CPU\n", argv[0]);
        return 2;
    }
    size_t size = number(argv[1]), rounds = number(argv[2]), warmup = number(argv[3]);
    if (!size || !rounds) die("SIZE_BYTES and ROUNDS must not be 0");
    bind_to(argv[4]);
    unsigned char *host = map_touched(size, 0xa5), *device = map_touched(size, 0x5a);
    double *ns = malloc(rounds * sizeof *ns);
    if (!ns) die("malloc");

    for (int back = 0; back < 2; back++) {
        unsigned char *to = back ? host : device, *from = back ? device : host;
        if (back) memset(host, 0, size); /* so that only the copies back can fill it again */
        for (size_t i = 0; i < warmup + rounds; i++) {
            double start = now_ns();
            memcpy(to, from, size);
            double end = now_ns();
            __asm__ volatile("" ::: "memory"); /* the copy is not to be optimised away */
            if (i >= warmup) ns[i - warmup] = end - start;
        }
        print_rounds(back ? "d2h" : "h2d", size, ns, rounds);
    }
    check_all(host, size, 0xa5);
    return 0;
}
