#!/bin/sh
export CUDA_VISIBLE_DEVICES=$((3-SLURM_LOCALID))
exec numactl -N $SLURM_LOCALID -m $SLURM_LOCALID "$@"
