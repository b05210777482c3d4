#!/usr/bin/env bash
# workers.sh - holds `numabench exec --workers` against torch on real GPUs: workers of multiprocessing (spawn and fork) and of torchrun,
# each with the cores of the GPU that it opens, the engine itself free; and says what Dask-CUDA's have, where it is installed.
#
#   workers.sh FOLDER [OUT]    FOLDER has numabench and libnumabench_witness.so (and libhwloc.so.15, where the machine has none);
#                              OUT gets what each worker saw of itself and the outputs [default: a folder that is removed]
#
# Under two minutes on a machine with one GPU or several, and torch; no network. A worker is right if every thread that torch did not
# bind itself has exactly the PUs that `exec --workers --print` names for its GPU (of two workers of one GPU each has a part of its own),
# if its memory policy prefers the nodes named there, if the engine has the PUs that this script has, and if `check --pid` finds nothing
# wrong. Unknown locality (a virtual machine) counts as right where the GPUs have equal numbers of cores of their own.
#
# Exit: 0 all workers are right; 1 one is not, or a run failed; 2 wrong usage; 77 no GPU that numabench sees, no driver, or no torch.
set -euo pipefail

die() { echo "workers: $2" >&2; exit "$1"; }
[ $# -ge 1 ] || die 2 "usage: workers.sh FOLDER [OUT]"
tools=$(cd "$1" && pwd)
for file in numabench libnumabench_witness.so; do
    [ -f "$tools/$file" ] || die 2 "$tools lacks $file"
done
command -v python3 >/dev/null || die 77 "no python3"
python3 -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)' || die 77 "no torch"
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
out=${2:-$work} && mkdir -p "$out" && out=$(cd "$out" && pwd)
export LD_LIBRARY_PATH=$tools${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} COLUMNS=100

"$tools/numabench" exec --workers --print >"$out/table" 2>"$out/table.err" || die 77 "$(cat "$out/table.err")"
gpus=$(grep -c '^# workers of GPU' "$out/table")
# Two workers on a machine with one GPU share it; else one each.
each=1 count=$gpus
[ "$gpus" -gt 1 ] || each=2 count=2
"$tools/numabench" exec "--workers=$each" --print >"$out/table"
grep '^# ' "$out/table"

# One worker: opens its GPU, says what it sees of itself, waits until it was looked at.
cat >"$work/worker.py" <<'PYTHON'
import ctypes, glob, json, os, sys, time

def affinities():
    found = {}
    for task in glob.glob("/proc/self/task/*"):
        try:
            pus = sorted(os.sched_getaffinity(int(os.path.basename(task))))
        except OSError:
            continue
        found.setdefault(",".join(map(str, pus)), 0)
        found[",".join(map(str, pus))] += 1
    return found

