"""Methods of NumPy's scalars, and functions without annotations of lists, texts and dicts alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.util.errors import CompileError


def methods(x):
    a = x[0]
    print(a.dtype)
    return (
        a.item(), a.item() * 0.1, a.astype(int), a.astype(np.float32), a.round(1), a.sum(), a.shape, a.ndim, a.size,
        a.clip(0, 2), x.max().item(), a.tolist(), a.std(), a.reshape(1), (x > 1).any().item(), a.any(),
    )  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
def test_scalars_have_methods_of_arrays(dtype: Any, capsys: Any) -> None:
    x = np.array([1.256, -2.5, 3.0]).astype(dtype)
    expected, printed = methods(x), capsys.readouterr().out
    for ours, theirs in zip(flambeau.script(methods)(x), expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert capsys.readouterr().out == printed


def visited(graph):
    seen, waiting, order = {"a"}, ["a"], []
    while waiting:
        name = waiting.pop(0)
        order.append(name)
        for other in graph[name]:
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return order


def product(a, b):
    return [[sum(x * y for x, y in zip(row, column, strict=True)) for column in zip(*b, strict=False)] for row in a]


def shifted(text):
    return "".join(chr((ord(c) - 97 + 3) % 26 + 97) for c in text)


def of_lists(x):
    return (
        np.roots([1, -3, 2]), np.polyval([1, 2, 3], x), np.mean([1, 2, 3]), np.max([3, 1]), np.dot([1, 2], [3, 4]),
        np.sort([3, 1, 2]), np.unique([1, 1, 2]), np.median([1, 2, 3, 4]), np.where([True, False], 1, 2),
        np.outer([1, 2], [3, 4]), np.linalg.norm([3, 4]), np.sqrt([1, 4]), np.transpose([[1, 2], [3, 4]]),
        np.matmul([[1, 2], [3, 4]], [1, 1]), np.percentile([1, 2, 3, 4], 50), np.add([1, 2], [3, 4]),
    )  # fmt: skip


def test_lists_of_numbers_are_arrays_to_functions_of_arrays() -> None:
    x = np.array([1.5, -2.0])
    for ours, theirs in zip(flambeau.script(of_lists)(x), of_lists(x), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-15, strict=isinstance(ours, np.ndarray))


def quicksorted(xs):
    if len(xs) <= 1:
        return xs
    pivot = xs[0]
    return quicksorted([x for x in xs[1:] if x < pivot]) + [pivot] + quicksorted([x for x in xs[1:] if x >= pivot])  # noqa: RUF005


def merged(xs):
    if len(xs) <= 1:
        return xs
    a, b, out = merged(xs[: len(xs) // 2]), merged(xs[len(xs) // 2 :]), []
    while a and b:
        out.append(a.pop(0) if a[0] <= b[0] else b.pop(0))
    return out + a + b


@pytest.mark.parametrize("fn", [quicksorted, merged])
def test_functions_that_call_themselves_take_lists(fn: Any) -> None:
    assert flambeau.script(fn)([3, 1, 2, 5, 4]) == [1, 2, 3, 4, 5]


def test_what_recursion_changes_is_refused() -> None:
    def appended(xs, n):
        if n == 0:
            return xs
        result = appended(xs, n - 1)
        result.append(1)
        return result

    with pytest.raises(CompileError, match="appended changes 'xs', which is a list here"):
        flambeau.script(appended)([3, 1], 2)


@pytest.mark.parametrize(("fn", "args"), [
    (visited, ({"a": ["b"], "b": ["c", "a"], "c": []},)), (product, ([[1, 2], [3, 4]], [[5, 6], [7, 8]])),
    (shifted, ("hello",)),
], ids=lambda v: getattr(v, "__name__", ""))  # fmt: skip
def test_functions_without_annotations_take_containers_alone(fn: Any, args: Any) -> None:
    assert flambeau.script(fn)(*args) == fn(*args)
