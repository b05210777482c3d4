#!/usr/bin/env bash
# slurm.sh - a real Slurm on this machine: controller, nodes, null devices as GPUs, an own munge; no systemd, no cgroups.
#
#   slurm.sh up DIR      starts it; then `. DIR/env.sh` and use srun, sbatch, salloc
#   slurm.sh down DIR    stops it and all of its jobs; DIR/log stays
#   slurm.sh hold DIR    up, says "ready", waits until its standard input ends, then down, and removes DIR: for a program
#                        that may be killed, since then the kernel closes the pipe
#   slurm.sh --check     whether it can run here; if not, says what is missing and ends with 77
#
# DIR is made, holds everything, and must be short (Unix sockets lie in it); several labs run side by side, each in its own.
# The exit status is 0; 77: something is missing here; 2: usage; 1: it does not start, and the logs say why.
#
# Settings, from the environment:
#   NODES  number of nodes, n0, n1, ... [2]; all of them are this machine and share its CPUs
#   CPUS   CPUs of a node [this machine's]; more than there are is a lie that only TASK=task/none lives with
#   SHAPE  SOCKETS:CORES:THREADS of a node, cores a socket and threads a core [this machine's]; a lie as CPUS is
#   MACHINE a saved machine (hwloc's XML) that slurmd takes its node for: Slurm lays out, refuses and numbers as it does there, and
#          binds nothing: the mask that it would bind a task to is in DIR/bound/PID, by the task's process [this machine]
#   GPUS   GPUs of a node [2]
#   GRES   a file with the lines of gres.conf, in which /dev/ is taken for the lab's own folder [each GPU an equal share of the cores]
#   CPUS_ARE_CORES  if it is set, a CPU of Slurm is a core
#   CONF   lines that end slurm.conf, where the last of a kind counts (SlurmdParameters=config_overrides,l3cache_as_socket)
#   TASK   task/affinity binds [default]; task/none takes any --cpu-bind and binds nothing
#   PORT   the first of NODES + 1 free ports in a row [looked for]
#
# What its steps see: srun's binding and CUDA_, ROCR_VISIBLE_DEVICES and SLURM_* are Slurm's own. There are no cgroups, so a
# step's CPUs are its affinity, which a task may leave, and no device is hidden.
# MPI: Open MPI takes `srun --mpi=pmix` (and libpmix-dev, whose library Slurm opens), MPICH `--mpi=pmi2`.
# Packages: slurm-wlm munge. Root is not needed: the daemons run as whoever starts them, and run jobs for nobody else.
set -euo pipefail

readonly MISSING=77
die() { echo "slurm-lab: $2" >&2; exit "$1"; }
usage() { sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; }
PATH=$PATH:/usr/sbin:/sbin

check() {
    local program lacking=()
    for program in slurmctld slurmd munged srun sbatch flock; do
        type -P "$program" >/dev/null || lacking+=("$program")
    done
    [ ${#lacking[@]} = 0 ] || die $MISSING "not installed: ${lacking[*]} (packages: slurm-wlm munge)"
    # Its daemons look up the machine's own name, whatever address they are told.
    getent hosts "$(hostname -s)" >/dev/null ||
        die $MISSING "this machine's own name cannot be looked up: add the line '127.0.1.1 $(hostname -s)' to /etc/hosts"
}

case ${1-} in
    --check) check; exit 0 ;;
    --help) usage; exit 0 ;;
    up | down | hold) verb=$1 ;;
    *) usage >&2; exit 2 ;;
