#!/usr/bin/env bash
# several-gpus.sh - what only a node with several GPUs can show, in one call: copies of every kind beside nvbandwidth, groups beside the PCI tree,
# messages, laplace, kernels, the node's check, and programs in their places; one table, and a line a part.
#
#   several-gpus.sh [--turns N] [--size SIZE] [--within SECONDS] [--stacks FILE] [--simulated] FOLDER
#       3 turns of 512MiB within 570 s; documents and outputs are kept in FOLDER
#
# nvbandwidth and numabench alternate. The ratio is ours / theirs within one turn, over the mean of the cells: at least 0.99 for bandwidth. The last
# rows, without a ratio, are figures that nvbandwidth defines otherwise (METHOD.md, "Copies by a kernel, and between GPUs"). Parts that there is no time left for
# are named as not run. --stacks: MPIs for `numabench mpi`, a line each as NAME | VERDICT | COMMAND, where COMMAND stands before `numabench`, e.g.
#   Open MPI 4.1 | not GPU-aware | env NUMABENCH_MPI=/opt/nb/libnumabench_mpi.so mpirun -np 2
# --simulated: the devices are a stand-in's (tests/fake-driver, preloaded): every line says so, nothing is held against nvbandwidth, and rates decide nothing.
#
# Environment: NUMABENCH (default target/release/numabench), NVBANDWIDTH (default nvbandwidth), LAUNCH (what starts ranks of laplace, default
# `mpirun --oversubscribe -np`); python3 is needed; with torch in it ranks of torch.distributed run in their places, else of a plain Python program. What is missing is named.
# Exit: 0 every ratio and part is reached; 1 one is not, or a command failed; 2 wrong usage; 77 fewer than two GPUs.
set -uo pipefail

turns=3 size=512MiB within=570 stacks='' simulated='' folder=
while [ $# -gt 0 ]; do
    case $1 in
        --turns) turns=${2:?--turns wants a number}; shift ;;
        --size) size=${2:?--size wants a size}; shift ;;
        --within) within=${2:?--within wants seconds}; shift ;;
        --stacks) stacks=${2:?--stacks wants a file}; shift ;;
        --simulated) simulated='SIMULATED: ' ;;
        -*) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0" >&2; exit 2 ;;
        *) folder=$1 ;;
    esac
    shift
done
[ -n "$folder" ] || { echo "several-gpus: name a folder for the documents" >&2; exit 2; }
mkdir -p "$folder"
numabench=${NUMABENCH:-target/release/numabench} nvbandwidth=${NVBANDWIDTH:-nvbandwidth}
export CUDA_DEVICE_ORDER=PCI_BUS_ID
# A stand-in has no PCI devices: its description says how many GPUs it is.
[ -n "$simulated" ] && gpus=$(grep -oE 'device [0-9a-f]{4}:' <<<"${FAKE_DEVICES:-}" | wc -l) ||
    gpus=$("$numabench" topo --identity 2>/dev/null | grep -cE '^ +[0-9]+ +[0-9a-f]{4,}:')
[ "$gpus" -ge 2 ] || { echo "several-gpus: $gpus GPU here; two are needed" >&2; exit 77; }

