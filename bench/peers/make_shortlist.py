#!/usr/bin/env python3
"""Writes a lexical shortlist for the random models of the benchmarks, in CTranslate2's form (vmap.txt).

Each source piece gets 100 target pieces drawn as words are spread over text (Zipf: the n-th most frequent in proportion to
1 / n), and every sentence the 100 most frequent, so that the lists of a batch overlap as those of real text do.
"""

import argparse
import random


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output")
    parser.add_argument("--vocabulary", type=int, required=True)
    a = parser.parse_args()
    generator = random.Random(1)
    pieces = list(range(3, a.vocabulary))
    sums, total = [], 0.0
    for n in range(1, len(pieces) + 1):
        total += 1 / n
        sums.append(total)
    with open(a.output, "w") as file:
        file.write("\t" + " ".join(["</s>"] + [f"t{i}" for i in pieces[:100]]) + "\n")
        for source in pieces:
            targets = sorted(set(generator.choices(pieces, cum_weights=sums, k=100)))
            file.write(f"t{source}\t" + " ".join(f"t{i}" for i in targets) + "\n")


if __name__ == "__main__":
    main()
