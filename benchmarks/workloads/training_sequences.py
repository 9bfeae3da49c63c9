"""Networks for sequences, words and vectors in training, over a library that has PyTorch's names."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Program = tuple[Any, Callable[[Any], Any], Callable[[Any], Any]]
"""A module, its loss by the module, and its optimiser by the parameters; of either library."""


def tagger(T: Any, rng: np.random.Generator, f: str) -> Program:
    """An LSTM in both directions over a packed batch."""
    nn, F = T.nn, T.nn.functional
    rnn = nn.utils.rnn

    class Tagger(nn.Module):

        def __init__(self):
            super().__init__()
            self.emb = nn.Embedding(50, 16, padding_idx=0)
            self.lstm = nn.LSTM(16, 24, batch_first=True, bidirectional=True, num_layers=1)
            self.fc = nn.Linear(48, 7)

        def forward(self, x, lengths):
            e = self.emb(x)
            packed = rnn.pack_padded_sequence(e, lengths, batch_first=True, enforce_sorted=False)
            out, _ = self.lstm(packed)
            out, _ = rnn.pad_packed_sequence(out, batch_first=True)
            return self.fc(out)
    L = np.array([9, 5, 7, 3])
    X = rng.integers(1, 50, (4, 9))
    Y = rng.integers(0, 7, (4, 9))
    for k, n in enumerate(L):
        X[k, n:] = 0
        Y[k, n:] = -100
    x, n, y = (T.tensor(X), T.tensor(L), T.tensor(Y))
    return (
        Tagger(), lambda m: F.cross_entropy(m(x, n).reshape(-1, 7), y.reshape(-1), ignore_index=-100),
        lambda p: T.optim.Adam(p, lr=0.01),
    )  # fmt: skip


def seq2seq(T: Any, rng: np.random.Generator, f: str) -> Program:
    """A GRU that reads, and one that writes step by step under teacher forcing."""
    nn, F = T.nn, T.nn.functional

    class Seq(nn.Module):

        def __init__(self):
            super().__init__()
            self.emb = nn.Embedding(30, 16)
            self.enc = nn.GRU(16, 24, batch_first=True)
            self.cell = nn.GRUCell(16, 24)
            self.out = nn.Linear(24, 30)

        def forward(self, src, tgt):
            _, h = self.enc(self.emb(src))
            h = h[0]
            outs = []
            for t in range(tgt.size(1) - 1):
                h = self.cell(self.emb(tgt[:, t]), h)
                outs.append(self.out(h))
            return T.stack(outs, dim=1)
    s, t = (T.tensor(rng.integers(0, 30, (6, 8))), T.tensor(rng.integers(0, 30, (6, 9))))
    return (
        Seq(), lambda m: F.cross_entropy(m(s, t).flatten(0, 1), t[:, 1:].flatten()),
        lambda p: T.optim.Adam(p, lr=0.005),
    )  # fmt: skip


def transformer(T: Any, rng: np.random.Generator, f: str) -> Program:
    """A decoder of two layers written out, with a causal mask and tied weights."""
    nn, F = T.nn, T.nn.functional

    class Layer(nn.Module):

        def __init__(self, d: int, h: int):
            super().__init__()
            self.h = h
            self.qkv = nn.Linear(d, 3 * d)
            self.proj = nn.Linear(d, d)
            self.ln1 = nn.LayerNorm(d)
            self.ln2 = nn.LayerNorm(d)
            self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d), nn.Dropout(0.0))
            self.drop = nn.Dropout(0.0)

        def forward(self, x):
            B, L, D = x.size()
            q, k, v = self.qkv(self.ln1(x)).chunk(3, dim=-1)
            q = q.view(B, L, self.h, D // self.h).transpose(1, 2)
            k = k.view(B, L, self.h, D // self.h).transpose(1, 2)
            v = v.view(B, L, self.h, D // self.h).transpose(1, 2)
            mask = T.triu(T.ones(L, L, dtype=T.bool), diagonal=1)
            att = q @ k.transpose(-2, -1) / (D // self.h) ** 0.5
            att = att.masked_fill(mask, float("-inf"))
            att = self.drop(F.softmax(att, dim=-1))
            y = (att @ v).transpose(1, 2).contiguous().view(B, L, D)
            x = x + self.drop(self.proj(y))
            return x + self.mlp(self.ln2(x))

    class GPT(nn.Module):

        def __init__(self):
            super().__init__()
            self.tok = nn.Embedding(40, 32)
            self.pos = nn.Embedding(16, 32)
            self.layers = nn.ModuleList([Layer(32, 4) for _ in range(2)])
            self.ln = nn.LayerNorm(32)
            self.head = nn.Linear(32, 40, bias=False)
            self.head.weight = self.tok.weight

        def forward(self, idx):
            x = self.tok(idx) + self.pos(T.arange(idx.size(1)))
            for layer in self.layers:
                x = layer(x)
            return self.head(self.ln(x))
    d = rng.integers(0, 40, (4, 17))
    x, y = (T.tensor(d[:, :-1].copy()), T.tensor(d[:, 1:].copy()))

    def opt(p):
        return T.optim.AdamW(p, lr=0.001, betas=(0.9, 0.95), weight_decay=0.1)
    return (GPT(), lambda m: F.cross_entropy(m(x).view(-1, 40), y.reshape(-1)), opt)


def encoder(T: Any, rng: np.random.Generator, f: str) -> Program:
    """The library"s encoder layers under a causal mask."""
    nn, F = T.nn, T.nn.functional

    class Enc(nn.Module):

        def __init__(self):
            super().__init__()
            layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
            self.enc = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.fc = nn.Linear(32, 5)

        def forward(self, x, mask):
            return self.fc(self.enc(x, mask=mask).mean(1))
    x, y = (T.tensor(rng.standard_normal((4, 12, 32)).astype(f)), T.tensor(rng.integers(0, 5, 4)))
    mask = T.triu(T.full((12, 12), float("-inf"), dtype=getattr(T, f)), diagonal=1)
    return (Enc(), lambda m: F.cross_entropy(m(x, mask), y), lambda p: T.optim.SGD(p, lr=0.05, momentum=0.9))


