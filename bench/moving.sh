#!/usr/bin/env bash
# `numabench sweep --memory managed` (or system) beside a C program of the same touches (`moving.cu`), alternating: a line a touch and size with the median of the ratios and its range.
#
# usage: bench/moving.sh [TURNS] [NUMABENCH] [KIND]      (3, target/release/numabench, managed); needs one NVIDIA GPU and nvcc of CUDA 13
#
# Faults take what they take: from turn to turn they differ by tens of per cent. So a touch is missed where every turn is more than 3 % off to the same side. The exit code is 0 if none is
# missed, 1 if one is, 77 without nvcc or a GPU, or where the GPU has no such memory.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
turns=${1:-3} numabench=${2:-$here/../target/release/numabench} kind=${3:-managed}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if ! command -v nvcc >/dev/null || ! nvidia-smi -L 2>/dev/null; then
    echo "needs nvcc and an NVIDIA GPU" >&2
    exit 77
fi
nvcc -O3 -arch=native -o "$folder/moving" "$here/moving.cu" -lcuda || exit 77
pu=$("$numabench" sweep --memory "$kind" --size 1MiB --json - 2>/dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin)["ranks"][0]["asked"]["pu"])') || exit 77
for turn in $(seq "$turns"); do
    taskset -c "$pu" "$folder/moving" "$kind" 9 >"$folder/c$turn.txt" || exit 77
    "$numabench" sweep --memory "$kind" --size 4MiB..256MiB:4 --json "$folder/ours$turn.json" -q >"$folder/said.txt" || exit 77
    grep 'program time' "$folder/said.txt"
done
head -4 "$folder/said.txt"
python3 - "$folder" "$turns" "$kind" <<'END'
import json, statistics, sys

folder, turns, kind = sys.argv[1], int(sys.argv[2]), sys.argv[3]
columns = [(way, touch) for way in ["h2d", "d2h"] for touch in ["untouched", "first", "again", "prefetch"]] + [("roundtrip", "in-turns")]
theirs, ours = {}, {}
for turn in range(1, turns + 1):
    for line in list(open(f"{folder}/c{turn}.txt"))[1:]:
        size, *rates = line.split()
        for column, rate in zip(columns, rates):
            theirs.setdefault((int(size), *column), []).append(float(rate))
    for case in json.load(open(f"{folder}/ours{turn}.json"))["cases"]:
        result = case["ranks"][0]
        rate = result["outcome"].get("summary", {}).get("median_bytes_per_s", float("nan")) / 1e9
        ours.setdefault((case["bytes"], case["direction"], case["group"]), []).append(rate)
missed = 0
print(f"{'':>26}{'ours':>9}{'theirs':>9}  ratio")
for key, rates in theirs.items():
    ratios = [one / other for one, other in zip(ours[key], rates)]
    ratio = statistics.median(ratios)
    is_missed = min(ratios) > 1.03 or max(ratios) < 0.97
    missed += is_missed
    size, way, touch = key
    print(f"{size >> 20:>4} MiB {way:>9} {touch:<10}{statistics.median(ours[key]):>9.2f}{statistics.median(rates):>9.2f}"
          f"  {ratio:.3f} ({min(ratios):.3f}-{max(ratios):.3f}){'  MISSED' if is_missed else ''}")
sys.exit(1 if missed else 0)
END