esac
[ $# = 2 ] || { usage >&2; exit 2; }
dir=$(realpath -m "$2") here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
nodes=${NODES:-2} gpus=${GPUS:-2} task=${TASK:-task/affinity} host=$(hostname -s)
# The daemons find it in their environment, and `down` finds the daemons by it.
export SLURM_CONF=$dir/etc/slurm.conf
# hwloc, by which slurmd looks at its machine, reads the file instead, and takes it for the machine that it runs on.
machine=${MACHINE:+$(realpath -m "$MACHINE")}
if [ -n "$machine" ]; then export HWLOC_XMLFILE=$machine HWLOC_THISSYSTEM=1 FORGED_AFFINITY=$dir/bound; fi

# --- stopping

alive() { # PID; a zombie, which this machine's process 1 may never collect, is not alive
    [ -n "$1" ] && grep -q '^State:.[^ZX]' "/proc/$1/status" 2>/dev/null
}

# The processes of this lab: daemons, clients, and the tasks of its jobs; not a shell that has only read env.sh.
processes() {
    local proc name
    for proc in $(grep -slzxF "SLURM_CONF=$SLURM_CONF" /proc/[0-9]*/environ); do
        proc=${proc%/environ}
        read -r name 2>/dev/null <"$proc/comm" || continue
        case $name in
            slurmctld* | slurmscriptd* | slurmd* | slurmstepd* | munged* | srun | salloc | sbatch) ;;
            *) grep -qsz '^SLURM_JOB_ID=' "$proc/environ" || continue ;;
        esac
        # This script itself may run in one of its jobs.
        if [ "${proc#/proc/}" != $$ ] && alive "${proc#/proc/}"; then echo "${proc#/proc/}"; fi
    done
}

signal() { # NAME: to every process of the lab; fails when there is none
    local pids
    pids=$(processes)
    [ -n "$pids" ] || return 1 # a bare one, within a trap, would return what was before the trap
    # shellcheck disable=SC2086 # a word a process
    kill -"$1" $pids 2>/dev/null || true
}

