"""Programs on arrays of unsigned integers, compared with CPython on the same source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from benchmarks.programs.words import crc, fnv, splitmix, table_of_crc, xorshift
from flambeau.util.errors import CompileError

PRIME = np.uint64(1099511628211)


def fnv64(data: np.ndarray):
    h = np.uint64(0xCBF29CE484222325)
    for b in data:
        h = (h ^ np.uint64(b)) * PRIME
    return h


def pcg(state, n):
    out = np.empty(n, np.uint32)
    s = np.uint64(state)
    for i in range(n):
        x = np.uint32((((s >> np.uint64(18)) ^ s) >> np.uint64(27)) & np.uint64(0xFFFFFFFF))
        r = np.uint32(s >> np.uint64(59))
        out[i] = (x >> r) | (x << ((np.uint32(32) - r) & np.uint32(31)))
        s = s * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
    return out


def of_whole_arrays(x: np.ndarray):
    z = x ^ (x >> np.uint64(30))
    return (
        z * np.uint64(0xBF58476D1CE4E5B9) + 1, z // 7, z % np.uint64(10), z / 2, z > x, z.max(), z.sum(), z.prod(),
        z.astype(np.float64).mean(), np.sort(z), z.cumsum(), ~z, np.unique(z), z.argmax(), np.where(z > x, z, x),
    )  # fmt: skip


def buckets(x: np.ndarray, n: int):
    h = np.zeros(n, np.int64)
    for v in x:
        h[v % np.uint64(n)] += 1
    return h


def uniform(x: np.ndarray):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = (x[i] >> np.uint64(11)) * (1.0 / 9007199254740992.0)
    return out


def compared(x: np.ndarray, y: np.ndarray):
    n = 0
    for i in range(len(x)):
        if x[i] < y[i]:
            n += 1
        if x[i] >= y[i]:
            n += 10
        if x[i] == y[i]:
            n += 100
        if x[i] > 5:
            n += 1000
        if x[i] < -1:
            n += 10000
        if x[i] != 3:
            n += 100000
        if x[i] > 1.5:
            n += 1000000
        if i <= x[i]:
            n += 10000000
    return n


def mixed(x: np.ndarray, y: np.ndarray):
    return (
        x[0] + y[0], x[1] / y[1], float(x[0]), x[0] * 2.0, x[0] // y[1], x[0] ** y[2], ~x[0], -x[0], abs(x[0]),
        bool(x[0]), np.float32(x[0]), np.int32(x[0]), x[0] << np.uint64(64), x[0] >> np.uint64(70), x[0] % y[1],
    )  # fmt: skip


def popcount(x: np.ndarray):
    n = 0
    for v in x:
        while v:
            v &= v - np.uint64(1)
            n += 1
    return n


def folded(x: np.ndarray):
    h = 0
    for v in x:
        h ^= v
    return h


def low_bytes(x: np.ndarray):
    total = 0
    for v in x:
        total += int(v & np.uint64(255))
    return total


def in_containers(x: np.ndarray):
    return list(x), (x[0], (x[1], 3)), {0: x[1]}


def top(v):
    return v >> np.uint64(60)


def by_helper(x: np.ndarray):
    return top(x[0]) + top(x[1])


def looked_up(x: np.ndarray, table: np.ndarray):
    return table[x % np.uint64(4)], np.take(table, x % np.uint64(4))


def stored(x: np.ndarray):
    x[0] = 7
    x[1] = x[0] + 2
    x[2] += 1
    return x


def random_words(seed: int = 0) -> np.ndarray:
    x = np.random.default_rng(seed).integers(0, 2**64 - 1, 20, dtype=np.uint64, endpoint=True)
    x[2] = 3
    return x


def special_words() -> np.ndarray:
    return np.array([0, 1, 2**63 - 1, 2**63, 2**64 - 1, 5, 2**32, 7], np.uint64)


X, Y = random_words(), random_words(1)
Y[1], Y[3] = 7, X[3]
BYTES = np.frombuffer(b"hello, world", np.uint8)
CALLS = [
    (xorshift, (88172645463325252, 9)), (fnv, (BYTES,)), (fnv64, (BYTES,)), (splitmix, (X,)), (pcg, (12345, 9)),
    (of_whole_arrays, (X,)), (of_whole_arrays, (special_words(),)), (buckets, (X, 7)), (uniform, (X,)),
    (compared, (X, Y)), (compared, (special_words(), special_words()[::-1])),
    (mixed, (X, Y)), (popcount, (X,)), (folded, (X,)),
    (low_bytes, (X,)), (in_containers, (X,)), (by_helper, (X,)), (looked_up, (X, np.arange(4.0))), (stored, (X,)),
]  # fmt: skip


def copies(arguments: tuple[Any, ...]) -> list[Any]:
    return [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]


def is_same(got: Any, expected: Any) -> bool:
    if isinstance(expected, tuple | list):
        return len(got) == len(expected) and all(map(is_same, got, expected))
    if isinstance(expected, dict):
        return got.keys() == expected.keys() and all(is_same(got[k], v) for k, v in expected.items())
    if isinstance(expected, np.ndarray):
        return type(got) is np.ndarray and got.dtype == expected.dtype and np.array_equal(got, expected)
    return bool(got == expected)


@pytest.mark.parametrize(("program", "arguments"), CALLS, ids=lambda v: getattr(v, "__name__", ""))
@pytest.mark.parametrize("backend", ["native", "interpreter"])
def test_words_of_64_bits(program: Callable[..., Any], arguments: tuple[Any, ...], backend: Any) -> None:
    with np.errstate(all="ignore"):
        expected = program(*copies(arguments))
    scripted = flambeau.script(program, backend=backend)
    for _ in range(3):
        assert is_same(scripted(*copies(arguments)), expected)


def counted(x: np.ndarray):
    h = np.zeros(256, np.uint32)
    for i in range(x.size):
        h[x[i]] += 1
    return h


def blurred(x: np.ndarray):
    out = np.zeros_like(x)
    for i in range(1, len(x) - 1):
        out[i] = (int(x[i - 1]) + int(x[i]) + int(x[i + 1])) // 3
    return out


def wrapped(x: np.ndarray):
    out = np.zeros_like(x)
    for i in range(1, len(x) - 1):
        out[i] = (x[i - 1] * x[i] + x[i + 1]) // 3
    return out


def with_numbers(x: np.ndarray):
    return x + 1, x - 1, 255 - x, x * 2.5, x / 3, x // 3, -x, x**2, x & 15, x | 1, ~x, x >> 1, x << 1, np.diff(x)


def with_signed(x: np.ndarray, y: np.ndarray):
    return x + y, x < y, x == y, x >= y


def told(x: np.ndarray):
    return x.mean(), x.std(), x.max(), x.argmax(), x.sum(), x.sum(axis=0), np.bincount(x), np.sort(x), x.min()


def made(n: int):
    counts = np.arange(n, dtype=np.uint8)
    return np.full(n, 7, np.uint16), np.zeros(n, dtype="uint32"), counts, np.ones((n, 2), np.uint64)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
def test_each_width(dtype: str) -> None:
    rng = np.random.default_rng(0)
    x, signed = rng.integers(0, 200, 30).astype(dtype), rng.integers(-9, 200, 30)
    calls = [
        (crc, (x, table_of_crc())), (counted, (x,)),
        (blurred, (x,)), (wrapped, (x,)), (with_numbers, (x,)), (told, (x,)),
        (with_signed, (x, signed)), (with_signed, (x, signed.astype(np.int16))), (with_signed, (x, signed * 0.5)),
        (made, (3,)),
    ]  # fmt: skip
    for program, arguments in calls:
        with np.errstate(all="ignore"):
            try:
                expected = program(*copies(arguments))
            except TypeError:  # what NumPy refuses of uint64 is refused
                with pytest.raises(CompileError, match="NumPy"):
                    flambeau.script(program)(*copies(arguments))
                continue
        got = flambeau.script(program)(*copies(arguments))
        pairs = zip(got, expected, strict=True) if isinstance(expected, tuple) else [(got, expected)]
        for ours, numpys in pairs:
            assert np.allclose(ours, numpys, rtol=1e-6), (program.__name__, ours, numpys)
            assert getattr(ours, "dtype", None) == getattr(numpys, "dtype", None) or np.ndim(numpys) == 0


def below(x: np.ndarray, n: int):
    return x < n, x <= n, x == n, x != n, x > n, x >= n, n < x


def beside_constants(x: np.ndarray):
    return x > -1, x < 300, x == -1, x != 70000, x >= 2**40, x <= -5


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_numbers_outside_of_the_dtype_are_compared_as_they_are(dtype: str) -> None:
    info = np.iinfo(dtype)
    x = np.array([info.min, 0, 1, 100, info.max], dtype)
    for n in (-1, 0, 5, 255, 256, -129, 2**31, -(2**31) - 1, 2**63 - 1, -(2**63)):
        for ours, numpys in zip(flambeau.script(below)(x, n), below(x, n), strict=True):
            assert np.array_equal(ours, numpys), n
    for ours, numpys in zip(flambeau.script(beside_constants)(x), beside_constants(x), strict=True):
        assert np.array_equal(ours, numpys)


def test_signed_and_unsigned_words_are_compared_exactly() -> None:
    signed = np.array([-1, -(2**63), 2**63 - 1, 0, 5], np.int64)
    words = np.array([2**64 - 1, 2**63, 2**63 - 1, 0, 6], np.uint64)
    for a, b in ((signed, words), (words, signed), (signed[:, None], words), (words, signed[:, None])):
        for ours, numpys in zip(flambeau.script(with_signed)(a, b)[1:], with_signed(a, b)[1:], strict=True):
            assert np.array_equal(ours, numpys)


def negative(x: np.ndarray, n: int):
    x[0] = n


def filled(x: np.ndarray):
    x[:] = -1


def counts_to(x: np.ndarray):
    n = 0
    for _ in range(x[0]):
        n += 1
    return n


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
def test_what_does_not_fit_is_refused_as_numpy_does(dtype: str) -> None:
    x = np.ones(2, dtype)
    for _ in range(3):
        with pytest.raises(OverflowError, match=f"Python integer -1 out of bounds for {dtype}"):
            flambeau.script(negative)(x, -1)
        with pytest.raises(OverflowError, match=f"Python integer -1 out of bounds for {dtype}"):
            flambeau.script(filled)(x)
    assert x.tolist() == [1, 1]


def test_counts_and_places_have_to_be_below_two_to_the_63() -> None:
    scripted = flambeau.script(counts_to)
    for _ in range(3):
        assert scripted(np.array([3], np.uint64)) == 3
        with pytest.raises(OverflowError, match=r"a np\.uint64 of 9223372036854775813 does not fit into an int"):
            scripted(np.array([2**63 + 5], np.uint64))


def either(x: np.ndarray, c: bool):
    v = 5
    if c:
        v = x[0]
    return v


def test_what_may_be_a_word_or_a_number_of_python_is_refused() -> None:
    with pytest.raises(CompileError, match=r"np\.uint64"):
        flambeau.script(either)(np.ones(1, np.uint64), True)
