#!/usr/bin/env bash
# What `kernels` and `laplace` reach on one GPU, beside what SHOC reached on one H200 and what a good kernel does: one table, some 90 s.
#
# usage: bench/kernels.sh [NUMABENCH]      (target/release/numabench); FOLDER is where the documents are kept (a temporary one)
#
# Measured: the default run of `kernels` (at most 15 s), each kernel with transfers and alone at the largest class, a small class, ten iterations, the vendor's libraries where
# they lie on the machine, and `laplace` on one rank. What memory allows `laplace` is the rate of the triad on data that stays there.
# The exit code is 0 if every target was met, 1 if one was missed, 77 without a GPU.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
numabench=${1:-$here/../target/release/numabench}
folder=${FOLDER:-$(mktemp -d)}
[ -n "${FOLDER:-}" ] || trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder"

measure() { # NAME ARGUMENTS…: the document, what was said, the seconds of the whole process and the exit code
    local name=$1 began code=0
    shift
    began=${EPOCHREALTIME/[.,]/}
    timeout 60 "$numabench" "$@" --json "$folder/$name.json" >"$folder/$name.txt" 2>"$folder/$name.err" || code=$?
    local ms=$(((${EPOCHREALTIME/[.,]/} - began) / 1000))
    printf '%s %d.%03d\n' "$code" $((ms / 1000)) $((ms % 1000)) >"$folder/$name.end"
    echo "$name: numabench $* (exit code $code)" >&2
    [ -s "$folder/$name.json" ] || { tail -3 "$folder/$name.err" >&2 && return "$code"; }
}

nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,pcie.link.gen.current,pcie.link.width.current --format=csv,noheader 2>/dev/null | head -1
measure default kernels --gpus 0 || [ -s "$folder/default.json" ] || exit 77
measure iterations kernels --gpus 0 --kernels sgemm,stencil,md --iterations 10
measure small kernels --gpus 0 --kernels reduction,triad,fft --class 1
if "$numabench" kernels --help | grep -q -- --vendor; then
    measure vendor kernels --gpus 0 --kernels sgemm,dgemm,fft,fft-dp --vendor
fi
measure laplace laplace --gpus 0 --ways gpu --grid 16384x16384
measure laplace_single laplace --gpus 0 --ways gpu --grid 16384x16384 --precision single

python3 - "$folder" <<'PYTHON'
import json, pathlib, sys

folder = pathlib.Path(sys.argv[1])
missed = []

def read(name):
    try:
        return json.loads((folder / f"{name}.json").read_text()), *(folder / f"{name}.end").read_text().split()
    except (OSError, ValueError):
        return None, "-", "nan"

def met(what, value, least):
    if least is None or value is None:
        return ""
    if value < least:
        missed.append(what)
    return f"{value / least:6.2f}" + ("" if value >= least else " MISSED")

def place(kernel):
    return kernel["places"][0] if kernel["places"] else {}

# Of SHOC at -s 4 on one H200: with transfers; alone, what is to be reached. In 1e9 of the kernel's unit; a sort's GB/s are keys of 8 bytes with their value.
shoc = {"triad": (68, None), "reduction": (46.0, None), "scan": (24.3, 1000), "sort": (19.3 / 8, 8), "stencil": (None, 2200), "sgemm": (21600, 25000),
        "dgemm": (9200, 15000), "fft": (153, 9000), "md": (227, 2500), "spmv": (11.3, 500)}
document, code, seconds = read("default")
if document:
    print(f"kernels, the whole default run: {seconds} s (exit code {code}), to reach: 15 s", "" if float(seconds) <= 15 else "MISSED")
    if float(seconds) > 15:
        missed.append("time")
    for rank in document["ranks"]:
        if rank.get("time"):
            print("  its time:", ", ".join(f"{name[:-3]} {ns / 1e9:.2f} s" for name, ns in rank["time"].items() if isinstance(ns, (int, float)) and name.endswith("_ns")))
    blocks = [len(rank["blocks"]) for case in document["cases"] for rank in case["ranks"]]
    print(f"  {len(blocks)} cases of {min(blocks, default=0)} to {max(blocks, default=0)} blocks, status {document['status']}: {document['status_reason']}")
    for case in document["cases"]:
        if case.get("group") == "copies":
            ns = sorted(block["elapsed_ns"] / block["rounds"] for block in case["ranks"][0]["blocks"])
            print(f"  {case['direction']}: {case['bytes'] / ns[len(ns) // 2]:.1f} GB/s" if ns else "")
    triad = next((place(kernel).get("resident_per_s") for kernel in document["kernels"] if kernel["name"] == "triad"), None)
    print("  what is to be reached alone is of an H200; where memory bounds a kernel it is scaled by the triad's rate here over 4,011 GB/s there")
    print(f"{'kernel':10} {'with transfers':>15} {'SHOC':>9} {'of it':>13} {'alone':>11} {'to reach':>9} {'of it':>13} {'share':>7}")
    for kernel in document["kernels"]:
        name, found = kernel["name"], place(kernel)
        least, alone = shoc.get(name, (None, None))
        if name == "reduction" and triad:
            alone = 0.85 * triad / 1e9
        if name in ("scan", "stencil", "fft", "spmv") and triad and triad < 4.011e12:
            # What memory bounds: the H200's rates with that GPU's 4,011 GB/s of the triad.
            alone *= triad / 4.011e12
        rate = found.get("per_s") and found["per_s"] / 1e9
        resident = found.get("resident_per_s") and found["resident_per_s"] / 1e9
        if rate is None or resident is None:
            missed.append(name)
            print(f"{name:10} no figure: MISSED")
            continue
        text = lambda number: "-" if number is None else f"{number:.4g}"
        print(f"{name:10} {rate:15.5g} {text(least):>9} {met(name, rate, least):>13} {resident:11.5g} {text(alone):>9} {met(name + ' alone', resident, alone):>13} "
              f"{100 * found['transfer_share']:5.0f} %")
for name in "iterations", "small", "vendor":
    document, code, seconds = read(name)
    if document:
        print(f"{name} ({seconds} s, exit code {code}):", "; ".join(
            f"{kernel['name']} {place(kernel)['per_s'] / 1e9:.5g} with transfers, {(place(kernel).get('resident_per_s') or 0) / 1e9:.5g} alone"
            for kernel in document["kernels"] if kernel["places"]))
        print("\n".join("  " + line for line in (folder / f"{name}.txt").read_text().splitlines()[:12]))
for name, bytes_a_cell in ("laplace", 16), ("laplace_single", 8):
    document, code, seconds = read(name)
    if not document or not triad:
        missed.append(name)
        continue
    # The triad's rate in this run is what memory gives here: a cell is read and written once.
    allowed = triad / bytes_a_cell
    for way in document["laplace"]["ways"]:
        cells = way.get("cells_per_s") or (way.get("figures") or {}).get("cells_per_s")
        if cells:
            what = f"{name} {way.get('way') or way.get('name')}"
            print(f"{what}: {cells / 1e9:.4g} Gcell/s, 0.85 of what triad's rate allows: {0.85 * allowed / 1e9:.4g}, of it {met(what, cells, 0.85 * allowed)} ({seconds} s, exit code {code})")
print("all targets met" if not missed else "MISSED: " + ", ".join(missed))
sys.exit(1 if missed else 0)
PYTHON
