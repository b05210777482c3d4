#!/bin/bash
# Each rank the GPU of its number, round and round.
export CUDA_VISIBLE_DEVICES=$((SLURM_LOCALID%4))
exec "$@"
