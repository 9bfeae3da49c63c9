"""Dtypes and operations: each as machine code, scalar and vector, against what it means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import flambeau
from flambeau import te
from flambeau.te import LoopNest
from tests.te.running import agrees

DATA = np.random.default_rng(1)
DTYPES = ("float32", "float64", "int64", "int32", "int16", "int8", "uint8", "bool")


def values(dtype: str, count: int = 21) -> np.ndarray:
    if dtype == "bool":
        return DATA.integers(0, 2, count).astype(bool)
    if dtype.startswith("float"):
        return DATA.standard_normal(count).astype(dtype)
    info = np.iinfo(dtype)
    return DATA.integers(info.min, info.max, count, dtype=dtype, endpoint=True)


def both_ways(body: Callable[..., Any], expected: np.ndarray, *arrays: np.ndarray, dtype: Any = None) -> None:
    """Element by element, in vectors with a tail, with a stride, and in plain Python."""
    n = te.var("n")
    tensors = [te.placeholder(f"A{k}", n, a.dtype.name) for k, a in enumerate(arrays)]
    nest = LoopNest(te.compute("R", n, lambda i: body(*(t[i] for t in tensors)), dtype))
    agrees(nest, expected, *arrays)
    _, inner = nest.split("i", 8)
    nest.vectorize(inner)
    agrees(nest, expected, *arrays, interp=False)
    backwards = LoopNest(te.compute("R", n, lambda i: body(*(t[n - 1 - i] for t in tensors)), dtype))
    _, inner, _ = backwards.split_with_tail("i", 4)
    backwards.vectorize(inner)
    agrees(backwards, expected[::-1], *arrays, interp=False)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_are_loaded_computed_and_stored(dtype: str) -> None:
    a, b = values(dtype), values(dtype)
    if dtype == "bool":
        both_ways(lambda x, y: (x & ~y) | (y ^ x), (a & ~b) | (b ^ a), a, b)
        return
    with np.errstate(over="ignore"):
        both_ways(lambda x, y: x * y + 1 - te.minimum(x, y), a * b + a.dtype.type(1) - np.minimum(a, b), a, b)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_are_stored_rounded_and_computed_in_float32(dtype: str) -> None:
    kind = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    bits = np.concatenate([np.arange(0, 1 << 16, 37), [0x7C00, 0xFC00, 0x7E00, 0x7F80, 0xFF80, 0x8000, 1, 0x83FF]])
    every = bits.astype(np.uint16).view(kind)
    n = te.var("n")
    wide = LoopNest(_widened(dtype, n))
    np.testing.assert_array_equal(wide.codegen("llvm")(every), every.astype(np.float32))
    numbers = np.concatenate([every.astype(np.float32), DATA.integers(0, 1 << 32, 4000, np.uint32).view(np.float32)])
    for lanes in (1, 16):
        narrow = LoopNest(_narrowed(dtype, n))
        narrow.vectorize(narrow.split("i", lanes)[1])
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(
                narrow.codegen("llvm")(numbers).astype(np.float32), numbers.astype(kind).astype(np.float32)
            )


def _widened(dtype: str, n: te.Var) -> te.Tensor:
    H = te.placeholder("H", n, dtype)
    return te.compute("W", n, lambda i: H[i])


def _narrowed(dtype: str, n: te.Var) -> te.Tensor:
    F = te.placeholder("F", n)
    return te.compute("N", n, lambda i: F[i], dtype)


def test_tensors_of_bfloat16() -> None:
    H = te.placeholder("H", 4, flambeau.bfloat16)
    code = LoopNest(te.compute("R", 4, lambda i: H[i] * 2, "bfloat16")).codegen("llvm")
    result = code(flambeau.tensor([1.0, 2.5, -3.0, 0.1], dtype=flambeau.bfloat16))
    assert result.dtype is flambeau.bfloat16
    assert result.tolist() == [2.0, 5.0, -6.0, 0.2001953125]


FUNCTIONS: list[tuple[str, Callable[..., Any], Callable[..., Any]]] = [
    ("exp", te.exp, np.exp), ("tanh", te.tanh, np.tanh), ("sin", te.sin, np.sin), ("cos", te.cos, np.cos),
    ("abs and sqrt", lambda x: te.sqrt(abs(x)), lambda x: np.sqrt(np.abs(x))),
    ("log", lambda x: te.log(x * x + 1), lambda x: np.log(x * x + x.dtype.type(1))),
    ("sigmoid", te.sigmoid, lambda x: 1 / (1 + np.exp(-x))),
    ("floor", te.floor, np.floor), ("round", te.round, np.rint),
    ("power", lambda x: abs(x) ** 1.5, lambda x: np.abs(x) ** x.dtype.type(1.5)),
    ("where", lambda x: te.where(x > 0, x, -x * 2), lambda x: np.where(x > 0, x, -x * 2)),
    ("division", lambda x: 1 / (x + 5), lambda x: 1 / (x + x.dtype.type(5))),
    ("isnan", lambda x: te.cast(te.isnan(x / 0 * 0), x.dtype), lambda x: np.ones_like(x)),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "body", "reference"), FUNCTIONS, ids=[f[0] for f in FUNCTIONS])
def test_functions(name: str, body: Callable[..., Any], reference: Callable[..., Any], dtype: str) -> None:
    x = values(dtype, 13)
    both_ways(body, reference(x).astype(dtype), x)


def test_integers_divide_as_python_does() -> None:
    a, b = values("int32"), np.where(values("int32") % 7 == 0, 3, values("int32") % 9 - 10).astype(np.int32)
    both_ways(lambda x, y: x // y, a // b, a, b)
    both_ways(lambda x, y: x % y, a % b, a, b)
    both_ways(lambda x: (x << 2) ^ (x >> 3), (a << 2) ^ (a >> 3), a)


def test_casts_and_promotion() -> None:
    x, k, p = values("float32"), values("int16"), values("bool")
    both_ways(lambda x: te.cast(x * 100, "int32"), (x * np.float32(100)).astype(np.int32), x)
    both_ways(lambda k, p: k + p, k + p.astype(np.int16), k, p)
    both_ways(lambda k, x: k * x, (k * x).astype(np.float32), k, x)
    both_ways(lambda k: k / 2, (k.astype(np.float32) / 2), k)
    both_ways(lambda x, k: te.eq(k, k) & (x < 1), x < 1, x, k)
    both_ways(lambda k: k.astype("float64"), k.astype(np.float64), k)
    both_ways(lambda x: x, x.astype(np.float64), x, dtype="float64")


@pytest.mark.parametrize(("reducer", "dtype", "reference"), [
    ("sum", "int32", np.sum), ("prod", "float64", np.prod), ("max", "int8", np.max), ("min", "float32", np.min),
    ("any", "bool", np.any), ("all", "bool", np.all), ("maxnum", "float32", np.max), ("max", "uint8", np.max),
])  # fmt: skip
def test_reductions(reducer: str, dtype: str, reference: Callable[..., Any]) -> None:
    a = values(dtype, 48).reshape(3, 16)
    A = te.placeholder("A", (3, 16), dtype)
    nest = LoopNest(te.reduce("S", 3, reducer, lambda i, k: A[i, k], over=16))
    expected = reference(a, axis=1).astype(dtype)
    agrees(nest, expected, a)
    _, lanes = nest.split("k", 8)
    nest.vectorize(lanes)
    agrees(nest, expected, a, interp=False)


def test_reductions_of_nothing_are_neutral() -> None:
    n = te.var("n")
    A = te.placeholder("A", n, "int32")
    nothing = np.zeros(0, np.int32)
    agrees(LoopNest(te.reduce("S", (), "sum", lambda k: A[k], over=n)), np.int32(0), nothing)
    agrees(LoopNest(te.reduce("S", (), "max", lambda k: A[k], over=n)), np.int32(np.iinfo(np.int32).min), nothing)


def test_sums_of_bools_count() -> None:
    A = te.placeholder("A", 9, "bool")
    a = values("bool", 9)
    agrees(LoopNest(te.reduce("S", (), "sum", lambda k: A[k], over=9)), np.int64(a.sum()), a)


def test_numbers_are_arguments() -> None:
    n, alpha, shift, flag = te.var("n"), te.var("alpha", "float64"), te.var("shift", "int16"), te.var("flag", "bool")
    A = te.placeholder("A", n, "float64")
    nest = LoopNest(te.compute("R", n, lambda i: te.where(flag, A[i] * alpha + shift, 0)))
    nest.vectorize(nest.split("i", 4)[1])
    x = values("float64")
    code = nest.codegen("llvm")
    assert [a.name for a in code.args] == ["A", "alpha", "shift", "flag"]
    np.testing.assert_allclose(code(x, 0.5, -3, True), x * 0.5 - 3)
    np.testing.assert_allclose(code(x, np.float64(0.5), 3, np.False_), x * 0)


def test_gathers_of_rows_and_what_is_not_taken() -> None:
    n = te.var("n")
    A, I = te.placeholder("A", (5, 4)), te.placeholder("I", n, "int32")  # noqa: E741
    nest = LoopNest(te.compute("R", (n, 4), lambda i, j: te.where(I[i] >= 0, A[I[i], j], -1)))
    nest.vectorize("j")
    a, i = values("float32", 20).reshape(5, 4), np.array([3, -1, 0, -7, 4], np.int32)
    agrees(nest, np.where(i[:, None] >= 0, a[i.clip(0)], -1).astype(np.float32), a, i)


def test_memory_that_there_is_not_is_an_error() -> None:
    n = te.var("n")
    T = te.compute("T", (n, n, n), lambda i, j, k: i + j + k)
    U = te.compute("U", (n, n), lambda i, j: T[i, j, 0])
    code = LoopNest(te.compute("R", 1, lambda i: te.where(n > 0, U[0, 0] + T[0, 0, 0], 0))).codegen("llvm")
    assert code(3).tolist() == [0]
    for size in (1 << 18, 1 << 40):
        with pytest.raises(MemoryError, match="not enough memory for the temporaries of the nest"):
            code(size)


def test_fastmath_lets_floats_be_regrouped() -> None:
    A = te.placeholder("A", 64)
    nest = LoopNest(te.compute("R", 64, lambda i: A[i] * 3 + 1))
    assert "fmul reassoc" in nest.codegen("llvm", fastmath=True).llvm_ir
    assert "reassoc" not in nest.codegen("llvm").llvm_ir
