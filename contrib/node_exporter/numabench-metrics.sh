#!/bin/sh
# Measures this node's GPUs and leaves the figures where node_exporter's textfile collector finds them.
# usage: numabench-metrics.sh FOLDER [pingpong's options, instead of those below]   (FOLDER: that of --collector.textfile.directory)
set -eu
folder=$1
shift
[ $# -gt 0 ] || set -- --order alone --size 64MiB --direction h2d,d2h --max-time 5s
document=$(mktemp)
trap 'rm -f "$document"' EXIT
# Code 3 (some cases were skipped) still has figures.
numabench pingpong --quiet "$@" --json "$document" >/dev/null || [ $? -eq 3 ]
# Written whole or not at all, so that a scrape never meets half a file.
numabench export "$document" --to openmetrics -o "$folder/numabench.prom" || [ $? -eq 3 ]
