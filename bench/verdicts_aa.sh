#!/usr/bin/env bash
# How often verdicts on real runs are wrong: documents of one configuration compared with each other (nothing changed), and with copies of themselves in which every time
# is multiplied (something did). At most 5 of 100 comparisons may claim a change where there is none; a fall to half is to be found in all of them.
#
# usage: bench/verdicts_aa.sh NUMABENCH [RUNS [ARGUMENTS OF pingpong…]]
#   e.g.  bench/verdicts_aa.sh target/release/numabench 24
#
# FOLDER is where documents are kept and found again (a temporary one). RUNS (24) runs of some two seconds each; on a machine without a GPU of host memory. Comparisons: single runs (each with the next one), three a side and five a side
# (blocks of runs in the order measured), as many as there are; planted: the same with the new side at 0.95 and at half of its rate.
set -euo pipefail
numabench=$(realpath "$1") runs=${2:-24}
shift $(($# < 2 ? $# : 2))
[ $# -gt 0 ] || set -- --size 64KiB,16MiB --max-time 2s
folder=${FOLDER:-$(mktemp -d)}
[ -n "${FOLDER:-}" ] || trap 'rm -rf "$folder"' EXIT

began=$SECONDS
for ((run = 0; run < runs; run++)); do
    name=$(printf '%s/%03d.json' "$folder" "$run") code=0
    [ ! -s "$name" ] || continue
    "$numabench" pingpong "$@" --seed "$run" --quiet --json "$name" >"$folder/out" 2>"$folder/err" || code=$?
    [ -s "$name" ] || { echo "verdicts_aa.sh: a run wrote no document (exit code $code):" >&2 && tail -3 "$folder/err" >&2 && exit 1; }
done
echo "$runs runs in $((SECONDS - began)) s: $(python3 -c 'import json, sys
document = json.load(open(sys.argv[1]))
print(document["platform"]["kind"], "platform,", len(document["cases"]), "cases")' "$folder/000.json")"

# A document whose copies move a part of the bytes a second: every time over it.
planted() { # FROM TO PART
    python3 - "$@" <<'PYTHON'
import json, sys
document = json.load(open(sys.argv[1]))
part = float(sys.argv[3])
def scaled(value, key=""):
    if isinstance(value, dict):
        return {name: scaled(one, name) for name, one in value.items()}
    if isinstance(value, list):
        return [scaled(one, key) for one in value]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if "bytes_per_s" in key:
            return value * part
        if key.endswith("_ns"):
            return type(value)(value / part)
    return value
for case in document["cases"]:
    for rank in case["ranks"]:
        for name in ("blocks", "summary", "outcome"):
            if name in rank:
                rank[name] = scaled(rank[name])
json.dump(document, open(sys.argv[2], "w"))
PYTHON
}

# Compares two lists of documents: how many cases are said to have changed, and how many there are.
claims() { # BASE… -- NEW…
    local base=() code=0
    while [ "$1" != -- ]; do base+=("$1") && shift; done
    shift
    rm -rf "$folder/base" "$folder/new" && mkdir "$folder/base" "$folder/new"
    cp "${base[@]}" "$folder/base" && cp "$@" "$folder/new"
    "$numabench" compare "$folder/base" "$folder/new" --threshold "$threshold" --quiet --json "$folder/compared" >"$folder/out" 2>"$folder/err" || code=$?
    case $code in 0 | 5 | 6) ;; *) echo "verdicts_aa.sh: compare ended with $code:" >&2 && tail -3 "$folder/err" >&2 && exit 1 ;; esac
    python3 -c 'import json, sys
cases = json.load(open(sys.argv[1]))["cases"]
print(sum(case["verdict"] in ("regressed", "improved") for case in cases), sum(case["verdict"] == "regressed" for case in cases), len(cases))' "$folder/compared"
}

all=("$folder"/[0-9]*.json)
rm -rf "$folder/planted" && mkdir "$folder/planted"
printf '| new side | threshold | runs a side | comparisons | with a change claimed | cases regressed |\n|---|---:|---:|---:|---:|---:|\n'
for part in 1 0.95 0.5; do
    for document in "${all[@]}"; do
        if [ "$part" = 1 ]; then cp "$document" "$folder/planted"; else planted "$document" "$folder/planted/${document##*/}" "$part"; fi
    done
    for threshold in $([ "$part" = 1 ] && echo 0.01% 3% || echo 3%); do
        for side in 1 3 5; do
            compared=0 changed=0 found=0 cases=0
            for ((at = 0; at + 2 * side <= runs; at += side)); do
                new=()
                for document in "${all[@]:at + side:side}"; do new+=("$folder/planted/${document##*/}"); done
                read -r any worse of < <(claims "${all[@]:at:side}" -- "${new[@]}")
                compared=$((compared + 1)) changed=$((changed + (any > 0))) found=$((found + worse)) cases=$((cases + of))
            done
            echo "| $part of its rate | $threshold | $side | $compared | $changed | $found of $cases |"
        done
    done
done
