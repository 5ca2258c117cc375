#!/usr/bin/env python3
"""Writes the golden files of the whole model: tests/golden/*.safetensors.

A tiny Transformer, written here from the paper in plain PyTorch and float64, is run once on three
sentences. Parameters, logits, loss, every gradient and the parameters after three Adam steps go to
safetensors files, which the C++ tests read. PyTorch is needed only to run this script.

    python3 scripts/make_golden.py [--output tests/golden] [--check]

Needs torch, numpy, safetensors. --check also compares the model with torch.nn.Transformer's layers and
prints how far the same work in float32 is from the float64 values (what a float32 test can ask for).

Contract
  A weight is [in, out] and y = x W + b; embeddings and output_projection are [V, d], logits = h E^T.
  `source` and `target` hold the ids of all sentences one after another, `source_lengths` and
  `target_lengths` say where they end. `target_input` is the decoder's input: bos, then the target
  without its last token. Source ids enter the encoder as they are (nothing is appended).
  parameter.NAME   values before the first step
  gradient.NAME    of `loss`
  step3.NAME       after three Adam steps whose gradient is that of loss / number of target tokens
  loss, nll        summed over target tokens: smoothed (Marian's form), not smoothed
  loss_fairseq     the same sum with fairseq's form of label smoothing
  losses           `loss` evaluated after step 1, 2, 3
  logits           [target tokens, V]
  memory           [source tokens, d_model], the encoder's output
  The wide model's file would be large: its parameters are numbers of bfloat16 and stored so, and of a gradient only
  rows 0, 7, 14, ... are there (metadata gradient-row-step; 7 goes round all rows of a block of 2, 4, 6 or 8).

The gradient of key.bias is zero under (scaled) dot-product attention, because a constant added to all
scores of a row leaves its softmax as it was. Adam turns the rounding noise there into steps of any
size, so step3.*.key.bias of a float32 program says nothing; leave these out of a comparison.
"""

import argparse
import json
import math
import pathlib

import safetensors.torch
import torch

from golden_model import (
    BASE, SMOOTHING, SOURCE_LENGTHS, TARGET_LENGTHS, VOCABULARY, Model,
    losses, position_table, random_batch, random_parameters, shifted,
)

ADAM = dict(lr=0.01, betas=(0.9, 0.98), eps=1e-9)

# The seed stands first. Seeds are chosen so that no ReLU's argument is near zero (write_model checks) and that
# three Adam steps in float32 stay within 1e-6 of float64: a gradient that is all rounding would steer Adam freely.
FULL = {
    "transformer_post_tied": (160, dict(norm_placement="post", tied=True)),
    "transformer_post_untied": (175, dict(norm_placement="post", tied=False)),
    "transformer_pre_tied": (147, dict(norm_placement="pre", tied=True)),
    "transformer_pre_untied": (169, dict(norm_placement="pre", tied=False)),
}
ONE_LAYER = dict(encoder_layers=1, decoder_layers=1)
VARIANTS = {
    "variant_gelu": (201, dict(norm_placement="pre", activation="gelu", **ONE_LAYER)),
    "variant_rms_norm": (105, dict(norm_placement="pre", norm="rms", **ONE_LAYER)),
    "variant_swiglu": (202, dict(norm_placement="post", activation="silu", gated=True, **ONE_LAYER)),
    "variant_gaussian": (124, dict(norm_placement="post", attention_similarity="gaussian", **ONE_LAYER)),
}
# Wide enough to fill the vectors of AVX-512 and blocks of products, with tails beside them (d_ff 88).
WIDE = {
    "wide_post_tied": (306, dict(norm_placement="post", d_model=64, heads=4, d_ff=88, **ONE_LAYER)),
}
GRADIENT_ROW_STEP = 7


# ---- Running and writing -------------------------------------------------------------------------


def run(config, parameters, batch, steps, dtype=torch.float64):
    """All results of one golden file as a dictionary of tensors, and the model."""
    sources, targets = batch
    gold = torch.cat(targets)
    model = Model(config, parameters, dtype)
    logits, memory = model.logits(sources, targets)
    nll, loss, fairseq = losses(logits, gold)
    names = list(model.p)
    gradients = torch.autograd.grad(loss, [model.p[n] for n in names])
    result = {f"parameter.{n}": model.p[n].detach().clone() for n in names}
    result |= {f"gradient.{n}": g for n, g in zip(names, gradients)}
    result |= {"logits": logits, "memory": memory}
    result |= {"loss": loss.reshape(1), "nll": nll.reshape(1), "loss_fairseq": fairseq.reshape(1)}
    if steps:
        after = []
        optimiser = torch.optim.Adam(model.p.values(), foreach=False, **ADAM)
        for _ in range(steps):
            optimiser.zero_grad()
            (losses(model.logits(sources, targets)[0], gold)[1] / len(gold)).backward()
            optimiser.step()
            after.append(losses(model.logits(sources, targets)[0], gold)[1].detach())
        result |= {f"step{steps}.{n}": model.p[n].detach().clone() for n in names}
        result["losses"] = torch.stack(after)
    return {n: v.detach().contiguous() for n, v in result.items()}, model


