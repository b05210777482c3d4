#!/usr/bin/env bash
# Whether NCCL finds in the files of `topo --emit nccl-topo` the distances that the machines have: its own reader and path search, compiled without a GPU, read the file of each
# saved machine of which one can be made. A line a machine, then how many distances were compared.
#
# usage: bench/nccl_topology.sh NCCL CUDA [NUMABENCH [MACHINE.xml...]]
#   NCCL       a checkout of https://github.com/NVIDIA/nccl that has build/include/nccl.h, which any build makes (docs/measurements/nccl-topology-files.md)
#   CUDA       the folder of CUDA's headers (cuda_runtime.h, crt/host_config.h, cuda/atomic); several with : between them
#   NUMABENCH  target/release/numabench
#   MACHINE    saved machines; the test's own, crates/topo/tests/fixtures/*.xml
#
# The exit code is 0 if no distance differs, 1 if one does, 77 where NCCL cannot be compiled.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
nccl=$1 cuda=$2 numabench=${3:-$here/../target/release/numabench}
shift $(($# < 3 ? $# : 3))
[ $# -gt 0 ] || set -- "$here"/../crates/topo/tests/fixtures/*.xml
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
includes=(-I"$nccl/build/include" -I"$nccl/src/include" -I"$nccl/src/include/plugin" -I"$nccl/src/graph")
IFS=: read -ra headers <<<"$cuda"
for header in "${headers[@]}"; do includes+=(-I"$header"); done
# What is not called (drivers, transports) stays unresolved.
g++ -std=c++17 -w -fpermissive -ffunction-sections -no-pie -DNCCL_OS_LINUX "${includes[@]}" "$here/nccl_topology.cc" "$nccl"/src/graph/{xml,topo,paths}.cc "$nccl/src/os/linux.cc" \
    -Wl,--gc-sections,--unresolved-symbols=ignore-all -o "$folder/nccl_topology" || exit 77
python3 - "$folder" "$numabench" "$@" <<'END'
import json, os, re, subprocess, sys

folder, numabench, *machines = sys.argv[1:]
files = compared = different = 0


def said(*command):
    return subprocess.run(command, capture_output=True, text=True)


for machine in machines:
    emitted = said(numabench, "topo", "--input", machine, "--emit", "nccl-topo")
    if emitted.returncode:
        continue
    file = os.path.join(folder, "topology.xml")
    with open(file, "w", encoding="utf-8") as out:
        out.write(emitted.stdout)
    read = said(os.path.join(folder, "nccl_topology"), file)
    devices = json.loads(said(numabench, "topo", "--input", machine, "--json").stdout)["interconnect"]
    address = {device["label"]: device["pci"] for device in devices["devices"]}
    shown = {}
    for pair in devices["pairs"]:
        # NCCL has no word for two host bridges of one NUMA node.
        level = {"NODE": "PHB"}.get(pair["pci"], pair["pci"])
        shown[frozenset((address[pair["from"]], address[pair["to"]]))] = level
    named = dict(re.findall(r"^((?:GPU|NET)\d+) (\S+)$", read.stdout, re.M))
    own = wrong = 0
    for gpu, others in re.findall(r"^(GPU\d+): (.*)$", read.stdout, re.M):
        for other, level in re.findall(r"(\w+)=(\w+)", others):
            one, two = named[gpu], named[other]
            # Functions of one card share its slot: the file has them side by side.
            if other == gpu or one[:10] == two[:10] or not shown.get(frozenset((one, two))):
                continue
            own += 1
            if shown[frozenset((one, two))] != level:
                wrong += 1
                print(f"  {one} and {two}: NCCL {level}, the machine {shown[frozenset((one, two))]}")
    ends = "" if read.returncode == 0 else f", NCCL: {read.stdout.strip().splitlines()[-1:]}"
    print(f"{os.path.basename(machine)}: {len(named)} devices, {own} distances, {wrong} different{ends}")
    files, compared, different = files + 1, compared + own, different + wrong + (read.returncode != 0)
print(f"{files} files, {compared} distances, {different} different")
sys.exit(different > 0)
END
