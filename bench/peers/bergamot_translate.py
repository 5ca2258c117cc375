#!/usr/bin/env python3
"""Translation speed of bergamot (Marian with intgemm) over the folder that marian_model.py wrote, after loading.

Needs Python 3.6 to 3.10 and the package bergamot 0.4.5 alone. The extension is loaded without the package's own start,
which would ask the network for a list of models.
"""

import argparse
import importlib.util
import json
import pathlib
import resource
import sys
import time


def load_extension():
    package = pathlib.Path(importlib.util.find_spec("bergamot").origin).parent
    sys.path.insert(0, str(package))
    import _bergamot

    return _bergamot


CONFIG = """
models: [{folder}/model.npz]
vocabs: [{folder}/vocab.spm, {folder}/vocab.spm]
gemm-precision: {precision}
beam-size: {beam}
normalize: 1
word-penalty: 0
max-length-break: 128
max-length-factor: 1
mini-batch-words: {words}
ssplit-mode: sentence
workspace: 128
skip-cost: {skip_cost}
cpu-threads: 0
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--precision", default="int8shiftAll", help="gemm-precision: float32, int8shift, int8shiftAll, ...")
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch-words", type=int, default=512, help="source pieces of a batch: 32 sentences of 16")
    a = parser.parse_args()
    bergamot = load_extension()
    lines = (a.folder / "text").read_text(encoding="utf-8").split("\n")[:-1]
    service = bergamot.Service(bergamot.ServiceConfig(numWorkers=a.threads, cacheSize=0, logLevel="error"))
    model = service.modelFromConfig(CONFIG.format(
        folder=a.folder.resolve(), precision=a.precision, beam=a.beam, words=a.batch_words,
        skip_cost="true" if a.beam == 1 else "false"))
    options = bergamot.ResponseOptions(qualityScores=False, alignment=False, HTML=False)

    def translate(texts):
        return [response.target.text for response in service.translate(model, bergamot.VectorString(texts), options)]

    translate(lines)  # each worker reads and packs its own copy of the model with its first batch
    start = time.perf_counter()
    translations = translate(lines)
    seconds = time.perf_counter() - start
    tokens = sum(map(len, translations))
    values = {"program": "bergamot", "precision": a.precision, "beam": a.beam, "threads": a.threads, "sentences": len(lines),
              "output_tokens": tokens, "seconds": seconds, "output_tokens_per_second": tokens / seconds,
              "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}
    print(json.dumps(values))


if __name__ == "__main__":
    main()
