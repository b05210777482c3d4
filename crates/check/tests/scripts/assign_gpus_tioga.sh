#!/bin/bash

# The GPUs I want to use
visible_devices=(5 3 7 1)

# Number of GPUs
ngpus=${#visible_devices[@]}

# Use the node local ID of each task to assign a GPU to it
if [ -n "$SLURM_LOCALID" ]; then
    index=$(( SLURM_LOCALID % ngpus ))
    gpu=${visible_devices[$index]}

    cmd="ROCR_VISIBLE_DEVICES=$gpu $@"
    eval "$cmd"
fi
