#!/usr/bin/env bash
# numa-guest.sh - runs a host command in a throw-away Linux guest that has several NUMA nodes.
#
#   numa-guest.sh [-s lumig|gh200|odd|eight] [-f FILE[:DEST]]... [-t SECONDS] [--] COMMAND [ARG...]
#   numa-guest.sh --check           whether it can run here; if not, says what is missing and ends with 77
#   numa-guest.sh --fetch-kernel    puts a guest kernel into the cache (Debian and Ubuntu; installs nothing)
#
# COMMAND is looked up on the host and copied in, at the same path, with the libraries it is linked with; -f adds files or
# folders (programs bring their libraries). The guest is busybox and those files, in memory, running as root. Its stdout
# and stderr come back byte for byte when it stops. The exit status is COMMAND's; 77: something is missing here; 124: no
# answer in time (-t, default 300 s); 125: the guest could not be built, or it died. COMMAND may end with these as well:
# a test that skips asks --check first.
#
# Shapes (-s):
#   lumig  4 nodes of 2 CPUs and an L3 each, distances 10/12, 8 display devices whose bus order runs over the nodes
#          3 1 0 2, as a LUMI-G node's GPUs do [default]
#   gh200  2 packages (nodes 0 and 1), 2 memory-only nodes (2 and 3), one device on each package
#   odd    nodes 0-2 plain, node 3 CPUs without memory, node 4 memory without CPUs; a device on each of 0, 3 and 4
#   eight  8 nodes of one CPU each, no device
#
# Everything is emulated (no KVM, no root): placement is real to the guest's kernel, timings mean nothing.
#
# Environment: NUMA_GUEST_KERNEL (a bzImage; default: the cached one, else this machine's own in /boot),
# NUMA_GUEST_APPEND (added to the kernel's command line), NUMA_GUEST_KEEP=1 (keeps the working folder, for its console).
# Packages: qemu-system-x86 busybox-static cpio.
set -euo pipefail

readonly MISSING=77 TIMEOUT=124 BROKEN=125
die() { echo "numa-guest: $2" >&2; exit "$1"; }
usage() { sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; }
cached_kernel=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/numabench/guest-vmlinuz

# Prints the kernel to boot: the one asked for, the cached one, or one of this machine's that may be read. Debian's and
# Ubuntu's kernels have all that is needed built in (initramfs, serial lines, NUMA, PCI).
find_kernel() {
    local kernel
    if [ -n "${NUMA_GUEST_KERNEL-}" ]; then
        [ -s "$NUMA_GUEST_KERNEL" ] || die $MISSING "NUMA_GUEST_KERNEL: no such file: $NUMA_GUEST_KERNEL"
        echo "$NUMA_GUEST_KERNEL"
        return
    fi
    for kernel in "$cached_kernel" "/boot/vmlinuz-$(uname -r)" /boot/vmlinuz-*; do
        if [ -s "$kernel" ] && [ -r "$kernel" ]; then echo "$kernel"; return; fi
    done
    die $MISSING "no guest kernel: run \`$0 --fetch-kernel\`, or set NUMA_GUEST_KERNEL to a bzImage"
}

