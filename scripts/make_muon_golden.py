#!/usr/bin/env python3
"""Writes tests/golden/muon.safetensors: a few matrices moved three steps by Muon, in PyTorch and float64.

Run: python scripts/make_muon_golden.py   (PyTorch 2.9 or later and safetensors; no part of building or using Zhuyi)

The formulas are those of Keller Jordan's Muon with the update scaled to Adam's size (0.2 sqrt of the longer side). They
are compared with torch.optim.Muon, which iterates in bfloat16: the directions must agree to a few per cent.
"""

import pathlib

import torch

from make_golden import save

STEPS, RATE, SCALE, DECAY, MOMENTUM = 3, 0.02, 0.5, 0.1, 0.95
SHAPES = {
    "encoder.0.self_attention.query.weight": (6, 6),
    "encoder.0.feed_forward.input.weight": (5, 24),
    "decoder.0.feed_forward.output.weight": (17, 4),
    "decoder.0.self_attention.query.weight": (12, 15),
    "decoder.0.feed_forward.input.weight": (9, 18),
    "decoder.0.self_attention.query.bias": (1, 6),  # the rest is Adam's
    "embedding": (7, 6),
}


def newton_schulz(x):
    transposed = x.shape[0] > x.shape[1]
    x = x.T if transposed else x
    x = x / (x.norm() + 1e-7)
    for _ in range(5):
        y = x @ x.T
        x = 3.4445 * x + (-4.7750 * y + 2.0315 * y @ y) @ x
    return x.T if transposed else x


def is_matrix(name, shape):
    return min(shape) > 1 and name != "embedding"


def main():
    torch.manual_seed(5)
    double = dict(dtype=torch.float64)
    out, values, momenta = {}, {}, {}
    adams, peers = {}, {}
    for name, shape in SHAPES.items():
        values[name] = torch.randn(shape, **double)
        out[f"start/{name}"] = values[name].clone()
        momenta[name] = torch.zeros(shape, **double)
        parameter = torch.nn.Parameter(values[name].clone())
        decay = DECAY if shape[0] > 1 else 0
        if is_matrix(name, shape):
            peers[name] = parameter, torch.optim.Muon(
                [parameter], lr=RATE, weight_decay=decay, momentum=MOMENTUM, adjust_lr_fn="match_rms_adamw")
        else:
            adams[name] = parameter, torch.optim.AdamW(
                [parameter], lr=RATE, betas=(0.9, 0.98), eps=1e-9, weight_decay=decay)
    for step in range(STEPS):
        for name, shape in SHAPES.items():
            gradient = torch.randn(shape, **double) + 0.3
            out[f"gradient{step}/{name}"] = gradient
            parameter, optimizer = (peers if is_matrix(name, shape) else adams)[name]
            parameter.grad = gradient * SCALE
            optimizer.step()
            if is_matrix(name, shape):
                before = values[name]
                momenta[name] = MOMENTUM * momenta[name] + gradient * SCALE
                update = newton_schulz(gradient * SCALE + MOMENTUM * momenta[name])
                values[name] = before * (1 - RATE * DECAY) - RATE * 0.2 * max(shape) ** 0.5 * update
                theirs, ours = parameter.detach() - out[f"start/{name}"], values[name] - out[f"start/{name}"]
                difference = ((theirs - ours).norm() / ours.norm()).item()
                print(f"{name} step {step + 1}: torch.optim.Muon differs by {difference:.3f}")
                assert difference < 0.06
            else:
                values[name] = parameter.detach().clone()
            out[f"value{step}/{name}"] = values[name].contiguous().clone()
    target = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden" / "muon.safetensors"
    numbers = {"made-by": "scripts/make_muon_golden.py"} | {key: str(value) for key, value in dict(rate=RATE, scale=SCALE, decay=DECAY, steps=STEPS).items()}
    save(target, {key: value.contiguous() for key, value in out.items()}, numbers)


if __name__ == "__main__":
    main()
