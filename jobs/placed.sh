#!/usr/bin/env bash
#SBATCH --job-name=placed
#SBATCH --account=YOUR_PROJECT
#SBATCH --partition=YOUR_PARTITION
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-node=4
#SBATCH --exclusive
#SBATCH --mem=0
#SBATCH --time=00:30:00
#SBATCH --signal=TERM@60
#SBATCH --output=placed-%j.out
#
# Your own program, every rank in its place: `sbatch jobs/placed.sh ./program ARGUMENTS`, with as many tasks a node as you want
# ranks. numabench works out each rank's cores, memory and GPU, binds it, shows it its GPU and becomes the program.
#
# Output: placed-JOB.out, with what Slurm's own binding would have been worth, what it is worth now, and the program's output. The
# exit code is the program's. `numabench check` says 0 for well placed, 5 for misplaced, 6 where the platform does not say what
# is near; here nothing hangs on it.
#
# numabench binds each rank by itself, so Slurm must neither bind tasks (--cpu-bind=none) nor hide GPUs (--gpu-bind=none).
#
# Settings, from the environment:
#   NUMABENCH       the program (default: numabench on the PATH)
#   NUMABENCH_LAB   a file with other values; with it the very same lines run on another machine
set -euo pipefail

# shellcheck source=/dev/null
. "${NUMABENCH_LAB:-/dev/null}"
numabench=${NUMABENCH:-numabench}
[ $# -gt 0 ] || set -- hostname

srun --nodes=1 --ntasks=1 --cpu-bind=none --gpu-bind=none "$numabench" topo
echo "== as Slurm binds"
srun "$numabench" check || echo "(exit code $?)"
echo "== in place"
srun --cpu-bind=none --gpu-bind=none "$numabench" exec --report -- "$numabench" check || echo "(exit code $?)"
echo "== $*"
srun --cpu-bind=none --gpu-bind=none "$numabench" exec -- "$@"
