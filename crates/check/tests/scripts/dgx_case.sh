#!/bin/bash
APP="$@"
lrank=$OMPI_COMM_WORLD_LOCAL_RANK
case ${lrank} in
[0])
  export CUDA_VISIBLE_DEVICES=0
  numactl --cpunodebind=3 --membind=3 $APP
  ;;
[1])
  export CUDA_VISIBLE_DEVICES=1
  numactl --cpunodebind=3 --membind=3 $APP
  ;;
[23])
  export CUDA_VISIBLE_DEVICES=$lrank
  numactl --cpunodebind=1 --membind=1 $APP
  ;;
4|5)
  export CUDA_VISIBLE_DEVICES=$lrank
  numactl --cpunodebind=7 --membind=7 $APP
  ;;
*)
  export CUDA_VISIBLE_DEVICES=$lrank
  numactl --cpunodebind=5 --membind=5 $APP
  ;;
esac