# Not by scancel: a task that ignores TERM would hold its job for KillWait and longer, and nobody wants the state saved.
down() {
    [ -f "$dir/.slurm-lab" ] || return 0
    signal TERM || true
    # A second for those that tidy up after themselves.
    within 1 gone || within 10 kill_all || echo "slurm-lab: still there: $(processes | tr '\n' ' ')" >&2
    rm -f "$dir"/run/*
}

gone() { [ -z "$(processes)" ]; }
kill_all() { ! signal KILL; }

within() { # SECONDS COMMAND...: repeats COMMAND until it succeeds; fails when it does not in time
    local end=$((${EPOCHREALTIME/./} + $1 * 1000000))
    shift
    until "$@"; do
        [ "${EPOCHREALTIME/./}" -lt "$end" ] || return 1
        sleep 0.02
    done
}

# --- starting

# The first of COUNT ports in a row that nobody listens on. Below the ports that the kernel gives to clients.
free_ports() {
    local count=$1 first port listening
    # Local addresses of sockets that listen (state 0A), as hexadecimal ports.
    listening=$(awk '$4 == "0A" { sub(/.*:/, "", $2); print $2 }' /proc/net/tcp /proc/net/tcp6 2>/dev/null)
    for _ in {1..200}; do
        first=$((20000 + RANDOM % 11000))
        for ((port = first; port < first + count; port++)); do
            if grep -qx "$(printf %04X "$port")" <<<"$listening"; then continue 2; fi
        done
        echo "$first"
        return
    done
    die 1 "no $count free ports in a row between 20000 and 31000"
}

config() {
    # Everybody listens at the address of this host's own name and not at 0.0.0.0, if that is where the others look for him: not where
    # Debian's installer (127.0.1.1) or a site gives the name another address. Nobody gets in without the lab's own munge key either way.
    local own_address=
    if [ "$(getent ahostsv4 "$host" | awk 'NR == 1 { print $1 }')" = 127.0.0.1 ]; then
        own_address=CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
    fi
    local line cpus sockets cores threads gres='' all gpu low high last=$((nodes - 1))
    # What slurmd itself sees; SlurmdParameters=config_overrides lets CPUS be something else.
    line=$(slurmd -C | head -n 1)
    of() { sed -nE "s/.*\b$1=([0-9]+).*/\1/p" <<<"$line"; }
    cpus=$(of CPUs) sockets=$(of SocketsPerBoard) cores=$(of CoresPerSocket) threads=$(of ThreadsPerCore)
    if [ "${CPUS:-$cpus}" != "$cpus" ]; then cpus=$CPUS sockets=1 cores=$CPUS threads=1; fi
    if [ -n "${SHAPE-}" ]; then
        IFS=: read -r sockets cores threads <<<"$SHAPE"
        cpus=$((sockets * cores * threads))
    fi
    # A site may count a core as one CPU, whatever threads it has.
    if [ -n "${CPUS_ARE_CORES-}" ]; then cpus=$((sockets * cores)); fi
    if [ "$gpus" -gt 0 ]; then gres=Gres=gpu:$gpus; fi
    cat >"$SLURM_CONF" <<CONF
ClusterName=lab
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
${own_address}
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$dir/run/munge.sock
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool/%n
TmpFS=$dir/tmp/%n                         # of each node: PMIx makes spmix_appdir_UID_JOB.STEP there
SlurmctldPidFile=$dir/run/slurmctld.pid
SlurmdPidFile=$dir/run/slurmd-%n.pid
SlurmctldLogFile=$dir/log/slurmctld.log
SlurmdLogFile=$dir/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
JobAcctGatherType=jobacct_gather/none
TaskPlugin=$task
SlurmdParameters=config_overrides
SelectType=select/cons_tres               # --gpus-per-* needs it
SelectTypeParameters=CR_Core
MpiDefault=none                           # as on many sites: --mpi= says which
MailProg=/bin/true
ReturnToService=2
KillWait=2
SchedulerParameters=batch_sched_delay=0,sched_interval=1 # sbatch starts within 1 s instead of 3
GresTypes=gpu
NodeName=n[0-$last] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + nodes))] CPUs=$cpus Boards=1 SocketsPerBoard=$sockets CoresPerSocket=$cores ThreadsPerCore=$threads $gres
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE OverTimeLimit=0 State=UP
${CONF-}
CONF
    # Only a GPU whose File leads to a character device gives tasks the variables; without Flags= it is CUDA_ and ROCR_ both.
    : >"$dir/etc/gres.conf"
    for ((all = sockets * cores, gpu = 0; gpu < gpus; gpu++)); do
        low=$((gpu * all / gpus)) high=$(((gpu + 1) * all / gpus - 1))
        ln -s /dev/null "$dir/dev/nvidia$gpu"
        echo "Name=gpu File=$dir/dev/nvidia$gpu Cores=$low-$((high > low ? high : low))" >>"$dir/etc/gres.conf"
    done
    if [ -n "${GRES-}" ]; then sed "s,/dev/,$dir/dev/," "$GRES" >"$dir/etc/gres.conf"; fi
    echo "127.0.0.1 localhost $host $(seq -s' ' -f'n%g' 0 $last)" >"$dir/etc/hosts"
    cat >"$dir/env.sh" <<ENV
export SLURM_CONF=$SLURM_CONF
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # mpirun's; srun asks nothing
export OMPI_MCA_orte_tmpdir_base=$dir/tmp # other labs' nodes have the same names
export OMPI_MCA_pml=ob1 OMPI_MCA_btl_tcp_if_include=lo UCX_NET_DEVICES=lo # what nodes send each other stays here
ENV
}

nodes_idle() {
    # It comes back from the start before it has written its number; one that was there and has died is not waited for.
    [ -s "$dir/run/slurmctld.pid" ] || return 1
    alive "$(cat "$dir/run/slurmctld.pid" 2>/dev/null)" || return 0
    [ "$(timeout 5 sinfo -hN -o %T 2>/dev/null | sort -u)" = idle ]
}

