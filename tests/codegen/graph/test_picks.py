"""`x[rows, :, columns]` by tensors of integers, and `cat` of tensors that lie anyhow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from tests.codegen.graph.one_meaning import agree

torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
X = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5)
ROWS = np.array([[1, -1, 0], [2, 0, -3]])
COLUMN = np.array([[3], [-4]])

INDEXES = {
    "x[:, r]": lambda x, r, c: x[:, r],
    "x[:, r, c]": lambda x, r, c: x[:, r, c],
    "x[:, r, :, c]": lambda x, r, c: x[:, r, :, c],
    "x[:, :, c, r]": lambda x, r, c: x[:, :, c, r],
    "x[c // 5, r, c]": lambda x, r, c: x[c // 5, r, c],
    "x[:, r, 1]": lambda x, r, c: x[:, r, 1],
}


@pytest.mark.parametrize("text", INDEXES)
def test_parts_that_index_tensors_name(text: str) -> None:
    source = f"def f(x: Tensor, r: Tensor, c: Tensor):\n    return {text}\n"
    for turned, bits in ((False, np.int64), (True, np.int64), (False, np.int32)):

        def arguments(turned: bool = turned, bits: type = bits) -> tuple[Tensor, Tensor, Tensor]:
            x = flambeau.from_numpy(X.copy())
            x = x.permute(3, 2, 1, 0).clone().permute(3, 2, 1, 0) if turned else x
            return x, flambeau.from_numpy(ROWS.astype(bits)), flambeau.from_numpy(COLUMN.astype(bits))

        agree(source, arguments)
    found = flambeau.CompilationUnit(source).f(*(flambeau.from_numpy(a) for a in (X, ROWS, COLUMN)))
    expected = INDEXES[text](*(torch.from_numpy(a) for a in (X, ROWS, COLUMN)))
    assert (tuple(found.shape), found.tolist()) == (tuple(expected.shape), expected.tolist())


@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        ([0, 3], [0, 0]), ([0, -4], [0, 0]), ([0, 1], [4, 0]), ([0, 1, 2], [0, 1]), ([0, 1], []), ([], []), ([], [3]),
        ([], [9]), ([1 << 62], [0]),
    ],
)  # fmt: skip
def test_indexes_that_name_nothing_or_too_much(rows: list[int], columns: list[int]) -> None:
    agree(
        "def f(x: Tensor, r: Tensor, c: Tensor):\n    return x[:, r, c], x[:, :0][:, :, c]\n",
        lambda: (
            flambeau.from_numpy(X.copy()),
            flambeau.tensor(rows, dtype=flambeau.int64),
            flambeau.tensor(columns, dtype=flambeau.int64),
        ),
    )


def test_joined_tensors_that_lie_anyhow() -> None:
    """Channels last only where all of them are."""
    source = """
def f(x: Tensor, y: Tensor):
    both = flambeau.cat([x, y], 1)
    return both, flambeau.cat([x, y], -1), flambeau.cat([x[:, :, 0], y[:, :, 1]], 2), flambeau.stack([x, y], 2)
"""
    last = X.transpose(0, 2, 3, 1).copy().transpose(0, 3, 1, 2)
    for first, second in ((last, last), (last, X), (X[:, :, ::2], last[:, :, ::2]), (X[:1, :, :0], last[:1, :, :0])):
        agree(source, lambda a=first, b=second: (flambeau.from_numpy(a.copy("K")), flambeau.from_numpy(b.copy("K"))))


def _rows(x: np.ndarray, i: np.ndarray):
    return x[i]


def _elements(x: np.ndarray, i: np.ndarray, j: np.ndarray):
    return x[i, j]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8, np.bool_, np.complex128, np.float16])
@pytest.mark.parametrize("places", [[3, -1, 0, -4], [[1, 2], [-3, 0]], []])
def test_indexes_of_the_first_axes_by_loops_of_the_function(dtype: Any, places: Any) -> None:
    index = np.array(places, dtype=np.int64)
    for x in (np.arange(4), np.arange(24).reshape(4, 6), np.arange(24).reshape(4, 6)[:, ::2], np.zeros((4, 0))):
        fn = flambeau.script(_rows)
        for _ in range(4):
            np.testing.assert_array_equal(fn(x.astype(dtype), index), x.astype(dtype)[index])
    pairs = flambeau.script(_elements)
    x = np.arange(24).reshape(4, 3, 2).astype(dtype)
    for _ in range(4):
        np.testing.assert_array_equal(pairs(x, index, index[..., :1] % 3), x[index, index[..., :1] % 3])


@pytest.mark.parametrize(("size", "place"), [(4, 4), (4, -5), (0, 0)])
def test_indexes_outside_are_refused(size: int, place: int) -> None:
    fn = flambeau.script(_rows)
    for _ in range(4):
        fn(np.arange(3.0), np.array([0, 1]))
        with pytest.raises(IndexError, match=rf"index {place} is out of bounds for axis 0 with size {size}"):
            fn(np.arange(float(size)), np.array([place]))
