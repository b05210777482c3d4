#!/usr/bin/env bash
#SBATCH --job-name=numabench
#SBATCH --account=YOUR_ACCOUNT
#SBATCH --partition=YOUR_SHARED_GH200_PARTITION
#SBATCH --array=0-3
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=72
#SBATCH --gpus=1
#SBATCH --mem=100G
#SBATCH --time=00:15:00
#SBATCH --signal=TERM@60
#SBATCH --output=numabench-%A-%a.out
#
# GH200 nodes that are shared: four jobs that ask for one GPU each, at once. Does Slurm give each the cores of its GPU's own
# superchip, and what does it cost where it does not? `sbatch jobs/gh200-shared.sh`, with your account and partition above.
#
# Output: numabench-JOB-N.out (tables) and shared-JOB-N.json of each. `topo` says which cores and which GPU the step has, and
# what of the node it has not; the result's locality says whether they belong together. The exit code is numabench's own
# (README lists them).
#
# What the shared queue costs: in a job that has the node alone (the exclusive queue) run
# `numabench pingpong --order alone --json exclusive.json`, with the same options; gather shared-*.json in a folder of their own;
# `numabench compare exclusive.json FOLDER --by gpu` has each GPU's rates in both queues with a verdict, and the cores that Slurm
# gave it where they differ. Three runs of each find a loss, one of each suspects it.
#
# Alps shares no nodes: there use gh200.sh.
#
# One task, so no MPI. It is left in the cores that Slurm gave it (--cpu-bind=none: all of them), and numabench takes the first
# that is local to the GPU, where one is.
#
# Settings, from the environment:
#   NUMABENCH       the program (default: numabench on the PATH)
#   NUMABENCH_LAB   a file that sets the values below; with it the very same lines run on another machine
set -euo pipefail

gpus=all
options=()
# shellcheck source=/dev/null
. "${NUMABENCH_LAB:-/dev/null}"

launch=(srun --ntasks=1 --cpu-bind=none "${NUMABENCH:-numabench}")
"${launch[@]}" topo
"${launch[@]}" pingpong --gpus "$gpus" "${options[@]}" --json "shared-$SLURM_ARRAY_JOB_ID-$SLURM_ARRAY_TASK_ID.json"
