#!/usr/bin/env python3
"""Translation speed of CTranslate2 on the same work as bench_translate: random weights of the same sizes, fixed output length.

Reports output tokens a second (batches, beam search), the time of one sentence alone, the time to load the model
and resident memory. The model is made in a process of its own, so that memory is that of translating.
"""

import argparse
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from sizes import add_options, fill_sizes, peak_rss_mb, read_lengths, report


def build(a, folder):
    """Saves a converted model with random weights."""
    import ctranslate2
    import numpy as np

    generator = np.random.default_rng(a.seed)
    d, f = a.d_model, a.d_ff

    def matrix(outputs, inputs):
        limit = (6 / (outputs + inputs)) ** 0.5
        return generator.uniform(-limit, limit, (outputs, inputs)).astype(np.float32)

    def linear(spec, outputs, inputs):
        spec.weight, spec.bias = matrix(outputs, inputs), np.zeros(outputs, np.float32)

    def norm(spec):
        spec.gamma, spec.beta = np.ones(d, np.float32), np.zeros(d, np.float32)

    def block(attention, sizes):
        for spec, outputs in zip(attention.linear, sizes):
            linear(spec, outputs, d)
        norm(attention.layer_norm)

    spec = ctranslate2.specs.TransformerSpec.from_config((a.encoder_layers, a.decoder_layers), a.heads, pre_norm=a.pre_norm)
    angle = np.arange(512)[:, None] / 10000 ** (2 * np.arange(d // 2) / d)
    positions = np.concatenate([np.sin(angle), np.cos(angle)], 1).astype(np.float32)
    embedding = (generator.standard_normal((a.vocabulary, d)) / d**0.5).astype(np.float32)
    spec.encoder.embeddings[0].weight = spec.decoder.embeddings.weight = spec.decoder.projection.weight = embedding
    for part in (spec.encoder, spec.decoder):
        part.position_encodings.encodings = positions
        if a.pre_norm:
            norm(part.layer_norm)
        for layer in part.layer:
            block(layer.self_attention, (3 * d, d))
            if part is spec.decoder:
                block(layer.attention, (d, 2 * d, d))
            linear(layer.ffn.linear_0, f, d)
            linear(layer.ffn.linear_1, d, f)
            norm(layer.ffn.layer_norm)
    tokens = ["<unk>", "<s>", "</s>"] + [f"t{i}" for i in range(3, a.vocabulary)]
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    spec.validate()
    spec.optimize(quantization=a.compute)
    spec.save(folder)


def resident_mb():
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser)
    parser.add_argument("--compute", choices=("int8", "float32"), default="int8")
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--batch", type=int, default=32, help="sentences in a batch")
    parser.add_argument("--sentences", type=int, default=320, help="taken evenly from the lengths file")
    parser.add_argument("--output-length", type=int, default=16, help="tokens of every translation, no more and no less")
    parser.add_argument("--singles", type=int, default=10, help="sentences translated alone, for latency")
    parser.add_argument("--workers", type=int, default=1, help="batches in flight; each has threads / workers threads")
    parser.add_argument("--shortlist", default="", help="lists of make_shortlist.py")
    parser.add_argument("--pre-norm", action="store_true")
    parser.add_argument("--build-only", help=argparse.SUPPRESS)
    a = parser.parse_args()
    fill_sizes(a)
    if a.build_only:
        build(a, a.build_only)
        return

    import random

    import ctranslate2

    pairs = read_lengths(a.lengths)
    stride = max(len(pairs) // a.sentences, 1)
    generator = random.Random(a.seed)
    sources = [[f"t{generator.randrange(3, a.vocabulary)}" for _ in range(length - 1)] + ["</s>"]
               for length, _ in pairs[::stride][: a.sentences]]
    fixed = dict(beam_size=a.beam, min_decoding_length=a.output_length, max_decoding_length=a.output_length,
                 length_penalty=0.6, max_batch_size=a.batch, use_vmap=bool(a.shortlist))
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, __file__, *sys.argv[1:], "--build-only", folder], check=True)
        if a.shortlist:
            shutil.copy(a.shortlist, pathlib.Path(folder) / "vmap.txt")

        def load(workers):
            start = time.perf_counter()
            translator = ctranslate2.Translator(folder, device="cpu", compute_type=a.compute, inter_threads=workers,
                                                intra_threads=max(a.threads // workers, 1))
            return translator, time.perf_counter() - start

        translator, load_seconds = load(1)
        translator.translate_batch(sources[: a.batch], **fixed)  # warm
        alone = []
        for source in sources[:: max(len(sources) // a.singles, 1)][: a.singles]:
            start = time.perf_counter()
            translator.translate_batch([source], **fixed)
            alone.append(time.perf_counter() - start)
        if a.workers != 1:
            del translator
            translator, load_seconds = load(a.workers)
            translator.translate_batch(sources[: a.workers * a.batch], **fixed)
        start = time.perf_counter()
        results = translator.translate_batch(sources, **fixed)
        seconds = time.perf_counter() - start
    tokens = sum(len(result.hypotheses[0]) for result in results)
    if tokens != len(sources) * a.output_length:
        raise SystemExit(f"expected {len(sources) * a.output_length} output tokens, found {tokens}")
    values = {
        "program": "ctranslate2", "version": ctranslate2.__version__, "preset": a.preset, "precision": a.compute,
        "threads": a.threads, "workers": a.workers, "sentences": len(sources), "output_tokens": tokens, "seconds": seconds,
        "output_tokens_per_second": tokens / seconds, "single_sentence_ms": 1000 * statistics.median(alone),
        "load_ms": 1000 * load_seconds, "rss_mb": resident_mb(), "peak_rss_mb": peak_rss_mb(),
    }
    report(a, f"ctranslate2 {a.compute} {a.preset} {tokens / seconds:.1f} output_tokens/s  one sentence "
              f"{values['single_sentence_ms']:.1f} ms  load {values['load_ms']:.0f} ms  rss {values['rss_mb']:.0f} MB", values)


if __name__ == "__main__":
    main()
