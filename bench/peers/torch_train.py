#!/usr/bin/env python3
"""Training speed of PyTorch on the same work as bench_train: the Transformer of the paper, target tokens a second.

PyTorch at its best on a CPU: fused projections, F.scaled_dot_product_attention, fused Adam, sentences of
like length together (the order of the lengths file), logits only where there is a target, no mask where
a batch has no padding. Ids are random; padding is not counted.
"""

import argparse
import math
import time

import torch
import torch.nn.functional as F
from torch import nn

from lengths import batches_of
from sizes import add_options, fill_sizes, peak_rss_mb, read_lengths, report

PADDING, BOS, EOS, FIRST_WORD = 0, 1, 2, 3


class Attention(nn.Module):
    def __init__(self, d_model, heads, cross):
        super().__init__()
        self.heads, self.cross = heads, cross
        self.query = nn.Linear(d_model, d_model if cross else 3 * d_model)  # self-attention: q, k, v in one product
        self.key_value = nn.Linear(d_model, 2 * d_model) if cross else None
        self.output = nn.Linear(d_model, d_model)

    def forward(self, x, memory=None, mask=None, causal=False):
        if self.cross:
            q, (k, v) = self.query(x), self.key_value(memory).chunk(2, -1)
        else:
            q, k, v = self.query(x).chunk(3, -1)
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in (q, k, v))
        return self.output(F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal).transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self, a, decoder):
        super().__init__()
        self.pre_norm, self.dropout, self.decoder = a.pre_norm, a.dropout, decoder
        self.self_attention = Attention(a.d_model, a.heads, cross=False)
        self.cross_attention = Attention(a.d_model, a.heads, cross=True) if decoder else None
        self.input, self.output = nn.Linear(a.d_model, a.d_ff), nn.Linear(a.d_ff, a.d_model)
        self.norms = nn.ModuleList(nn.LayerNorm(a.d_model, eps=1e-6) for _ in range(3 if decoder else 2))

    def residual(self, x, norm, function):
        if self.pre_norm:
            return x + F.dropout(function(norm(x)), self.dropout, self.training)
        return norm(x + F.dropout(function(x), self.dropout, self.training))

    def forward(self, x, mask, memory=None):
        if self.decoder:  # padding stands at the end, so the causal mask hides it from every real token
            x = self.residual(x, self.norms[0], lambda y: self.self_attention(y, causal=True))
            x = self.residual(x, self.norms[1], lambda y: self.cross_attention(y, memory, mask))
        else:
            x = self.residual(x, self.norms[0], lambda y: self.self_attention(y, mask=mask))
        return self.residual(x, self.norms[-1], lambda y: self.output(F.relu(self.input(y))))


class Transformer(nn.Module):
    def __init__(self, a, longest):
        super().__init__()
        self.d_model, self.dropout, self.pre_norm = a.d_model, a.dropout, a.pre_norm
        self.source = nn.Embedding(a.vocabulary, a.d_model)
        self.target = nn.Embedding(a.vocabulary, a.d_model) if a.untied else self.source
        self.projection = nn.Linear(a.d_model, a.vocabulary, bias=False)
        self.encoder = nn.ModuleList(Layer(a, False) for _ in range(a.encoder_layers))
        self.decoder = nn.ModuleList(Layer(a, True) for _ in range(a.decoder_layers))
        self.final = nn.ModuleList(nn.LayerNorm(a.d_model, eps=1e-6) for _ in range(2)) if a.pre_norm else None
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)
        if not a.untied:
            self.projection.weight = self.source.weight
        position = torch.arange(longest)[:, None] * torch.exp(torch.arange(0, a.d_model, 2) * (-math.log(1e4) / a.d_model))
        self.register_buffer("positions", torch.stack([position.sin(), position.cos()], -1).flatten(1))

    def embed(self, table, ids):
        return F.dropout(table(ids) * math.sqrt(self.d_model) + self.positions[: ids.shape[1]], self.dropout, self.training)

    def loss(self, source, target_input, target):
        mask = (source != PADDING)[:, None, None, :]
        mask = None if mask.all() else mask
        memory = self.embed(self.source, source)
        for layer in self.encoder:
            memory = layer(memory, mask)
        memory = self.final[0](memory) if self.pre_norm else memory
        x = self.embed(self.target, target_input)
        for layer in self.decoder:
            x = layer(x, mask, memory)
        real = target != PADDING
        x = self.final[1](x[real]) if self.pre_norm else x[real]
        return F.cross_entropy(self.projection(x).float(), target[real], label_smoothing=0.1)


def padded_batches(pairs, tokens, vocabulary):
    def rows(lengths):
        ids = torch.randint(FIRST_WORD, vocabulary, (len(lengths), max(lengths)))
        place, end = torch.arange(max(lengths)), torch.tensor(lengths)[:, None]
        return ids.masked_fill(place == end - 1, EOS).masked_fill(place >= end, PADDING)

    batches, result = batches_of(pairs, tokens), []
    if len(batches) > 1 and sum(t for _, t in batches[-1]) < tokens:
        batches.pop()  # a step of another size would blur the figure
    for batch in batches:
        source, target = rows([s for s, _ in batch]), rows([t for _, t in batch])
        result.append((source, torch.cat([torch.full((len(batch), 1), BOS), target[:, :-1]], 1), target))
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser)
    parser.add_argument("--batch-tokens", type=int, default=4096, help="target tokens in a batch")
    parser.add_argument("--steps", type=int, default=12, help="timed steps")
    parser.add_argument("--warmup", type=int, default=1, help="steps before the clock starts")
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--clip", type=float, default=1.0, help="largest norm of the gradient; 0: any")
    parser.add_argument("--untied", action="store_true", help="three embedding matrices instead of one")
    parser.add_argument("--pre-norm", action="store_true")
    parser.add_argument("--bf16", action="store_true", help="products in bfloat16 (autocast)")
    a = parser.parse_args()
    fill_sizes(a)
    torch.set_num_threads(a.threads)
    torch.manual_seed(a.seed)
    pairs = read_lengths(a.lengths)
    batches = padded_batches(pairs, a.batch_tokens, a.vocabulary)
    model = Transformer(a, max(map(max, pairs)))
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)

    def step(batch):
        optimiser.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=a.bf16):
            loss = model.loss(*batch)
        loss.backward()
        if a.clip:
            nn.utils.clip_grad_norm_(model.parameters(), a.clip)
        optimiser.step()
        return loss.item()

    for i in range(a.warmup):
        step(batches[i % len(batches)])
    chosen = [batches[(a.warmup + i) % len(batches)] for i in range(a.steps)]
    start = time.perf_counter()
    for batch in chosen:
        loss = step(batch)
    seconds = time.perf_counter() - start
    tokens = sum(int((target != PADDING).sum()) for _, _, target in chosen)
    precision = "bf16" if a.bf16 else "f32"
    values = {
        "program": "torch", "version": torch.__version__, "preset": a.preset, "precision": precision, "threads": a.threads,
        "parameters": sum(p.numel() for p in model.parameters()), "vocabulary": a.vocabulary, "steps": a.steps,
        "target_tokens": tokens, "seconds": seconds, "target_tokens_per_second": tokens / seconds,
        "loss": loss, "peak_rss_mb": peak_rss_mb(),
    }
    report(a, f"torch {precision} {a.preset} {tokens / seconds:.1f} target_tokens/s  steps {a.steps}  "
              f"peak_rss {peak_rss_mb():.0f} MB", values)


if __name__ == "__main__":
    main()
