#!/usr/bin/env bash
#SBATCH --job-name=numabench
#SBATCH --account=YOUR_ACCOUNT
#SBATCH --partition=YOUR_GPU_PARTITION
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-node=4
#SBATCH --exclusive
#SBATCH --mem=0
#SBATCH --time=00:20:00
#SBATCH --signal=TERM@60
#SBATCH --output=numabench-%j.out
#
# Any node with NVIDIA GPUs: one rank per GPU, each an MPI process, as your own program runs. First on the cores that numabench
# chooses for each GPU, then where Slurm would have put the tasks. `sbatch jobs/nvidia-node.sh`, with your account, your partition
# and the number of GPUs (twice) above; one-node.sh does without MPI.
#
# Output: numabench-JOB.out (tables) and NAME-JOB.json for chosen and slurms. The exit code is that of the first run that did
# not end with 0 (README lists them).
#
# For the first run Slurm must neither bind tasks (--cpu-bind=none) nor hide GPUs (--gpu-bind=none). In the second each task is
# bound to the cores that Slurm assigns, and numabench takes the best of those: a rank whose cores are far from its GPU is
# named in the table.
#
# Settings, from the environment:
#   NUMABENCH       the program (default: numabench on the PATH)
#   NUMABENCH_MPI   its MPI plug-in (default: libnumabench_mpi.so beside it, or in ../lib); `cargo xtask mpi-plugin` builds it
#   SLURM_MPI_TYPE  as srun's --mpi, only where the site's own choice does not fit the MPI of the plug-in (pmix: Open MPI; cray_shasta: Cray MPICH; pmi2: MPICH, Intel MPI)
#   NUMABENCH_LAB   a file that sets the values below; with it the very same lines run on another machine
set -euo pipefail

tasks=${SLURM_NTASKS_PER_NODE:-1}
gpus=all
# The site's modules for the GPU and for the MPI that the plug-in was built with, as `module load` takes them: (cuda openmpi)
modules=()
options=(--order both --timeout 10min)
# shellcheck source=/dev/null
. "${NUMABENCH_LAB:-/dev/null}"

numabench=${NUMABENCH:-numabench}
status=0
[ ${#modules[@]} = 0 ] || module load "${modules[@]}"

# NAME BINDING. A rank that dies must not take the others along before they have written what they have.
run() {
    echo "== $1: srun --cpu-bind=$2"
    srun --nodes=1 --ntasks="$tasks" --cpu-bind="$2" --gpu-bind=none --kill-on-bad-exit=0 "$numabench" pingpong \
        --gpus "$gpus" "${options[@]}" --json "$1-$SLURM_JOB_ID.json" || ended $?
}

# After a signal the job's time is up: what is finished is written, and no other run is begun.
ended() { [ "$1" -lt 128 ] || exit "$1"; [ "$status" != 0 ] || status=$1; }

srun --nodes=1 --ntasks=1 --cpu-bind=none --gpu-bind=none "$numabench" topo
run chosen none
run slurms cores
exit "$status"
