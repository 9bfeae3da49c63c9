"""Functions that call functions: which one, how often, along which slices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, cond
from flambeau.func.control_flow import associative_scan, map, scan, while_loop

ROWS = flambeau.arange(6.0).reshape(3, 2)


def test_one_of_two() -> None:
    x = flambeau.tensor([2.0], requires_grad=True)
    for pred, wanted in ((True, 3.0), (flambeau.tensor([0]), 2.0), (x > 1, 3.0)):
        result = cond(pred, lambda x: x * 3, lambda x: x * x / 2, (x,))
        (grad,) = flambeau.autograd.grad(result, x)
        assert grad.item() == wanted
    assert cond(False, lambda: 1, lambda: 2) == 2


WRONG: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "several": (lambda: cond(ROWS > 1, abs, abs, (ROWS,)), RuntimeError, "bool or single-element tensor"),
    "a text": (lambda: cond("a", abs, abs, (ROWS,)), RuntimeError, "bool or tensor, but got a"),  # type: ignore[arg-type]
    "no tuple": (lambda: cond(True, abs, abs, ROWS), RuntimeError, "operands to be a tuple"),  # type: ignore[arg-type]
    "no function": (lambda: cond(True, 3, abs, (ROWS,)), TypeError, "functions to call, but got 3"),  # type: ignore[arg-type]
    "sizes": (lambda: while_loop(lambda x: True, lambda x: x[:1], (ROWS,)), RuntimeError, "keeps its sizes"),
    "dtypes": (lambda: while_loop(lambda x: True, lambda x: x > 0, (ROWS,)), RuntimeError, "keeps its dtypes"),
    "fewer": (lambda: while_loop(lambda a, b: True, lambda a, b: (a,), (ROWS, ROWS)), RuntimeError, "its places"),
    "a tensor": (lambda: while_loop(lambda x: True, abs, ROWS), RuntimeError, "a tuple or list"),  # type: ignore[arg-type]
    "no rows": (lambda: map(abs, ROWS[:0]), RuntimeError, "cannot be 0"),
    "a number": (lambda: map(abs, flambeau.tensor(1.0)), RuntimeError, "cannot be 0, or missing"),
    "unequal": (lambda: map(lambda t: t[0], (ROWS, ROWS[:1])), RuntimeError, "must be consistent"),
    "structures": (lambda: map(lambda t: [t] * (1 + int(t[0])), ROWS), RuntimeError, "one structure"),
    "no pair": (lambda: scan(lambda c, v: c, ROWS[0], ROWS), RuntimeError, "next state and a result"),
    "state": (lambda: scan(lambda c, v: (c[:1], v), ROWS[0], ROWS), RuntimeError, "keeps its sizes"),
    "dimension": (lambda: associative_scan(lambda a, b: a, ROWS, 2), IndexError, r"range of \[-2, 1\], but got 2"),
    "mode": (lambda: associative_scan(lambda a, b: a, ROWS, 0, combine_mode="x"), ValueError, "but got x"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_calls(name: str) -> None:
    run, error, message = WRONG[name]
    with pytest.raises(error, match=message):
        run()


def test_while() -> None:
    def body(i: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        return i + 1, x * 2

    x = flambeau.ones(1, requires_grad=True)
    count, result = while_loop(lambda i, x: i < 3, body, (flambeau.tensor(0), x))
    result.backward()
    assert (count.item(), result.item(), x.grad.item()) == (3, 8.0, 8.0)
    assert while_loop(lambda i: i < 3, lambda i: i + 1, [0]) == [3]
    assert while_loop(lambda i: False, lambda i: i + 1, (0,)) == (0,)


def test_map() -> None:
    doubled, sums = map(lambda pair, by: (pair["x"] * by, pair["x"].sum()), {"x": ROWS}, 2.0)
    assert flambeau.equal(doubled, ROWS * 2)
    assert sums.tolist() == [1.0, 5.0, 9.0]


@pytest.mark.parametrize(("dim", "reverse"), [(0, False), (0, True), (1, False), (-1, True)])
def test_scan(dim: int, reverse: bool) -> None:
    x = ROWS.flip(dim) if reverse else ROWS
    first = flambeau.zeros(x.shape[1 - dim % 2])
    state, results = scan(lambda c, v: (c + v, c * v), first, ROWS, dim=dim, reverse=reverse)
    before = x.cumsum(dim) - x
    assert flambeau.equal(state, ROWS.sum(dim))
    assert flambeau.equal(results.flip(dim) if reverse else results, before * x)


@pytest.mark.parametrize(("dim", "reverse"), [(0, False), (1, True)])
def test_associative_scan(dim: int, reverse: bool) -> None:
    x = ROWS.flip(dim) if reverse else ROWS
    wanted = x.cumsum(dim).flip(dim) if reverse else x.cumsum(dim)
    assert flambeau.equal(associative_scan(lambda a, b: a + b, ROWS, dim, reverse), wanted)
    turns = flambeau.tensor([[0.0, 1.0], [-1.0, 0.0]]).expand(4, 2, 2)
    products = associative_scan(lambda a, b: a @ b, turns, 0, combine_mode="generic")
    assert flambeau.equal(products[3], flambeau.eye(2))


def test_batches_and_names() -> None:
    import flambeau._higher_order_ops as others

    assert others.scan is scan
    sums = flambeau.vmap(lambda x: scan(lambda c, v: (c + v, c), flambeau.zeros(2), x)[0])(ROWS.expand(2, 3, 2))
    assert sums.tolist() == [[6.0, 9.0]] * 2
