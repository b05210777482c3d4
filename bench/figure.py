#!/usr/bin/env python3
"""Reads one figure out of a numabench result document, for run.sh.

    figure.py FILE rate|round DIRECTION [BYTES]  one figure of the only case that measures DIRECTION (of this size)
    figure.py FILE together|pus DIRECTION    what the ranks of the first case of DIRECTION move together, the median over
                                             blocks in GB/s; the PUs that they run on
    figure.py FILE pu|device                 the PU and the device's name of rank 0

`rate` is the median over blocks of bytes / elapsed time, in GB/s (what nvbandwidth prints); `round` is the median over
blocks of a block's median round, in us for one copy (what the C programs print). Both are taken from the raw blocks, not
from numabench's own summary. Exits with 1 and says why when the document does not hold a measured case.
"""
import json
import statistics
import sys


def main(path, what, direction=None, size=None):
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    rank = document["ranks"][0]
    if what == "pu":
        return rank["asked"]["pu"]
    if what == "device":
        return next(device["name"] for device in document["devices"] if device["id"] == rank["asked"]["device"])
    cases = [case for case in document["cases"] if case["direction"] == direction and size in (None, str(case["bytes"]))]
    if what in ("together", "pus") and cases:
        results = cases[0]["ranks"]
        if what == "pus":
            pus = {rank["rank"]: rank["asked"]["pu"] for rank in document["ranks"]}
            return " ".join(str(pus[result["rank"]]) for result in results)
        if any(result["outcome"]["status"] != "measured" for result in results):
            sys.exit(f"{path}: {cases[0]['id']} was not measured")
        blocks = zip(*(result["blocks"] for result in results))
        return statistics.median(sum(block["bytes"] / block["elapsed_ns"] for block in at_once) for at_once in blocks)
    if len(cases) != 1:
        sys.exit(f"{path}: {len(cases)} cases with direction {direction}; wanted 1")
    (case,) = cases
    result = case["ranks"][0]
    if result["outcome"]["status"] != "measured":
        sys.exit(f"{path}: {case['id']} was not measured: {result['outcome']}")
    blocks = result["blocks"]
    if what == "rate":
        return statistics.median(block["bytes"] / block["elapsed_ns"] for block in blocks)
    if what == "round":
        return statistics.median(block["median_round_ns"] / block["copies_per_round"] for block in blocks) / 1e3
    sys.exit(f"unknown figure {what}; allowed: rate, round, together, pus, pu, device")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4, 5):
        sys.exit(__doc__)
    print(main(*sys.argv[1:]))
