#!/usr/bin/env bash
# run.sh - numabench beside the programs its performance targets are set against, in one table.
#
#   bench/run.sh [--turns N] [gpu|small|whole|host|stream|triad|start]...  (default: 5 turns of all)
#
#   gpu    pinned copies beside nvbandwidth; small round trips and pageable copies beside bench/cuda_pingpong.c
#   small  small round trips alone and among large cases of the same run: a figure must not depend on its neighbours
#   whole  whole-process time: one case beside nvbandwidth, usual commands beside the seconds they may take
#   host   the host backend beside bench/memcpy.c
#   stream reads, writes and copies by all cores of node 0, `matrix`, beside bench/stream.c
#   triad  STREAM's triad by all cores of node 0, `kernels`, beside bench/stream.c
#   start  `topo` beside lstopo-no-graphics; the CPU time of `--help`
#
# Every comparison alternates: ours, theirs, ours, theirs, ... so that a machine that drifts drifts for both. The ratio is
# the median over turns of ours / theirs within one turn; `met` is yes when it meets the target, else `no`, with the
# number of turns that met it. Both run on the same PU: the one numabench chooses for the device.
#
# What a machine lacks is named and skipped. Exit status: 0 all that ran met its target, 1 something did not or failed.
#
# Environment: NUMABENCH (default target/release/numabench), NVBANDWIDTH, NVCC, CC, LSTOPO; python3 is needed.
# Figures are kept in target/bench: rows.tsv, and every result document.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

turns=5 parts=()
while [ $# -gt 0 ]; do
    case $1 in
        --turns) turns=${2:?--turns wants a number}; shift ;;
        gpu | small | whole | host | stream | triad | start) parts+=("$1") ;;
        -h | --help) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; exit 0 ;;
        *) echo "run.sh: unknown argument '$1'; allowed: --turns N, gpu, small, whole, host, stream, triad, start" >&2; exit 2 ;;
    esac
    shift
