#!/bin/sh
# Drains this node, with the finding as its Reason, if one of its GPUs is slow. For three places where a Slurm command is no harm:
#   HealthCheckProgram=/usr/local/libexec/numabench-health_check.sh with HealthCheckNodeState=IDLE and HealthCheckInterval=86400 or so,
#   an epilogue (Epilog=) of exclusive nodes: run it in the background there, so that the node is not held,
#   cron (numabench.cron).
# It measures only while no job runs here: a job's copies would be taken for a slow GPU.
node=${SLURMD_NODENAME:-$(hostname -s)}
if [ -n "$(squeue --noheader --nodelist="$node" --states=R,S 2>/dev/null)" ]; then
    exit 0
fi
baseline=${BASELINE:-/etc/numabench/baseline.json}
[ -n "${BASELINE:-}" ] || [ -f "$baseline" ] || baseline=
reason=$(numabench check --bandwidth --quiet --what "${WHAT:-h2d,d2h,hbm,peer}" --timeout 20s ${baseline:+--against "$baseline"} 2>&1)
code=$?
case "$code $reason" in
"0 "*) ;;
"5 SIMULATED"*)
    # A stand-in's figures say nothing of the node.
    logger -p daemon.warning -t numabench "$reason" || true
    ;;
"5 "*)
    logger -p daemon.err -t numabench "$reason" || true
    scontrol update "NodeName=$node" State=DRAIN "Reason=numabench: $reason"
    ;;
*)
    # 6 undecided and all else is worth a line in the log, and no reason to drain.
    logger -p daemon.warning -t numabench "check ended with $code: $reason" || true
    ;;
esac
exit 0
