"""`tree_map` and `checkpoint` in programs."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

import flambeau
from flambeau import Tensor
from flambeau.func import grad
from flambeau.utils.checkpoint import checkpoint
from flambeau.utils.pytree import tree_map


class Pair(NamedTuple):
    w: Tensor
    b: Tensor


def error(p: dict[str, Tensor], x: Tensor) -> Tensor:
    return ((x @ p["w"] + p["b"]) ** 2).mean()


def trained(p: dict[str, Tensor], x: Tensor, rate: float):
    m = tree_map(flambeau.zeros_like, p)
    for _ in range(3):
        m = tree_map(lambda m, g: 0.9 * m + g, m, grad(error)(p, x))
        p = tree_map(lambda a, b: a - rate * b, p, m)
    return p


def of_pairs(p: Pair, q: Pair):
    return tree_map(lambda a, b: a * 2 + b, p, q)


def of_nested(p: dict[str, list[Tensor]], t: tuple[Tensor, Pair]):
    return tree_map(lambda a: a + 1, p), tree_map(lambda a: a.sum(), t)


def of_numbers(p: dict[str, float], n: int):
    return tree_map(lambda a: a * n, p)


def blocks(x: Tensor, w: Tensor) -> Tensor:
    def block(x: Tensor, w: Tensor) -> Tensor:
        return flambeau.tanh(x @ w)

    for _ in range(3):
        x = checkpoint(block, x, w, use_reentrant=False)
    return x.sum()


def _drawn(*sizes: int) -> Tensor:
    return (flambeau.arange(float(flambeau.Size(sizes).numel()), dtype=flambeau.float64) * 0.7).sin().reshape(sizes)


X = _drawn(4, 3)
P = {"w": _drawn(3, 2), "b": _drawn(2)}
CALLS = [
    (trained, (P, X, 0.1)),
    (of_pairs, (Pair(_drawn(2), _drawn(3)), Pair(_drawn(2), _drawn(1)))),
    (of_nested, ({"a": [_drawn(2), _drawn(3)], "b": []}, (_drawn(2), Pair(_drawn(2), _drawn(3))))),
    (of_numbers, ({"a": 1.5, "b": -2.0}, 3)),
    (blocks, (X, _drawn(3, 3))),
]


@pytest.mark.parametrize(("program", "arguments"), CALLS)
def test_programs_give_what_python_gives(program: Any, arguments: Any) -> None:
    compiled = flambeau.script(program)
    for _ in range(2):
        flambeau.testing.assert_close(compiled(*arguments), program(*arguments), rtol=1e-10, atol=1e-12)


def test_updates_of_dicts_are_native() -> None:
    compiled = flambeau.script(trained)
    for _ in range(3):
        compiled(P, X, 0.1)
    assert compiled.explain().is_native
    gradient = grad(flambeau.script(blocks), argnums=1)
    flambeau.testing.assert_close(gradient(X, X.T @ X), grad(blocks, argnums=1)(X, X.T @ X))


def of_two(p: dict[str, Tensor], q: dict[str, Tensor]):
    return tree_map(lambda a, b: a + b, p, q)


def of_two_lists(p: list[Tensor], q: list[Tensor]):
    return tree_map(lambda a, b: a + b, p, q)


@pytest.mark.parametrize(
    ("program", "arguments"), [(of_two, (P, {"w": X})), (of_two_lists, ([X], [X, X])), (of_two_lists, ([X, X], [X]))]
)
def test_other_structures_are_refused(program: Any, arguments: Any) -> None:
    for function in (program, flambeau.script(program)):
        with pytest.raises(ValueError, match="mismatch"):
            function(*arguments)


def of_different_kinds(p: dict[str, Tensor], q: list[Tensor]):
    return tree_map(lambda a, b: a + b, p, q)


def by_name(p: dict[str, Tensor]):
    return tree_map(lambda a: a, p, is_leaf=None)


@pytest.mark.parametrize(
    ("program", "message"),
    [(of_different_kinds, "in the same places are of the same kind"), (by_name, "takes a function and trees")],
)
def test_what_programs_do_not_have_of_it(program: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        flambeau.script(program)
