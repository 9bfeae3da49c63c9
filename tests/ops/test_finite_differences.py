"""`gradient` beside NumPy's and PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor

GRID = [[1.0, 2.0, 4.0, 7.0], [3.0, 1.0, 2.0, 2.5], [0.0, 1.0, -1.0, 5.0]]


def cases(library: Any) -> list[dict[str, Any]]:
    places = [library.tensor([0.0, 1.0, 3.0]), library.tensor([0.0, 1.0, 3.0, 3.5])]
    return [
        {}, {"spacing": 2}, {"spacing": 0.5, "dim": 1}, {"dim": (-1,)}, {"spacing": [2.0, 3.0]},
        {"spacing": [2.0], "dim": 0},
        {"spacing": 2.0, "dim": [1, 0]},
        {"spacing": places}, {"spacing": places[::-1], "dim": (1, 0)},
        {"spacing": (places[1],), "dim": -1},
    ]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "complex64"])
@pytest.mark.parametrize("edge_order", [1, 2])
@pytest.mark.parametrize("case", range(len(cases(flambeau))))
def test_same_as_torch(case: int, edge_order: int, dtype: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    mine, theirs = (
        library.gradient(
            library.tensor(GRID).to(getattr(library, dtype)), edge_order=edge_order, **cases(library)[case]
        )
        for library in (flambeau, torch)
    )
    assert len(mine) == len(theirs)
    for a, b in zip(mine, theirs, strict=True):
        assert str(a.dtype).rpartition(".")[2] == str(b.dtype).rpartition(".")[2]
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-6)


def test_programs_and_gradients() -> None:
    def slope(x: Tensor, h: float) -> Tensor:
        return flambeau.gradient(x, spacing=h, dim=0, edge_order=2)[0]

    x = flambeau.linspace(0, 1, 8, dtype=flambeau.float64) ** 2
    for run in (slope, flambeau.script(slope)):
        np.testing.assert_allclose(run(x, 1 / 7).numpy(), 2 * np.linspace(0, 1, 8), atol=1e-12)
    rows = flambeau.stack([x, 2 * x])
    assert flambeau.vmap(lambda r: slope(r, 0.5))(rows)[1].tolist() == (2 * slope(x, 0.5)).tolist()
    assert flambeau.autograd.gradcheck(lambda x: flambeau.gradient(x, edge_order=2), (x.requires_grad_(),))


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({"edge_order": 0}, RuntimeError, "only supports edge_order=1 and edge_order=2"),
        ({"dim": 2}, IndexError, r"expected to be in range of \[-2, 1\], but got 2"),
        ({"dim": (1, -1)}, RuntimeError, "dim 1 appears multiple times"),
        ({"spacing": [1.0]}, RuntimeError, "but got a list of length 1"),
        ({"spacing": (flambeau.ones(2),), "dim": 0}, RuntimeError, r"same length as the dimension .* got \[2\] for 3"),
    ],
)
def test_refused(given: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        flambeau.gradient(flambeau.tensor(GRID), **given)
    with pytest.raises(RuntimeError, match=r"at least edge_order\+1"):
        flambeau.gradient(flambeau.ones(2), edge_order=2)
