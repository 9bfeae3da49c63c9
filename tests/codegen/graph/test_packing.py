"""Packing and padding in native code, beside the interpreter and the reference: values and strides to the bit, errors
to the letter."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen import available
from tests.codegen.graph import one_meaning

pytestmark = pytest.mark.skipif(not available(), reason="native code needs llvmlite")
NAN, INF = float("nan"), float("inf")
PACK = "def f(x: Tensor, n: Tensor):\n    return flambeau._pack_padded_sequence(x, n, {first})\n"
PAD = (
    "def f(x: Tensor, n: Tensor, value: float, most: int):\n"
    "    return flambeau._pad_packed_sequence(x, n, {first}, value, most)\n"
)
DTYPES = ["float32", "float64", "int64", "bool", "uint8"]


def tensor(*shape: int, dtype: str = "float32") -> Tensor:
    values = np.random.default_rng(sum(shape)).standard_normal(shape) * 3
    if values.size > 3 and dtype.startswith("float"):
        values.flat[:3] = NAN, -0.0, INF
    return flambeau.from_numpy(np.ascontiguousarray(values.astype(dtype)))


def ints(*values: int) -> Tensor:
    return flambeau.tensor(list(values), dtype=flambeau.int64)


def packed(x: Tensor, n: Tensor, *, first: bool = False, is_native: bool = True) -> None:
    one_meaning.agree(PACK.format(first=first), lambda: (x, n), is_native=is_native)


def padded(
    x: Tensor, n: Tensor, value: float = 0.0, most: int = -1, *, first: bool = False, is_native: bool = True
) -> None:
    one_meaning.agree(PAD.format(first=first), lambda: (x, n, value, most), is_native=is_native)


@pytest.mark.parametrize("first", [False, True])
def test_lengths_of_every_kind(first: bool) -> None:
    for lengths in ([5, 3, 1], [5, 5, 5], [1, 1, 1], [4, 2, 2], [2]):
        shape = (len(lengths), 5, 2) if first else (5, len(lengths), 2)
        packed(tensor(*shape), ints(*lengths), first=first)
        sizes = [sum(n > t for n in lengths) for t in range(lengths[0])]
        for most in (-1, 0, lengths[0], lengths[0] + 3, lengths[0] - 1):
            padded(tensor(sum(sizes), 2), ints(*sizes), NAN, most, first=first)
            padded(tensor(sum(sizes)), ints(*sizes), -0.0, most, first=first)
            padded(tensor(sum(sizes), 1, 3), ints(*sizes), INF, most, first=first)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype: str) -> None:
    packed(tensor(4, 2, 3, dtype=dtype), ints(4, 1))
    padded(tensor(5, 3, dtype=dtype), ints(2, 1, 1, 1), 2.0, is_native=dtype.startswith("float"))


def test_ranks_and_tensors_that_lie_anyhow() -> None:
    for shape in ((4, 3), (4, 3, 1, 2)):
        packed(tensor(*shape), ints(3, 2, 2))
    x = tensor(6, 8, 9)
    lengths = ints(5, 9, 3, 9, 3, 9)[::2]
    for view in (x.permute(1, 0, 2)[:5, :3], x[::2, 1:7, ::4].transpose(0, 1), x[:5, :3, :1].expand(5, 3, 4)):
        packed(view, lengths)
        packed(view.transpose(0, 1), lengths, first=True)
    y = tensor(8, 6)
    for rows in (y.t(), y[1:7, ::2], y[:6, :1].expand(6, 3)):
        padded(rows, ints(3, 9, 2, 9, 1)[::2])
        padded(rows, ints(3, 9, 2, 9, 1)[::2], 1.5, 4, first=True)


def test_what_is_refused_is_refused_in_the_operators_words() -> None:
    x = tensor(3, 2, 2)
    for lengths in ([1, 3], [3, 0], [3], [3, 2, 1], [4, 1], [3, -1], [1 << 62, 1 << 62], []):
        packed(x, ints(*lengths))
    for empty in (tensor(3, 2, 0), tensor(0, 2, 2), tensor(3, 0, 2)):
        packed(empty, ints(3, 1))
    y = tensor(4, 2)
    for sizes in ([2, 1], [2, 3], [1, 3], [4, -1, 1], [2, 1, 1, 1], [], [1 << 62, 1 << 62, 1 << 62, 1 << 62, 4]):
        padded(y, ints(*sizes))
    padded(y, ints(2, 2), 0.0, 1)
    padded(y, ints(2, 2, 0))
    padded(tensor(4, 0), ints(2, 2))


def test_lengths_of_another_dtype_or_rank_are_refused_in_its_words() -> None:
    x = tensor(3, 2, 2)
    packed(x, ints(3, 2).to(flambeau.int32), is_native=False)
    packed(x, ints(3, 2).reshape(1, 2), is_native=False)
