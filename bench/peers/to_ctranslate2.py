#!/usr/bin/env python3
"""Turns a zhuyi model file (f32) into a CTranslate2 model of the same weights: to_ctranslate2.py MODEL FOLDER

The folder also gets tokenizer.model, the SentencePiece model. CTranslate2 is given pieces and gives pieces; the target
starts with <s>, and </s> is added to the source.
"""

import argparse
import pathlib

import ctranslate2
import numpy as np
import sentencepiece

from model_file import Model


def fill_linear(spec, parts):
    """One linear map of CTranslate2 ([out, in]) from several of ours with the same input."""
    spec.weight = np.concatenate([weight.T for weight, _ in parts])
    spec.bias = np.concatenate([bias for _, bias in parts])


def fill_norm(spec, gain_and_bias):
    spec.gamma, spec.beta = gain_and_bias


def fill_attention(spec, model, name, groups):
    """Attention whose linear maps hold these groups of query, key, value and output."""
    for linear, parts in zip(spec.linear, groups):
        fill_linear(linear, [model.linear(f"{name}.{part}") for part in parts])
    fill_norm(spec.layer_norm, model.norm(name + "_norm"))


def convert(model, longest):
    c = model.config
    spec = ctranslate2.specs.TransformerSpec.from_config(
        (c["encoder-layers"], c["decoder-layers"]), c["heads"], pre_norm=model.pre_norm)
    embedding = model.embedding
    spec.encoder.embeddings[0].weight = spec.decoder.embeddings.weight = spec.decoder.projection.weight = embedding
    for name, stack in (("encoder", spec.encoder), ("decoder", spec.decoder)):
        stack.position_encodings.encodings = model.positions(longest)
        if model.pre_norm:
            fill_norm(stack.layer_norm, model.norm(name + ".norm"))
        for i, layer in enumerate(stack.layer):
            prefix = f"{name}.{i}"
            fill_attention(layer.self_attention, model, prefix + ".self_attention", [("query", "key", "value"), ("output",)])
            if stack is spec.decoder:
                fill_attention(layer.attention, model, prefix + ".cross_attention", [("query",), ("key", "value"), ("output",)])
            fill_linear(layer.ffn.linear_0, [model.linear(prefix + ".feed_forward.input")])
            fill_linear(layer.ffn.linear_1, [model.linear(prefix + ".feed_forward.output")])
            fill_norm(layer.ffn.layer_norm, model.norm(prefix + ".feed_forward_norm"))
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.tokenizer)
    pieces = [processor.id_to_piece(i) for i in range(len(processor))]
    spec.register_source_vocabulary(pieces)
    spec.register_target_vocabulary(pieces)
    spec.config.add_source_eos = True
    spec.config.decoder_start_token = "<s>"
    spec.config.layer_norm_epsilon = c["norm-epsilon"]
    return spec


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--longest", type=int, default=1024, help="positions that the table has")
    a = parser.parse_args()
    model = Model(a.model)
    spec = convert(model, a.longest)
    spec.validate()
    spec.optimize(quantization="float32")
    a.folder.mkdir(parents=True, exist_ok=True)
    spec.save(str(a.folder))
    (a.folder / "tokenizer.model").write_bytes(model.tokenizer)


if __name__ == "__main__":
    main()
