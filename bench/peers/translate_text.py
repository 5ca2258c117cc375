#!/usr/bin/env python3
"""Times the translation of a real text by one trained model, in zhuyi and in CTranslate2, with the same search.

zhuyi runs as a whole program (start, reading, pieces, search, text) over a quantised model; of CTranslate2 only the search is
timed, after the model is loaded and the text cut into pieces. Output tokens are the pieces of the translations, each with
its end, whoever made them. The search is CTranslate2's: length penalty n^alpha with alpha 1, ended by as many finished
hypotheses as the beam is wide, at most 256 pieces.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unicodedata

import sentencepiece

from model_file import Model
from sizes import peak_rss_mb, report

LONGEST = 256


def zhuyi(a, folder):
    """Quantises the model and runs the program: (translations, seconds, figures of the result)."""
    model, output = folder / f"{a.precision}.safetensors", folder / "output"
    subprocess.run([a.zhuyi, "quantize", a.model, "--precision", a.precision, "--output", model], check=True, stdout=subprocess.DEVNULL)
    command = [a.zhuyi, "translate", "--model", model, "--no-split", "--no-protect", "--max-repeats", "0", "--max-source-tokens", "1000",
               "--beam", str(a.beam), "--length-penalty", "power", "--alpha", "1", "--stop", "beam-finished",
               "--max-length-factor", "0", "--max-length-extra", str(LONGEST), "--threads", str(a.threads),
               *(["--batch", str(a.batch)] if a.batch else []), "--output", output, a.text]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)  # of this process alone, not of quantize
    seconds = time.perf_counter() - start
    if status:
        raise SystemExit(f"failed: {command}")
    peak = usage.ru_maxrss / 1024
    return output.read_text(encoding="utf-8").split("\n")[:-1], seconds, {"precision": a.precision, "peak_rss_mb": peak}


def ctranslate2(a, folder, processor, lines):
    """Converts the model and runs the library: (translations, seconds, figures of the result)."""
    import ctranslate2

    model = folder / "ctranslate2"
    subprocess.run([sys.executable, pathlib.Path(__file__).with_name("to_ctranslate2.py"), a.model, model], check=True)
    before = peak_rss_mb()
    compute = {"f32": "float32"}.get(a.precision, a.precision)
    translator = ctranslate2.Translator(str(model), device="cpu", compute_type=compute, inter_threads=a.workers,
                                        intra_threads=max(a.threads // a.workers, 1))
    sources = [processor.encode(line, out_type=str) for line in lines]
    options = dict(beam_size=a.beam, length_penalty=1, max_batch_size=a.batch or 32, max_input_length=0,
                   max_decoding_length=LONGEST, disable_unk=True)
    translator.translate_batch(sources[: 4 * a.workers], **options)  # warm
    start = time.perf_counter()
    results = translator.translate_batch(sources, **options)
    seconds = time.perf_counter() - start
    return ([processor.decode(result.hypotheses[0]) for result in results], seconds,
            {"precision": compute, "version": ctranslate2.__version__, "workers": a.workers, "peak_rss_mb": peak_rss_mb(),
             "python_mb": before})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", choices=("zhuyi", "ctranslate2"))
    parser.add_argument("--model", required=True, help="a model of zhuyi train, in f32")
    parser.add_argument("--text", required=True, help="a sentence a line")
    parser.add_argument("--zhuyi", default="build/release/zhuyi", help="the program")
    parser.add_argument("--precision", choices=("f32", "bf16", "int8"), default="int8")
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--batch", type=int, default=0, help="sentences in a batch; 0: zhuyi's own, 32 for CTranslate2")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--workers", type=int, default=1, help="CTranslate2: batches in flight; each has threads / workers threads")
    parser.add_argument("--output", type=pathlib.Path, help="where the translations go")
    parser.add_argument("--json", action="store_true")
    a = parser.parse_args()
    lines = [unicodedata.normalize("NFC", line) for line in pathlib.Path(a.text).read_text(encoding="utf-8").split("\n")[:-1]]
    with tempfile.TemporaryDirectory() as name:
        processor = sentencepiece.SentencePieceProcessor(model_proto=Model(a.model).tokenizer)
        folder = pathlib.Path(name)
        translations, seconds, figures = zhuyi(a, folder) if a.program == "zhuyi" else ctranslate2(a, folder, processor, lines)
    # Bytes that are no UTF-8 become one U+FFFD or several, as each program does.
    translations = [re.sub("\ufffd+", "\ufffd", line) for line in translations]
    if len(translations) != len(lines):
        raise SystemExit(f"expected {len(lines)} translations, found {len(translations)}")
    if a.output:
        a.output.write_text("".join(line + "\n" for line in translations), encoding="utf-8")
    tokens = sum(len(processor.encode(line)) + 1 for line in translations)
    values = {"program": a.program, "preset": pathlib.Path(a.text).name, "beam": a.beam, "threads": a.threads, "lines": len(lines),
              "output_tokens": tokens, "seconds": seconds, "output_tokens_per_second": tokens / seconds, **figures}
    report(a, f"{a.program} {figures['precision']} beam {a.beam}: {len(lines)} lines, {tokens} output tokens, {seconds:.2f} s, "
              f"{tokens / seconds:.0f} output_tokens/s, peak {figures['peak_rss_mb']:.0f} MB", values)


if __name__ == "__main__":
    main()
