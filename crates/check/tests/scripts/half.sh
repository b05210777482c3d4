#!/bin/bash
bind() { # node, command
  local node=$1; shift
  exec numactl --cpunodebind=$node --membind=$node "$@"
}
export CUDA_VISIBLE_DEVICES=$((SLURM_LOCALID / 2))
bind 0 "$@"
