"""Reductions: every fold over every choice of dimensions and layout, against NumPy and the reference evaluator."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from flambeau import codegen
from flambeau.codegen import backend, reference
from flambeau.codegen.kernel import Carry, Kernel, KernelBuilder
from tests.codegen.kernels import random_values

AXES = ("a", "b", "c")


def fold(reducer: str, dtype: str, over: tuple[str, ...]) -> Kernel:
    """``reducer`` over some axes of an input of three."""
    kept = tuple(a for a in AXES if a not in over)
    result = "int64" if reducer.startswith("arg") else dtype
    b = KernelBuilder("fold", AXES)
    b.input("x", dtype, AXES)
    b.output("y", result, kept)

    def inner() -> None:
        with b.loop(*over, carries=(Carry("s", dtype, reducer),)):
            b.accumulate("s", b.load("x"), b.position(*over) if reducer.startswith("arg") else None)
        b.store("y", "s")

    if kept:
        with b.loop(*kept):
            inner()
    else:
        inner()
    return b.kernel()


def expected(reducer: str, x: np.ndarray, over: tuple[str, ...]) -> np.ndarray:
    places = tuple(AXES.index(a) for a in over)
    if reducer.startswith("arg"):
        kept = [k for k in range(3) if k not in places]
        moved = x.transpose(*kept, *places).reshape([x.shape[k] for k in kept] + [-1])
        return getattr(np, reducer)(moved, axis=-1)
    name = {"maxnum": "nanmax"}.get(reducer, reducer)
    wide = x.astype(np.float64) if reducer in ("sum", "prod") and x.dtype.kind == "f" else x
    out = getattr(np, name)(wide, axis=places, **({"dtype": wide.dtype} if reducer in ("sum", "prod") else {}))
    return np.asarray(out).astype(x.dtype)


OVER = [("c",), ("a",), ("b",), ("a", "b"), ("b", "c"), ("a", "c"), ("a", "b", "c")]
CASES = [
    (r, d) for r in ("sum", "prod", "max", "min", "argmax", "argmin") for d in ("float32", "float64", "int64", "int8")
]
CASES += [("any", "bool"), ("all", "bool"), ("max", "bool"), ("maxnum", "float32"), ("sum", "uint8"), ("max", "uint8")]


@pytest.mark.parametrize(("reducer", "dtype"), CASES, ids=[f"{r}-{d}" for r, d in CASES])
@pytest.mark.parametrize("over", OVER, ids=["".join(o) for o in OVER])
def test_fold(reducer: str, dtype: str, over: tuple[str, ...]) -> None:
    compiled = backend.compile_kernel(fold(reducer, dtype, over))
    x = random_values(dtype, 3 * 5 * 37).reshape(3, 5, 37)
    if dtype.startswith("float") and reducer in ("sum", "prod"):
        x = np.random.default_rng(1).uniform(0.9, 1.1, x.shape).astype(dtype)
    for view in (x, x.transpose(2, 0, 1), x[:, ::-1, ::2]):
        got, want = compiled(view), expected(reducer, view, over)
        assert got.dtype == want.dtype
        assert got.shape == want.shape
        if dtype.startswith("float") and reducer in ("sum", "prod"):
            np.testing.assert_allclose(got, want, rtol=2e-5 if dtype == "float32" else 1e-13)
        else:
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("reducer", ["max", "min", "argmax", "argmin"])
@pytest.mark.parametrize("over", [("c",), ("a",), ("a", "b", "c")], ids=["c", "a", "abc"])
def test_nan_wins_and_the_first_of_equals(reducer: str, over: tuple[str, ...]) -> None:
    kernel = fold(reducer, "float32", over)
    compiled = backend.compile_kernel(kernel)
    x = np.zeros((70, 2, 70), np.float32)
    np.testing.assert_array_equal(compiled(x), expected(reducer, x, over))
    x[40, 1, 33] = np.nan
    x[41, 1, 50] = np.nan
    np.testing.assert_array_equal(compiled(x), expected(reducer, x, over))
    x[...] = -np.inf if "max" in reducer else np.inf
    np.testing.assert_array_equal(compiled(x), expected(reducer, x, over))


@pytest.mark.parametrize("rows", [2, 0])
@pytest.mark.parametrize("reducer", ["max", "argmin"])
def test_c06_largest_of_nothing_is_refused(reducer: str, rows: int) -> None:
    kernel = fold(reducer, "float32", ("c",))
    x = np.zeros((rows, 3, 0), np.float32)
    with pytest.raises(ValueError, match=f"{reducer}: no values to choose from"):
        backend.compile_kernel(kernel)(x)
    with pytest.raises(ValueError, match=f"{reducer}: no values to choose from"):
        reference.run(kernel, x)
    assert backend.compile_kernel(kernel)(np.zeros((0, 3, 2), np.float32)).shape == (0, 3)


@pytest.mark.parametrize(("reducer", "value"), [("sum", 0.0), ("prod", 1.0)])
def test_fold_of_nothing(reducer: str, value: float) -> None:
    got = backend.compile_kernel(fold(reducer, "float32", ("a", "c")))(np.zeros((0, 3, 4), np.float32))
    np.testing.assert_array_equal(got, np.full(3, value, np.float32))


@pytest.mark.parametrize("size", [1, 127, 8191, 8192, 8193, 100_003, 1_500_000])
@pytest.mark.parametrize("reducer", ["sum", "max", "argmax"])
def test_whole_arrays_in_pieces(size: int, reducer: str) -> None:
    x = np.random.default_rng(size).standard_normal((1, 1, size)).astype(np.float32)
    got = backend.compile_kernel(fold(reducer, "float32", AXES))(x)
    want = expected(reducer, x, AXES)
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-3 if reducer == "sum" else 0)


def test_sum_does_not_depend_on_threads() -> None:
    x = np.random.default_rng(0).standard_normal((1, 1, 3_000_000)).astype(np.float32)
    kernel = fold("sum", "float32", AXES)
    results = set()
    before = codegen.get_num_threads()
    try:
        for count in (1, 2, 3):
            codegen.set_num_threads(count)
            compiled = backend.compile_kernel(kernel)
            results.update(float(compiled(x)) for _ in range(3))
    finally:
        codegen.set_num_threads(before)
    assert len(results) == 1


def test_c18_sums_of_several_python_threads_at_once() -> None:
    x = np.random.default_rng(0).standard_normal((1, 1, 3_000_000)).astype(np.float32)
    compiled = backend.compile_kernel(fold("sum", "float32", AXES))
    want = float(compiled(x))
    before = codegen.get_num_threads()
    codegen.set_num_threads(2)
    try:
        with ThreadPoolExecutor(3) as threads:
            results = set(threads.map(lambda _: float(compiled(x)), range(60)))
    finally:
        codegen.set_num_threads(before)
    assert results == {want}


def test_float32_sum_is_accurate() -> None:
    x = np.full((1, 1, 4_000_000), 0.1, np.float32)
    got = float(backend.compile_kernel(fold("sum", "float32", AXES))(x))
    assert abs(got - 4_000_000 * float(np.float32(0.1))) < 2.0


@pytest.mark.parametrize("columns", [1, 10, 64, 3000])
@pytest.mark.parametrize("rows", [255, 256, 257, 100_000])
def test_long_sums_of_columns_are_folded_in_pieces(rows: int, columns: int) -> None:
    count = min(rows, 3_000_000 // columns)
    x = np.random.default_rng(rows).random((count, columns, 1), dtype=np.float32)
    exact = x.astype(np.float64).sum((0, 2))
    got = backend.compile_kernel(fold("sum", "float32", ("a", "c")))(x)
    units = np.abs(got - exact) / exact * 2**24
    # A sum of n positive numbers in pieces of 256 is off by less than 256 + n / 256 units; in one go it may be by n.
    assert units.max() < 4 * np.sqrt(256 + count / 256)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf], ids=str)
def test_what_is_not_finite_passes_through_pieces(value: float) -> None:
    x = np.ones((1000, 3, 1), np.float32)
    x[[3, 700], 1] = value
    got = backend.compile_kernel(fold("sum", "float32", ("a", "c")))(x)
    np.testing.assert_array_equal(got, np.array([1000, value, 1000], np.float32))
