#!/bin/bash
set -euo pipefail
LOCAL_RANK=${SLURM_LOCALID:-0}
export CUDA_VISIBLE_DEVICES=$LOCAL_RANK
exec numactl --cpunodebind="$LOCAL_RANK" --membind="$LOCAL_RANK" "$@"
