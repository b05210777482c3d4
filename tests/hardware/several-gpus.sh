#!/usr/bin/env bash
# several-gpus.sh - what only a node with several GPUs can show: copies of every kind beside nvbandwidth, groups, and whole-process times, in one table.
#
#   several-gpus.sh [--turns N] [--size SIZE] FOLDER      3 turns of 512MiB; documents and outputs are kept in FOLDER
#
# nvbandwidth and numabench alternate. The ratio is ours / theirs within one turn, over the mean of the cells: at least 0.99 for bandwidth. The last
# rows, without a ratio, are figures that nvbandwidth defines otherwise (METHOD.md, "Copies by a kernel, and between GPUs").
#
# Environment: NUMABENCH (default target/release/numabench), NVBANDWIDTH (default nvbandwidth); python3 is needed. What is missing is named.
# Exit: 0 every ratio is reached; 1 one is not, or a command failed; 2 wrong usage; 77 fewer than two GPUs.
set -uo pipefail

turns=3 size=512MiB folder=
while [ $# -gt 0 ]; do
    case $1 in
        --turns) turns=${2:?--turns wants a number}; shift ;;
        --size) size=${2:?--size wants a size}; shift ;;
        -*) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0" >&2; exit 2 ;;
        *) folder=$1 ;;
    esac
    shift
done
[ -n "$folder" ] || { echo "several-gpus: name a folder for the documents" >&2; exit 2; }
mkdir -p "$folder"
numabench=${NUMABENCH:-target/release/numabench} nvbandwidth=${NVBANDWIDTH:-nvbandwidth}
export CUDA_DEVICE_ORDER=PCI_BUS_ID
gpus=$("$numabench" topo --identity 2>/dev/null | grep -cE '^ +[0-9]+ +[0-9a-f]{4,}:')
[ "$gpus" -ge 2 ] || { echo "several-gpus: $gpus GPU here; two are needed" >&2; exit 77; }

failed=0
# timed NAME COMMAND...: runs it, keeps what it prints, and notes how long the whole process took.
timed() {
    local name=$1 began ended code=0
    shift
    began=$(date +%s.%N)
    timeout 180 "$@" >"$folder/$name.out" 2>&1 || code=$?
    ended=$(date +%s.%N)
    printf '%s\t%s\t%s\n' "$name" "$(awk -v a="$began" -v b="$ended" 'BEGIN { printf "%.2f", b - a }')" "$code" >>"$folder/times.tsv"
    # 6 is undecided: a figure is there all the same.
    if [ "$code" != 0 ] && [ "$code" != 6 ]; then
        echo "several-gpus: $name ended with $code: $(tail -n 2 "$folder/$name.out" | tr '\n' ' ')" >&2
        failed=1
    fi
}
: >"$folder/times.tsv"

theirs=(host_to_device_memcpy_ce device_to_host_memcpy_ce host_to_device_memcpy_sm device_to_host_memcpy_sm
    host_to_device_bidirectional_memcpy_ce device_to_host_bidirectional_memcpy_ce device_local_copy
    host_to_all_memcpy_ce all_to_host_memcpy_ce
    device_to_device_memcpy_write_ce device_to_device_memcpy_read_ce device_to_device_memcpy_write_sm device_to_device_memcpy_read_sm
    device_to_device_bidirectional_memcpy_write_ce device_to_device_bidirectional_memcpy_read_ce
    all_to_one_write_ce one_to_all_write_ce all_to_one_read_ce one_to_all_read_ce host_device_latency_sm device_to_device_latency_sm)
have_theirs=no
type -P "$nvbandwidth" >/dev/null && have_theirs=yes
[ $have_theirs = yes ] || echo "several-gpus: no nvbandwidth: our figures alone" >&2
for ((turn = 1; turn <= turns; turn++)); do
    [ $have_theirs = no ] || timed "nvbandwidth-$turn" "$nvbandwidth" -b $((${size%MiB})) -t "${theirs[@]}"
    timed "matrix-$turn" "$numabench" matrix --size "$size" --engine ce,sm --direction h2d,d2h,bidir --latency --json "$folder/matrix-$turn.json" -q
    timed "at-once-$turn" "$numabench" matrix --size "$size" --direction h2d,d2h --concurrent --json "$folder/at-once-$turn.json" -q
    for by in source destination; do
        timed "peer-$by-$turn" "$numabench" peer --size "$size" --by $by --all --latency --json "$folder/peer-$by-$turn.json" -q
        timed "peer-sm-$by-$turn" "$numabench" peer --size "$size" --by $by --engine sm --json "$folder/peer-sm-$by-$turn.json" -q
    done
