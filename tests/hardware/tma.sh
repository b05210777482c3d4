#!/usr/bin/env bash
# tma.sh - copies by the tensor memory accelerator (--engine tma) on GPUs of compute capability 9.0 and above, beside those by a kernel of loads and
# stores and by the copy engines: host memory both ways and both at once, from GPU to GPU by either end, and within a GPU; beside nvbandwidth's TMA
# cases where it has them (0.10 and later). All in turns; one table, and a line for each thing that must hold.
#
#   tma.sh [--turns N] [--size SIZE] [--simulated] FOLDER
#       3 turns of 512MiB; documents and outputs are kept in FOLDER
#
# What must hold: every case of every run is measured and its bytes verified (numabench compares them where they arrive); sizes that are no whole
# lines of 16 bytes, and those of one piece and of many, arrive too; the checks of the device contract pass, where CONFORMANCE is given; and what
# nvbandwidth defines alike is at least 0.99 of its figure, by the median of the turns. --simulated: the devices are a stand-in's: every line says so.
#
# Environment: NUMABENCH (default target/release/numabench), NVBANDWIDTH (default nvbandwidth), CONFORMANCE (the example `conformance` of
# numabench-backend-cuda, default none); python3 is needed. What is missing is named. Exit: 0 everything holds; 1 something does not; 2 wrong usage;
# 77 no GPU with TMA.
set -uo pipefail

turns=3 size=512MiB simulated='' folder=
while [ $# -gt 0 ]; do
    case $1 in
        --turns) turns=${2-}; shift ;;
        --size) size=${2-}; shift ;;
        --simulated) simulated='SIMULATED: ' ;;
        -*) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0" >&2; exit 2 ;;
        *) folder=$1 ;;
    esac
    shift
done
case ${size%MiB} in
    "$size" | *[!0-9]*) echo "tma: --size wants a number of MiB, and was given $size" >&2; exit 2 ;;
esac
[ -n "$folder" ] || { echo "tma: name a folder for the documents" >&2; exit 2; }
mkdir -p "$folder"
numabench=${NUMABENCH:-target/release/numabench} nvbandwidth=${NVBANDWIDTH:-nvbandwidth}
export CUDA_DEVICE_ORDER=PCI_BUS_ID

failed=0
: >"$folder/parts.txt"
: >"$folder/times.tsv"
# say WORDS: a line of what was found.
say() { printf '%s%s\n' "$simulated" "$*" | tee -a "$folder/parts.txt"; }
# holds CODE WORDS: one thing that must hold, by the exit code of what ran before.
holds() {
    if [ "$1" = 0 ]; then say "$2: holds"; else say "$2: DOES NOT HOLD"; failed=1; fi
}
# timed NAME COMMAND...: runs it, keeps what it prints, and notes how long the whole process took.
timed() {
    local name=$1 began ended code=0
    shift
    began=$(date +%s.%N)
    timeout 180 "$@" >"$folder/$name.out" 2>&1 || code=$?
    ended=$(date +%s.%N)
    printf '%s\t%s\t%s\n' "$name" "$(awk -v a="$began" -v b="$ended" 'BEGIN { printf "%.2f", b - a }')" "$code" >>"$folder/times.tsv"
    # 6 is undecided: a figure is there all the same.
    [ "$code" = 0 ] || [ "$code" = 6 ] || { say "$name ended with $code: $(tail -n 2 "$folder/$name.out" | tr '\n' ' ')"; failed=1; }
}

# Is there such a GPU? Where there is none, the copies are skipped with that reason.
"$numabench" pingpong --gpus 0 --size 64KiB --reps 4 --engine tma --json "$folder/first.json" -q >"$folder/first.out" 2>&1
why=$(python3 - "$folder/first.json" <<'PY'
import json, sys
ranks = [rank["outcome"] for case in json.load(open(sys.argv[1]))["cases"] for rank in case["ranks"]]
print(next((rank.get("reason", "") for rank in ranks if rank["status"] != "measured"), ""))
PY
) || { cat "$folder/first.out" >&2; echo "tma: no document of a GPU here" >&2; exit 77; }
[ -z "$why" ] || { echo "tma: $why" >&2; exit 77; }
gpus=$("$numabench" peer --pairs none --size 1MiB --reps 4 -q --json - 2>/dev/null |
    python3 -c 'import json, sys; print(sum(device["kind"] == "gpu" for device in json.load(sys.stdin)["devices"]))') || gpus=1