def vae(T: Any, rng: np.random.Generator, f: str) -> Program:
    """A variational autoencoder."""
    nn, F = T.nn, T.nn.functional

    class VAE(nn.Module):

        def __init__(self):
            super().__init__()
            self.e = nn.Linear(100, 64)
            self.mu = nn.Linear(64, 8)
            self.lv = nn.Linear(64, 8)
            self.d1 = nn.Linear(8, 64)
            self.d2 = nn.Linear(64, 100)

        def encode(self, x):
            h = F.relu(self.e(x))
            return (self.mu(h), self.lv(h))

        def forward(self, x, eps):
            mu, logvar = self.encode(x)
            std = T.exp(0.5 * logvar)
            z = mu + eps * std
            return (T.sigmoid(self.d2(F.relu(self.d1(z)))), mu, logvar)
    x = T.tensor(rng.random((32, 100)).astype(f))
    eps = T.tensor(rng.standard_normal((32, 8)).astype(f))

    def loss(m):
        r, mu, lv = m(x, eps)
        return (F.binary_cross_entropy(r, x, reduction="sum") - 0.5 * T.sum(1 + lv - mu.pow(2) - lv.exp())) / 32
    return (VAE(), loss, lambda p: T.optim.Adam(p, lr=0.001))


def contrastive(T: Any, rng: np.random.Generator, f: str) -> Program:
    """Normalised projections of two views, compared with each other."""
    nn, F = T.nn, T.nn.functional

    class SimCLR(nn.Module):

        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(40, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 16))
            self.t = nn.Parameter(T.tensor(0.07).log())

        def forward(self, a, b):
            z = F.normalize(self.net(T.cat([a, b], 0)), dim=1)
            sim = z @ z.t() / self.t.exp()
            n = z.size(0)
            sim = sim.masked_fill(T.eye(n, dtype=T.bool), float("-inf"))
            target = (T.arange(n) + n // 2) % n
            return F.cross_entropy(sim, target)
    a, b = (T.tensor(rng.standard_normal((24, 40)).astype(f)) for _ in range(2))
    return (SimCLR(), lambda m: m(a, b), lambda p: T.optim.Adam(p, lr=0.001))


def bag(T: Any, rng: np.random.Generator, f: str) -> Program:
    """A classifier of bags of words."""
    nn, F = T.nn, T.nn.functional

    class Bag(nn.Module):

        def __init__(self):
            super().__init__()
            self.emb = nn.EmbeddingBag(100, 32, mode="mean")
            self.fc = nn.Linear(32, 4)

        def forward(self, text, offsets):
            return self.fc(self.emb(text, offsets))
    text = T.tensor(rng.integers(0, 100, 60))
    off = T.tensor(np.array([0, 10, 12, 30, 31, 45]))
    y = T.tensor(rng.integers(0, 4, 6))
    return (Bag(), lambda m: F.cross_entropy(m(text, off), y), lambda p: T.optim.SGD(p, lr=1.0))


def mdn(T: Any, rng: np.random.Generator, f: str) -> Program:
    """A mixture of densities."""
    nn, F = T.nn, T.nn.functional

    class MDN(nn.Module):

        def __init__(self):
            super().__init__()
            self.h = nn.Sequential(nn.Linear(1, 32), nn.Tanh())
            self.pi = nn.Linear(32, 5)
            self.mu = nn.Linear(32, 5)
            self.s = nn.Linear(32, 5)

        def forward(self, x):
            h = self.h(x)
            return (F.log_softmax(self.pi(h), -1), self.mu(h), F.softplus(self.s(h)) + 0.001)
    x, y = (T.tensor(rng.standard_normal((64, 1)).astype(f)) for _ in range(2))

    def loss(m):
        lp, mu, s = m(x)
        ll = -0.5 * ((y - mu) / s) ** 2 - s.log() - 0.5 * math.log(2 * math.pi)
        return -T.logsumexp(lp + ll, dim=1).mean()
    return (MDN(), loss, lambda p: T.optim.AdamW(p, lr=0.01))


def mlp(T: Any, rng: np.random.Generator, f: str) -> Program:
    """A perceptron with batch norm."""
    nn, F = T.nn, T.nn.functional

    class MLP(nn.Module):

        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(
                nn.Linear(64, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, 128), nn.BatchNorm1d(128),
                nn.ReLU(), nn.Linear(128, 10),
            )  # fmt: skip

        def forward(self, x):
            return self.net(x)
    x, y = (T.tensor(rng.standard_normal((64, 64)).astype(f)), T.tensor(rng.integers(0, 10, 64)))
    return (MLP(), lambda m: F.cross_entropy(m(x), y), lambda p: T.optim.Adam(p, lr=0.001))


PROGRAMS = (tagger, seq2seq, transformer, encoder, vae, contrastive, bag, mdn, mlp)
