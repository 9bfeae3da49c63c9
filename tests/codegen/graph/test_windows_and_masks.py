"""Windows along an axis, masks of several axes, ranges of floats: as the interpreter has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available
from tests.codegen.graph.one_meaning import agree

pytestmark = pytest.mark.skipif(not available(), reason="needs native code")
X = np.arange(24.0).reshape(4, 6)


@pytest.mark.parametrize(("size", "step"), [(2, 1), (6, 1), (3, 2), (0, 3), (1, 100), (7, 1), (2, 0), (2, -1), (-1, 1)])
def test_windows(size: int, step: int) -> None:
    """A view: what is written through it is seen."""
    source = (
        "def f(x: Tensor, n: int, k: int):\n    x = x * 1.0\n"
        "    y, z = x.unfold(1, n, k), x.t().unfold(-2, n, k)\n"
        "    x[0, 0] = 7.0\n    return y, z\n"
    )
    agree(source, lambda: (flambeau.from_numpy(X.copy()), size, step))


@pytest.mark.parametrize("shape", [(4, 6), (4,), (4, 5), (0, 6), (4, 0)])
def test_masks(shape: tuple[int, ...]) -> None:
    """One of other sizes is refused."""
    mask = np.arange(int(np.prod(shape))).reshape(shape) % 3 == 0
    x = X if 0 not in shape else np.zeros(shape)

    def given() -> tuple[Any, ...]:
        return flambeau.from_numpy(x.copy()), flambeau.from_numpy(mask.copy())

    agree("def f(x: Tensor, m: Tensor):\n    return x[m], x.t()[m.t()] if m.dim() == 2 else x[m]\n", given)
    if len(shape) == 2:
        body = "    y = flambeau.stack([x, x + 1.0], 2)\n    return y[m], y.exp()[m].sum()\n"
        agree(f"def f(x: Tensor, m: Tensor):\n{body}", given)


@pytest.mark.parametrize(
    ("low", "high", "step"),
    [(0.0, 1.0, 0.25), (1.0, -1.0, -0.3), (0.0, 0.0, 1.0), (-0.0, 3.0, 1.0), (0.1, 0.7, 0.1), (0.0, 1.0, -1.0),
     (1.0, 0.0, 0.5), (0.0, float("inf"), 1.0), (float("nan"), 1.0, 1.0), (0.0, 5.0, float("inf")), (0.0, 1.0, 0.0),
     (0.0, 1e-320, -1e300)],
)  # fmt: skip
def test_ranges_of_floats(low: float, high: float, step: float) -> None:
    source = (
        "def f(a: float, b: float, c: float):\n    y = flambeau.arange(a, b, c, dtype=flambeau.float64)\n"
        "    return y, flambeau.arange(a, b, c)\n"
    )
    agree(source, lambda: (low, high, step))


def test_copies_that_are_asked_for() -> None:
    """A copy is written to without changing what it is of."""
    source = (
        "def f(x: Tensor, c: bool):\n    y = x.to(flambeau.float64, copy=True)\n    y[0, 0] = 7.0\n"
        "    z = x.t().to(flambeau.device('cpu'), flambeau.float64, copy=True)\n"
        "    n = x.sum().to(flambeau.float64, copy=True)\n    return y, z, n, x.to(flambeau.float64)\n"
    )
    agree(source, lambda: (flambeau.from_numpy(X.copy()), True))
