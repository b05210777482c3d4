#!/usr/bin/env bash
# rails.sh - two hosts of one machine, h0 and h1, joined by two rails each: namespaces with names, counters and shared memory of their own.
#
#   rails.sh hold DIR    starts them, says "ready", waits until its standard input ends, then stops them: for a program that may be
#                        killed, since then the kernel closes the pipe
#   rails.sh --check     whether it can run here; if not, says what is missing and ends with 77
#
# DIR, which is there and empty, holds:
#   on HOST COMMAND...      runs a command on a host, bound to one PU: h0 has the first PU of this process, h1 the second
#   agent HOST WORDS...     the same of a shell's line, in ssh's place (Open MPI's plm_rsh_agent, Hydra's -launcher-exec)
#
# Rail rN is a pair of virtual Ethernet interfaces of that name, 10.77.N.1 on h0 and 10.77.N.2 on h1. The kernel's own counters count them. Such interfaces
# have no NUMA node: in sysfs each has `device/numa_node` beside the kernel's own files, as an adapter has.
# Nothing of this machine's own network is touched, and no address outside of the two hosts is known there: but 10.77.N.9, which nobody has and whose
# packets h0 sends to h1, for other traffic.
#
# Settings, from the environment:
#   NODES  the NUMA nodes of r0 and r1 ["0 1"]; -1 is the kernel's word for not known
#
# The exit status is 0; 77: something is missing here; 2: usage; 1: it does not start. Root is needed.
set -euo pipefail

readonly MISSING=77
die() { echo "rails-lab: $2" >&2; exit "$1"; }
usage() { sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; }
PATH=$PATH:/usr/sbin:/sbin

check() {
    local program
    for program in ip nsenter unshare taskset; do
        type -P "$program" >/dev/null || die $MISSING "not installed: $program (packages: iproute2 util-linux)"
    done
    [ "$(id -u)" = 0 ] || die $MISSING "network namespaces need root"
    unshare --net --uts --mount sh -c 'mount -t sysfs sysfs /sys && ip link add r0 type veth peer name r1' 2>/dev/null ||
        die $MISSING "namespaces, or virtual Ethernet interfaces in them, are not allowed here"
}

case ${1-} in
    --check) check; exit 0 ;;
    --help) usage; exit 0 ;;
    hold) ;;
    *) usage >&2; exit 2 ;;
esac
[ $# = 2 ] || { usage >&2; exit 2; }
check
dir=$(realpath "$2")
read -ra nodes <<<"${NODES:-0 1}"

# The PUs that this process may use, one a line.
pus() { taskset -cp $$ | sed 's/.*: //' | tr , '\n' | while IFS=- read -r from to; do seq "$from" "${to:-$from}"; done; }
mapfile -t pu < <(pus)
[ ${#pu[@]} -ge 2 ] || die $MISSING "two hosts need two PUs"

printf '127.0.0.1 localhost\n10.77.0.1 h0\n10.77.0.2 h1\n' >"$dir/hosts"
holders=()
trap 'kill "${holders[@]}" 2>/dev/null || true' EXIT

# Processes that keep the namespaces.
for host in h0 h1; do
    mkdir "$dir/$host"
    unshare --net --uts --mount bash -c '
        hostname "$1" && mount -t sysfs sysfs /sys && mount -t tmpfs shm /dev/shm && mount --bind "$2/hosts" /etc/hosts &&
            ip link set lo up && touch "$2/$1/begun" && exec sleep infinity' -- "$host" "$dir" </dev/null >/dev/null &
    holders+=($!)
done
for _ in $(seq 200); do
    [ -e "$dir/h0/begun" ] && [ -e "$dir/h1/begun" ] && break
    sleep 0.05
done
[ -e "$dir/h0/begun" ] && [ -e "$dir/h1/begun" ] || die 1 "the hosts do not start"

cat >"$dir/on" <<END
#!/bin/bash
case \$1 in h0) holder=${holders[0]} pu=${pu[0]} ;; h1) holder=${holders[1]} pu=${pu[1]} ;; *) echo "no host \$1" >&2; exit 2 ;; esac
shift
exec nsenter --target "\$holder" --net --uts --mount taskset -c "\$pu" "\$@"
END
cat >"$dir/agent" <<END
#!/bin/bash
while [[ \$1 = -* ]]; do shift; done
host=\$1
shift
exec "$dir/on" "\$host" sh -c "\$*"
END
chmod +x "$dir/on" "$dir/agent"

for rail in 0 1; do
    ip link add "r$rail" netns "${holders[0]}" type veth peer name "r$rail" netns "${holders[1]}"
    for host in 0 1; do
        "$dir/on" "h$host" ip addr add "10.77.$rail.$((host + 1))/24" dev "r$rail"
        "$dir/on" "h$host" ip link set "r$rail" up
    done
    "$dir/on" h0 ip neigh add "10.77.$rail.9" lladdr 02:00:00:00:00:09 dev "r$rail" nud permanent
done

for host in h0 h1; do
    mkdir "$dir/$host/net"
    # shellcheck disable=SC2016
    "$dir/on" "$host" bash -euc '
        here=$1 kernels=/sys/devices/virtual/net
        shift
        mount -t tmpfs net "$here"
        mkdir "$here/lo"
        mount --bind "$kernels/lo" "$here/lo"
        for rail in r0 r1; do
            mkdir -p "$here/$rail/device"
            echo "$1" >"$here/$rail/device/numa_node"
            shift
            for entry in "$kernels/$rail"/*; do
                copy=$here/$rail/${entry##*/}
                if [ -L "$entry" ]; then
                    cp -P "$entry" "$copy"
                    continue
                fi
                if [ -d "$entry" ]; then mkdir "$copy"; else touch "$copy"; fi
                mount --bind "$entry" "$copy"
            done
        done
        mount --rbind "$here" "$kernels"' -- "$dir/$host/net" "${nodes[@]}"
done

# The kernel says a second late that a link is up.
for _ in $(seq 100); do
    states=$(for host in h0 h1; do "$dir/on" "$host" cat /sys/class/net/r0/operstate /sys/class/net/r1/operstate; done)
    [ "$states" = $'up\nup\nup\nup' ] && break
    sleep 0.05
done
[ "$states" = $'up\nup\nup\nup' ] || die 1 "the rails have no link"

echo ready
cat >/dev/null