done
[ ${#parts[@]} -gt 0 ] || parts=(gpu small whole host stream triad start)

numabench=${NUMABENCH:-target/release/numabench}
nvbandwidth=${NVBANDWIDTH:-nvbandwidth} nvcc=${NVCC:-nvcc} cc=${CC:-cc} lstopo=${LSTOPO:-lstopo-no-graphics}
out=target/bench
rows=$out/rows.tsv
skipped=() failed=()
mkdir -p "$out" && : >"$rows" || exit 1
# So that GPU 0 is the same one to every program: numabench counts GPUs in PCI order, the CUDA runtime by speed.
export CUDA_DEVICE_ORDER=PCI_BUS_ID

have() { type -P "$1" >/dev/null; }
skip() { skipped+=("$1: $2"); echo "skipped: $1: $2" >&2; }
fail() { failed+=("$1"); echo "FAILED: $1" >&2; }
have "$numabench" || { echo "run.sh: no $numabench: run \`cargo xtask bench\`, or set NUMABENCH" >&2; exit 1; }
have python3 || { echo "run.sh: python3 is needed to read result documents" >&2; exit 1; }

# --- one figure of each program; each prints a number, or fails

ours() { # FILE OPTION...: a run of pingpong that leaves its document in FILE
    local file=$1
    shift
    "$numabench" pingpong "$@" --json "$file" -q >"$file.out" 2>&1 || {
        echo "numabench pingpong $* ended with $?:" >&2
        tail -n 5 "$file.out" >&2
        return 1
    }
}
figure() { python3 bench/figure.py "$@"; }
their_line() { # DIRECTION KEY: from the lines of a C program on standard input
    awk -v want="direction=$1" -v key="$2=" \
        '$1 == want { for (i = 2; i <= NF; i++) if (index($i, key) == 1) { print substr($i, length(key) + 1); n++ } }
         END { exit n != 1 }'
}
# With one GPU visible the sum over GPUs is that GPU's figure.
nvbandwidth_rate() { # TEST
    CUDA_VISIBLE_DEVICES=${CUDA_VISIBLE_DEVICES:-0} "$nvbandwidth" -b 512 -t "$1" | tee "$out/nvbandwidth-$1.out" |
        awk -v test="$1" '$1 == "SUM" && $2 == test { print $3; n++ } END { exit n != 1 }'
}
cpu_ms() { # COMMAND...: user + system time of one run, the mean of 50
    local TIMEFORMAT='%U %S' i
    { time for ((i = 0; i < 50; i++)); do "$@" >/dev/null 2>&1 || exit 1; done; } 2>&1 | awk '{ print ($1 + $2) * 1000 / 50 }'
}
wall_ms() { # COMMAND...: elapsed time of one run, the mean of 20
    local start=$EPOCHREALTIME i
    for ((i = 0; i < 20; i++)); do "$@" >/dev/null 2>&1 || return 1; done
    awk -v start="$start" -v end="$EPOCHREALTIME" 'BEGIN { print (end - start) * 1000 / 20 }'
}

# row WHAT UNIT LOW HIGH OURS THEIRS: the target is LOW <= ours / theirs <= HIGH; `-` is no bound.
row() {
    if [ -z "$5" ] || [ -z "$6" ]; then
        fail "$1: a figure is missing"
        return
    fi
    printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$@" >>"$rows"
}

# --- gpu

gpu_copies() {
    local turn h2d d2h doc=$out/pinned.json
    have "$nvbandwidth" || { skip "512 MiB pinned" "no nvbandwidth (NVBANDWIDTH names it)"; return; }
    for ((turn = 1; turn <= turns; turn++)); do
        ours "$doc" --gpus 0 --size 512MiB --memory pinned --direction h2d,d2h --timing device ||
            { fail "512 MiB pinned"; return; }
        h2d=$(nvbandwidth_rate host_to_device_memcpy_ce)
        d2h=$(nvbandwidth_rate device_to_host_memcpy_ce)
        row "512 MiB pinned H2D / nvbandwidth" GB/s 0.99 - "$(figure "$doc" rate h2d)" "$h2d"
        row "512 MiB pinned D2H / nvbandwidth" GB/s 0.99 - "$(figure "$doc" rate d2h)" "$d2h"
    done
}

# small_round_trip NAME SIZE_BYTES MEMORY
small_round_trip() {
    local turn theirs doc=$out/roundtrip-$2-$3.json
    for ((turn = 1; turn <= turns; turn++)); do
        ours "$doc" --gpus 0 --cpus "$gpu_pu" --size "$2B" --memory "$3" --direction roundtrip --timing host \
            --reps 20000 --warmup 2000 || { fail "$1"; return; }
        theirs=$("$out/cuda_pingpong" "$2" 20000 2000 "$3" "$gpu_pu" | their_line roundtrip median_us)
        row "$1 / cudaMemcpy" us - 1.03 "$(figure "$doc" round roundtrip)" "$theirs"
    done
}

pageable() {
    local turn theirs direction doc=$out/pageable.json
    for ((turn = 1; turn <= turns; turn++)); do
        ours "$doc" --gpus 0 --cpus "$gpu_pu" --size 128MiB --memory pageable --direction h2d,d2h --timing host \
            --reps 60 --warmup 10 || { fail "128 MiB pageable"; return; }
        theirs=$("$out/cuda_pingpong" $((128 << 20)) 60 10 pageable "$gpu_pu") || { fail "cuda_pingpong"; return; }
        for direction in h2d d2h; do
            row "128 MiB pageable ${direction^^} / cudaMemcpy" us - 1.00 "$(figure "$doc" round "$direction")" \
                "$(their_line "$direction" median_us <<<"$theirs")"
        done
    done
}

run_gpu() {
    local doc=$out/gpu.json status=0
    "$numabench" pingpong --backend cuda --gpus 0 --size 4B --reps 1 --warmup 1 --direction h2d --json "$doc" -q \
        >"$doc.out" 2>&1 || status=$?
    if [ $status = 77 ]; then skip gpu "$(tail -n 1 "$doc.out")"; return; fi
    if [ $status != 0 ]; then fail "gpu: numabench ended with $status: $(tail -n 1 "$doc.out")"; return; fi
    gpu_pu=$(figure "$doc" pu) || { fail "gpu: $doc"; return; }
    echo "GPU 0: $(figure "$doc" device), from PU $gpu_pu"
    gpu_copies
    if ! have "$nvcc"; then skip "copies beside cudaMemcpy" "no nvcc (NVCC names it)"; return; fi
    "$nvcc" -O2 -o "$out/cuda_pingpong" bench/cuda_pingpong.c || { fail "cuda_pingpong.c does not build"; return; }
    small_round_trip "4 B round trip" 4 pinned
    small_round_trip "4 B round trip, pinned-driver" 4 pinned-driver
    small_round_trip "64 KiB round trip" $((64 << 10)) pinned
    small_round_trip "64 KiB round trip, pinned-driver" $((64 << 10)) pinned-driver
    small_round_trip "128 KiB round trip" $((128 << 10)) pinned
    small_round_trip "128 KiB round trip, pinned-driver" $((128 << 10)) pinned-driver
    pageable
}

# --- small

run_small() {
    local turn size alone=$out/alone.json among=$out/among.json
    for ((turn = 1; turn <= turns; turn++)); do
        ours "$among" --backend cuda --gpus 0 --size 4B,1KiB,64KiB,128KiB,1MiB,128MiB --memory pinned-driver --direction roundtrip ||
            { skip small "no run on a GPU"; return; }
        for size in 4 65536 131072; do
            ours "$alone" --backend cuda --gpus 0 --size "${size}B" --memory pinned-driver --direction roundtrip || { fail small; return; }
            row "$size B round trip alone / among larger ones" us 0.97 1.03 "$(figure "$alone" round roundtrip)" \
                "$(figure "$among" round roundtrip "$size")"
        done
    done
}

# --- whole

seconds() { # COMMAND...: the wall time of one run; exit codes 5 and 6 are verdicts
    local start=$EPOCHREALTIME code=0
    "$@" >"$out/whole.out" 2>&1 || code=$?
    case $code in 0 | 5 | 6) ;; *) tail -n 3 "$out/whole.out" >&2; return 1 ;; esac
    awk -v start="$start" -v end="$EPOCHREALTIME" 'BEGIN { print end - start }'
}

