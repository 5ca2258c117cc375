"""The Transformer from the paper in plain PyTorch, for the golden files alone (make_golden.py).

It is written to be compared with the paper, one sentence at a time and without padding; speed is no aim.
"""

import math

import torch

VOCABULARY = 23
BOS, EOS, FIRST_WORD = 1, 2, 3
SOURCE_LENGTHS = [5, 1, 7]
TARGET_LENGTHS = [4, 6, 2]
SMOOTHING = 0.1

BASE = dict(
    d_model=8, heads=2, d_ff=16, encoder_layers=2, decoder_layers=2, vocabulary=VOCABULARY,
    norm_placement="post", norm="layer", norm_epsilon=1e-6, activation="relu", gated=False,
    attention_similarity="scaled-dot", bandwidth=1.0, tied=True, positions="interleaved",
    scale_embedding=True, bos=BOS, eos=EOS, label_smoothing=SMOOTHING,
)

# ---- Parameters ----------------------------------------------------------------------------------


def parameter_shapes(config):
    """Name -> shape, in the order of the model."""
    d, f, v = config["d_model"], config["d_ff"], config["vocabulary"]
    shapes = {}

    def linear(name, inputs, outputs):
        shapes[f"{name}.weight"] = (inputs, outputs)
        shapes[f"{name}.bias"] = (outputs,)

    def norm(name):
        shapes[f"{name}.gain"] = (d,)
        if config["norm"] == "layer":
            shapes[f"{name}.bias"] = (d,)

    def attention(name):
        for part in ("query", "key", "value", "output"):
            linear(f"{name}.{part}", d, d)
        norm(f"{name}_norm")

    def feed_forward(name):
        linear(f"{name}.input", d, f)
        if config["gated"]:
            linear(f"{name}.gate", d, f)
        linear(f"{name}.output", f, d)
        norm(f"{name}_norm")

    if config["tied"]:
        shapes["embedding"] = (v, d)
    else:
        for name in ("source_embedding", "target_embedding", "output_projection"):
            shapes[name] = (v, d)
    for i in range(config["encoder_layers"]):
        attention(f"encoder.{i}.self_attention")
        feed_forward(f"encoder.{i}.feed_forward")
    if config["norm_placement"] == "pre":
        norm("encoder.norm")
    for i in range(config["decoder_layers"]):
        attention(f"decoder.{i}.self_attention")
        attention(f"decoder.{i}.cross_attention")
        feed_forward(f"decoder.{i}.feed_forward")
    if config["norm_placement"] == "pre":
        norm("decoder.norm")
    return shapes


def random_parameters(config, generator):
    """Glorot-uniform matrices; gains and biases random too, so that a forgotten one shows."""
    parameters = {}
    for name, shape in parameter_shapes(config).items():
        if name.endswith(".weight"):
            limit = math.sqrt(6 / sum(shape))
            value = (torch.rand(shape, generator=generator, dtype=torch.float64) * 2 - 1) * limit
        else:
            value = torch.randn(shape, generator=generator, dtype=torch.float64)
            if name.endswith(".gain"):
                value = 1 + 0.2 * value
            elif name.endswith(".bias"):
                value = 0.2 * value
            else:
                value = value / math.sqrt(config["d_model"])
        parameters[name] = value
    return parameters


def random_batch(generator):
    def words(count):
        return torch.randint(FIRST_WORD, VOCABULARY, (count,), generator=generator)

    sources = [words(n) for n in SOURCE_LENGTHS]
    targets = [torch.cat([words(n - 1), torch.tensor([EOS])]) for n in TARGET_LENGTHS]
    return sources, targets


# ---- The model, section by section ---------------------------------------------------------------


