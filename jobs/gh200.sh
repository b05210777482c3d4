#!/usr/bin/env bash
#SBATCH --job-name=numabench
#SBATCH --account=YOUR_ACCOUNT
#SBATCH --partition=YOUR_GH200_PARTITION
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-node=4
#SBATCH --exclusive
#SBATCH --mem=450G
#SBATCH --time=00:30:00
#SBATCH --signal=TERM@60
#SBATCH --output=numabench-%j.out
#
# A node of four GH200 for one job: four runs of one rank per GPU, each an MPI process; in run N every rank sits N superchips
# away from its GPU. Together they are the matrix of every CPU with every GPU. `sbatch jobs/gh200.sh`, with your account and
# partition above; gh200-shared.sh is for a partition that shares nodes among jobs.
#
# Output: numabench-JOB.out (tables) and away-N-JOB.json for N of 0 to 3. The exit code is that of the first run that did not
# end with 0 (README lists them).
#
# On Alps the MPI comes with a uenv: add `#SBATCH --uenv=NAME` and `#SBATCH --view=VIEW` of the one that the plug-in was built in; its nodes have some 450 GiB
# of host memory for a job.
#
# GPU i lies at NUMA node i and cores 72 i to 72 i + 71. The nodes of GPU memory are NUMA nodes too; host memory lies on the
# rank's own CPU node unless --membind says otherwise. numabench binds each rank by itself, so Slurm must neither bind tasks
# (--cpu-bind=none) nor hide GPUs (--gpu-bind=none).
#
# Settings, from the environment:
#   NUMABENCH       the program (default: numabench on the PATH)
#   NUMABENCH_MPI   its MPI plug-in (default: libnumabench_mpi.so beside it, or in ../lib); `cargo xtask mpi-plugin` builds it
#   SLURM_MPI_TYPE  as srun's --mpi, only where the site's own choice does not fit the MPI of the plug-in (pmix: Open MPI; cray_shasta: Cray MPICH; pmi2: MPICH, Intel MPI)
#   NUMABENCH_LAB   a file that sets the values below; with it the very same lines run on another machine
set -euo pipefail

tasks=4 gpus=0,1,2,3
modules=()
options=(--order both --timeout 10min)
# shellcheck source=/dev/null
. "${NUMABENCH_LAB:-/dev/null}"

numabench=${NUMABENCH:-numabench}
status=0
[ ${#modules[@]} = 0 ] || module load "${modules[@]}"

# RANKS GPUS STRATEGY: the first core of each rank, as `numabench place` finds it on this node.
pus() { srun --nodes=1 --ntasks=1 --cpu-bind=none --gpu-bind=none "$numabench" place --quiet -n "$1" --gpus "$2" --strategy "$3" --emit srun-map | sed -n 's/.*map_cpu:\([0-9,]*\).*/\1/p'; }

# COUNT PUS: the list from its COUNT-th on, and then what was before.
from() { cut -d, -f"$(($1 + 1))-" <<<"$2,$2" | cut -d, -f"1-$tasks"; }

own=${own-$(pus "$tasks" "$gpus" close)}
[ -n "${away-}" ] || for distance in 0 1 2 3; do away[distance]=$(from "$distance" "$own"); done

# NAME PUS. A rank that dies must not take the others along before they have written what they have.
run() {
    echo "== $1: GPUs $gpus from PUs $2"
    srun --nodes=1 --ntasks="$tasks" --cpu-bind=none --gpu-bind=none --kill-on-bad-exit=0 "$numabench" pingpong \
        --cpus "$2" --gpus "$gpus" "${options[@]}" --json "$1-$SLURM_JOB_ID.json" || ended $?
}

# After a signal the job's time is up: what is finished is written, and no other run is begun.
ended() { [ "$1" -lt 128 ] || exit "$1"; [ "$status" != 0 ] || status=$1; }

srun --nodes=1 --ntasks=1 --cpu-bind=none --gpu-bind=none "$numabench" topo
for distance in "${!away[@]}"; do
    run "away-$distance" "${away[distance]}"
done
exit "$status"
