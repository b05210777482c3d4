#!/usr/bin/env bash
#SBATCH --job-name=numabench
#SBATCH --account=YOUR_PROJECT
#SBATCH --partition=standard-g
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=8
#SBATCH --gpus-per-node=8
#SBATCH --exclusive
#SBATCH --mem=0
#SBATCH --time=00:30:00
#SBATCH --signal=TERM@60
#SBATCH --output=numabench-%j.out
#
# LUMI-G: the placement case study, one rank per GPU (GCD), each an MPI process. Eight ranks on the cores that belong to their
# GPUs and eight on cores in plain order, then the same with half of the GPUs. `sbatch jobs/lumi-g.sh`, with your project above.
#
# Output: numabench-JOB.out (tables) and NAME-JOB.json for each of right, wrong, half-right and half-wrong. The exit code is
# that of the first run that did not end with 0 (README lists them).
#
# GPU 0 to 7 in PCI order lie at cores 48-55, 56-63, 16-23, 24-31, 0-7, 8-15, 32-39 and 40-47; the first core of each eight
# is reserved for the system: right is 49,57,17,25,1,9,33,41 where that is so. numabench binds each rank by itself, so Slurm must neither bind tasks (--cpu-bind=none) nor hide
# GPUs (--gpu-bind=none). The GPUs are driven through HIP, which numabench opens at run time; it has not been run on this system yet.
#
# Settings, from the environment:
#   NUMABENCH       the program (default: numabench on the PATH)
#   NUMABENCH_MPI   its MPI plug-in (default: libnumabench_mpi.so beside it, or in ../lib); `cargo xtask mpi-plugin` builds it
#   SLURM_MPI_TYPE  as srun's --mpi, only where the site's own choice does not fit the MPI of the plug-in (pmix: Open MPI; cray_shasta: Cray MPICH; pmi2: MPICH, Intel MPI)
#   NUMABENCH_LAB   a file that sets the values below; with it the very same lines run on another machine
set -euo pipefail

tasks=8 gpus=0,1,2,3,4,5,6,7
half_tasks=4 half_gpus=0,2,4,6
modules=(craype-accel-amd-gfx90a rocm cray-mpich)
# As the case study counts: 256 MiB, 100 rounds after 10. It copied pageable memory; pinned is what the link can do.
# Each of the four runs ends after 6 minutes of measuring with what it has then: all fit the job's time.
options=(--floats 67108864 --reps 100 --warmup 10 --memory "pageable,pinned" --order both --max-time 6min --timeout 10min)
# shellcheck source=/dev/null
. "${NUMABENCH_LAB:-/dev/null}"

numabench=${NUMABENCH:-numabench}
status=0
[ ${#modules[@]} = 0 ] || module load "${modules[@]}"

# RANKS GPUS STRATEGY: the first core of each rank, as `numabench place` finds it on this node.
pus() { srun --nodes=1 --ntasks=1 --cpu-bind=none --gpu-bind=none "$numabench" place --quiet -n "$1" --gpus "$2" --strategy "$3" --emit srun-map | sed -n 's/.*map_cpu:\([0-9,]*\).*/\1/p'; }

# The same cores in plain order, as ranks without a binding of their own have them.
plain() { tr , '\n' <<<"$1" | sort -n | paste -sd,; }

right=${right-$(pus "$tasks" "$gpus" close)}
wrong=${wrong-$(plain "$right")}
half_right=${half_right-$(pus "$half_tasks" "$half_gpus" close)}
half_wrong=${half_wrong-$(plain "$half_right")}

# NAME RANKS PUS GPUS. A rank that dies must not take the others along before they have written what they have.
run() {
    echo "== $1: GPUs $4 from PUs $3"
    srun --nodes=1 --ntasks="$2" --cpu-bind=none --gpu-bind=none --kill-on-bad-exit=0 "$numabench" pingpong \
        --cpus "$3" --gpus "$4" "${options[@]}" --json "$1-$SLURM_JOB_ID.json" || ended $?
}

# After a signal the job's time is up: what is finished is written, and no other run is begun.
ended() { [ "$1" -lt 128 ] || exit "$1"; [ "$status" != 0 ] || status=$1; }

srun --nodes=1 --ntasks=1 --cpu-bind=none --gpu-bind=none "$numabench" topo
run right "$tasks" "$right" "$gpus"
run wrong "$tasks" "$wrong" "$gpus"
run half-right "$half_tasks" "$half_right" "$half_gpus"
run half-wrong "$half_tasks" "$half_wrong" "$half_gpus"
exit "$status"
