#!/usr/bin/env python3
"""Medians and ratios of the JSON lines that bench/compare.sh collected: summary.py RESULTS.jsonl"""

import collections
import json
import statistics
import sys

# Key, unit in the table, and whether more is better.
FIGURES = {
    "target_tokens_per_second": ("target tokens/s", True),
    "output_tokens_per_second": ("output tokens/s", True),
    "single_sentence_ms": ("ms, one sentence", False),
    "load_ms": ("ms, load", False),
    "rss_mb": ("MB resident", False),
    "peak_rss_mb": ("MB peak", False),
}
OURS = "zhuyi"


def main():
    rows = collections.defaultdict(list)
    parameters = collections.defaultdict(set)
    for line in open(sys.argv[1]):
        result = json.loads(line)
        task = "train" if "target_tokens_per_second" in result else "translate"
        rows[task, result["preset"], result["program"], result["precision"], result.get("workers", 1)].append(result)
        if "parameters" in result:
            parameters[task, result["preset"]].add(result["parameters"])
    for (task, preset), counts in parameters.items():
        if len(counts) > 1:
            print(f"WARNING: {task} {preset}: the models differ in size: {sorted(counts)} parameters")
    medians = {}
    print(f"{'task':<10}{'preset':<10}{'program':<13}{'precision':<10}{'workers':>7}  figures: median (lowest to highest)")
    for key, results in sorted(rows.items()):
        medians[key], shown = {}, []
        for name, (unit, _) in FIGURES.items():
            values = [r[name] for r in results if name in r]
            if values:
                medians[key][name] = statistics.median(values)
                shown.append(f"{medians[key][name]:.1f} ({min(values):.1f} to {max(values):.1f}) {unit}")
        print(f"{key[0]:<10}{key[1]:<10}{key[2]:<13}{key[3]:<10}{key[4]:>7}  " + "; ".join(shown))
    print()
    for ours in sorted(k for k in rows if k[2] == OURS):
        for peer in sorted(k for k in rows if k[:2] == ours[:2] and k[2] != OURS):
            ratios = []
            for name, (unit, more) in FIGURES.items():
                a, b = medians[ours].get(name), medians[peer].get(name)
                if a and b:
                    ratios.append(f"{a / b if more else b / a:.2f} x ({unit})")
            print(f"{ours[0]} {ours[1]}: {OURS} {ours[3]} is better than {peer[2]} {peer[3]} "
                  f"(workers {peer[4]}) by " + ", ".join(ratios))


if __name__ == "__main__":
    main()
