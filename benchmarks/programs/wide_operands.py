"""The operands of calls as real programs make them, for any library with PyTorch's names: equal numbers in each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


class WideOperands:
    """Small tensors, and modules of fixed weights, that ask for gradients or do not."""

    def __init__(self, library: Any, *, asks: bool) -> None:
        self.L, self.F, self.nn = library, library.nn.functional, library.nn
        self._rng = np.random.default_rng(0)
        self._asks = asks
        self.leaves: list[Any] = []
        self._vectors_and_matrices()
        self._images()
        self._integers()
        self._modules()

    def floats(self, *sizes: int, between: bool = False) -> Any:
        """Normal numbers, or ones from 0.1 up to 0.95."""
        array = self._rng.standard_normal(sizes).astype(np.float32)
        if between:
            array = (np.abs(array) * 0.3 + 0.1).clip(0, 0.95).astype(np.float32)
        tensor = self.L.from_numpy(array)
        if self._asks:
            self.leaves.append(tensor.requires_grad_())
        return tensor

    def integers(self, low: int, high: int, *sizes: int) -> Any:
        """Integers from `low` up to `high`."""
        return self.L.from_numpy(self._rng.integers(low, high, sizes))

    def module(self, module: Any) -> Any:
        """A module with small weights."""
        state = module.state_dict()
        for name, tensor in state.items():
            if tensor.dtype == self.L.float32 and "running" not in name:
                drawn = self._rng.standard_normal(tuple(tensor.shape)) * 0.1
                state[name] = self.L.from_numpy(drawn.astype(np.float32))
        module.load_state_dict(state)
        for parameter in module.parameters():
            parameter.requires_grad_(self._asks)
        if self._asks:
            self.leaves += list(module.parameters())
        return module

    def _vectors_and_matrices(self) -> None:
        floats = self.floats
        self.s8, self.s8b, self.v, self.w, self.one = floats(8), floats(8), floats(64), floats(64), floats(1)
        self.x, self.y, self.big = floats(32, 64), floats(32, 64), floats(1000, 100)
        self.p, self.q = floats(32, 64, between=True), floats(32, 64, between=True)
        self.W, self.Wb, self.table = floats(16, 64), floats(16), floats(50, 16)
        self.sq, self.rhs, self.x3 = floats(8, 8), floats(8, 3), floats(8, 16, 32)
        self.A, self.B, self.h, self.c = floats(4, 8, 16), floats(4, 16, 8), floats(32, 16), floats(32, 16)
        self.xd, self.yd, self.pd = self.x.detach(), self.y.detach(), self.p.detach()
        self.sc = floats(1).detach()[0]

    def _images(self) -> None:
        self.im, self.seq, self.vol = self.floats(4, 8, 16, 16), self.floats(4, 8, 32), self.floats(2, 4, 6, 8, 8)
        self.fil, self.fb, self.fil1 = self.floats(8, 8, 3, 3), self.floats(8), self.floats(8, 8, 3)
        self.fil3, self.img1 = self.floats(4, 4, 3, 3, 3), self.floats(8, 1, 28, 28)

    def _integers(self) -> None:
        self.cls, self.tok, self.rows = self.integers(0, 64, 32), self.integers(0, 50, 8, 16), self.integers(0, 32, 20)
        self.cols, self.seg = self.integers(0, 64, 32, 5), self.integers(0, 8, 32)
        self.i, self.j = self.integers(-10, 10, 32, 64), self.integers(1, 10, 32, 64)
        self.mask, self.b, self.rm = self.xd > 0, self.i > 0, self.integers(0, 2, 32) > 0

    def _modules(self) -> None:
        n, module = self.nn, self.module
        self.lin, self.prelu, self.bil = module(n.Linear(64, 16)), module(n.PReLU()), module(n.Bilinear(64, 64, 4))
        self.bn1, self.bn2, self.ln = module(n.BatchNorm1d(64)), module(n.BatchNorm2d(8)), module(n.LayerNorm(64))
        self.bn1e, self.bn2e = module(n.BatchNorm1d(64)).eval(), module(n.BatchNorm2d(8)).eval()
        self.gn, self.inn, self.rms = (
            module(n.GroupNorm(4, 8)), module(n.InstanceNorm2d(8, affine=True)), module(n.RMSNorm(64)),
        )  # fmt: skip
        self.conv, self.conv1 = module(n.Conv2d(8, 8, 3, padding=1)), module(n.Conv1d(8, 8, 3, padding=1))
        self.convt, self.emb = module(n.ConvTranspose2d(8, 8, 2, stride=2)), module(n.Embedding(50, 16))
        self.bag, self.lcell, self.gcell = (
            module(n.EmbeddingBag(50, 16)), module(n.LSTMCell(64, 16)), module(n.GRUCell(64, 16)),
        )  # fmt: skip
        self.lstm, self.gru = module(n.LSTM(32, 16, batch_first=True)), module(n.GRU(32, 16, batch_first=True))
        self.mha = module(n.MultiheadAttention(32, 4, batch_first=True))
        self.enc = module(n.TransformerEncoderLayer(32, 4, 64, 0.0, batch_first=True))
        self.mlp = module(n.Sequential(n.Linear(64, 64), n.ReLU(), n.Linear(64, 16)))
        self.drop, self.sm = n.Dropout(0.0), n.Softmax(-1)


def written(write: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """A call that writes to a copy of a tensor, which may ask for gradients."""

    def call(operands: Any) -> Any:
        copy = operands.x.clone()
        write(operands, copy)
        return copy

    return call


def in_place(write: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """A call that writes to a tensor that asks for none."""

    def call(operands: Any) -> Any:
        write(operands, operands.xd)
        return operands.xd

    return call
