"""Operators by integers and masks that plans write as others: NumPy's answers, natively, of tensors that lie anyhow."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available

pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")

Array = np.ndarray[Any, Any]
MATRIX = np.arange(12.0).reshape(3, 4)
CUBE = np.arange(-12.0, 12.0).reshape(2, 3, 4)
MASK = np.arange(12).reshape(3, 4) % 3 == 0
ODD = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 2.5])


def filled(x: Array, index: Array, value: float, axis: int) -> Array:
    result = x.copy()
    result[(*[slice(None)] * axis, index)] = value
    return result


def put(x: Array, index: Array, source: Array, adds: bool) -> Array:
    flat = x.reshape(-1).copy()
    if adds:
        np.add.at(flat, index, source)
    else:
        flat[index] = source
    return flat.reshape(x.shape)


def scattered(x: Array, mask: Array, source: Array) -> Array:
    wide, shown = (np.broadcast_to(a, np.broadcast_shapes(x.shape, mask.shape)) for a in (x, mask))
    result = wide.copy()
    result[shown] = source.reshape(-1)[: np.count_nonzero(shown)]
    return result


CASES: dict[str, tuple[str, list[Array], Callable[..., Array]]] = {
    "rows of a number": ("index_fill(a, 0, b, 7.5)", [MATRIX, np.array([2, 0, 2])], lambda a, b: filled(a, b, 7.5, 0)),
    "columns, from the end": ("index_fill(a, -1, b, -2)", [CUBE, np.array([-1, 0])], lambda a, b: filled(a, b, -2, 2)),
    "no rows": ("index_fill(a, 1, b, 3.0)", [MATRIX, np.zeros(0, np.int64)], lambda a, b: a),
    "rows of an element": (
        "index_fill(a, 0, b, c)", [MATRIX, np.array([1], np.int32), np.array(np.nan)],
        lambda a, b, c: filled(a, b, np.nan, 0),
    ),
    "elements put": (
        "put(a, b, c)", [CUBE, np.array([[0, -1], [5, 5]]), np.array([[1.0, 2.0], [3.0, 4.0]])],
        lambda a, b, c: put(a, b.reshape(-1), c.reshape(-1), False),
    ),
    "elements added": (
        "put(a, b, c, True)", [MATRIX, np.array([3, 3, -1]), np.array([1.0, 2.0, np.inf])],
        lambda a, b, c: put(a, b, c, True),
    ),
    "along rows": (
        "take_along_dim(a, b, 1)", [MATRIX, np.array([[3, -1], [0, 1], [2, 2]])],
        lambda a, b: np.take_along_axis(a, b, 1),
    ),
    "along columns, broadcast": (
        "take_along_dim(a, b, 0)", [MATRIX, np.array([[2], [0]])], lambda a, b: np.take_along_axis(a, b, 0)
    ),
    "along all": ("take_along_dim(a, b)", [MATRIX, np.array([[11, 0]])], lambda a, b: a.reshape(-1)[b.reshape(-1)]),
    "scattered": ("masked_scatter(a, b, c)", [MATRIX, MASK, np.arange(20.0, 30)], scattered),
    "scattered by a row": ("masked_scatter(a, b, c)", [MATRIX, MASK[:1], np.arange(9.0)], scattered),
    "a row scattered": ("masked_scatter(a, b, c)", [MATRIX[0], MASK, np.arange(20.0, 30)], scattered),
    "nothing scattered": ("masked_scatter(a, b, c)", [MATRIX, MASK & False, np.zeros(0)], scattered),
    "all scattered": ("masked_scatter(a, b, c)", [MATRIX, np.array(True), MATRIX * 2], scattered),
    "one of several": ("isin(a, b)", [MATRIX, np.array([[3.0, 11.0], [40.0, -1.0]])], np.isin),
    "one of odd ones": ("isin(a, b)", [ODD, np.array([np.nan, -np.inf, 0.0])], np.isin),
    "one of none": ("isin(a, b)", [MATRIX, np.zeros(0)], np.isin),
    "none of several": ("isin(a, b, invert=True)", [np.arange(6), np.array([4, 4, 0])], lambda a, b: ~np.isin(a, b)),
    "a number": ("isin(a, 3)", [np.arange(6)], lambda a: a == 3),
    "a number among them": ("isin(2.5, a)", [ODD], lambda a: np.array(True)),
    "each twice": ("repeat_interleave(a, 2)", [MATRIX], lambda a: np.repeat(a, 2)),
    "each row three times": ("repeat_interleave(a, 3, 0)", [MATRIX], lambda a: np.repeat(a, 3, 0)),
    "each column never": ("repeat_interleave(a, 0, 1)", [MATRIX], lambda a: np.repeat(a, 0, 1)),
    "as often as is said": (
        "repeat_interleave(a, b, 0)", [MATRIX, np.array([0, 3, 1])], lambda a, b: np.repeat(a, b, 0)
    ),
    "numbers as often": ("repeat_interleave(a)", [np.array([2, 0, 1, 4])], lambda a: np.repeat(np.arange(4), a)),
    "no number": ("repeat_interleave(a)", [np.zeros(0, np.int64)], lambda a: a),
    "by rows and columns": (
        "index_put(a, [b, c], d)", [CUBE, np.array([1, 0, 1]), np.array([2, 0, -1]), np.array(9.0)],
        lambda a, b, c, d: by(a, (b, c), d),
    ),
    "by broadcast places": (
        "index_put(a, [b, c], d)", [CUBE, np.array([[1], [0]]), np.array([2, 0]), np.arange(4.0)],
        lambda a, b, c, d: by(a, (b, c), d),
    ),
    "added by places": (
        "index_put(a, [b, c], d, True)", [MATRIX, np.array([1, 1, 0]), np.array([2, 2, -4]), np.arange(3.0)],
        lambda a, b, c, d: added(a, (b, c), d),
    ),
    "behind an axis": (
        "index_put(a, [None, b], c)", [CUBE, np.array([2, 0]), np.arange(16.0).reshape(2, 2, 4)],
        lambda a, b, c: by(a, (slice(None), b), c),
    ),
    "by a mask, several": (
        "index_put(a, [b], c)", [MATRIX, MASK, np.arange(float(MASK.sum()))], lambda a, b, c: by(a, b, c)
    ),
    "rows by a mask": (
        "index_put(a, [b], c)", [MATRIX, MASK[:, 0], np.arange(4.0)], lambda a, b, c: by(a, b, c)
    ),
}  # fmt: skip


def by(x: Array, index: Any, values: Array) -> Array:
    result = x.copy()
    result[index] = values
    return result


def added(x: Array, index: Any, values: Array) -> Array:
    result = x.copy()
    np.add.at(result, index, values)
    return result


def function_of(call: str, count: int) -> Any:
    names = "abcd"[:count]
    head = ", ".join(f"{name}: Tensor" for name in names)
    return flambeau.jit.CompilationUnit(f"def f({head}) -> Tensor:\n    return flambeau.{call}\n").f


def turned(x: Array) -> flambeau.Tensor:
    """The same elements, in memory the other way round."""
    return flambeau.from_numpy(np.array(x.T, order="C")).permute(list(reversed(range(x.ndim))))


@pytest.mark.parametrize("name", CASES)
def test_operators_by_indexes_are_those_of_numpy(name: str) -> None:
    call, arrays, reference = CASES[name]
    function = function_of(call, len(arrays))
    wanted = reference(*(a.copy() for a in arrays))
    for make in (lambda x: flambeau.from_numpy(x.copy()), turned):
        tensors = [make(a) for a in arrays]
        for _ in range(4):
            result = function(*tensors)
        np.testing.assert_array_equal(result.numpy(), wanted)
        assert result.numpy().dtype == wanted.dtype
        names = dict(zip("abcd", tensors, strict=False))
        assert result.stride() == eval(f"flambeau.{call}", {"flambeau": flambeau, **names}).stride()
    compiled = function_of(call, len(arrays))
    for _ in range(4):
        compiled(*(flambeau.from_numpy(a.copy()) for a in arrays))
    assert compiled.explain(measure=False).is_native, str(compiled.explain(measure=False))


REFUSED = {
    "index_fill(a, 0, b, 1.0)": [MATRIX, np.array([3])],
    "put(a, b, a)": [MATRIX[0], np.array([0, 1, 2, 9])],
    "take_along_dim(a, b, 1)": [MATRIX, np.array([[4], [0], [0]])],
    "masked_scatter(a, a > 3, b)": [MATRIX, np.zeros(3)],
    "repeat_interleave(a, b, 0)": [MATRIX, np.array([1, -1, 0])],
    "repeat_interleave(a)": [np.array([1, -1])],
    "index_put(a, [b, c], c * 0.0)": [MATRIX, np.array([0, 1]), np.array([0, 7])],
    "index_put(a, [a > 3], b)": [MATRIX, np.zeros(3)],
}


@pytest.mark.parametrize("call", REFUSED)
def test_what_they_refuse_is_refused_in_their_words(call: str) -> None:
    tensors = [flambeau.from_numpy(a) for a in REFUSED[call]]
    function = function_of(call, len(tensors))
    with pytest.raises((IndexError, RuntimeError)) as wanted:
        eval(f"flambeau.{call}", {"flambeau": flambeau, **dict(zip("abc", tensors, strict=False))})
    for _ in range(4):
        with pytest.raises(type(wanted.value), match=re.escape(str(wanted.value).splitlines()[0])):
            function(*tensors)


def test_places_in_a_loop_are_native() -> None:
    source = (
        "def f(x: Tensor, rows: Tensor, columns: Tensor, n: int) -> Tensor:\n    for k in range(n):\n"
        "        x[rows, columns] += float(k)\n    return x\n"
    )
    function = flambeau.jit.CompilationUnit(source).f
    rows, columns = np.array([0, 2, 2]), np.array([1, 1, 3])
    wanted = MATRIX.copy()
    wanted[rows, columns] += sum(range(5))
    for _ in range(4):
        result = function(*(flambeau.from_numpy(a.copy()) for a in (MATRIX, rows, columns)), 5)
    np.testing.assert_array_equal(result.numpy(), wanted)
    assert function.explain(measure=False).is_native, str(function.explain(measure=False))


def test_a_source_that_lies_where_is_written_is_what_it_is_to_the_operator() -> None:
    function = flambeau.jit.CompilationUnit(
        "def f(x: Tensor, i: Tensor) -> Tensor:\n    return x.index_put_([i, i], x[0])\n"
    ).f
    for _ in range(4):
        with pytest.raises(RuntimeError, match="unsupported operation: some elements"):
            function(flambeau.ones(4, 4), flambeau.arange(4))
