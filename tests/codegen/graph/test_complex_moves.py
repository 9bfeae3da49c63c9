"""New complex tensors, moved ones, and numbers put where masks and integers say, in native code."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from tests.codegen.graph.one_meaning import Arguments, agree


def whole(*sizes: int, seed: int = 0) -> flambeau.Tensor:
    parts = np.random.default_rng(seed).integers(-4, 5, (2, *sizes)).astype(float)
    return flambeau.from_numpy(parts[0] + 1j * parts[1])


CASES: dict[str, tuple[str, Arguments]] = {
    "new": ("""
def f(n: int, z: complex) -> List[Tensor]:
    c = flambeau.complex64
    return [flambeau.ones(n, dtype=c), flambeau.full([n, 2], 1j), flambeau.full([n], z), flambeau.eye(n, dtype=c),
            flambeau.full([n], 2.5, dtype=c), flambeau.zeros(n, dtype=c), flambeau.tensor([1j, 2.0 + z, z]),
            flambeau.tensor(z)]
""", lambda: (3, 1.5 - 2j)),
    "like others": ("""
def f(x: Tensor) -> List[Tensor]:
    return [flambeau.ones_like(x), flambeau.full_like(x, 1j), flambeau.zeros_like(x), flambeau.full_like(x, 2)]
""", lambda: (whole(2, 3),)),
    "moved": ("""
def f(x: Tensor) -> List[Tensor]:
    a, b = x.chunk(2, 1)
    return [x.flip(0), x.roll(1, 0), x.flip([0, 1]), x.repeat(2, 1), x.flatten(), x.mT.contiguous(), a + b,
            x.diagonal() * 1, x[:, [2, 0]], x.split(1)[1] * 1, x.unfold(1, 2, 1) * 1, x.expand(2, 2, 4) * 1,
            flambeau.diag_embed(x), x.slice_scatter(x[:, :2], 1, 2, 4)]
""", lambda: (whole(2, 4),)),
    "elements": ("""
def f(x: Tensor, k: Tensor) -> Tensor:
    s = x[0] * 0
    for i in range(len(k)):
        s = s + x[k[i]]
    return s
""", lambda: (whole(5), flambeau.tensor([3, 0, 3]))),
    "masks": ("""
def f(x: Tensor) -> Tensor:
    y = x.clone()
    y[y.real > 0] = 0
    y[y.imag > 0] *= 1j
    y[y.abs() == 0] = 2 - 1j
    return y
""", lambda: (whole(4, 5),)),
    "rows": ("""
def f(x: Tensor, rows: Tensor) -> Tensor:
    y = x.clone()
    y[rows] = x[0]
    y[rows, 1] = 1j
    return y
""", lambda: (whole(4, 5), flambeau.tensor([2, 1]))),
    "filled": ("""
def f(x: Tensor, z: complex) -> Tensor:
    y = x.clone()
    y[0].fill_(z)
    y[1].zero_()
    y[:, 2].fill_(2)
    return y
""", lambda: (whole(4, 5), 2j)),
    "in place": ("""
def f(x: Tensor) -> Tensor:
    y = x.clone()
    y.exp_()
    y[0].mul_(x[1])
    y.sqrt_()
    return y
""", lambda: (whole(4, 5) * 0,)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_native_code_gives_what_the_operators_give(name: str) -> None:
    agree(*CASES[name])