# Ends with MISSING unless every program is there; sets $kernel.
check() {
    local program lacking=()
    for program in qemu-system-x86_64 busybox cpio; do
        type -P "$program" >/dev/null || lacking+=("$program")
    done
    [ ${#lacking[@]} = 0 ] ||
        die $MISSING "not installed: ${lacking[*]} (packages: qemu-system-x86 busybox-static cpio)"
    kernel=$(find_kernel) || exit $?
}

# Takes vmlinuz out of the distribution's smallest kernel package; the package itself is not installed.
fetch_kernel() {
    local meta package dir
    [ ! -s "$cached_kernel" ] || { echo "numa-guest: already there: $cached_kernel"; return; }
    type -P apt-get dpkg-deb >/dev/null || die $MISSING "no apt here: set NUMA_GUEST_KERNEL to a bzImage instead"
    # shellcheck disable=SC1091 # read on the machine it runs on
    case $(. /etc/os-release && echo "$ID") in
        ubuntu) meta=linux-image-virtual ;;
        *) meta=linux-image-cloud-amd64 ;;
    esac
    package=$(apt-cache depends "$meta" 2>/dev/null | awk '/Depends: linux-image/ { print $2; exit }')
    dir=$(mktemp -d)
    # shellcheck disable=SC2064 # the folder's name is wanted as it is now
    trap "rm -rf '$dir'" EXIT
    (cd "$dir" && timeout 120 apt-get -qq -o Acquire::Retries=1 -o APT::Sandbox::User=root download "${package:-$meta}") ||
        die $MISSING "cannot download ${package:-$meta}: try \`apt-get update\`, or set NUMA_GUEST_KERNEL"
    dpkg-deb --fsys-tarfile "$dir"/*.deb | tar -xO --wildcards './boot/vmlinuz-*' >"$dir/vmlinuz"
    mkdir -p "${cached_kernel%/*}"
    mv "$dir/vmlinuz" "$cached_kernel"
    echo "numa-guest: $cached_kernel (${package:-$meta})"
}

case ${1-} in
    --check) check; exit 0 ;;
    --fetch-kernel) fetch_kernel; exit 0 ;;
    --help) usage; exit 0 ;;
esac

shape=lumig limit=300 files=()
while getopts s:f:t:h option; do
    case $option in
        s) shape=$OPTARG ;;
        f) files+=("$OPTARG") ;;
        t) limit=$OPTARG ;;
        h) usage; exit 0 ;;
        *) usage >&2; exit $BROKEN ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || { usage >&2; exit $BROKEN; }

# nodes: CPUs:MiB of each; distances: ACPI's SLIT, row by row; devices: node:count of each PCI root; level: what a node's
# CPUs are to each other (dies share an L3). Distances are never below the 10 that ACPI keeps for a node itself.
case $shape in
    lumig)
        nodes=(2:512 2:512 2:512 2:512) devices=(3:2 1:2 0:2 2:2) level=dies
        distances=(10 12 12 12  12 10 12 12  12 12 10 12  12 12 12 10) ;;
    gh200)
        nodes=(4:512 4:512 0:512 0:512) devices=(0:1 1:1) level=sockets
        distances=(10 40 80 120  40 10 120 80  80 120 10 160  120 80 160 10) ;;
    odd)
        nodes=(2:512 2:512 2:512 2:0 0:512) devices=(0:1 3:1 4:1) level=dies
        distances=(10 12 12 12 17  12 10 12 12 40  12 12 10 12 40  12 12 12 10 40  17 40 40 40 10) ;;
    eight)
        nodes=(1:256 1:256 1:256 1:256 1:256 1:256 1:256 1:256) devices=() level=dies distances=()
        for from in {0..7}; do for to in {0..7}; do distances+=($((from == to ? 10 : 12))); done; done ;;
    *) die $BROKEN "unknown shape '$shape'; allowed: lumig, gh200, odd, eight" ;;
esac
check

work=$(mktemp -d "${TMPDIR:-/tmp}/numa-guest.XXXXXX")
root=$work/root
qemu=
# shellcheck disable=SC2317,SC2329 # called by the trap
cleanup() {
    if [ -n "$qemu" ]; then kill "$qemu" 2>/dev/null || true; fi
    if [ -n "${NUMA_GUEST_KEEP-}" ]; then echo "numa-guest: kept $work" >&2; else rm -rf "$work"; fi
}
trap cleanup EXIT
trap 'exit $BROKEN' INT TERM HUP

# --- the guest's files: busybox, the command, what -f names, and the libraries they are linked with

put() { # SOURCE [DESTINATION]
    local source dest program library
    source=$(realpath -s "$1") dest=$root${2:-$(realpath -s "$1")}
    [ -e "$source" ] || die $BROKEN "no such file: $1"
    mkdir -p "${dest%/*}"
    cp -rL "$source" "$dest"
    while read -r program; do
        while read -r library; do
            [ -e "$root$library" ] || cp -L --parents "$library" "$root"
        done < <(ldd "$program" 2>/dev/null | grep -o '/[^ ]*' || true)
    done < <(find "$dest" -type f \( -perm -u+x -o -name '*.so*' \))
}

mkdir -p "$root"/{bin,proc,sys,dev,tmp,etc}
echo 'root:x:0:0:root:/:/bin/sh' >"$root/etc/passwd"
put "$(type -P busybox)" /bin/busybox
# What the host does not have is left to the guest: `sh`, `cat` and others of busybox's.
if program=$(type -P "$1"); then
    program=$(realpath -s "$program")
    put "$program"
    set -- "$program" "${@:2}"
fi
for file in "${files[@]}"; do
    if [[ $file = *:* ]]; then put "${file%%:*}" "${file#*:}"; else put "$file"; fi
done
printf '%s\n' "exec ${*@Q}" >"$root/command"
# The command's streams and its exit status leave over three serial lines of their own, apart from the console.
cat >"$root/init" <<'INIT'
#!/bin/busybox sh
export PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/ TERM=dumb
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
ln -s /proc/self/fd /dev/fd
mkdir /dev/shm
mount -t tmpfs shm /dev/shm
mount -t cgroup2 cgroup2 /sys/fs/cgroup
for line in 1 2 3; do stty -F /dev/ttyS$line raw -echo; done
sh /command </dev/null >/dev/ttyS1 2>/dev/ttyS2
echo $? >/dev/ttyS3
poweroff -f
INIT
chmod +x "$root/init"
(cd "$root" && find . | cpio -o -H newc -R 0:0 --quiet) >"$work/initrd"

# --- the machine: nodes, distances, then a PCI root for each entry of devices, at bus c0, c8, d0, ...

args=() cpus=0 memory=0 per_node=0 cpu_nodes=0
for node in "${!nodes[@]}"; do
    count=${nodes[node]%:*} mib=${nodes[node]#*:} numa=node,nodeid=$node
    if [ "$count" -gt 0 ]; then
        numa+=,cpus=$cpus-$((cpus + count - 1))
        cpus=$((cpus + count)) per_node=$count cpu_nodes=$((cpu_nodes + 1))
    fi
    if [ "$mib" -gt 0 ]; then
        args+=(-object "memory-backend-ram,id=memory$node,size=${mib}M")
        numa+=,memdev=memory$node memory=$((memory + mib))
    fi
    args+=(-numa "$numa")
done
for from in "${!nodes[@]}"; do
    for to in "${!nodes[@]}"; do
        args+=(-numa "dist,src=$from,dst=$to,val=${distances[from * ${#nodes[@]} + to]}")
    done
done
# Every node with CPUs has the same number of them and is one die, or one socket.
args+=(-m "$memory" -smp "$cpus,$level=$cpu_nodes,cores=$per_node,threads=1")
bus=192 slot=1
for entry in "${devices[@]}"; do
    args+=(-device "pxb-pcie,id=root$bus,bus=pcie.0,bus_nr=$bus,numa_node=${entry%:*}")
    for ((nth = 0; nth < ${entry#*:}; nth++, slot++)); do
        # Real GPUs' drivers are absent: what counts is a display-class device with a vendor id, an address and a link.
        args+=(-device "pcie-root-port,id=port$slot,bus=root$bus,chassis=1,slot=$slot,x-speed=16,x-width=16"
            -device "ati-vga,model=rv100,romfile=,bus=port$slot")
    done
    bus=$((bus + 8))
done

# thread=single: with one thread a CPU, QEMU 7.2 crashed in about one boot of 25. numa_balancing moves pages while one looks.
# pcie_ports=compat: hot-plug and error reporting of eight ports take longer than everything else of a boot, and nothing here needs them.
# rodata=off: marking the kernel's read-only pages takes an emulator a tenth of a boot.
# erms, fsrm: an emulator copies and clears byte by byte where strings of bytes are said to be fast. avx: its vectors of 32 bytes are calls. Without them
# a guest takes three quarters of the time.
# no_timer_check, lpj, tsc: on a busy host the emulated timer comes too late for what the kernel would measure by it; it gave up the boot, or
# spent a second of it.
status=0
timeout -k 5 "$limit" qemu-system-x86_64 -machine q35 -accel tcg,thread=single -cpu EPYC-Milan,-erms,-fsrm,-avx,-avx2 \
    -nodefaults -no-user-config -display none -no-reboot -monitor none \
    -serial "file:$work/console" -serial "file:$work/stdout" -serial "file:$work/stderr" -serial "file:$work/status" \
    -kernel "$kernel" -initrd "$work/initrd" \
    -append "console=ttyS0 panic=-1 mitigations=off numa_balancing=disable pcie_ports=compat no_timer_check lpj=4000000 tsc=reliable nowatchdog rodata=off \
        cryptomgr.notests quiet ${NUMA_GUEST_APPEND-}" \
    "${args[@]}" </dev/null 2>"$work/qemu" &
qemu=$!
wait "$qemu" || status=$?
qemu=
cat "$work/stdout" 2>/dev/null || true
cat "$work/stderr" >&2 2>/dev/null || true
if [ -s "$work/status" ]; then exit "$(<"$work/status")"; fi
grep -v "TCG doesn't support" "$work/qemu" >&2 || true
tail -n 15 "$work/console" >&2 2>/dev/null || true
if [ "$status" = 124 ]; then die $TIMEOUT "no answer within $limit s"; fi
die $BROKEN "the guest ended without an exit status (qemu's: $status)"
