"""Pieces, repetitions, borders, orders and bags: the same in native code as interpreted, and as PyTorch has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from tests.codegen.graph.one_meaning import agree

X = np.arange(2 * 4 * 6, dtype=np.float32).reshape(2, 4, 6)
LAST = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 4, 5, 3).transpose(0, 3, 1, 2)
F = "flambeau."


def given(array: np.ndarray) -> Callable[[], tuple[Any, ...]]:
    return lambda: (flambeau.from_numpy(array.copy("K")),)


@pytest.mark.parametrize(
    "body",
    [
        "a, b = x.unsafe_chunk(2, 1); return a + b",
        "a, b = x.unsafe_chunk(2, 1); a.add_(1.0); return x, b",
        "a, b = x.unsafe_split(2, 1); x.mul_(2.0); return a, b",
        "y = x * 2.0; a, b = y.unsafe_chunk(2, 1); a.add_(1.0); y.mul_(3.0); return y, a + b",
        "a, b = x.unsafe_split_with_sizes([1, 3], 1); return a, b",
        "a, b = x.unbind(0); a.add_(b); return x, a",
        "a, b, c, d = x.unbind(-2); return d, a + b * c",
        "a, b = x.unbind(1); return a",
        "return x[:, :1].expand_as(x), x.broadcast_to([3, 2, 4, 6]), x[0].expand_as(x)",
        "return x[:, :2].expand_as(x)",
        "return x.repeat([2, 1, 3]), x.repeat([2, 1, 1, 2]), x.transpose(0, 2).repeat([1, 0, 2])",
        "return x.repeat([2, -1, 3])",
        "n = x.size(1); return any([n - 4, n - 4]), all([n, n - 4]), any([n, 0])",
    ],
)
def test_one_meaning(body: str) -> None:
    lines = "\n".join(f"    {part.strip()}" for part in body.split(";"))
    has_copies = "unsafe" in body and "a + b" not in body
    agree(f"def f(x: Tensor):\n{lines}\n", given(X), is_native=not has_copies)
    if "unsafe" not in body:
        agree(f"def f(x: Tensor):\n{lines}\n", given(X.transpose(0, 1, 2)[:, :, ::2]))


@pytest.mark.parametrize("array", [LAST, LAST.copy(), LAST[:, :, ::2], LAST[:, :0], LAST[:1, :1]])
def test_borders(array: np.ndarray) -> None:
    pad = F + "nn.functional.pad"
    agree(
        f"""
def f(x: Tensor, n: int):
    a = {pad}(x, [1, n]), {pad}(x, [-1, n, 0, 2], "constant", 1.5), {pad}(x, [0, 0, -n, -1, 2, 0], value=0.1)
    return a, {pad}(x[0, 0], [n, n, n, n])
""",
        lambda: (flambeau.from_numpy(array.copy("K")), 1),
    )


def test_more_is_cut_off_than_there_is() -> None:
    for n in (-3, -4, -5):
        agree(
            f"def f(x: Tensor, n: int):\n    return {F}nn.functional.pad(x, [n, 0, 0, n])\n",
            lambda n=n: (flambeau.from_numpy(LAST.copy()), n),
        )


@pytest.mark.parametrize("order", [(2, 0, 1), (0, 2, 1), (-1, 0, -2), (0, 0, 1), (3, 0, 1), (-4, 0, 1), (1, 2, -2)])
def test_an_order_that_only_the_call_tells(order: tuple[int, ...]) -> None:
    agree(
        "def f(x: Tensor, a: int, b: int, c: int):\n    y = x.permute([a, b, c])\n    return y, y + 1.0\n",
        lambda: (flambeau.from_numpy(X.copy()), *order),
    )


BAGS = (
    ([1, 3, 3, 0, 2], [0, 2, 2]), ([1, -1], [0]), ([4], [0]), ([], [0, 0]), ([1, 2], [1]), ([1, 2], [0, 3]), ([0], []),
    ([1, 2, 3], [0, 2, 1]), ([], []),
)  # fmt: skip


@pytest.mark.parametrize(("rows", "starts"), BAGS)
def test_bags(rows: list[int], starts: list[int]) -> None:
    table = np.array([[0.5, 1.5], [2.0, -3.0], [0.25, 8.0], [1.0, 0.0]], np.float32)

    def arguments() -> tuple[Tensor, ...]:
        longs = [flambeau.tensor(a, dtype=flambeau.int64) for a in (rows, starts)]
        return flambeau.from_numpy(table.copy()), *longs

    agree(
        "def f(t: Tensor, r: Tensor, o: Tensor):\n"
        "    a, b, c, d = flambeau.embedding_bag(t, r, o)\n    return a\n",
        arguments,
    )  # fmt: skip


@pytest.mark.parametrize("step", [1, 2, 5, 100, 1 << 40, 0, -1])
def test_a_step_that_only_the_call_tells(step: int) -> None:
    agree(
        "def f(x: Tensor, n: int):\n    y = (x[:, ::n] + 1.0).flatten(1)\n"
        "    return y, x[1:, 1::n, :0].size(1), x[:, 3:2:n].size(1)\n",
        lambda: (flambeau.from_numpy(X.copy()), step),
    )


def test_items_of_sizes() -> None:
    agree(
        "def f(x: Tensor):\n    n = x.size()\n    a, b = n[-2:]\n    c, d = n[:3:2]\n"
        "    return a, b, c, d, len(n[5:])\n",
        given(X),
    )


def test_few_operators_without_native_form_among_many_nodes() -> None:
    """The rest is native code all the same, and `explain` names them."""
    steps = "\n".join(f"    x = x.transpose(0, 1).reshape([4, 4]) * {k}.5" for k in range(30))
    source = f"def f(x: Tensor):\n{steps}\n    y = flambeau.matrix_exp(x)\n    return y.t() + 1.0\n"
    agree(source, lambda: (flambeau.from_numpy(np.linspace(0, 1e-30, 16, dtype=np.float32).reshape(4, 4)),))
    function = flambeau.CompilationUnit(source).f
    for _ in range(6):
        function(flambeau.ones(4, 4))
    found = function.explain(measure=False)
    assert not found.is_native
    assert [i.kind for i in found.interpreted] == ["aten::matrix_exp"]
    few = flambeau.CompilationUnit("def f(x: Tensor):\n    return flambeau.matrix_exp(x.t() + 1.0).t() * 2.0\n").f
    for _ in range(6):
        few(flambeau.ones(4, 4))
    assert "no loop makes up for" in str(few.explain(measure=False))


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, -0.1, 1.5, float("nan")])
def test_dropout_outside_of_training(p: float) -> None:
    agree(
        "def f(x: Tensor, p: float):\n"
        "    y = x.t()\n    return flambeau.dropout(y, p, False) + 1.0, flambeau.dropout(x * 2.0, p, False)\n",
        lambda: (flambeau.from_numpy(X[0].copy()), p),
    )  # fmt: skip
