#!/usr/bin/env bash
# How long compare, export, report and history take on large documents, and how much memory: 1,000, 3,000 and 10,000 cases of 100 blocks.
#
#   bench/documents.sh [CASES…]       NUMABENCH names the binary (target/release/numabench), FOLDER where the documents are kept (a temporary one)
#
# What is to be reached with 10,000 cases on two cores: compare 5 s and 1 GiB, export 2 s, report 5 s, and growth that is linear.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
binary=${NUMABENCH:-$here/../target/release/numabench}
folder=${FOLDER:-$(mktemp -d)}
[ -n "${FOLDER:-}" ] || trap 'rm -rf "$folder"' EXIT
timed() { # NAME COMMAND…: wall seconds, CPU seconds and the most memory; exit codes 5 and 6 are verdicts
    local name=$1 code=0
    shift
    /usr/bin/time -o "$folder/time" -f '%e s, %U + %S s of CPU, %M KiB' "$@" >"$folder/out" 2>"$folder/err" || code=$?
    printf '  %-22s %s (exit code %s)\n' "$name" "$(tail -1 "$folder/time")" "$code"
    case $code in 0 | 5 | 6) ;; *) head -3 "$folder/err" && return 1 ;; esac
}
[ $# -gt 0 ] || set -- 1000 3000 10000
for cases in "$@"; do
    for slower in 0 10; do
        [ -e "$folder/$cases-$slower.json" ] || python3 "$here/large_document.py" "$cases" 100 "$slower" "$folder/$cases-$slower.json"
    done
    base=$folder/$cases-0.json new=$folder/$cases-10.json
    echo "$cases cases of 100 blocks, $(($(stat -c %s "$base") >> 20)) MiB a document"
    timed compare "$binary" compare "$base" "$new"
    timed 'export --to csv' "$binary" export "$base" --to csv
    timed 'export --to junit' "$binary" export "$base" --to junit
    timed 'export --to openmetrics' "$binary" export "$base" --to openmetrics
    timed report "$binary" report "$base" -o "$folder/report.html"
    timed 'report of two' "$binary" report "$base" "$new" -o "$folder/report.html"
    echo "    $(stat -c %s "$folder/report.html") bytes of HTML"
done