say "$gpus GPUs, $("$numabench" --version)"

# Sizes at their edges: no whole line, one line, one piece of 8 KiB and its edges, more pieces than blocks, none of them whole at the end.
edges=1B,15B,16B,17B,4KiB,8191B,8192B,8193B,40961B,1048577B,8388609B,67108879B
timed edges "$numabench" pingpong --gpus 0 --size $edges --reps 4 --engine tma --direction h2d,d2h,roundtrip,bidir --json "$folder/edges.json" -q
timed edges-queued "$numabench" pingpong --gpus 0 --size $edges --reps 4 --engine tma --direction h2d,d2h,bidir --timing device --json "$folder/edges-queued.json" -q
if [ -n "${CONFORMANCE-}" ]; then
    timed conformance "$CONFORMANCE" stream-wait check=copies check=between check=within
    grep -q "passed .*TMA copies" "$folder/conformance.out" && grep -q "^0 failed" "$folder/conformance.out"
    holds $? "conformance: TMA copies the bytes that were asked for, and no other"
else
    say "conformance: not run, CONFORMANCE names no program"
fi

theirs=(device_to_device_memcpy_write_tma device_to_device_memcpy_read_tma device_local_copy_tma
    device_to_device_memcpy_write_sm device_to_device_memcpy_read_sm device_to_device_memcpy_write_ce device_to_device_memcpy_read_ce)
have_theirs=no
[ -z "$simulated" ] && type -P "$nvbandwidth" >/dev/null && have_theirs=yes
if [ $have_theirs = yes ] && ! "$nvbandwidth" -l 2>/dev/null | grep -q device_local_copy_tma; then
    say "this nvbandwidth ($("$nvbandwidth" -h 2>&1 | grep -m 1 -o 'Version.*')) has no TMA cases, which came with 0.10"
    theirs=("${theirs[@]:3}")
fi
[ $have_theirs = yes ] || say "no nvbandwidth: our figures alone"

for ((turn = 1; turn <= turns; turn++)); do
    [ $have_theirs = no ] || timed "nvbandwidth-$turn" "$nvbandwidth" -b $((${size%MiB})) -t "${theirs[@]}"
    # All three on one memory, interleaved.
    timed "matrix-$turn" "$numabench" matrix --size "$size" --engine ce,sm,tma --direction h2d,d2h,bidir --json "$folder/matrix-$turn.json" -q
    for engine in tma sm ce; do
        timed "pingpong-$engine-$turn" "$numabench" pingpong --gpus 0 --size "4B,64KiB,1MiB,$size" --engine $engine --json "$folder/pingpong-$engine-$turn.json" -q
        for by in source destination; do
            timed "peer-$engine-$by-$turn" "$numabench" peer --size "$size" --engine $engine --by $by --json "$folder/peer-$engine-$by-$turn.json" -q
        done
    done
done

python3 - "$folder" "$turns" "$have_theirs" "${simulated:+yes}" <<'PY' || failed=1
import glob, json, os, re, statistics, sys
folder, turns, beside, simulated = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "yes", sys.argv[4] == "yes"
if simulated:
    print("SIMULATED: the devices are a stand-in's; no figure below is a measurement of a GPU")

# Every case measured; a document whose bytes were wrong says so by its status.
wrong = []
for name in sorted(glob.glob(f"{folder}/*.json")):
    document = json.load(open(name))
    if document["status"] != "complete":
        wrong.append(f"{os.path.basename(name)}: {document['status']}: {document.get('status_reason')}")
    for case in document["cases"]:
        for rank in case["ranks"]:
            if rank["outcome"]["status"] != "measured":
                wrong.append(f"{os.path.basename(name)}: {case['id']}: {rank['outcome']}")
print("\n".join(wrong[:20]) or f"every case of {len(glob.glob(folder + '/*.json'))} documents is measured, its bytes verified")

