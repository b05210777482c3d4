#!/bin/bash
node=$(cat /sys/class/drm/card${SLURM_LOCALID}/device/numa_node)
export CUDA_VISIBLE_DEVICES=$SLURM_LOCALID
exec numactl -N $node "$@"