def policy():
    mode, nodes = ctypes.c_int(-1), (ctypes.c_ulong * 16)()
    number = {"x86_64": 239, "aarch64": 236}[os.uname().machine]
    if ctypes.CDLL(None, use_errno=True).syscall(number, ctypes.byref(mode), nodes, ctypes.c_ulong(1025), None, ctypes.c_ulong(0)):
        return {"mode": -1, "nodes": []}
    return {"mode": mode.value, "nodes": [at for at in range(1024) if nodes[at // 64] >> at % 64 & 1]}

def work(rank, device, folder):
    import torch
    before = sorted(os.sched_getaffinity(0))
    torch.cuda.set_device(device)
    total = torch.ones(1 << 20, device="cuda").sum().item()
    kept = torch.ones(8 << 20).pin_memory()  # memory that is allocated after the GPU was opened
    driver, text, handle = ctypes.CDLL("libcuda.so.1"), ctypes.create_string_buffer(64), ctypes.c_int()
    assert driver.cuDeviceGet(ctypes.byref(handle), device) == 0
    assert driver.cuDeviceGetPCIBusId(text, 64, handle) == 0
    seen = {"rank": rank, "pid": os.getpid(), "parent": os.getppid(), "gpu": text.value.decode().lower(), "total": total,
            "before": before, "pus": sorted(os.sched_getaffinity(0)), "threads": affinities(), "policy": policy(),
            "torch_threads": torch.get_num_threads()}
    file = f"{folder}/worker-{rank}.json"
    with open(file + ".new", "w") as to:
        json.dump(seen, to)
    os.rename(file + ".new", file)
    until = time.time() + 60
    while not os.path.exists(f"{folder}/go") and time.time() < until:
        time.sleep(0.05)
    del kept

if __name__ == "__main__":
    how, folder, count, gpus = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    if how == "torchrun":
        rank = int(os.environ["LOCAL_RANK"])
        work(rank, rank * gpus // count, folder)
    elif how == "dask-cuda":
        from dask.distributed import Client
        from dask_cuda import LocalCUDACluster
        with LocalCUDACluster(CUDA_VISIBLE_DEVICES=list(range(gpus)), dashboard_address=None) as cluster, Client(cluster) as client:
            with open(f"{folder}/engine.json", "w") as to:
                json.dump({"pus": sorted(os.sched_getaffinity(0))}, to)
            # Each worker sees its own GPU first.
            workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
            client.gather([client.submit(work, rank, 0, folder, workers=[worker], pure=False) for rank, worker in enumerate(workers)])
    else:
        import torch.multiprocessing as mp
        context = mp.get_context(how)
        all = [context.Process(target=work, args=(rank, rank * gpus // count, folder)) for rank in range(count)]
        for one in all: one.start()
        with open(f"{folder}/engine.json", "w") as to:
            json.dump({"pus": sorted(os.sched_getaffinity(0))}, to)
        for one in all: one.join()
        sys.exit(any(one.exitcode for one in all))
PYTHON

# Holds what the workers saw against the table and what check says.
cat >"$work/held.py" <<'PYTHON'
import glob, json, os, re, sys
folder, table, own, code = sys.argv[1], open(sys.argv[2]).read(), sys.argv[3], int(sys.argv[4])
def pus(text):
    found = set()
    for part in filter(None, text.replace("none", "").split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found
line = re.search(r"NUMABENCH_WORKERS='([^']*)'", table)[1]
gpus = {}
for word in line.split():
    name, _, value = word.partition("=")
    if ":" in name:
        parts, _, nodes = value.partition("@")
        gpus[name[-12:]] = ([pus(part) for part in parts.split("|")], pus(nodes))
bad = []
workers = [json.load(open(file)) for file in sorted(glob.glob(f"{folder}/worker-*.json"))]
taken = []
for worker in workers:
    parts, nodes = gpus.get(worker["gpu"][-12:], ([], set()))
    has = set(worker["pus"])
    if has not in parts: bad.append(f"worker {worker['rank']} of {worker['gpu']} has PUs {sorted(has)}, none of {[sorted(part) for part in parts]}")
    if any(has & other for other in taken): bad.append(f"worker {worker['rank']} shares PUs {sorted(has)}")
    taken.append(has)
    for affinity, count in worker["threads"].items():
        if not pus(affinity) <= has: bad.append(f"{count} threads of worker {worker['rank']} have PUs {affinity}")
    mode, seen = worker["policy"]["mode"], set(worker["policy"]["nodes"])
    if nodes and (mode not in (1, 5) or not seen <= nodes): bad.append(f"worker {worker['rank']}: memory policy {mode} on {seen}, not preferred on {nodes}")
    if not nodes and mode > 0: bad.append(f"worker {worker['rank']}: memory policy {mode} where none was to be set")
    if worker["total"] != 1 << 20: bad.append(f"worker {worker['rank']}: a sum is {worker['total']}")
    print(f"  worker {worker['rank']} GPU {worker['gpu']}: PUs {sorted(has)}, before {len(worker['before'])} PUs, threads {sorted(worker['threads'].values())}, torch threads {worker['torch_threads']}, policy {mode} {sorted(seen)}")
sizes = {name: len(set().union(*parts)) for name, (parts, _) in gpus.items()}
if max(sizes.values()) - min(sizes.values()) > 1 and "unknown" in table: bad.append(f"GPUs have unequal shares: {sizes}")
if os.path.exists(f"{folder}/engine.json"):
    engine = set(json.load(open(f"{folder}/engine.json"))["pus"])
    if engine != pus(own): bad.append(f"the engine has PUs {sorted(engine)}, not {own}")
    print(f"  the engine has {len(engine)} PUs, as before")
try:
    document = json.load(open(f"{folder}/check.json"))
    kinds = sorted({finding["kind"] for finding in document["findings"]})
    remarks = {"locality-not-known", "gpu-not-known", "shared-gpu"} | ({"spans-nodes"} if "unknown" in table else set())
    print(f"  check --pid: exit {code}, {[rank['placed'] for rank in document['ranks']]}, {kinds}")
    if code != 0 and not (code == 6 and set(kinds) <= remarks):
        bad.append(f"check --pid ends with {code}: {[finding['text'] for finding in document['findings']]}")
except (OSError, ValueError) as error:
    bad.append(f"check --pid: {error}")
print("\n".join(f"  WRONG {text}" for text in bad) or "  right")
sys.exit(bool(bad))
PYTHON

bad=0
own=$(python3 -c 'import os; print(",".join(map(str, sorted(os.sched_getaffinity(0)))))')
try() { # NAME WORKERS COMMAND...: runs it under exec --workers, looks at its workers while they live
    local name=$1 count=$2 folder="$out/$1" code=0 began=$SECONDS engine
    shift 2
    echo "== $name: $count workers, $gpus GPUs"
    rm -rf "$folder" && mkdir -p "$folder"
    "$@" >"$folder/output" 2>&1 &
    engine=$!
    while [ "$(find "$folder" -name 'worker-*.json' | wc -l)" -lt "$count" ] && kill -0 $engine 2>/dev/null && [ $((SECONDS - began)) -lt 60 ]; do sleep 0.1; done
    pids=$(cat "$folder"/worker-*.json 2>/dev/null | grep -o '"pid": [0-9]*' | grep -o '[0-9]*' | paste -sd,)
    if [ -n "$pids" ]; then
        "$tools/numabench" check --pid "$pids" --json "$folder/check.json" >"$folder/check" 2>&1 || code=$?
    fi
    touch "$folder/go"
    wait $engine || { echo "  WRONG it ended with $?"; tail -n 5 "$folder/output"; bad=1; }
    grep -a '^numabench: worker' "$folder/output" | sed 's/^/  /' || true
    [ -n "$pids" ] || { echo "  WRONG no worker spoke"; tail -n 5 "$folder/output"; bad=1; return; }
    python3 "$work/held.py" "$folder" "$out/table" "$own" "$code" || bad=1
    echo "  $((SECONDS - began)) s"
}
for how in spawn fork; do
    try "$how" "$count" "$tools/numabench" exec "--workers=$each" --report -- python3 "$work/worker.py" $how "$out/$how" "$count" "$gpus"
done
torchrun=(python3 -m torch.distributed.run --nproc-per-node "$count" --master-port 29517)
try torchrun "$count" "$tools/numabench" exec "--workers=$each" --report -- "${torchrun[@]}" "$work/worker.py" torchrun "$out/torchrun" "$count" "$gpus"

# Dask-CUDA has a worker for each GPU. For the record: once a worker is bound, it sets the affinity of its main thread anew, from which
# the thread that computes is started.
was=$bad
if [ $SECONDS -lt 90 ] && python3 -c 'import dask_cuda' 2>/dev/null; then
    try dask-cuda "$gpus" "$tools/numabench" exec "--workers=$each" --report -- python3 "$work/worker.py" dask-cuda "$out/dask-cuda" "$gpus" "$gpus"
    bad=$was
fi

# torchrun's own binding, where this torch has it: for the record, and that a worker that torchrun bound is left to it.
if [ $SECONDS -lt 80 ] && python3 -c 'import torch.numa.binding' 2>/dev/null; then
    echo "== torchrun --numa-binding=node, with exec --workers"
    folder=$out/numa-binding && mkdir -p "$folder" && touch "$folder/go"
    if timeout 40 "$tools/numabench" exec "--workers=$each" --report -- "${torchrun[@]}" --numa-binding=node "$work/worker.py" torchrun "$folder" "$count" "$gpus" >"$folder/output" 2>&1; then
        grep -a '^numabench: worker' "$folder/output" | sed 's/^/  /'
    else
        echo "  it ended with $?: $(grep -a Error "$folder/output" | tail -n 1)"
    fi
fi
[ $bad = 0 ] && echo "all workers are right" || echo "NOT all workers are right"
exit $bad
