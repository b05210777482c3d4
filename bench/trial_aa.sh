#!/usr/bin/env bash
# How often `numabench trial` claims a difference between a program and itself: trials of a baseline against `close` where close is all that the trial may use, so both
# run on the same cores and differ by how they are started alone. At most 5 of 100 may claim one.
#
# usage: bench/trial_aa.sh NUMABENCH SECONDS TRIALS [LANES [ARGUMENTS OF trial…]]
#   e.g.  bench/trial_aa.sh target/release/numabench 3 100 16
#
# Each lane is pinned to a core of its own (of this process' affinity, every second PU where there are twice as many PUs as lanes), and makes its trials one
# after the other. The program is a loop of awk that takes about SECONDS on this machine: it is calibrated first, alone.
set -euo pipefail
numabench=$(realpath "$1") seconds=$2 trials=$3 lanes=${4:-1}
shift $(($# < 4 ? $# : 4))
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

mapfile -t pus < <(taskset -cp $$ | sed 's/.*: //' | tr ',' '\n' | awk -F- '{ for (i = $1; i <= ($2 == "" ? $1 : $2); i++) print i }')
step=$(( ${#pus[@]} / lanes ))
if [ "$step" -lt 1 ]; then
    echo "trial_aa.sh: $lanes lanes need as many PUs; this process may use ${#pus[@]}" >&2
    exit 2
fi

# Rounds a second, from a run of a few tenths of a second.
rounds=2000000
began=$(date +%s.%N)
taskset -c "${pus[0]}" awk -v n=$rounds 'BEGIN { for (i = 0; i < n; i++) x += i }'
ended=$(date +%s.%N)
rounds=$(awk -v n=$rounds -v a="$began" -v b="$ended" -v s="$seconds" 'BEGIN { printf "%d", n * s / (b - a) }')
echo "program: awk, $rounds rounds, about $seconds s; $trials trials in $lanes lanes"

lane() {
    local at=$1 pu=$2 seed
    shift 2
    for ((seed = at + 1; seed <= trials; seed += lanes)); do
        # 0 decided, 6 undecided; anything else is a fault and must be seen.
        local code=0
        taskset -c "$pu" "$numabench" trial --quiet --placements close "$@" --seed "$seed" --json "$folder/$seed.json" \
            -- awk -v n="$rounds" 'BEGIN { for (i = 0; i < n; i++) x += i }' >/dev/null 2>"$folder/$seed.err" || code=$?
        [ "$code" = 0 ] || [ "$code" = 6 ] || echo "seed $seed: exit code $code: $(cat "$folder/$seed.err")" >&2
    done
}
for ((at = 0; at < lanes; at++)); do
    lane "$at" "${pus[$((at * step))]}" "$@" &
done
wait

python3 - "$folder" <<'PY'
import glob, json, sys
verdicts, sides, ratios = {}, 0, []
for file in glob.glob(sys.argv[1] + "/*.json"):
    document = json.load(open(file))
    found = document["comparisons"][0]
    verdicts[found["verdict"]] = verdicts.get(found["verdict"], 0) + 1
    sides += found["direction"] is not None and found["verdict"] != "same"
    if found["ratio"]:
        ratios.append((found["ratio"] - 1) * 100)
ratios.sort()
count = sum(verdicts.values())
false = verdicts.get("better", 0) + verdicts.get("worse", 0)
print(f"{count} trials: {false} claimed a difference that matters, {sides} one at all; {verdicts}")
if ratios:
    print(f"ratio of medians: median {ratios[len(ratios) // 2]:+.2f} %, least {ratios[0]:+.2f} %, most {ratios[-1]:+.2f} %")
sys.exit(0 if count and max(false, sides) <= 0.05 * count else 1)
PY