failed=0
# A stand-in's virtual time passes slowly where its threads share a few cores: few blocks do there.
quick=()
loads=(--latency)
[ -z "$simulated" ] || { quick=(--max-time 4s) && limit=${limit:-60}; }
[ -z "$simulated" ] || [ "$gpus" -le 4 ] || loads=()
# say WORDS: a line of what was found.
say() { printf '%s%s\n' "$simulated" "$*" | tee -a "$folder/parts.txt"; }
: >"$folder/parts.txt"
# left: the seconds that are left.
left() { echo $((within - SECONDS)); }
# part NAME SECONDS: whether there is time for a part that takes so long.
part() {
    [ "$(left)" -ge "$2" ] && return 0
    say "$1: NOT RUN, $(left) s are left and it takes about $2"
    return 1
}
# holds WHAT WORDS: a part's condition, by the exit code of what ran before.
holds() {
    if [ "$1" = 0 ]; then say "$2: reached"; else say "$2: NOT REACHED"; failed=1; fi
}
# timed NAME COMMAND...: runs it, keeps what it prints, and notes how long the whole process took.
timed() {
    local name=$1 began ended code=0
    shift
    began=$(date +%s.%N)
    timeout "${limit:-180}" "$@" >"$folder/$name.out" 2>&1 || code=$?
    ended=$(date +%s.%N)
    printf '%s\t%s\t%s\n' "$name" "$(awk -v a="$began" -v b="$ended" 'BEGIN { printf "%.2f", b - a }')" "$code" >>"$folder/times.tsv"
    if [ -n "$simulated" ] && [ "$code" = 124 ]; then
        say "$name: ended at its limit of ${limit:-180} s"
        return
    fi
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
[ -z "$simulated" ] || have_theirs=no
[ $have_theirs = yes ] || say "no nvbandwidth: our figures alone"
[ ${#loads[@]} -gt 0 ] || say "peer --latency: left out, a stand-in writes 64 MiB anew for each pair"
ran=0 a_turn=0
for ((turn = 1; turn <= turns; turn++)); do
    part "turn $turn of copies" "$a_turn" || break
    began=$SECONDS
    [ $have_theirs = no ] || timed "nvbandwidth-$turn" "$nvbandwidth" -b $((${size%MiB})) -t "${theirs[@]}"
    timed "matrix-$turn" "$numabench" matrix --size "$size" "${quick[@]}" --engine ce,sm --direction h2d,d2h,bidir --latency --json "$folder/matrix-$turn.json" -q
    timed "at-once-$turn" "$numabench" matrix --size "$size" "${quick[@]}" --direction h2d,d2h --concurrent --json "$folder/at-once-$turn.json" -q
    for by in source destination; do
        timed "peer-$by-$turn" "$numabench" peer --size "$size" "${quick[@]}" --by $by --all "${loads[@]}" --json "$folder/peer-$by-$turn.json" -q
        timed "peer-sm-$by-$turn" "$numabench" peer --size "$size" "${quick[@]}" --by $by --engine sm --json "$folder/peer-sm-$by-$turn.json" -q
    done
    # The same cells as two of nvbandwidth's tests, and no more: how long the whole process takes.
    [ $have_theirs = no ] || timed "nvbandwidth-h2d-d2h-$turn" "$nvbandwidth" -b $((${size%MiB})) -t host_to_device_memcpy_ce device_to_host_memcpy_ce
    timed "matrix-h2d-d2h-$turn" "$numabench" matrix --size "$size" "${quick[@]}" --direction h2d,d2h --json "$folder/matrix-h2d-d2h-$turn.json" -q
    ran=$turn a_turn=$((SECONDS - began))
done

# Groups: what GPUs share, by measurement, beside what the driver and the PCI tree say of it.
part "contend and topo --measure" 20 && {
    timed contend "$numabench" contend --size "${contend_size:-128MiB}" "${quick[@]}" --json "$folder/contend.json"
    timed topo-measure "$numabench" topo --measure=gpus --json
    type -P nvidia-smi >/dev/null && [ -z "$simulated" ] && nvidia-smi topo -m >"$folder/nvidia-smi-topo.txt"
    timed topo-json "$numabench" topo --json
    python3 - "$folder" <<'PY' | while read -r line; do say "$line"; done
import json, os, re, sys
folder = sys.argv[1]
text = open(f"{folder}/topo-measure.out").read()
document = json.loads(text[text.index("{"):text.rindex("}") + 1])
print("topo --measure: " + " ".join(document["verdict"]))
measured = sorted({tuple(group) for of in document["groups"] if of["finding"] == "groups" for group in of["groups"]})
# Which GPUs hang below one switch, by the driver: PIX and PXB in its table.
shared, file = set(), f"{folder}/nvidia-smi-topo.txt"
if os.path.exists(file):
    for line in open(file):
        found = re.match(r"\s*(?:\x1b\[4m)?GPU(\d+)\s+(.*)", line)
        if found:
            for other, word in enumerate(found[2].split()):
                if word in ("PIX", "PXB") and other != int(found[1]):
                    shared.add(tuple(sorted((int(found[1]), other))))
    print(f"nvidia-smi topo -m: below one switch {sorted(shared) or 'none'}; measured groups {measured or 'none'}")
else:
    print(f"no nvidia-smi topo -m here to hold the measured groups against: {measured or 'none'}")
PY
}

# The node's check, its suite, its settings, what others measured, and pages of all.
part "check, suite, doctor" 60 && {
    began=$(date +%s.%N)
    timed check "$numabench" check --bandwidth --what h2d,d2h,hbm,peer --timeout "${check_time:-20s}" --json="$folder/check.json"
    say "check --bandwidth of all four kinds, $gpus GPUs: $(awk -v a="$began" -v b="$(date +%s.%N)" 'BEGIN { printf "%.1f s", b - a }'); $(head -n 1 "$folder/check.out")"
    timed suite "$numabench" suite --within "${suite_time:-60s}" --json "$folder/suite.json"
    doctor=0
    "$numabench" doctor --json "$folder/doctor.json" >"$folder/doctor.out" 2>&1 || doctor=$?
    case $doctor in 0 | 5 | 6) say "doctor: exit $doctor: $(head -n 1 "$folder/doctor.out")" ;; *) holds 1 "doctor (exit $doctor)" ;; esac
    say "published figures that fit: $(cat "$folder"/*.out | tr -s '\n ' ' ' | grep -oE "; (published for|measured by numabench's developers for|a user reports for|your site's figure for) " | wc -l)"
    documents=()
    for name in matrix-1 peer-source-1 contend suite; do [ ! -s "$folder/$name.json" ] || documents+=("$folder/$name.json"); done
    "$numabench" report "${documents[@]}" -o "$folder/report.html" >"$folder/report.out" 2>&1
    holds $? "report of the node's documents"
    "$numabench" topo --svg "$folder/node.svg" --with "$folder/contend.json" >>"$folder/report.out" 2>&1
    holds $? "the node's picture with its measured links (node.svg: look at it)"
}

# Programs in their places.
part "place --measure and exec" 40 && {
    timed place "$numabench" place --measure --json "$folder/place.json"
    say "place --measure: $(grep -m 1 . "$folder/place.out")"
    cat >"$folder/ranks.py" <<'PY'
"""One rank of a program: which GPU and which cores it has. With torch a rank of torch.distributed that sums over all ranks, on its own GPU where there are real ones."""
import json, os, sys
folder, rank, world = sys.argv[1], int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
seen = {"rank": rank, "cores": sorted(os.sched_getaffinity(0)), "gpus": os.environ.get("CUDA_VISIBLE_DEVICES", ""), "by": "a plain program"}
try:
    import torch, torch.distributed as dist
    real = torch.cuda.is_available()
    if real:
        torch.cuda.set_device(0 if "," not in seen["gpus"] else int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl" if real else "gloo")
    total = torch.tensor([float(rank)], device="cuda" if real else "cpu")
    dist.all_reduce(total)
    assert total.item() == world * (world - 1) / 2, total
    seen["by"] = "torch.distributed, " + ("nccl" if real else "gloo")
    dist.destroy_process_group()
except ImportError:
    pass
json.dump(seen, open(f"{folder}/rank-{rank}.json", "w"))
PY
    # exec reads GPUs from PCI, where a stand-in has none: there ranks get cores alone.
    places=()
    [ -z "$simulated" ] || places=(--gpus none)
    rm -f "$folder"/rank-[0-9]*.json
    for ((rank = 0; rank < gpus; rank++)); do
        RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=$gpus LOCAL_WORLD_SIZE=$gpus MASTER_ADDR=127.0.0.1 MASTER_PORT=29511 TORCHELASTIC_RUN_ID=several \
            timeout 120 "$numabench" exec "${places[@]}" -- python3 "$folder/ranks.py" "$folder" >"$folder/exec-$rank.out" 2>&1 &
    done
    wait
    python3 - "$folder" "$gpus" "${simulated:+yes}" >"$folder/exec.out" 2>&1 <<'PY'
import glob, json, sys
ranks = [json.load(open(file)) for file in glob.glob(f"{sys.argv[1]}/rank-[0-9]*.json")]
assert len(ranks) == int(sys.argv[2]), f"{len(ranks)} of {sys.argv[2]} ranks ended well"
gpus = {rank["gpus"] for rank in ranks}
if sys.argv[3]:
    assert all(rank["cores"] for rank in ranks)
    print(f"{len(ranks)} ranks of {ranks[0]['by']} on cores {[rank['cores'] for rank in ranks]}; GPUs were not tried, a stand-in has none on PCI")
    sys.exit()
assert len(gpus) == len(ranks), f"ranks share GPUs: {sorted(gpus)}"
print(f"{len(ranks)} ranks of {ranks[0]['by']}, each with a GPU of its own")
PY
    code=$?
    holds $code "exec: $(tail -n 1 "$folder/exec.out")"
}
part "trial with a planted wrong map" 60 && {
    # All ranks on the first GPU, where each has its own in the right map.
    own=$(seq -s, 0 $((gpus - 1))) one=$(printf '0%.0s,' $(seq "$gpus"))
    cat >"$folder/copies.sh" <<SH
#!/bin/sh
# Every rank copies at once; the sum of their rates is the program's figure. Without a map: each its own GPU.
case \${MAP:-right} in right) gpus=$own ;; wrong) gpus=${one%,} ;; esac
"$numabench" pingpong --gpus "\$gpus" --order simultaneous --direction h2d --size ${trial_size:-64MiB} --max-time 500ms --timeout 60s -q --json - |
    python3 -c 'import json, sys; d = json.load(sys.stdin); print("sum", sum(r["outcome"]["summary"]["median_bytes_per_s"] for c in d["cases"] for r in c["ranks"]) / 1e9)'
SH
    chmod +x "$folder/copies.sh"
    limit=300 timed trial "$numabench" trial --placements close --vary MAP=wrong --max-runs 10 --metric 'sum ([0-9.]+)' --better higher \
        --json "$folder/trial.json" -- "$folder/copies.sh"
    python3 - "$folder" >"$folder/trial-found.out" 2>&1 <<'PY'
import json, sys
d = json.load(open(f"{sys.argv[1]}/trial.json"))
runs = sum(run["block"] > 0 for run in d["runs"])
said = " ".join(d.get("verdict") or [])
medians = {row["variant"]: row["median"] for row in d["rows"] if row["metric"] == "sum"}
print(f"{runs} runs: {said} {medians}")
right = max(medians, key=lambda name: medians[name] or 0)
assert runs <= 20 and "wrong" not in right, right
PY
    code=$?
    holds $code "trial finds the planted wrong map in at most 20 runs: $(head -n 1 "$folder/trial-found.out")"
}