def save(path, tensors, text):
    """A safetensors file whose bytes depend on its contents alone (the library leaves metadata unordered)."""
    data = safetensors.torch.save(tensors, {"made-by": "scripts/make_golden.py", "pytorch": torch.__version__} | text)
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.dumps(json.loads(data[8:start]), sort_keys=True, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    path.write_bytes(len(header).to_bytes(8, "little") + header + data[start:])
    print(f"{path.name}: {path.stat().st_size} bytes")


def inputs(batch):
    sources, targets = batch
    ids = {
        "source": torch.cat(sources), "source_lengths": torch.tensor(SOURCE_LENGTHS),
        "target": torch.cat(targets), "target_lengths": torch.tensor(TARGET_LENGTHS),
        "target_input": torch.cat([shifted(t) for t in targets]),
    }
    return {name: value.to(torch.int32) for name, value in ids.items()}


def metadata(config):
    """The configuration as text, named as the program's own fields are."""
    text = {k.replace("_", "-"): str(v).lower() if isinstance(v, bool) else str(v) for k, v in config.items()}
    text["tying"] = "all" if config["tied"] else "none"
    return text


def write_model(path, config, seed, steps, check):
    generator = torch.Generator().manual_seed(seed)
    parameters = random_parameters(config, generator)
    batch = random_batch(generator)
    result, model = run(config, parameters, batch, steps)
    # Near a kink float32 may take the other side, and a gradient would differ for no fault.
    assert model.smallest_kink > 5e-4, f"{path.name}: ReLU argument {model.smallest_kink}; change the seed"
    extra = {"seed": str(seed)}
    if steps:
        extra |= {"adam-learning-rate": "0.01", "adam-beta1": "0.9", "adam-beta2": "0.98", "adam-epsilon": "1e-9"}
    save(path, result | inputs(batch), metadata(config) | extra)
    if check:
        report_float32(config, parameters, batch, steps, result)
        check_against_torch_layers(config, parameters, batch, result)


def write_wide_model(path, config, seed, check):
    generator = torch.Generator().manual_seed(seed)
    parameters = {n: v.bfloat16().double() for n, v in random_parameters(config, generator).items()}
    batch = random_batch(generator)
    result, model = run(config, parameters, batch, 0)
    assert model.smallest_kink > 5e-4, f"{path.name}: ReLU argument {model.smallest_kink}; change the seed"
    stored = {}
    for name, value in result.items():
        if name.startswith("parameter."):
            value = value.bfloat16()
        elif name.startswith("gradient.") and value.dim() == 2:
            value = value[::GRADIENT_ROW_STEP].contiguous()
        stored[name] = value
    extra = {"seed": str(seed), "gradient-row-step": str(GRADIENT_ROW_STEP)}
    save(path, stored | inputs(batch), metadata(config) | extra)
    if check:
        report_float32(config, parameters, batch, 0, result)
        check_against_torch_layers(config, parameters, batch, result)


def write_positions(path, d=8, length=60):
    tables = {layout: position_table(layout, length, d) for layout in ("interleaved", "halves-marian", "halves")}
    save(path, tables, {})


def write_label_smoothing(path, rows=5):
    generator = torch.Generator().manual_seed(5)
    logits = (3 * torch.randn(rows, VOCABULARY, generator=generator, dtype=torch.float64)).requires_grad_()
    targets = torch.randint(VOCABULARY, (rows,), generator=generator)
    result = {"logits": logits.detach(), "targets": targets.to(torch.int32)}
    for name, value in zip(("nll", "marian", "fairseq"), losses(logits, targets)):
        result[f"loss.{name}"] = value.detach().reshape(1)
        result[f"gradient.{name}"] = torch.autograd.grad(value, logits, retain_graph=True)[0]
    # The unsmoothed form and Marian's (share epsilon / V) are PyTorch's own as well.
    for name, epsilon in (("nll", 0.0), ("marian", SMOOTHING)):
        own = torch.nn.functional.cross_entropy(logits, targets, label_smoothing=epsilon, reduction="sum")
        assert abs(own.item() - result[f"loss.{name}"].item()) < 1e-12
    save(path, result, {"label-smoothing": str(SMOOTHING)})


# ---- Checks --------------------------------------------------------------------------------------


def relative(a, b):
    """Largest difference over the largest value, the measure a test of one tensor can use."""
    return ((a.double() - b.double()).abs().max() / b.double().abs().max().clamp_min(1e-30)).item()


def report_float32(config, parameters, batch, steps, exact):
    single, _ = run(config, parameters, batch, steps, torch.float32)
    dot = config["attention_similarity"] != "gaussian"
    for kind in ("logits", "loss", "gradient.", "step"):
        names = [n for n in exact if n.startswith(kind) and not (dot and n.endswith("key.bias"))]
        if names:
            worst = max(names, key=lambda n: relative(single[n], exact[n]))
            print(f"  float32 {kind:10} worst {relative(single[worst], exact[worst]):.1e} ({worst})")
    smallest = min(v.abs().max().item() for n, v in exact.items()
                   if n.startswith("gradient.") and not (dot and n.endswith("key.bias")))
    print(f"  smallest largest gradient of a parameter {smallest:.1e}")


def torch_layer(kind, config, parameters, prefix):
    """A torch.nn layer that holds the same values."""
    layer = kind(config["d_model"], config["heads"], config["d_ff"], dropout=0.0, batch_first=True,
                 activation=config["activation"], layer_norm_eps=config["norm_epsilon"],
                 norm_first=config["norm_placement"] == "pre", dtype=torch.float64)
    blocks = ["self_attention", "cross_attention"] if kind is torch.nn.TransformerDecoderLayer else ["self_attention"]
    for theirs, ours in zip(("self_attn", "multihead_attn"), blocks):
        name = f"{prefix}.{ours}"
        module = getattr(layer, theirs)
        with torch.no_grad():
            for kind_of, suffix in (("in_proj_weight", "weight"), ("in_proj_bias", "bias")):
                values = [parameters[f"{name}.{part}.{suffix}"].mT if suffix == "weight" else parameters[f"{name}.{part}.{suffix}"] for part in ("query", "key", "value")]
                getattr(module, kind_of).copy_(torch.cat(values))
            module.out_proj.weight.copy_(parameters[f"{name}.output.weight"].T)
            module.out_proj.bias.copy_(parameters[f"{name}.output.bias"])
    with torch.no_grad():
        for theirs, ours in (("linear1", "input"), ("linear2", "output")):
            getattr(layer, theirs).weight.copy_(parameters[f"{prefix}.feed_forward.{ours}.weight"].T)
            getattr(layer, theirs).bias.copy_(parameters[f"{prefix}.feed_forward.{ours}.bias"])
        for number, ours in enumerate(blocks + ["feed_forward"], 1):
            getattr(layer, f"norm{number}").weight.copy_(parameters[f"{prefix}.{ours}_norm.gain"])
            getattr(layer, f"norm{number}").bias.copy_(parameters[f"{prefix}.{ours}_norm.bias"])
    return layer


def check_against_torch_layers(config, parameters, batch, exact):
    """The same logits from torch.nn.TransformerEncoderLayer and DecoderLayer on a padded batch."""
    if config["norm"] == "rms" or config["gated"] or config["attention_similarity"] == "gaussian":
        return
    sources, targets = batch
    tied, d = config["tied"], config["d_model"]
    pad = torch.nn.utils.rnn.pad_sequence

    def embed(side, ids):
        table = position_table(config["positions"], ids.shape[1], d)
        return parameters["embedding" if tied else f"{side}_embedding"][ids] * math.sqrt(d) + table

    def final(name, x):
        if config["norm_placement"] != "pre":
            return x
        gain, bias = parameters[f"{name}.norm.gain"], parameters[f"{name}.norm.bias"]
        return torch.nn.functional.layer_norm(x, (d,), gain, bias, config["norm_epsilon"])

    source, target = pad(sources, batch_first=True), pad([shifted(t) for t in targets], batch_first=True)
    source_padding = torch.arange(source.shape[1]) >= torch.tensor(SOURCE_LENGTHS)[:, None]
    target_padding = torch.arange(target.shape[1]) >= torch.tensor(TARGET_LENGTHS)[:, None]
    future = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).triu(1)
    memory = embed("source", source)
    for i in range(config["encoder_layers"]):
        layer = torch_layer(torch.nn.TransformerEncoderLayer, config, parameters, f"encoder.{i}")
        memory = layer(memory, src_key_padding_mask=source_padding)
    memory = final("encoder", memory)
    x = embed("target", target)
    for i in range(config["decoder_layers"]):
        layer = torch_layer(torch.nn.TransformerDecoderLayer, config, parameters, f"decoder.{i}")
        x = layer(x, memory, tgt_mask=future, tgt_key_padding_mask=target_padding, memory_key_padding_mask=source_padding)
    logits = final("decoder", x) @ parameters["embedding" if tied else "output_projection"].T
    difference = relative(logits[~target_padding], exact["logits"])
    print(f"  torch.nn layers: logits differ by {difference:.1e}")
    assert difference < 1e-12


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = pathlib.Path(__file__).resolve().parent.parent
    parser.add_argument("--output", type=pathlib.Path, default=here / "tests" / "golden")
    parser.add_argument("--check", action="store_true", help="compare with torch.nn and with float32")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    for name, (seed, changes) in FULL.items():
        write_model(arguments.output / f"{name}.safetensors", BASE | changes, seed, 3, arguments.check)
    for name, (seed, changes) in VARIANTS.items():
        write_model(arguments.output / f"{name}.safetensors", BASE | changes, seed, 0, arguments.check)
    for name, (seed, changes) in WIDE.items():
        write_wide_model(arguments.output / f"{name}.safetensors", BASE | changes, seed, arguments.check)
    write_positions(arguments.output / "positions.safetensors")
    write_label_smoothing(arguments.output / "label_smoothing.safetensors")


if __name__ == "__main__":
    main()
