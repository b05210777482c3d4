#!/bin/sh
# A Slurm prologue (Prolog=, on each node): fails if one of the node's GPUs is slow, and lets the job pass in every other case.
# It calls no Slurm command, as Slurm's documentation advises: slurmd drains a node whose prologue fails and requeues the job. The reason
# stands in slurmd's log and in syslog; health_check.sh is for where the node's own Reason must say it.
# BASELINE is what `numabench baseline` learned; without one the node's GPUs are held against each other.
baseline=${BASELINE:-/etc/numabench/baseline.json}
[ -n "${BASELINE:-}" ] || [ -f "$baseline" ] || baseline=
# Word by word on purpose: WHAT and the option are lists.
reason=$(numabench check --bandwidth --quiet --what "${WHAT:-h2d,d2h}" --timeout 20s ${baseline:+--against "$baseline"} 2>&1)
code=$?
case "$code $reason" in
"0 "*)
    exit 0
    ;;
"5 SIMULATED"*)
    # A stand-in's figures say nothing of the node.
    ;;
"5 "*)
    echo "numabench: $reason" >&2
    logger -p daemon.err -t numabench "$reason" || true
    exit 1
    ;;
esac
# 6 undecided and all else is worth a line in the log, and no reason to drain.
echo "numabench check ended with $code: $reason" >&2
logger -p daemon.warning -t numabench "check ended with $code: $reason" || true
exit 0