# The cells of nvbandwidth's tests of one GPU: copies by both engines, three ways, within its memory, and loads.
eight_kinds() {
    "$numabench" matrix --gpus 0 --size 512MiB --engine ce,sm --direction h2d,d2h,bidir --latency -q && "$numabench" peer --gpus 0 --size 512MiB -q
}
ten_tests=(host_to_device_memcpy_ce device_to_host_memcpy_ce host_to_device_bidirectional_memcpy_ce device_to_host_bidirectional_memcpy_ce
    host_to_device_memcpy_sm device_to_host_memcpy_sm host_to_device_bidirectional_memcpy_sm device_to_host_bidirectional_memcpy_sm
    device_local_copy host_device_latency_sm)

run_whole() {
    local turn gpus
    gpus=$("$numabench" topo --json | python3 -c 'import json, sys; print(len(json.load(sys.stdin)["gpus"]))') ||
        { fail "whole: topo"; return; }
    [ "$gpus" -ge 1 ] || { skip whole "no GPU"; return; }
    for ((turn = 1; turn <= turns; turn++)); do
        if have "$nvbandwidth"; then
            row "one case, 512 MiB H2D / nvbandwidth" s - 1.00 \
                "$(seconds "$numabench" pingpong --gpus 0 --size 512MiB --direction h2d)" \
                "$(CUDA_VISIBLE_DEVICES=0 seconds "$nvbandwidth" -b 512 -t host_to_device_memcpy_ce)"
        fi
        row "default pingpong, one GPU / 1.5 s" s - 1.00 "$(seconds "$numabench" pingpong --gpus 0)" 1.5
        if have "$nvbandwidth"; then
            row "matrix of both engines, three ways, with loads, and peer / nvbandwidth's ten tests" s - 0.20 "$(seconds eight_kinds)" \
                "$(CUDA_VISIBLE_DEVICES=0 seconds "$nvbandwidth" -b 512 -t "${ten_tests[@]}")"
        fi
        row "sweep / 5 s" s - 1.00 "$(seconds "$numabench" sweep --gpus 0)" 5
        row "suite / 10 s" s - 1.00 "$(seconds "$numabench" suite)" 10
        row "contend --ranks-per-gpu 4 / 4 s" s - 1.00 "$(seconds "$numabench" contend --gpus 0 --ranks-per-gpu 4)" 4
        row "contend --beside read / 10 s" s - 1.00 "$(seconds "$numabench" contend --gpus 0 --beside read)" 10
        row "latency --loaded / 10 s" s - 1.00 "$(seconds "$numabench" latency --loaded)" 10
        row "topo --measure / 8 s" s - 1.00 "$(seconds "$numabench" topo --measure)" 8
        [ "$gpus" -ge 2 ] || continue
        row "two GPUs, 3 directions, both orders, 256 MiB / 8 s" s - 1.00 \
            "$(seconds "$numabench" pingpong --gpus 0,1 --size 256MiB --direction h2d,d2h,roundtrip --order both)" 8
        row "place --measure, two GPUs, two candidates / 6 s" s - 1.00 \
            "$(seconds "$numabench" place --measure --gpus 0,1 || true)" 6
    done
}