# Kernels from every NUMA node, Jacobi's iteration on 1, 2, 4, … GPUs, messages under each prepared MPI.
part "kernels from every node" 40 && {
    timed kernels "$numabench" kernels --class 1 --kernels triad,sgemm --max-time 20s --json "$folder/kernels.json"
    say "kernels: $(grep -m 1 . "$folder/kernels.out")"
}
launch=${LAUNCH:-mpirun --oversubscribe -np}
if type -P "${launch%% *}" >/dev/null && part "laplace on 1, 2, 4, … GPUs" 60; then
    for ((ranks = 1; ranks <= gpus; ranks *= 2)); do
        # shellcheck disable=SC2086 # the launcher and its options
        # A rank alone has no halos, and so nothing to overlap.
        ways=(--ways gpu)
        [ $ranks = 1 ] || ways=(--ways staged --overlap on)
        timed "laplace-$ranks" $launch $ranks "$numabench" laplace --grid "${grid:-16384x16384}" "${ways[@]}" \
            --max-time 10s --json "$folder/laplace-$ranks.json"
        say "laplace on $ranks: $(grep -m 1 . "$folder/laplace-$ranks.out")"
    done
else
    say "laplace: NOT RUN, there is no ${launch%% *} or no time left"
fi
if [ -n "$stacks" ]; then
    while IFS='|' read -r name verdict command; do
        read -r name <<<"$name"
        read -r verdict <<<"$verdict"
        [ -n "$name" ] || continue
        part "mpi under $name" 15 || continue
        code=0
        # shellcheck disable=SC2086 # the command's own words
        timeout 120 $command "$numabench" mpi --json "$folder/mpi-${name// /-}.json" >"$folder/mpi-${name// /-}.out" 2>&1 </dev/null || code=$?
        grep -qi -- "$verdict" "$folder/mpi-${name// /-}.out"
        code=$?
        holds $code "mpi under $name says \"$verdict\""
    done <"$stacks"
