#!/usr/bin/env bash
#SBATCH --job-name=numabench-sweep
#SBATCH --account=YOUR_ACCOUNT
#SBATCH --partition=YOUR_GPU_PARTITION
#SBATCH --nodes=16
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-node=4
#SBATCH --exclusive
#SBATCH --mem=0
#SBATCH --time=00:20:00
#SBATCH --signal=TERM@60
#SBATCH --output=numabench-%j.out
#
# Many nodes in one run: which of them is slower than the others, or set up differently? One rank per GPU, each an MPI process,
# on the cores that numabench chooses; all GPUs of a node at once. `sbatch jobs/partition-sweep.sh`, with your account, your
# partition, the number of nodes and the number of GPUs of a node (twice) above.
#
# Output: numabench-JOB.out (the table of nodes, outliers and differences named), sweep-JOB.json (one document of all nodes)
# and topo-JOB-NODE.xml of each node (`numabench topo diff A B` says what differs between two). The exit code is that of the
# first of both steps that did not end with 0 (README lists them).
#
# A node that fails is named in the document, and the others are measured all the same: --no-kill keeps the job.
#
# Settings, from the environment:
#   NUMABENCH       the program (default: numabench on the PATH)
#   NUMABENCH_MPI   its MPI plug-in (default: libnumabench_mpi.so beside it, or in ../lib); `cargo xtask mpi-plugin` builds it
#   SLURM_MPI_TYPE  as srun's --mpi, only where the site's own choice does not fit the MPI of the plug-in (pmix: Open MPI; cray_shasta: Cray MPICH; pmi2: MPICH, Intel MPI)
#   NUMABENCH_LAB   a file that sets the values below; with it the very same lines run on another machine
set -euo pipefail

gpus=all
# The site's modules for the GPU and for the MPI that the plug-in was built with, as `module load` takes them: (cuda openmpi)
modules=()
options=(--direction "h2d,d2h" --timeout 10min)
# shellcheck source=/dev/null
. "${NUMABENCH_LAB:-/dev/null}"

export numabench=${NUMABENCH:-numabench}
status=0
[ ${#modules[@]} = 0 ] || module load "${modules[@]}"

# SLURMD_NODENAME is each task's own, so the words are for the shell there.
# shellcheck disable=SC2016
srun --ntasks="$SLURM_JOB_NUM_NODES" --ntasks-per-node=1 --cpu-bind=none --gpu-bind=none --no-kill \
    sh -c '"$numabench" topo --save "topo-$SLURM_JOB_ID-$SLURMD_NODENAME.xml" >/dev/null' || status=$?
srun --cpu-bind=none --gpu-bind=none --no-kill --kill-on-bad-exit=0 "$numabench" pingpong \
    --gpus "$gpus" "${options[@]}" --json "sweep-$SLURM_JOB_ID.json" || { code=$?; [ "$status" != 0 ] || status=$code; }
exit "$status"
