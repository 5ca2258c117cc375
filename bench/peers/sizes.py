"""Model sizes and sentence lengths as both peers take them from the command line."""

import json
import pathlib
import resource

# The presets of `zhuyi train --preset`, with the vocabulary that bench_train gives them.
PRESETS = {
    "small": dict(d_model=256, heads=4, d_ff=1024, encoder_layers=4, decoder_layers=4, vocabulary=8000),
    "base": dict(d_model=512, heads=8, d_ff=2048, encoder_layers=6, decoder_layers=6, vocabulary=32000),
    "big": dict(d_model=1024, heads=16, d_ff=4096, encoder_layers=6, decoder_layers=6, vocabulary=8000),
}
LENGTHS = pathlib.Path(__file__).resolve().parent.parent / "lengths.txt"


def add_options(parser):
    parser.add_argument("--preset", choices=PRESETS, default="small")
    for name in PRESETS["small"]:
        parser.add_argument("--" + name.replace("_", "-"), type=int, help="default: as the preset")
    parser.add_argument("--lengths", type=pathlib.Path, default=LENGTHS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a line of text")


def fill_sizes(arguments):
    """Sizes that were not given on the command line are the preset's."""
    for name, value in PRESETS[arguments.preset].items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, value)


def read_lengths(path):
    """[(source length, target length)], the end token included."""
    expected = f"{path}: expected lines of two positive numbers, source_length target_length"
    try:
        pairs = [tuple(map(int, line.split())) for line in path.read_text().splitlines() if line.strip()]
    except ValueError as error:
        raise SystemExit(f"{expected}; {error}") from None
    if not pairs or any(len(pair) != 2 or min(pair) < 1 for pair in pairs):
        raise SystemExit(expected)
    return pairs


def peak_rss_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def report(arguments, line, values):
    print(json.dumps(values) if arguments.json else line, flush=True)
