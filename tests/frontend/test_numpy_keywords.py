"""Keywords of folds and of what makes arrays, places of triangles, products over axes, whole numbers: as NumPy does."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.util.errors import CompileError


def dtypes(x: np.ndarray, a: np.ndarray):
    sums = x.sum(dtype=np.float32), np.sum(a, axis=0, dtype=np.float32), a.sum(1, dtype="float64", keepdims=True)
    means = np.mean(x, dtype=np.float32), a.mean(axis=-1, dtype=float), np.prod(a, axis=1, dtype=np.float64)
    return sums, means, np.cumsum(a, dtype=np.float32), a.cumprod(axis=0, dtype=np.float64), x.cumsum(dtype=float)


def firsts(x: np.ndarray, a: np.ndarray):
    extremes = np.max(x, initial=2), x.min(initial=-1), np.max(a, axis=0, initial=1), a.min(axis=1, initial=0)
    more = np.amax(a, (0, 1), initial=3), a.max(1, keepdims=True, initial=1), np.min(a, keepdims=True, initial=9)
    sums = np.sum(x, initial=5), a.sum(axis=0, initial=2)
    return extremes, more, sums, np.prod(a, axis=1, initial=2), x.prod(initial=3)


def masked(x: np.ndarray, a: np.ndarray):
    sums = np.sum(x, where=x > 1), a.sum(axis=1, where=a > 1), a.sum(where=a[:1] > 1), np.prod(a, axis=0, where=a < 2)
    means = np.mean(x, where=x > 1), a.mean(axis=0, where=a < 2), np.max(x, where=x < 2, initial=-3)
    truths = np.any(a, axis=1, where=a > 2), np.all(a, where=a > 0), np.min(a, axis=0, where=a > 0, initial=8)
    return sums, means, truths


def members(x: np.ndarray, a: np.ndarray):
    known = np.isin(x, [1, 2]), np.isin(a, [1.0, 2.5, 3.0], invert=True), np.isin(a, x)
    return known, 2 in x, 9 not in a, np.inf in a, x in a[:, :1], 0.0 in a[:0]


def products(x: np.ndarray, a: np.ndarray):
    both = np.tensordot(a, a), np.tensordot(a, a.T, axes=1), np.tensordot(x, a, axes=0)
    pairs = np.tensordot(a, a, axes=([1, 0], [1, 0])), np.tensordot(a, a, axes=(0, 0))
    return both, pairs, np.tensordot(a, a, ([1], [1]))


def parts(x: np.ndarray, a: np.ndarray):
    down, up = np.modf(a)
    grids = np.meshgrid(x, x[:2], indexing="ij"), np.meshgrid(x, x[:1], indexing="xy")
    quotients = np.divmod(a, 2), np.divmod(x, -3)
    return quotients, down, up, grids, np.diagflat(a), np.diagflat(x[:2], 1), np.float_power(a, 2)


def squeezed(x: np.ndarray, a: np.ndarray):
    return np.squeeze(x[None]), x[:1].squeeze(), a.reshape(1, -1, 1).squeeze(), np.squeeze(a)


TABLE = np.arange(12.0).reshape(3, 4) % 5
ODD = TABLE.copy()
ODD[0, 1], ODD[1], ODD[2, 0] = np.nan, -np.inf, -0.0
CASES = {
    "floats": (np.array([3.0, 1.0, 2.0, 1.0]), TABLE),
    "nans and zeros": (np.array([0.0, 3.0, np.nan, 2.0, np.nan, -0.0]), ODD[:, ::2]),
    "ints": (np.array([2, -(2**63), 2, 0]), np.arange(6).reshape(2, 3)),
    "narrow": (np.array([2, -128, 1], np.int8), np.arange(6, dtype=np.int32).reshape(2, 3)),
    "infinities": (np.array([np.inf, -np.inf]), ODD.T),
    "strided": (np.arange(16.0)[1::3], np.arange(48.0).reshape(6, 8)[::2, 1::2]),
    "one for all": (np.array([5.0]), np.broadcast_to(np.float32(2.5), (2, 3))),
    "nothing": (np.zeros(0), np.zeros((0, 3))),
}
def items(x: np.ndarray, a: np.ndarray):
    if len(x) == 0:
        return 0.0, 0.0
    return x.item(-1) * 1.0 + x.item(0), a.item(1) + a.item(0, 1) * a.item((1, 1)) * 1.0


PROGRAMS = (items, dtypes, firsts, masked, members, products, parts, squeezed)


def flat(value: Any) -> list[Any]:
    return [inner for item in value for inner in flat(item)] if isinstance(value, tuple | list) else [value]


def quietly(program: Callable[..., Any], *arguments: Any) -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return program(*arguments)


def assert_same(found: Any, expected: Any, what: str) -> None:
    pairs = list(zip(flat(found), flat(expected), strict=True))
    for k, (got, wanted) in enumerate(pairs):
        if isinstance(got, np.ndarray):
            assert got.dtype == np.asarray(wanted).dtype, (what, k)
        assert np.shape(got) == np.shape(wanted), (what, k)
        rtol = 1e-6 if np.asarray(wanted).dtype == np.float32 else 1e-12
        assert np.allclose(got, wanted, equal_nan=True, rtol=rtol), (what, k, got, wanted)


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_numpy_gives(program: Callable[..., Any]) -> None:
    script = flambeau.script(program, backend="interpreter")
    for name, arguments in CASES.items():
        assert_same(quietly(script, *arguments), quietly(program, *arguments), name)


def whole(k: np.ndarray, n: np.ndarray):
    shifts = np.left_shift(k, 1), np.right_shift(k, n), np.left_shift(1, n), np.right_shift(k, 70)
    divisors = np.gcd(k, 6), np.lcm(n, 4), np.gcd(k, n), np.gcd(12, 18), np.lcm(4, 6)
    return shifts, divisors, np.divmod(k, 3), np.isin(k, [6, 9])


def test_whole_numbers() -> None:
    script = flambeau.script(whole, backend="interpreter")
    for dtype in (np.int64, np.int32, np.int8):
        least = np.iinfo(dtype).min
        k = np.array([0, 6, -9, 12, 1, least, least + 1, -1], dtype)
        n = np.array([0, 1, 2, 3, 4, 5, 6, 7], dtype)
        assert_same(script(k, n), quietly(whole, k, n), str(dtype))
        assert_same(script(k[1::2], n[::2]), quietly(whole, k[1::2], n[::2]), str(dtype))


def made(x: np.ndarray, n: int, m: int):
    lines = np.linspace(0, 1, n, endpoint=False), np.linspace(2, -1, n, endpoint=True)
    same = np.linspace(3, 3, n, endpoint=n < 0)
    whole = np.linspace(0, -7, n, endpoint=False, dtype=int), np.linspace(0, 1, n, endpoint=False, dtype=np.float32)
    powers = np.logspace(0, 2, n), np.logspace(-1, 1, n, base=2.0), np.logspace(1, 3, n, endpoint=False)
    scales = np.geomspace(1, 1000, n), np.geomspace(-0.25, -8, n), np.geomspace(5, 1, n, endpoint=False)
    return lines, same, whole, powers, scales, x


def triangles(x: np.ndarray, n: int, m: int):
    eyes = np.eye(n, k=1), np.eye(n, m, -1), np.eye(n, m, k=m - 1, dtype=np.int64), np.eye(n, k=0), np.eye(n, None, 1)
    above = np.triu_indices(n), np.triu_indices(n, 1), np.triu_indices(n, -1, m)
    places = above, np.tril_indices(n, -1), np.tril_indices(n, 0, m)
    return eyes, places, np.tri(n), np.tri(n, m), np.tri(n, m, -1), np.tri(n, k=1), np.diag_indices(n), x


@pytest.mark.parametrize("program", [made, triangles])
def test_what_is_made_of_numbers(program: Callable[..., Any]) -> None:
    script = flambeau.script(program, backend="interpreter")
    for n, m in ((5, 3), (3, 4), (1, 1), (0, 2), (2, 0)):
        assert_same(script(np.zeros(1), n, m), quietly(program, np.zeros(1), n, m), f"{n}, {m}")


def test_what_is_refused_says_what_there_is() -> None:
    def of_a_tensor(x: flambeau.Tensor):
        return np.sum(x, initial=1.0)

    def largest(x: np.ndarray):
        return np.max(x, where=x > 0)

    def rounded(x: np.ndarray):
        return x.mean(dtype=int)

    def at(x: np.ndarray):
        np.maximum.at(x, x, 1.0)

    def axes(x: np.ndarray, n: int):
        return np.tensordot(x, x, n)

    def no_array(x: flambeau.Tensor, n: int):
        return x, np.tri(n)

    def ordered(x: np.ndarray):
        return np.ones_like(x), np.eye(3, order="F")

    for program, text in (
        (of_a_tensor, r"the keyword 'initial' is for arrays: annotate them as np.ndarray; of tensors, flambeau.sum"),
        (largest, r"max with where= needs initial="), (rounded, r"np.trunc\(x.mean\(\)\) says so"),
        (at, r"np.maximum.at has no form in programs, where a loop"),
        (axes, r"np.tensordot takes axes that are written"),
        (no_array, r"np.tri makes an array, and this program has none: write flambeau.ones"),
        (ordered, r"np.eye has no 'order' in programs, where it takes N, M, k, dtype"),
    ):
        with pytest.raises(CompileError, match=text):
            flambeau.script(program)
    with pytest.raises(ValueError, match="cannot include zero"):
        flambeau.script(zero, backend="interpreter")(np.zeros(1))


def test_what_arrays_have_not_says_what_to_write() -> None:
    def row(x: flambeau.Tensor):
        return np.r_[x, x]

    for program, text in (
        (row, r"np.r_ makes an array, and this program has none: write flambeau.cat"),
    ):
        with pytest.raises(CompileError, match=text):
            flambeau.script(program)


def zero(x: np.ndarray):
    return np.geomspace(x[0], 1.0, 3)