# --- host

# host_copies NAME SIZE_BYTES ROUNDS
host_copies() {
    local turn theirs direction pu doc=$out/host-$2.json
    for ((turn = 1; turn <= turns; turn++)); do
        ours "$doc" --backend host --gpus 0 --size "$2B" --memory pageable --direction h2d,d2h --timing host \
            --reps "$3" --warmup $(($3 / 10)) || { fail "host $1"; return; }
        pu=$(figure "$doc" pu) || { fail "host $1"; return; }
        theirs=$("$out/memcpy" "$2" "$3" $(($3 / 10)) "$pu") || { fail "bench/memcpy"; return; }
        for direction in h2d d2h; do
            row "host $1 ${direction^^} / memcpy" us 0.97 1.03 "$(figure "$doc" round "$direction")" \
                "$(their_line "$direction" median_us <<<"$theirs")"
        done
    done
}

run_host() {
    have "$cc" || { skip host "no C compiler (CC names it)"; return; }
    "$cc" -O2 -o "$out/memcpy" bench/memcpy.c || { fail "memcpy.c does not build"; return; }
    host_copies "64 KiB" $((64 << 10)) 50000
    host_copies "1 MiB" $((1 << 20)) 5000
    host_copies "128 MiB" $((128 << 20)) 60
}

# --- stream

run_stream() {
    local turn access pus theirs doc=$out/stream.json
    have "$cc" || { skip stream "no C compiler (CC names it)"; return; }
    "$cc" -O3 -pthread -o "$out/stream" bench/stream.c || { fail "stream.c does not build"; return; }
    for ((turn = 1; turn <= turns; turn++)); do
        for access in read write copy; do
            "$numabench" matrix --backend host --gpus 0 --access "$access" --range 64MiB --json "$doc" -q >"$doc.out" 2>&1 ||
                { fail "stream $access: $(tail -n 1 "$doc.out")"; return; }
            pus=$(figure "$doc" pus "$access") || { fail "stream $access"; return; }
            # shellcheck disable=SC2086  # a list of PUs
            theirs=$("$out/stream" "$access" $((64 << 20)) 20 50 $pus) || { fail "bench/stream"; return; }
            row "$(wc -w <<<"$pus") threads $access / C loop" GB/s 0.97 1.03 "$(figure "$doc" together "$access")" \
                "$(grep -o 'median_gb_per_s=[0-9.]*' <<<"$theirs" | cut -d= -f2)"
        done
    done
}

# --- triad

# Each thread's arrays are those of the largest class: 2^22 floats each.
run_triad() {
    local turn pus theirs doc=$out/triad.json
    have "$cc" || { skip triad "no C compiler (CC names it)"; return; }
    "$cc" -O3 -pthread -o "$out/stream" bench/stream.c || { fail "stream.c does not build"; return; }
    for ((turn = 1; turn <= turns; turn++)); do
        "$numabench" kernels --backend host --gpus 0 --kernels triad --json "$doc" -q >"$doc.out" 2>&1 ||
            { fail "triad: $(tail -n 1 "$doc.out")"; return; }
        pus=$(figure "$doc" pus kernel) || { fail "triad"; return; }
        # shellcheck disable=SC2086  # a list of PUs
        theirs=$("$out/stream" triad $((12 << 22)) 20 50 $pus) || { fail "bench/stream"; return; }
        row "$(wc -w <<<"$pus") threads triad / C loop" GB/s 0.97 1.03 "$(figure "$doc" together kernel)" \
            "$(grep -o 'median_gb_per_s=[0-9.]*' <<<"$theirs" | cut -d= -f2)"
    done
}

