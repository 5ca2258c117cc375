#!/usr/bin/env python3
"""Writes the sentence lengths that all speed measurements share: `source_length target_length` a line.

From a text:      lengths.py --source train.en --target train.zh --model pieces.model > lengths.txt
Without any data: lengths.py --synthetic > lengths.txt

Lengths count pieces, the end token included. Sentences of like length stand together in batches of
--batch-tokens target tokens, and the batches in a random order, so that any run of consecutive batches
holds short and long ones. A reader gets these batches back by this rule: add sentences until the batch
has at least --batch-tokens target tokens.
"""

import argparse
import random


def lengths_of_text(source_path, target_path, model_path, limit, generator, count):
    import sentencepiece

    pieces = sentencepiece.SentencePieceProcessor(model_file=model_path)
    with open(source_path, encoding="utf-8") as source, open(target_path, encoding="utf-8") as target:
        pairs = [(s.strip(), t.strip()) for s, t in zip(source, target)]
    pairs = list(dict.fromkeys((s, t) for s, t in pairs if s and t))
    pairs = generator.sample(pairs, min(count, len(pairs)))

    def length(text):
        return min(len(pieces.encode(text)), limit) + 1

    return [(length(s), length(t)) for s, t in pairs]


def synthetic_lengths(limit, generator, count):
    """Log-normal lengths like those of LibreOffice's help, English to Chinese, in pieces of a joint vocabulary of 6,000."""
    result = []
    for _ in range(count):
        source = generator.lognormvariate(2.55, 0.7)
        target = source * generator.lognormvariate(-0.17, 0.26)
        result.append((min(max(round(source), 1), limit) + 1, min(max(round(target), 1), limit) + 1))
    return result


def batches_of(pairs, tokens):
    """Consecutive pairs until a batch has at least `tokens` target tokens; the last may have fewer."""
    batches, batch, total = [], [], 0
    for pair in pairs:
        batch.append(pair)
        total += pair[1]
        if total >= tokens:
            batches.append(batch)
            batch, total = [], 0
    return batches + ([batch] if batch else [])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", help="text, one sentence a line")
    parser.add_argument("--target", help="its translation, line by line")
    parser.add_argument("--model", help="SentencePiece model for both sides")
    parser.add_argument("--synthetic", action="store_true", help="draw lengths; needs no data")
    parser.add_argument("--count", type=int, default=4000)
    parser.add_argument("--limit", type=int, default=120, help="longer sentences are cut to this many pieces")
    parser.add_argument("--batch-tokens", type=int, default=4096)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    generator = random.Random(arguments.seed)
    if arguments.synthetic:
        pairs = synthetic_lengths(arguments.limit, generator, arguments.count)
    elif arguments.source and arguments.target and arguments.model:
        pairs = lengths_of_text(
            arguments.source, arguments.target, arguments.model, arguments.limit, generator, arguments.count)
    else:
        parser.error("give --source, --target and --model, or --synthetic")
    pairs.sort(key=lambda pair: (max(pair), pair[1], pair[0]))
    batches = batches_of(pairs, arguments.batch_tokens)
    last = batches.pop()  # not full: it must stay at the end, or it would swallow its neighbour
    generator.shuffle(batches)
    for source, target in sum(batches + [last], []):
        print(source, target)


if __name__ == "__main__":
    main()