def position_table(layout, length, d):
    """Section 3.5 and its two relatives, [length, d]."""
    table = torch.zeros(length, d, dtype=torch.float64)
    for p in range(length):
        for k in range(d // 2):
            if layout == "interleaved":  # A: the paper
                angle = p * 10000.0 ** (-2 * k / d)
                table[p, 2 * k], table[p, 2 * k + 1] = math.sin(angle), math.cos(angle)
                continue
            if layout == "halves-marian":  # B: Marian; the last frequency is exactly 1/10000
                angle = p * 10000.0 ** (-k / (d / 2 - 1))
            else:  # C, "halves": the paper's frequencies, sines first
                angle = p * 10000.0 ** (-2 * k / d)
            table[p, k], table[p, d // 2 + k] = math.sin(angle), math.cos(angle)
    return table


class Model:
    """One sentence at a time and no padding: x is [tokens, d_model] throughout."""

    def __init__(self, config, parameters, dtype=torch.float64):
        self.config = config
        self.p = {n: v.detach().to(dtype).clone().requires_grad_() for n, v in parameters.items()}
        self.table = position_table(config["positions"], 60, config["d_model"]).to(dtype)
        self.smallest_kink = math.inf  # how near a ReLU's argument came to zero

    def linear(self, name, x):
        return x @ self.p[f"{name}.weight"] + self.p[f"{name}.bias"]

    def norm(self, name, x):
        epsilon = self.config["norm_epsilon"]
        if self.config["norm"] == "rms":
            return x / torch.sqrt((x * x).mean(-1, keepdim=True) + epsilon) * self.p[f"{name}.gain"]
        centred = x - x.mean(-1, keepdim=True)
        variance = (centred * centred).mean(-1, keepdim=True)
        return centred / torch.sqrt(variance + epsilon) * self.p[f"{name}.gain"] + self.p[f"{name}.bias"]

    def attention(self, name, x, memory, causal):  # section 3.2
        query, key = self.linear(f"{name}.query", x), self.linear(f"{name}.key", memory)
        value = self.linear(f"{name}.value", memory)
        width = self.config["d_model"] // self.config["heads"]
        results = []
        for head in range(self.config["heads"]):
            part = slice(head * width, (head + 1) * width)
            q, k, v = query[:, part], key[:, part], value[:, part]
            if self.config["attention_similarity"] == "gaussian":
                difference = (q[:, None, :] - k[None, :, :]) / self.config["bandwidth"]
                scores = -(difference * difference).sum(-1) / 2
            else:
                scores = q @ k.T / math.sqrt(width)
            if causal:
                future = torch.ones(scores.shape, dtype=torch.bool).triu(1)
                scores = scores.masked_fill(future, -math.inf)
            results.append(torch.softmax(scores, -1) @ v)
        return self.linear(f"{name}.output", torch.cat(results, -1))

    def activation(self, x):
        kind = self.config["activation"]
        if kind == "gelu":  # exact, not the tanh approximation
            return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))
        if kind == "silu":
            return x * torch.sigmoid(x)
        self.smallest_kink = min(self.smallest_kink, x.detach().abs().min().item())
        return torch.relu(x)

    def feed_forward(self, name, x):  # section 3.3
        inner = self.linear(f"{name}.input", x)
        if self.config["gated"]:
            inner = self.activation(self.linear(f"{name}.gate", x)) * inner
        else:
            inner = self.activation(inner)
        return self.linear(f"{name}.output", inner)

    def residual(self, name, x, function):  # section 3.1; pre-norm: Xiong et al., 2020
        if self.config["norm_placement"] == "pre":
            return x + function(self.norm(name, x))
        return self.norm(name, x + function(x))

    def embed(self, side, ids):  # sections 3.4, 3.5
        weights = self.p["embedding" if self.config["tied"] else f"{side}_embedding"]
        return weights[ids] * math.sqrt(self.config["d_model"]) + self.table[: len(ids)]

    def encode(self, source):
        x = self.embed("source", source)
        for i in range(self.config["encoder_layers"]):
            name = f"encoder.{i}.self_attention"
            x = self.residual(f"{name}_norm", x, lambda y: self.attention(name, y, y, False))
            name = f"encoder.{i}.feed_forward"
            x = self.residual(f"{name}_norm", x, lambda y: self.feed_forward(name, y))
        return self.norm("encoder.norm", x) if self.config["norm_placement"] == "pre" else x

    def decode(self, target_input, memory):
        x = self.embed("target", target_input)
        for i in range(self.config["decoder_layers"]):
            name = f"decoder.{i}.self_attention"
            x = self.residual(f"{name}_norm", x, lambda y: self.attention(name, y, y, True))
            name = f"decoder.{i}.cross_attention"
            x = self.residual(f"{name}_norm", x, lambda y: self.attention(name, y, memory, False))
            name = f"decoder.{i}.feed_forward"
            x = self.residual(f"{name}_norm", x, lambda y: self.feed_forward(name, y))
        if self.config["norm_placement"] == "pre":
            x = self.norm("decoder.norm", x)
        return x @ self.p["embedding" if self.config["tied"] else "output_projection"].T

    def logits(self, sources, targets):
        """[target tokens, V] and the encoder's output [source tokens, d_model]."""
        memories = [self.encode(source) for source in sources]
        rows = [self.decode(shifted(t), memory) for t, memory in zip(targets, memories)]
        return torch.cat(rows), torch.cat(memories)


def shifted(target):
    return torch.cat([torch.tensor([BOS]), target[:-1]])


def losses(logits, targets, epsilon=SMOOTHING):
    """Sums over the rows: not smoothed, smoothed as Marian does, smoothed as fairseq does."""
    log_p = torch.log_softmax(logits, -1)
    nll = -log_p[torch.arange(len(targets)), targets].sum()
    everything = -log_p.sum()
    vocabulary = logits.shape[1]
    marian = (1 - epsilon) * nll + epsilon * everything / vocabulary
    share = epsilon / (vocabulary - 1)
    fairseq = (1 - epsilon - share) * nll + share * everything
    return nll, marian, fairseq
