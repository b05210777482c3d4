#!/usr/bin/env bash
#SBATCH --job-name=numabench
#SBATCH --account=YOUR_ACCOUNT
#SBATCH --partition=boost_usr_prod
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=4
#SBATCH --gres=gpu:4
#SBATCH --exclusive
#SBATCH --mem=0
#SBATCH --time=00:30:00
#SBATCH --signal=TERM@60
#SBATCH --output=numabench-%j.out
#
# Leonardo Booster: one rank per GPU, each an MPI process, from the cores that are said to be near the GPUs, from the far ones,
# and spread over both NUMA nodes. `sbatch jobs/leonardo.sh`, with your account above.
#
# Output: numabench-JOB.out (tables) and NAME-JOB.json for each of near, far and spread. The exit code is that of the first run
# that did not end with 0 (README lists them).
#
# Published runs had all four GPUs at NUMA node 0 and were still faster when spread (9.0 against 7.4 GB/s a rank): what is
# near is a hypothesis, which this job puts to the test. numabench binds each rank by itself, so Slurm must neither bind tasks
# (--cpu-bind=none) nor hide GPUs (--gpu-bind=none).
#
# Settings, from the environment:
#   NUMABENCH       the program (default: numabench on the PATH)
#   NUMABENCH_MPI   its MPI plug-in (default: libnumabench_mpi.so beside it, or in ../lib); `cargo xtask mpi-plugin` builds it
#   SLURM_MPI_TYPE  as srun's --mpi, only where the site's own choice does not fit the MPI of the plug-in (pmix: Open MPI; cray_shasta: Cray MPICH; pmi2: MPICH, Intel MPI)
#   NUMABENCH_LAB   a file that sets the values below; with it the very same lines run on another machine
set -euo pipefail

tasks=4 gpus=0,1,2,3
modules=(cuda openmpi)
# As the case study counts: 256 MiB, 100 rounds after 10. It copied pageable memory; pinned is what the link can do.
# Each of the three runs ends after 8 minutes of measuring with what it has then: all fit the job's time.
options=(--floats 67108864 --reps 100 --warmup 10 --memory "pageable,pinned" --order both --max-time 8min --timeout 10min)
# shellcheck source=/dev/null
. "${NUMABENCH_LAB:-/dev/null}"

numabench=${NUMABENCH:-numabench}
status=0
[ ${#modules[@]} = 0 ] || module load "${modules[@]}"

# RANKS GPUS STRATEGY: the first core of each rank, as `numabench place` finds it on this node.
pus() { srun --nodes=1 --ntasks=1 --cpu-bind=none --gpu-bind=none "$numabench" place --quiet -n "$1" --gpus "$2" --strategy "$3" --emit srun-map | sed -n 's/.*map_cpu:\([0-9,]*\).*/\1/p'; }

near=${near-$(pus "$tasks" "$gpus" close)}
far=${far-$(pus "$tasks" "$gpus" worst)}
spread=${spread-$(pus "$tasks" "$gpus" spread)}

# NAME PUS. A rank that dies must not take the others along before they have written what they have.
run() {
    echo "== $1: GPUs $gpus from PUs $2"
    srun --nodes=1 --ntasks="$tasks" --cpu-bind=none --gpu-bind=none --kill-on-bad-exit=0 "$numabench" pingpong \
        --cpus "$2" --gpus "$gpus" "${options[@]}" --json "$1-$SLURM_JOB_ID.json" || ended $?
}

# After a signal the job's time is up: what is finished is written, and no other run is begun.
ended() { [ "$1" -lt 128 ] || exit "$1"; [ "$status" != 0 ] || status=$1; }

srun --nodes=1 --ntasks=1 --cpu-bind=none --gpu-bind=none "$numabench" topo
run near "$near"
run far "$far"
run spread "$spread"
exit "$status"
