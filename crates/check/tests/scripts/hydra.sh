#!/bin/bash
export CUDA_VISIBLE_DEVICES=${MPI_LOCALRANKID}
nodes=()
for node in 3 3 1 1 7 7 5 5; do nodes+=("$node"); done
exec numactl -N ${nodes[$MPI_LOCALRANKID]} -- "$@"
