"""Transposed inputs and short axes: copies in tiles and loops unrolled, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from flambeau.codegen import backend, threads
from flambeau.codegen.llvm.entry_patterns import EXACT_UP_TO
from flambeau.codegen.runtime import CompiledKernel
from tests.codegen.lower.test_lower import graph

TWO = "%x : {0}(*, *), %y : {0}(*, *)"
DTYPES = {"Float": np.float32, "Double": np.float64, "Int": np.int32, "Long": np.int64, "Char": np.int8}


def numbers(dtype: type, *sizes: int) -> np.ndarray:
    return (np.random.default_rng(sum(sizes)).standard_normal(sizes) * 20).astype(dtype)


def packs(compiled: CompiledKernel) -> list[bool]:
    """For every copied input of the kernel: whether all of it is copied at once."""
    return [p.whole for v in compiled.variants for p in v.schedule.packs]


@pytest.mark.parametrize("kind", list(DTYPES))
@pytest.mark.parametrize("shape", [(17, 33), (100, 5), (4, 300), (64, 64), (700, 129)])
def test_sum_with_transpose(kind: str, shape: tuple[int, int]) -> None:
    compiled = backend.compile_graph(graph(TWO.format(kind), "%a : Tensor = aten::add(%x, %y, %one)", "%a"))
    x, y = numbers(DTYPES[kind], *shape), numbers(DTYPES[kind], *shape[::-1])
    np.testing.assert_array_equal(compiled(x, y.T), x + y.T)
    np.testing.assert_array_equal(compiled(x, y.T[:, ::-1]), x + y.T[:, ::-1])
    assert packs(compiled) == ([] if kind == "Char" else [False])


@pytest.mark.parametrize("kind", ["Float", "Double", "Int", "Long"])
@pytest.mark.parametrize(("wide", "high"), [(512, 37), (256, 70), (1024, 131), (300, 40)])
def test_columns_that_meet_in_the_cache_are_copied_in_several_tiles(kind: str, wide: int, high: int) -> None:
    """Rows of a transpose whose columns are a multiple of 1024 bytes apart, and others."""
    compiled = backend.compile_graph(graph(TWO.format(kind), "%a : Tensor = aten::add(%x, %y, %one)", "%a"))
    for width in (wide, wide - 3):
        x, y = numbers(DTYPES[kind], width, high), numbers(DTYPES[kind], high, wide)[:, :width]
        np.testing.assert_array_equal(compiled(x, y.T), x + y.T)
    item = np.dtype(DTYPES[kind]).itemsize
    tiles = {p.tiles for v in compiled.variants for p in v.schedule.packs}
    assert tiles == ({4} if wide * item % 1024 == 0 else {1})


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("shape", [(33, 70), (5, 9), (300, 400)])
def test_rows_of_a_transpose(shape: tuple[int, int], count: int) -> None:
    compiled = backend.compile_graph(graph("%x : Float(*, *)", "%b : Tensor = aten::softmax(%x, %one, %none)", "%b"))
    before = threads.get_num_threads()
    threads.set_num_threads(count)
    try:
        x = numbers(np.float32, *shape[::-1]).T
        got = compiled(x)
    finally:
        threads.set_num_threads(before)
    wide = np.exp(x - x.max(1, keepdims=True).astype(np.float64))
    np.testing.assert_allclose(got, wide / wide.sum(1, keepdims=True), rtol=1e-5, atol=1e-9)
    assert got.flags.c_contiguous
    assert packs(compiled) == [False]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(50, 3), (300, 8), (40, 17), (70, 1)])
def test_distances(shape: tuple[int, int], dtype: type) -> None:
    kind = {np.float32: "Float", np.float64: "Double"}[dtype]
    g = graph(f"%x : {kind}(*, 1, *), %y : {kind}(1, *, *)", """
        %d : Tensor = aten::sub(%x, %y, %one)
        %p : Tensor = aten::pow(%d, %two)
        %k : int[] = prim::Constant[value=[-1]]()
        %s : Tensor = aten::sum(%p, %k, %false, %none)
        %b : Tensor = aten::sqrt(%s)
        """, "%b")  # fmt: skip
    compiled = backend.compile_graph(g)
    x = numbers(dtype, *shape)
    want = np.sqrt(((x[:, None] - x[None]).astype(np.float64) ** 2).sum(-1))
    np.testing.assert_allclose(compiled(x[:, None], x[None]), want, rtol=1e-5)
    assert packs(compiled) == ([True] if shape[1] > 1 else [])


def test_stack_of_transposes() -> None:
    compiled = backend.compile_graph(
        graph("%x : Float(*, *, *), %y : Float(*, *, *)", "%a : Tensor = aten::add(%x, %y, %one)", "%a")
    )
    x, y = numbers(np.float32, 3, 20, 37), numbers(np.float32, 3, 37, 20)
    np.testing.assert_array_equal(compiled(x, y.transpose(0, 2, 1)), x + y.transpose(0, 2, 1))
    z = numbers(np.float32, 37, 3, 20)
    np.testing.assert_array_equal(compiled(x, z.transpose(1, 2, 0)), x + z.transpose(1, 2, 0))


@pytest.mark.parametrize("width", [2, 3, 7, 16, 33, 64, 100, 130, 256])
@pytest.mark.parametrize("op", ["sum", "argmax", "var", "softmax"])
def test_short_rows(op: str, width: int) -> None:
    call = {
        "sum": "aten::sum(%x, %dims, %false, %none)",
        "argmax": "aten::argmax(%x, %one, %false)",
        "var": "aten::var(%x, %dims, %true, %false)",
        "softmax": "aten::softmax(%x, %one, %none)",
    }[op]
    compiled = backend.compile_graph(graph("%x : Float(*, *)", f"%b : Tensor = {call}", "%b"))
    x = numbers(np.float32, 20_000 // width, width)
    wide = x.astype(np.float64)
    want = {
        "sum": lambda: wide.sum(1),
        "argmax": lambda: wide.argmax(1),
        "var": lambda: wide.var(1, ddof=1),
        "softmax": lambda: (
            np.exp(wide - wide.max(1, keepdims=True)) / np.exp(wide - wide.max(1, keepdims=True)).sum(1, keepdims=True)
        ),
    }[op]()
    np.testing.assert_allclose(compiled(x), want, rtol=2e-5, atol=1e-5)
    assert all(v.schedule.fixed and v.schedule.jam > 1 for v in compiled.variants if width <= EXACT_UP_TO)


def test_prepared_rows() -> None:
    """What varies along the last axis alone is computed once, not in every row."""
    g = graph("%x : Float(*, *), %v : Float(*), %e : float", """
        %a : Tensor = aten::add(%v, %e, %one)
        %b : Tensor = aten::log(%a)
        %c : Tensor = aten::mul(%b, %two)
        %d : Tensor = aten::mul(%x, %c)
        %f : Tensor = aten::sub(%d, %b, %one)
        """, "%f, %d")  # fmt: skip
    for count in (1, 2):
        before = threads.get_num_threads()
        threads.set_num_threads(count)
        try:
            compiled = backend.compile_graph(g)
            x, v = numbers(np.float32, 300, 77), np.abs(numbers(np.float32, 77)) + 1
            row = np.log(v.astype(np.float64) + 0.5)
            for got, want in zip(compiled(x, v, 0.5), (x * row * 2 - row, x * row * 2), strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
            assert [len(k.kernel.scratch) for k in compiled.variants] == [2]
        finally:
            threads.set_num_threads(before)


def test_long_rows_ask_for_the_next() -> None:
    compiled = backend.compile_graph(
        graph("%x : Float(*, *)", "%b : Tensor = aten::var(%x, %dims, %true, %false)", "%b")
    )
    x = numbers(np.float32, 70, 3001)
    np.testing.assert_allclose(compiled(x), x.astype(np.float64).var(1, ddof=1), rtol=1e-5)
    assert [v.schedule.next_row for v in compiled.variants] == [True]
