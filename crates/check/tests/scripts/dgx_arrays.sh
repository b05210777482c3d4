#!/bin/bash
lrank=${OMPI_COMM_WORLD_LOCAL_RANK:-${SLURM_LOCALID:-0}}
CPUS=(3 3 1 1 7 7 5 5)
NICS=(mlx5_0 mlx5_1 mlx5_2 mlx5_3 mlx5_4 mlx5_5 mlx5_6 mlx5_7)
export CUDA_VISIBLE_DEVICES=$lrank
export UCX_NET_DEVICES=${NICS[$lrank]}:1
numactl --cpunodebind=${CPUS[$lrank]} --membind=${CPUS[$lrank]} "$@"
