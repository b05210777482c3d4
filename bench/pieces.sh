#!/usr/bin/env bash
# `numabench sweep --pieces` beside a C program of the same ways (`pieces.cu`), alternating: a line a direction, size and way with the median of the ratios and its range.
#
# usage: bench/pieces.sh [TURNS] [NUMABENCH]      (3, target/release/numabench); needs one NVIDIA GPU and nvcc of CUDA 13
#
# The exit code is 0 if copies, batches and kernels are within 3 %, 1 if one is not, 77 without nvcc or a GPU. Packing is a core's work, whose rate another program's traffic moves: its
# ratios are told and decide nothing.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
turns=${1:-3} numabench=${2:-$here/../target/release/numabench}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
command -v nvcc >/dev/null && nvidia-smi -L 2>/dev/null || { echo "needs nvcc and an NVIDIA GPU" >&2 && exit 77; }
nvcc -O3 -arch=native -o "$folder/pieces" "$here/pieces.cu" -lcuda || exit 77
for turn in $(seq "$turns"); do
    "$folder/pieces" 15 >"$folder/c$turn.txt" || exit 77
    "$numabench" sweep --pieces 4KiB..1MiB --json "$folder/ours$turn.json" -q >"$folder/said.txt" || exit 77
    grep 'program time' "$folder/said.txt"
done
python3 - "$folder" "$turns" <<'END'
import json, statistics, sys

folder, turns = sys.argv[1], int(sys.argv[2])
theirs, ours = {}, {}
for turn in range(1, turns + 1):
    for line in open(f"{folder}/c{turn}.txt"):
        way, size, *rates = line.split()
        for name, rate in zip(["loop", "batch", "kernel", "packed"], rates):
            theirs.setdefault((way, int(size), name), []).append(float(rate))
    for case in json.load(open(f"{folder}/ours{turn}.json"))["cases"]:
        outcome = case["ranks"][0]["outcome"]
        rate = outcome.get("summary", {}).get("median_bytes_per_s", float("nan")) / 1e9
        ours.setdefault((case["direction"], case["bytes"], case["group"]), []).append(rate)
missed = 0
print(f"{'':>16} {'way':<8}{'ours':>8}{'theirs':>8}  ratio")
for key, rates in theirs.items():
    ratios = [one / other for one, other in zip(ours[key], rates)]
    ratio = statistics.median(ratios)
    decides = key[2] != "packed"
    off = decides and not 0.97 <= ratio <= 1.03
    missed += off
    print(f"{key[0]:>6} {key[1] // 1024:>5} KiB {key[2]:<8}{statistics.median(ours[key]):>8.2f}{statistics.median(rates):>8.2f}"
          f"  {ratio:.3f} ({min(ratios):.3f}-{max(ratios):.3f}){'  MISSED' if off else ''}")
sys.exit(1 if missed else 0)
END