else
    say "mpi: NOT RUN, --stacks names no MPI"
fi

# Last, for it may take all the time that is left: the same question again, whose answer must not change.
part "topo --measure twenty times" 30 && {
    runs=0 groups=''
    while [ $runs -lt 20 ] && [ "$(left)" -gt 20 ]; do
        runs=$((runs + 1))
        timeout 120 "$numabench" topo --measure=gpus --seed $runs --json >"$folder/groups-$runs.json" 2>/dev/null
        groups+="$(python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); print([(g["finding"], g["groups"]) for g in d["groups"]])' "$folder/groups-$runs.json" 2>/dev/null || echo none)"$'\n'
    done
    say "topo --measure $runs times: $(printf '%s' "$groups" | sort | uniq -c | sort -rn | tr '\n' ';')"
}

python3 - "$folder" "$ran" "$have_theirs" "$gpus" "${simulated:+yes}" <<'PY' || failed=1
import json, re, statistics, sys
folder, turns, beside, gpus, simulated = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "yes", int(sys.argv[4]), sys.argv[5] == "yes"
if simulated:
    print("SIMULATED: the devices are a stand-in's; no figure below is a measurement of a GPU")

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
# Our matrix of two directions beside nvbandwidth's two tests: with eight GPUs at most a fifth of its time.
seconds = {name: float(taken) for name, taken, _ in (line.split("\t") for line in open(f"{folder}/times.tsv"))}
pairs = [(seconds.get(f"matrix-h2d-d2h-{turn}"), seconds.get(f"nvbandwidth-h2d-d2h-{turn}")) for turn in their]
parts = [ours / theirs for ours, theirs in pairs if ours and theirs]
if parts:
    late = gpus >= 8 and statistics.median(parts) > 0.2
    missed += late
    print(f"\nmatrix of H2D and D2H, {gpus} GPUs, the whole process: {shown(parts)} of nvbandwidth's time {'MORE THAN A FIFTH' if late else ''}")
whole = [seconds[f"matrix-h2d-d2h-{turn}"] / seconds[f"nvbandwidth-{turn}"] for turn in their if seconds.get(f"nvbandwidth-{turn}")]
if whole:
    print(f"  and {shown(whole)} of the time of all of its tests above")
documents = [f"{folder}/matrix-h2d-d2h-{turn}.json" for turn in their]
for name in documents:
    found = json.load(open(name))
    parts = ["init_ns", "allocate_ns", "pin_ns", "prove_ns", "warm_up_ns", "lay_out_ns", "measure_ns", "verify_ns"]
    spent = {part[:-3]: sum((rank.get("time") or {}).get(part) or 0 for rank in found["ranks"]) / 1e9 for part in parts}
    print(f"  its own account, s: {' '.join(f'{part} {value:.2f}' for part, value in spent.items())}; in all {sum(spent.values()):.2f}")
print("\nwhole processes, s")
for line in open(f"{folder}/times.tsv"):
    name, seconds, code = line.split("\t")
    print(f"  {name:<28} {seconds:>7}  exit {code.strip()}")
sys.exit(1 if missed and not simulated else 0)
PY
exit $failed
