#!/bin/sh
# A Slurm prologue: drains the node if one of its GPUs copies slowly, and lets the job pass in every other case.
# Slurm drains a node whose prologue fails by itself; this one says why. BASELINE is what `numabench baseline` learned.
baseline=${BASELINE:-/etc/numabench/baseline.json}
said=$(numabench check --bandwidth --against "$baseline" --timeout 20s 2>&1)
code=$?
case $code in
5)
    echo "$said" >&2
    reason=$(echo "$said" | sed -n '2s/^ *//p')
    scontrol update "NodeName=${SLURMD_NODENAME:-$(hostname -s)}" State=DRAIN "Reason=numabench: $reason"
    exit 1
    ;;
*)
    # 0 well; 6 undecided and all else is worth a line in the log, and no reason to drain.
    [ "$code" -eq 0 ] || echo "numabench check ended with $code: $said" >&2
    exit 0
    ;;
esac
