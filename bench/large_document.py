#!/usr/bin/env python3
"""Writes a result document with as many cases and blocks as asked: what `documents.sh` times compare, export and report on.

    large_document.py CASES BLOCKS SLOWER_PERCENT FILE

The run is that of the document in crates/render/tests/report/fixtures, with one rank and CASES cases of 100 sizes each in groups; every figure is made up
of its own blocks, with 0.4 % of noise, and the same for the same arguments. SLOWER_PERCENT makes every tenth case slower, so that two documents differ.
"""
import json
import os
import random
import statistics
import sys

FIXTURE = "../crates/render/tests/report/fixtures/v1.0-two-ranks.json"
ROUNDS = 10


def block(index, copied, round_ns):
    elapsed = round_ns * ROUNDS
    start = 1_000_000_000 + index * 60_000_000
    return {
        "index": index, "allocation": index // 4, "start_ns": start, "end_ns": start + int(elapsed), "elapsed_ns": elapsed, "rounds": ROUNDS,
        "copies_per_round": 1, "bytes": copied * ROUNDS, "min_round_ns": round_ns * 0.999, "median_round_ns": round_ns,
        "p95_round_ns": round_ns * 1.001, "max_round_ns": round_ns * 1.002,
    }


def case(like, at, blocks, slower, noise):
    copied = (at % 100 + 1) << 20
    group = f"group {at // 100}"
    level = (10_000 + copied / 55.0) * (1 + slower / 100 if at % 10 == 0 else 1)
    samples = [block(index, copied, level * (1 + noise.uniform(-0.002, 0.002))) for index in range(blocks)]
    rounds = sorted(sample["median_round_ns"] for sample in samples)
    middle, total = statistics.median(rounds), sum(sample["elapsed_ns"] for sample in samples)
    result = {**like["ranks"][0], "rank": 0, "blocks": samples}
    result["outcome"] = {"status": "measured", "percent_of_bound": None, "stop_reason": "target", "flags": [], "summary": {
        "blocks": blocks, "rounds": blocks * ROUNDS, "bytes": copied * blocks * ROUNDS, "elapsed_ns": total, "median_ns": middle,
        "median_interval_ns": {"low": rounds[blocks // 3], "high": rounds[-blocks // 3], "confidence": 0.95}, "mean_ns": statistics.fmean(rounds),
        "std_ns": statistics.stdev(rounds), "min_ns": rounds[0], "max_ns": rounds[-1], "p5_ns": rounds[0], "p95_ns": rounds[-1], "p99_ns": rounds[-1],
        "bytes_per_s": copied * blocks * ROUNDS / total * 1e9, "median_bytes_per_s": copied / middle * 1e9, "outliers": 0}}
    return {**like, "id": f"alone/pinned/h2d/{copied}/{group}", "bytes": copied, "group": group, "ranks": [result]}


def main(cases, blocks, slower, file):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), FIXTURE), encoding="utf-8") as fixture:
        document = json.load(fixture)
    like, noise = document["cases"][0], random.Random(f"{cases} {blocks} {slower}")
    document.update(status="complete", status_reason=None, exit_code=0, penalties=[], ranks=document["ranks"][:1], devices=document["devices"][:1])
    document["settings"]["order"] = "alone"
    head = json.dumps({**document, "cases": []})
    before, after = head.split('"cases": []')
    with open(file, "w", encoding="utf-8") as out:
        out.write(before + '"cases": [')
        for at in range(cases):
            out.write(("," if at else "") + "\n" + json.dumps(case(like, at, blocks, slower, noise)))
        out.write("]" + after + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), sys.argv[4])
