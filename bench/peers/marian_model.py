#!/usr/bin/env python3
"""Writes a Marian model of a preset's size with random weights, its vocabulary and a text, for bergamot_translate.py.

    marian_model.py FOLDER --preset base --length 16

Every character is a piece, so a sentence of n characters has n + 1 pieces with its end. The end has a bias that no
translation overcomes: with bergamot's max-length-factor 1 each translation has as many pieces as its source, and
bench_translate can be given the same lengths.
"""

import argparse
import pathlib
import random

import numpy as np
from sentencepiece import sentencepiece_model_pb2

from sizes import PRESETS

NEVER = -1e4
# Characters to use as pieces: CJK ideographs, then Hangul syllables.
CHARACTERS = [chr(c) for c in [*range(0x4E00, 0x9FA6), *range(0xAC00, 0xD7A4)]]


def parameters(size, generator):
    d, f, pieces = size["d_model"], size["d_ff"], size["vocabulary"]
    arrays = {}

    def linear(weight, bias, inputs, outputs):
        limit = (6 / (inputs + outputs)) ** 0.5
        arrays[weight] = generator.uniform(-limit, limit, (inputs, outputs)).astype(np.float32)
        arrays[bias] = np.zeros((1, outputs), np.float32)

    def norm(name):
        arrays[name + "_ln_scale"], arrays[name + "_ln_bias"] = np.ones((1, d), np.float32), np.zeros((1, d), np.float32)

    arrays["Wemb"] = (generator.standard_normal((pieces, d)) / d**0.5).astype(np.float32)
    arrays["decoder_ff_logit_out_b"] = np.zeros((1, pieces), np.float32)
    arrays["decoder_ff_logit_out_b"][0, :3] = NEVER
    for stack, attentions in (("encoder", ["self"]), ("decoder", ["self", "context"])):
        for i in range(1, size[stack + "_layers"] + 1):
            for attention in attentions:
                name = f"{stack}_l{i}_{attention}"
                for part in "qkvo":
                    linear(f"{name}_W{part}", f"{name}_b{part}", d, d)
                norm(name + "_Wo")
            name = f"{stack}_l{i}_ffn"
            linear(name + "_W1", name + "_b1", d, f)
            linear(name + "_W2", name + "_b2", f, d)
            norm(name + "_ffn")
    return arrays


def settings(size):
    """What Marian keeps beside the parameters: YAML, ended by a zero."""
    options = {
        "type": "transformer", "dim-vocabs": [size["vocabulary"]] * 2, "dim-emb": size["d_model"],
        "enc-depth": size["encoder_layers"], "dec-depth": size["decoder_layers"], "transformer-heads": size["heads"],
        "transformer-dim-ffn": size["d_ff"], "transformer-ffn-depth": 2, "transformer-ffn-activation": "relu",
        "transformer-preprocess": '""', "transformer-postprocess": "dan", "transformer-postprocess-emb": "d",
        "transformer-postprocess-top": '""', "transformer-decoder-autoreg": "self-attention",
        "transformer-no-projection": "false", "transformer-train-position-embeddings": "false", "transformer-tied-layers": [],
        "transformer-guided-alignment-layer": "last", "tied-embeddings-all": "true", "tied-embeddings": "false",
        "tied-embeddings-src": "false", "skip": "false", "layer-normalization": "false", "right-left": "false",
        "input-types": [], "special-vocab": [],
    }
    text = "".join(f"{key}: {value}\n" for key, value in options.items())
    return np.frombuffer(text.encode() + b"\0", dtype=np.int8)


def vocabulary(pieces):
    """A SentencePiece model in which each piece is one character; </s> is 0 and <unk> 1, as Marian wants them."""
    proto = sentencepiece_model_pb2.ModelProto()
    kinds = sentencepiece_model_pb2.ModelProto.SentencePiece
    special = [("</s>", kinds.CONTROL), ("<unk>", kinds.UNKNOWN), ("<s>", kinds.CONTROL)]
    for piece, kind in special + [(c, kinds.NORMAL) for c in CHARACTERS[: pieces - len(special)]]:
        proto.pieces.add(piece=piece, score=0, type=kind)
    proto.trainer_spec.eos_id, proto.trainer_spec.unk_id, proto.trainer_spec.bos_id = 0, 1, 2
    proto.normalizer_spec.name = "identity"
    proto.normalizer_spec.add_dummy_prefix = proto.normalizer_spec.remove_extra_whitespaces = False
    return proto.SerializeToString()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--preset", choices=PRESETS, default="base")
    parser.add_argument("--length", type=int, default=16, help="pieces of a source sentence, its end included")
    parser.add_argument("--sentences", type=int, default=320)
    a = parser.parse_args()
    size = PRESETS[a.preset]
    a.folder.mkdir(parents=True, exist_ok=True)
    np.savez(a.folder / "model.npz", **parameters(size, np.random.default_rng(1)), **{"special:model.yml": settings(size)})
    (a.folder / "vocab.spm").write_bytes(vocabulary(size["vocabulary"]))
    generator = random.Random(1)
    characters = CHARACTERS[: size["vocabulary"] - 3]
    lines = ["".join(generator.choices(characters, k=a.length - 1)) for _ in range(a.sentences)]
    (a.folder / "text").write_text("".join(line + "\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
