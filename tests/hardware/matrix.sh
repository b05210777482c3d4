#!/usr/bin/env bash
# matrix.sh - holds `numabench topo --matrix` against `nvidia-smi topo -m` cell by cell, and --identity against nvidia-smi's list.
#
#   matrix.sh [NUMABENCH]             on this machine; NUMABENCH is the binary [default: target/release/numabench, else target/debug/]
#   matrix.sh --compare OURS THEIRS   two saved outputs
#
# Adapters are matched by their names in the two legends, because the order of nvidia-smi's is not documented. Adapters that only
# numabench lists are differences, but for Slingshot's (hsn0, hsi0, cxi0), which nvidia-smi never lists.
#
# Exit: 0 every cell is the same; 1 some are not, each is printed; 2 an output has no matrix, or wrong usage; 77 there is no
# nvidia-smi, or it shows no GPU.
set -euo pipefail

readonly DIFFERENT=1 UNUSABLE=2 MISSING=77
die() { echo "matrix: $2" >&2; exit "$1"; }

# One line a cell: `ROW COLUMN<tab>VALUE`, with adapters by name.
cells() {
    sed 's/\x1b\[[0-9;]*m//g' "$1" | awk '
        { line[NR] = $0 }
        # NIC0: mlx5_0
        $1 ~ /^NIC[0-9]+:$/ { name[substr($1, 1, length($1) - 1)] = $2 }
        END {
            for (at = 1; at <= NR; at++) {
                $0 = line[at]
                if (!columns) {
                    if ($1 !~ /^(GPU|NIC)0$/) continue
                    gsub(/CPU Affinity/, "CPU-Affinity"); gsub(/NUMA Affinity/, "NUMA-Affinity"); gsub(/GPU NUMA ID/, "GPU-NUMA-ID")
                    columns = split($0, column)
                    continue
                }
                if ($1 !~ /^(GPU|NIC)[0-9]+$/) exit
                for (i = 2; i <= NF && i - 1 <= columns; i++) print called($1), called(column[i - 1]) "\t" $i
            }
        }
        function called(label) { return label in name ? name[label] : label }
    '
}

# Prints what differs between two files of cells; says how many are the same.
compare() {
    awk -F '\t' -v sorted='sort -V' '
        NR == FNR { ours[$1] = $2; next }
        { theirs[$1] = $2 }
        END {
            for (cell in theirs)
                if (!(cell in ours)) { print cell ": nvidia-smi " theirs[cell] ", numabench has no such cell" | sorted; bad++ }
                else if (ours[cell] != theirs[cell]) { print cell ": nvidia-smi " theirs[cell] ", numabench " ours[cell] | sorted; bad++ }
                else same++
            for (cell in ours) {
                if (cell in theirs) continue
                if (cell ~ /(^| )(hs[ni]|cxi)[0-9]+( |$)/) { slingshot++; continue }
                print cell ": numabench " ours[cell] ", nvidia-smi has no such cell" | sorted; bad++
            }
            close(sorted)
            print same + 0 " cells are the same, " bad + 0 " are not" (slingshot ? "; " slingshot " of Slingshot adapters are numabench'"'"'s alone" : "")
            exit bad ? 1 : 0
        }
    ' "$1" "$2"
}

# compare_files OURS THEIRS
compare_files() {
    local folder=$work file
    cells "$1" >"$folder/ours.cells"
    cells "$2" >"$folder/theirs.cells"
    for file in ours theirs; do
        [ -s "$folder/$file.cells" ] || die $UNUSABLE "there is no matrix in $file"
    done
    compare "$folder/ours.cells" "$folder/theirs.cells" || return $DIFFERENT
}

# Index, address and UUID of each GPU: by nvidia-smi and by --identity.
compare_identities() {
    nvidia-smi --query-gpu=index,pci.bus_id,uuid --format=csv,noheader | tr -d ' ' | tr ',' '\t' |
        awk -F '\t' '{ split(tolower($2), part, ":"); printf "%s\t%s:%s:%s %s\n", $1, substr(part[1], 5), part[2], part[3], $3 }' |
        sort >"$work/theirs.names"
    "$numabench" topo --identity | awk '$2 ~ /^[0-9a-f]+:[0-9a-f:.]+$/ && $3 ~ /^GPU-/ { print $6 "\t" $2 " " $3 }' | sort >"$work/ours.names"
    diff -u --label numabench --label nvidia-smi "$work/ours.names" "$work/theirs.names" || return $DIFFERENT
    echo "$(wc -l <"$work/ours.names") GPUs have nvidia-smi's index, address and UUID"
}

# Before anything else: what is here?
if [ "${1-}" != --compare ]; then
    command -v nvidia-smi >/dev/null || { echo "SKIPPED matrix: there is no nvidia-smi here" >&2; exit $MISSING; }
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ "${1-}" = --compare ]; then
    [ $# = 3 ] || die $UNUSABLE "usage: matrix.sh --compare OURS THEIRS"
    compare_files "$2" "$3"
    exit
fi

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
numabench=${1-}
for built in "$here/target/release/numabench" "$here/target/debug/numabench"; do
    [ -n "$numabench" ] || [ ! -x "$built" ] || numabench=$built
done
[ -n "$numabench" ] || die $UNUSABLE "there is no binary: cargo build --release, or give its path"
nvidia-smi topo -m >"$work/theirs" || { echo "SKIPPED matrix: nvidia-smi topo -m fails here" >&2; exit $MISSING; }
grep -q GPU0 "$work/theirs" || { echo "SKIPPED matrix: nvidia-smi shows no GPU" >&2; exit $MISSING; }
"$numabench" topo --matrix >"$work/ours"
status=0
compare_files "$work/ours" "$work/theirs" || status=$?
compare_identities || status=$?
exit $status