# --- start

run_start() {
    local turn
    for ((turn = 1; turn <= turns; turn++)); do
        # An absolute target: 10 ms is written as what it is compared with.
        row "--help, CPU time / 10 ms" ms - 1.00 "$(cpu_ms "$numabench" --help)" 10
    done
    have "$lstopo" || { skip "topo beside lstopo" "no $lstopo (LSTOPO names it)"; return; }
    for ((turn = 1; turn <= turns; turn++)); do
        row "topo / lstopo-no-graphics" ms - 2.00 "$(wall_ms "$numabench" topo)" "$(wall_ms "$lstopo")"
    done
}

# --- the table

table() {
    awk -F '\t' '
        function median(list, n,   i, j, t, s) {
            for (i = 1; i <= n; i++) s[i] = list[i]
            for (i = 2; i <= n; i++) for (j = i; j > 1 && s[j] < s[j - 1]; j--) { t = s[j]; s[j] = s[j - 1]; s[j - 1] = t }
            low = s[1]; high = s[n]
            return n % 2 ? s[(n + 1) / 2] : (s[n / 2] + s[n / 2 + 1]) / 2
        }
        function meets(ratio, what) { return (lo[what] == "-" || ratio >= lo[what]) && (hi[what] == "-" || ratio <= hi[what]) }
        function target(what) {
            if (lo[what] == "-") return "<= " hi[what]
            if (hi[what] == "-") return ">= " lo[what]
            return lo[what] ".." hi[what]
        }
        !($1 in count) { order[++kinds] = $1; unit[$1] = $2; lo[$1] = $3; hi[$1] = $4 }
        { n = ++count[$1]; our[$1, n] = $5; their[$1, n] = $6 }
        END {
            format = "%-46s %-5s %10s %10s %7s %15s %6s %6s  %-11s %s\n"
            printf format, "what", "unit", "ours", "theirs", "ratio", "(over turns)", "+-ours", "theirs", "target", "met"
            for (k = 1; k <= kinds; k++) {
                what = order[k]; n = count[what]; good = 0
                for (i = 1; i <= n; i++) {
                    a[i] = our[what, i]; b[i] = their[what, i]; r[i] = a[i] / b[i]; good += meets(r[i], what)
                }
                ma = median(a, n); sa = (high - low) / ma * 100
                mb = median(b, n); sb = (high - low) / mb * 100
                mr = median(r, n); span = sprintf("%.3f..%.3f", low, high)
                if (meets(mr, what)) met = "yes"; else { met = "no"; missed = 1 }
                printf format, what, unit[what], sprintf("%.2f", ma), sprintf("%.2f", mb), sprintf("%.3f", mr), span, \
                    sprintf("%.1f%%", sa), sprintf("%.1f%%", sb), target(what), met " (" good "/" n ")"
            }
            if (!kinds) print "(nothing was measured)"
            exit missed
        }' "$rows"
}

echo "numabench bench: $(hostname), Linux $(uname -r), $(date -u +%Y-%m-%dT%H:%M:%SZ), $turns turns"
echo "CPU: $(awk -F ': *' '/^model name/ { print $2; exit }' /proc/cpuinfo); $("$numabench" --version)"
for part in "${parts[@]}"; do
    case $part in
        gpu) run_gpu ;;
        small) run_small ;;
        whole) run_whole ;;
        host) run_host ;;
        stream) run_stream ;;
        triad) run_triad ;;
        start) run_start ;;
    esac
done
echo
status=0
table || status=1
for line in "${skipped[@]}"; do echo "skipped: $line"; done
for line in "${failed[@]}"; do echo "FAILED: $line"; done
[ ${#failed[@]} = 0 ] || status=1
exit $status
