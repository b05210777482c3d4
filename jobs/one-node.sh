#!/usr/bin/env bash
#SBATCH --job-name=numabench
#SBATCH --account=YOUR_ACCOUNT
#SBATCH --partition=YOUR_GPU_PARTITION
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --exclusive
#SBATCH --gpus-per-node=4
#SBATCH --mem=0
#SBATCH --time=00:15:00
#SBATCH --signal=TERM@60
#SBATCH --output=numabench-%j.out
#
# One node, all of its GPUs: shows the machine, then measures host-device copies on every GPU, each rank alone and all at
# once. Set the account and the partition above, and --gpus-per-node to what a node has; then `sbatch jobs/one-node.sh`.
# Outside Slurm, `bash jobs/one-node.sh` does the same on the machine at hand.
#
# Output: numabench-JOB.out (both tables) and result-JOB.json (the whole result). The job's exit code is numabench's own:
# 0 all measured, 3 some cases failed, 4 data corrupt, 77 no GPU found (README lists them all).
#
# One task owns the whole node: numabench runs one thread per GPU and binds each by itself, so Slurm must neither bind the
# task (--cpu-bind=none) nor hide cores or memory from it (--exclusive, --mem=0). `numabench topo` prints the allowed set:
# what is missing there was not given to the job.
#
# Sites, as their documentation has it (edit the lines above):
#   LUMI-G       --partition=standard-g --gpus-per-node=8. The first core of each L3 is reserved, and `topo` says so. To
#                start one task per GPU of your own program instead, GPUs 0 to 7 in order, as hex masks of 7 cores each:
#                  srun --ntasks=8 --cpu-bind=mask_cpu:0xfe000000000000,0xfe00000000000000,0xfe0000,0xfe000000,0xfe,0xfe00,0xfe00000000,0xfe0000000000
#                (GPU 0 lies at cores 49-55, not 1-7; `numabench place --emit srun` prints this line there), or
#                  srun --ntasks=8 --cpu-bind=none --gpu-bind=none numabench exec -- ./program
#   Leonardo     --partition=boost_usr_prod --gres=gpu:4 in place of --gpus-per-node.
#   GH200 x 4    --gpus-per-node=4. GPU i lies at NUMA node i and cores 72 i to 72 i + 71. Nodes of GPU memory appear as
#                NUMA nodes too; numabench puts no host memory there unless --membind names one.
#
# Settings, from the environment:
#   NUMABENCH       the program (default: numabench on the PATH)
#   NUMABENCH_ARGS  more options for pingpong, e.g. NUMABENCH_ARGS='--size 4B..1GiB --memory pinned,pageable'
set -euo pipefail

numabench=${NUMABENCH:-numabench}
read -ra more <<<"${NUMABENCH_ARGS-}"
run=${SLURM_JOB_ID:-$(hostname)-$(date +%Y%m%dT%H%M%S)}

launch=()
if [ -n "${SLURM_JOB_ID-}" ]; then
    launch=(srun --nodes=1 --ntasks=1 --cpu-bind=none)
fi

die() { echo "one-node.sh: $1" >&2; exit 2; }
command -v "$numabench" >/dev/null || die "no program '$numabench': put numabench on the PATH, or its path in NUMABENCH"

"${launch[@]}" "$numabench" topo
echo
"${launch[@]}" "$numabench" pingpong --gpus all --order both --json "result-$run.json" "${more[@]}"
