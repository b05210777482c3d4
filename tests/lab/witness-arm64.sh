#!/usr/bin/env bash
# witness-arm64.sh - counts a planted program's copies with the witness library for arm64, in user-mode emulation on an x86_64 machine.
#
#   witness-arm64.sh [NUMABENCH]    the x86_64 binary [default: target/debug/numabench]
#
# The program, the stand-in driver and the library are compiled for arm64 and run by qemu-aarch64. The three ways to the driver must give
# the counts that the program makes: 10 pinned copies of 64 KiB to the GPU and 3 of 8 KiB back, 5 pageable ones of 1 MiB and one of 4097
# bytes back, and 100 of 4 KiB by each of four threads. The emulator has no move_pages, so pages have no node here.
#
# Exit: 0 all counts are right; 1 one is not; 77 no qemu-aarch64, cross compiler or Rust target for arm64.
set -euo pipefail

die() { echo "witness-arm64: $2" >&2; exit "$1"; }
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
numabench=${1:-target/debug/numabench}
target=aarch64-unknown-linux-gnu
for program in qemu-aarch64 aarch64-linux-gnu-gcc; do
    command -v $program >/dev/null || die 77 "no $program (Debian: qemu-user, gcc-aarch64-linux-gnu, libc6-dev-arm64-cross)"
done
rustc --print target-libdir --target $target | xargs test -d || die 77 "no Rust for arm64: rustup target add $target"
[ -x "$numabench" ] || die 77 "no $numabench: cargo build"

export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
cargo build --quiet -p numabench-witness-hook -p numabench-fake-driver --target $target
built=${CARGO_TARGET_DIR:-target}/$target/debug
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
cp $built/libfake_driver.so "$work/libcuda.so.1"
planted=crates/numabench/tests/fake/copies.c
aarch64-linux-gnu-gcc -O1 -pthread -o "$work/copies" $planted -ldl
aarch64-linux-gnu-gcc -O1 -pthread -DLINKED -o "$work/copies-linked" $planted -L"$work" -l:libcuda.so.1 -Wl,--allow-shlib-undefined -ldl

NUMABENCH_WITNESS_HOOK=$(realpath "$built")/libnumabench_witness.so
export NUMABENCH_WITNESS_HOOK
right=0
for way in dlsym asked linked; do
    program=copies && [ $way != linked ] || program=copies-linked
    code=0
    # The dynamic linker of x86_64 says that it leaves the library of arm64 out.
    "$numabench" witness --json "$work/$way.json" -- qemu-aarch64 -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH="$work" \
        "$work/$program" $way pinned pageable threads >"$work/out" 2>"$work/err" || code=$?
    [ $code = 42 ] || { cat "$work/err" >&2; die 1 "$way: the program's exit code is 42, not $code"; }
    python3 - "$work/$way.json" <<'PYTHON' || { right=1; continue; }
import json, sys

document = json.load(open(sys.argv[1]))
found = sorted((b["copies"], b["bytes"], b["direction"], b["memory"]) for b in document["buffers"])
made = sorted([(10, 655360, "h2d", "pinned"), (3, 24576, "d2h", "pinned"), (5, 5242880, "h2d", "pageable"), (1, 4097, "d2h", "pageable")]
              + 4 * [(100, 409600, "h2d", "pinned")])
sys.exit(found != made and f"{sys.argv[1]}: counted {found}, made {made}")
PYTHON
    echo "$way: all counts right"
done
exit $right