failed() {
    timeout 5 sinfo -N -o '%N %T %E' >&2 2>/dev/null || true
    tail -n 20 "$dir"/log/*.log >&2 2>/dev/null || true
    down
    die 1 "it did not start; above is what its logs say"
}

up() {
    local i lock=
    check
    [ ${#dir} -le 80 ] || die 2 "$dir: ${#dir} characters; at most 80, because a Unix socket's path must stay under 108"
    down
    if [ -e "$dir" ]; then
        [ -f "$dir/.slurm-lab" ] || [ -z "$(ls -A "$dir")" ] || die 2 "$dir is there and was not made by this script"
        rm -rf "$dir"
    fi
    umask 022 # munged refuses folders that others may write to
    mkdir -p "$dir"/{etc,state,log,run,dev}
    touch "$dir/.slurm-lab"
    for ((i = 0; i < nodes; i++)); do mkdir -p "$dir/spool/n$i" "$dir/tmp/n$i"; done

    port=${PORT-}
    if [ -z "$port" ]; then
        # Until the daemons listen, no other lab may look for ports.
        exec {lock}>"${TMPDIR:-/tmp}/.slurm-lab-ports.$UID"
        flock -w 60 "$lock" || die 1 "another lab has been starting for a minute"
        port=$(free_ports $((nodes + 1)))
    fi
    config
    # Only the daemons of the node are lied to.
    local forged=()
    if [ -n "$machine" ]; then
        mkdir "$dir/bound"
        cc -shared -fPIC -o "$dir/forged_affinity.so" "$here/forged_affinity.c"
        forged=(env "LD_PRELOAD=$dir/forged_affinity.so" "FORGED_CPUS=$(sed -n 's/^NodeName=.* CPUs=\([0-9]*\) .*/\1/p' "$SLURM_CONF")")
    fi
    (umask 077; head -c 128 /dev/urandom >"$dir/etc/munge.key")

    # Each slurmd under a host name of its own: else the nodes share one, and Open MPI's files in /dev/shm, named by host,
    # job and local rank, clash. And with a /dev/shm of its own, as a node has: what is left there is this node's. Where that is not
    # allowed (a plain container), Open MPI goes over TCP.
    # shellcheck disable=SC2016 # for the shell within
    local own=(unshare --uts --mount)
    # shellcheck disable=SC2016
    local node='hostname "$1" && mount --bind "$2" /etc/hosts && mount -t tmpfs shm /dev/shm && exec slurmd -N "$1"'
    if ! unshare --uts --mount true 2>/dev/null; then
        # shellcheck disable=SC2016
        own=() node='exec slurmd -N "$1"'
        echo 'export OMPI_MCA_btl=self,tcp' >>"$dir/env.sh"
    fi
    # The daemons must not hold what the caller waits for to close, nor the lock.
    daemons() {
        munged --key-file="$dir/etc/munge.key" --socket="$dir/run/munge.sock" --pid-file="$dir/run/munged.pid" \
            --log-file="$dir/log/munged.log" --seed-file="$dir/state/munged.seed" &&
            slurmctld || return
        for ((i = 0; i < nodes; i++)); do "${forged[@]}" "${own[@]}" sh -c "$node" - "n$i" "$dir/etc/hosts" || return; done
    }
    (if [ -n "$lock" ]; then exec {lock}>&-; fi; daemons) </dev/null >"$dir/log/start.log" 2>&1 || failed
    { within 20 nodes_idle && alive "$(cat "$dir/run/slurmctld.pid" 2>/dev/null)"; } || failed
    if [ -n "$lock" ]; then exec {lock}>&-; fi
}

case $verb in
    up) up ;;
    down) down ;;
    hold)
        trap 'exit 143' TERM INT HUP
        trap 'down; rm -rf "$dir"' EXIT
        up
        echo ready
        # In the background, because bash acts on a signal only between commands.
        cat >/dev/null <&0 &
        wait $!
        ;;
esac
