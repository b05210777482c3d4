#!/bin/bash
if [ "$SLURM_LOCALID" -eq 0 ] || [ "$SLURM_LOCALID" -eq 1 ]; then
  node=3
elif (( SLURM_LOCALID < 4 )); then
  node=1
elif [[ $SLURM_LOCALID == [45] ]]; then
  node=7
else
  node=5
fi
export CUDA_VISIBLE_DEVICES=$SLURM_LOCALID
exec numactl -N $node -m $node "$@"
