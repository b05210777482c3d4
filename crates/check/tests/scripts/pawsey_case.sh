#!/bin/bash
case $((SLURM_LOCALID)) in
0) GPU=4;;
1) GPU=5;;
2) GPU=2;;
3) GPU=3;;
4) GPU=6;;
5) GPU=7;;
6) GPU=0;;
7) GPU=1;;
esac
export ROCR_VISIBLE_DEVICES=$((GPU))
exec "$@"
