"""Reads a zhuyi model file (f32, as `zhuyi train` writes it) for the programs that hand it to other toolkits."""

import json
import math

import numpy as np
from safetensors import safe_open


class Model:
    """Configuration, tensors by name ([in, out]; embeddings [pieces, d_model]) and the SentencePiece model's bytes."""

    def __init__(self, path):
        with safe_open(path, "np") as file:
            metadata = file.metadata()
            if metadata.get("format") != "zhuyi-1" or metadata.get("precision", "f32") != "f32":
                raise SystemExit(f"{path}: expected a model in f32 from zhuyi train, found {metadata.get('format')} "
                                 f"{metadata.get('precision', '')}")
            self.config = json.loads(metadata["config"])
            self.tensors = {name: file.get_tensor(name) for name in file.keys()}
        # What the other toolkits cannot say, or these programs do not.
        expected = {"tying": "all", "norm": "layer", "activation": "relu", "gated": False, "biases": True, "output-bias": False,
                    "attention-similarity": "scaled-dot", "d-k": 0, "d-v": 0}
        wrong = [f"{k} {self.config[k]}" for k, v in expected.items() if self.config[k] != v]
        if wrong or self.config["positions"] not in ("interleaved", "halves", "halves-marian"):
            raise SystemExit(f"{path}: expected {expected} and sinusoids; found {', '.join(wrong)}, "
                             f"positions {self.config['positions']}")
        self.tokenizer = self.tensors.pop("tokenizer.source").tobytes()
        self.embedding = self.tensors["embedding"]
        self.pre_norm = self.config["norm-placement"] == "pre"

    def linear(self, name):
        """(weight [in, out], bias [out])"""
        return self.tensors[name + ".weight"], self.tensors[name + ".bias"][0]

    def norm(self, name):
        """(gain, bias), each [d_model]"""
        return self.tensors[name + ".gain"][0], self.tensors[name + ".bias"][0]

    def positions(self, count):
        """[count, d_model], counted from 0 (docs/model.md)."""
        width, form = self.config["d-model"], self.config["positions"]
        pairs = np.arange(width // 2)
        exponent = pairs / (width // 2 - 1) if form == "halves-marian" else 2 * pairs / width
        angle = np.arange(count)[:, None] * np.exp(-math.log(1e4) * exponent)
        sin_cos = np.sin(angle), np.cos(angle)
        table = np.stack(sin_cos, -1).reshape(count, width) if form == "interleaved" else np.concatenate(sin_cos, 1)
        return table.astype(np.float32)