def theirs(turn):
    means, name, cells, matrices = {}, None, [], 0
    for line in open(f"{folder}/nvbandwidth-{turn}.out"):
        found = re.match(r"Running (\w+)\.", line)
        if found:
            name, cells, matrices = found[1], [], 0
        elif re.match(r"\s+0(\s+\d+)*\s*$", line):
            matrices += 1
        elif name and matrices == 1 and re.match(r"\s+\d+(\s+(N/A|\d+\.\d+))+\s*$", line):
            cells += [float(word) for word in line.split()[1:] if word != "N/A"]
            means[name] = statistics.mean(cells) if cells else None
    return means

def ours(turn, document, case, own=False):
    """The mean over ranks of a case, GB/s; `own` the copies within a GPU's memory, on a matrix's diagonal."""
    name = f"{folder}/{document}-{turn}.json"
    if not os.path.exists(name):
        return None
    found, diagonal = json.load(open(name)), set()
    for matrix in found["matrices"]:
        for row, column in zip(matrix["rows"], matrix["columns"]):
            if matrix["compares"] == "pairs":
                diagonal |= set(row["ranks"]) & set(column["ranks"])
    for of in found["cases"]:
        if re.fullmatch(case, of["id"]):
            ranks = [rank for rank in of["ranks"] if (rank["rank"] in diagonal) == own]
            times = [rank["outcome"]["summary"]["median_ns"] for rank in ranks if rank["outcome"]["status"] == "measured"]
            if times:
                legs = 2 if of["direction"] in ("bidir", "roundtrip") else 1
                return statistics.mean(legs * of["bytes"] / time for time in times)
    return None

PAIRS = r"alone/device/d2d/\d{5,}/one-way.*"
their = {turn: theirs(turn) if beside else {} for turn in range(1, turns + 1)}
shown = lambda values: " ".join("–" if value is None else f"{value:.4g}" for value in values)
missed = 0
print(f"\n{'GB/s, a turn each':<34} {'TMA':>22} {'a kernel':>22} {'copy engine':>22} {'nvbandwidth TMA':>22}   ratio")
rows = [(f"{way.upper()}, matrix", [("matrix", rf"alone/pinned/{way}/\d+{end}", False) for end in ("/tma", "/sm", "")], None) for way in ("h2d", "d2h", "bidir")]
sizes = sorted({case["bytes"] for name in glob.glob(f"{folder}/pingpong-tma-*.json") for case in json.load(open(name))["cases"]})
rows += [(f"{way.upper()} of {bytes} B, pingpong", [(f"pingpong-{engine}", rf"[a-z]+/pinned/{way}/{bytes}", False) for engine in ("tma", "sm", "ce")], None)
         for bytes in sizes for way in ("h2d", "d2h")]
for what, by, own, test in [("peer, by its source", "source", False, "device_to_device_memcpy_write_tma"), ("peer, by its destination", "destination", False, "device_to_device_memcpy_read_tma"),
                            ("within a GPU", "source", True, "device_local_copy_tma")]:
    rows.append((what, [(f"peer-{engine}-{by}", PAIRS, own) for engine in ("tma", "sm", "ce")], test))
rows.append(("peer both ways, by the source", [(f"peer-{engine}-source", r"simultaneous/device/d2d/\d+/both-ways", False) for engine in ("tma", "sm", "ce")], None))
for what, cells, test in rows:
    mine = [[ours(turn, *cell) for turn in their] for cell in cells]
    other = [their[turn].get(test) for turn in their]
    ratios = [a / b for a, b in zip(mine[0], other) if a and b]
    verdict = ""
    if ratios and statistics.median(ratios) < 0.99:
        verdict, missed = "BELOW 0.99", missed + 1
    print(f"{what:<34} {shown(mine[0]):>22} {shown(mine[1]):>22} {shown(mine[2]):>22} {shown(other):>22}   {shown(ratios)} {verdict}")
print("\nwhole processes, s")
for line in open(f"{folder}/times.tsv"):
    name, seconds, code = line.split("\t")
    print(f"  {name:<28} {seconds:>7}  exit {code.strip()}")
sys.exit(1 if wrong or (missed and not simulated) else 0)
PY
exit $failed