done
timed topo-measure "$numabench" topo --measure=gpus
timed contend "$numabench" contend --json "$folder/contend.json"
timed suite "$numabench" suite --json "$folder/suite.json"

python3 - "$folder" "$turns" "$have_theirs" <<'PY' || failed=1
import json, re, statistics, sys
folder, turns, beside = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "yes"

def theirs(turn):
    """The mean of each test's first matrix (tests both ways print one a way, then their sum); its rows begin with their number."""
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

def ours(turn, document, case, own):
    """The mean over ranks of a case: GB/s, or ns for loads; `own` the copies within a GPU's memory, which stand on a matrix's diagonal."""
    found = json.load(open(f"{folder}/{document}-{turn}.json"))
    diagonal = set()
    for matrix in found["matrices"]:
        for row, column in zip(matrix["rows"], matrix["columns"]):
            if matrix["compares"] == "pairs":
                diagonal |= set(row["ranks"]) & set(column["ranks"])
    for of in found["cases"]:
        if re.fullmatch(case, of["id"]):
            ranks = [rank for rank in of["ranks"] if (rank["rank"] in diagonal) == own]
            times = [rank["outcome"]["summary"]["median_ns"] for rank in ranks if rank["outcome"]["status"] == "measured"]
            if times and of["direction"] == "load":
                return statistics.mean(times)
            if times:
                return statistics.mean(of["bytes"] / time for time in times)
    return None

PAIRS = r"alone/device/d2d/\d{5,}/one-way.*"
ROWS = [  # what, our document, our case, within a GPU, their test, whether the two are defined alike
    ("H2D", "matrix", r"alone/pinned/h2d/\d+", False, "host_to_device_memcpy_ce", True),
    ("D2H", "matrix", r"alone/pinned/d2h/\d+", False, "device_to_host_memcpy_ce", True),
    ("H2D by a kernel", "matrix", r"alone/pinned/h2d/\d+/sm", False, "host_to_device_memcpy_sm", True),
    ("D2H by a kernel", "matrix", r"alone/pinned/d2h/\d+/sm", False, "device_to_host_memcpy_sm", True),
    ("H2D, all GPUs at once, each", "at-once", r"simultaneous/pinned/h2d/.*", False, "host_to_all_memcpy_ce", True),
    ("D2H, all GPUs at once, each", "at-once", r"simultaneous/pinned/d2h/.*", False, "all_to_host_memcpy_ce", True),
    ("within a GPU", "peer-source", PAIRS, True, "device_local_copy", True),
    ("peer, by its source", "peer-source", PAIRS, False, "device_to_device_memcpy_write_ce", True),
    ("peer, by its destination", "peer-destination", PAIRS, False, "device_to_device_memcpy_read_ce", True),
    ("peer, by a kernel of its source", "peer-sm-source", PAIRS, False, "device_to_device_memcpy_write_sm", True),
    ("peer, by a kernel of its destination", "peer-sm-destination", PAIRS, False, "device_to_device_memcpy_read_sm", True),
    ("peer both ways, by the source, each", "peer-source", r"simultaneous/device/d2d/\d+/both-ways", False, "device_to_device_bidirectional_memcpy_write_ce", None),
    ("all to one, by the source", "peer-source", r".*/all-to-one.*", False, "all_to_one_write_ce", None),
    ("one to all, by the source", "peer-source", r".*/one-to-all.*", False, "one_to_all_write_ce", None),
    ("load of host memory, ns", "matrix", r"alone/pinned/load/128", False, "host_device_latency_sm", None),
    ("load of a peer's memory, ns", "peer-source", r"alone/device/load/128/loads", False, "device_to_device_latency_sm", None),
]
their = {turn: theirs(turn) if beside else {} for turn in range(1, turns + 1)}
missed = 0
print(f"{'':<38} {'ours':>24} {'nvbandwidth':>24}   ratio within a turn")
for what, document, case, own, test, same in ROWS:
    mine = [ours(turn, document, case, own) for turn in their]
    other = [their[turn].get(test) for turn in their]
    ratios = [a / b for a, b in zip(mine, other) if a and b]
    shown = lambda values: " ".join("–" if value is None else f"{value:.4g}" for value in values)
    verdict = ""
    if same and ratios and statistics.median(ratios) < 0.99:
        verdict, missed = "BELOW 0.99", missed + 1
    print(f"{what:<38} {shown(mine):>24} {shown(other):>24}   {shown(ratios):<20} {verdict}")
print("\nwhole processes, s")
for line in open(f"{folder}/times.tsv"):
    name, seconds, code = line.split("\t")
    print(f"  {name:<28} {seconds:>7}  exit {code.strip()}")
sys.exit(1 if missed else 0)
PY
exit $failed
