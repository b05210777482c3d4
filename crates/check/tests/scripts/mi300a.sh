#!/bin/bash
rank=${FLUX_TASK_LOCAL_ID:-${SLURM_LOCALID:-${PALS_LOCAL_RANKID:-0}}}
export ROCR_VISIBLE_DEVICES=$rank
first=$((rank * 24)); last=$((first + 23))
exec taskset -c ${first}-${last} "$@"
