#!/bin/bash
# Where a GPU is, the site's file says: nobody here can know it.
source /etc/site/gpu_map.sh
export CUDA_VISIBLE_DEVICES=${GPU_OF[$SLURM_LOCALID]}
exec numactl -N ${NODE_OF[$SLURM_LOCALID]} "$@"
