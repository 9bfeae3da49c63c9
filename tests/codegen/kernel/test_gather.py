"""Loads where integers say: text, meaning, native code, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from flambeau.codegen import backend, reference
from flambeau.codegen.kernel import KernelError, parse_kernel, print_kernel
from flambeau.codegen.lower import LoweringError, lower_graph
from tests.codegen.kernels import GATHERED_ROWS
from tests.codegen.lower.test_lower import graph, interpret

TABLE = "%w : Float(*, *)"
FORMS = {
    "embedding": (TABLE + ", %i : Long(*)", "%b : Tensor = aten::embedding(%w, %i, %last, %false, %false)"),
    "embedding of a matrix": (
        TABLE + ", %i : Int(*, *)", "%b : Tensor = aten::embedding(%w, %i, %last, %false, %false)"
    ),
    "rows": (TABLE + ", %i : Long(*)", "%b : Tensor = aten::index_select(%w, %zero, %i)"),
    "columns": (TABLE + ", %i : Long(*)", "%b : Tensor = aten::index_select(%w, %one, %i)"),
    "computed places": (TABLE + ", %i : Long(*)", """
        %j : Tensor = aten::remainder(%i, %two)
        %a : Tensor = aten::index_select(%w, %zero, %j)
        %b : Tensor = aten::exp(%a)"""),
    "sum of rows": (TABLE + ", %i : Long(*)", """
        %a : Tensor = aten::embedding(%w, %i, %last, %false, %false)
        %b : Tensor = aten::sum(%a, %dims, %false, %none)"""),
    "softmax of rows": (TABLE + ", %i : Long(*)", """
        %a : Tensor = aten::embedding(%w, %i, %last, %false, %false)
        %b : Tensor = aten::softmax(%a, %one, %none)"""),
}  # fmt: skip
GATHERS = {
    "gather along rows": ("%w : Float(*, *), %i : Long(*, *)", "%b : Tensor = aten::gather(%w, %one, %i, %false)"),
    "gather along columns": ("%w : Float(*, *), %i : Long(*, *)", "%b : Tensor = aten::gather(%w, %zero, %i, %false)"),
}


def check(g: Any, *arrays: np.ndarray) -> None:
    lowered = lower_graph(g)
    assert parse_kernel(print_kernel(lowered.kernel)) == lowered.kernel
    want = interpret(g, *arrays)[0]
    results = [backend.compile_lowered(lowered)(*arrays), backend.compile_lowered(lowered)(
        np.asfortranarray(arrays[0]), *arrays[1:]
    )]  # fmt: skip
    if want.size < 2000:
        results += reference.run(lowered.kernel, *arrays)
    for got in results:
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def table(*sizes: int) -> np.ndarray:
    return np.random.default_rng(sum(sizes)).standard_normal(sizes).astype(np.float32)


def places(size: int, *sizes: int) -> np.ndarray:
    return np.random.default_rng(sum(sizes)).integers(0, size, sizes)


@pytest.mark.parametrize("name", list(FORMS))
@pytest.mark.parametrize(("shape", "count"), [((7, 5), 3), ((7, 100), 40), ((60, 1), 5), ((3, 64), 1), ((9, 9), 0)])
def test_lookup(name: str, shape: tuple[int, int], count: int) -> None:
    g = graph(*FORMS[name], "%b")
    rank = len(g.parameters[1].static_type.sizes)
    size = shape[1] if name == "columns" else shape[0]
    index = places(size, *((count,) if rank == 1 else (count, 4))).astype(g.parameters[1].static_type.dtype.numpy)
    if shape[1] == 1 and name == "columns":
        index = index * 0
    check(g, table(*shape), index)


@pytest.mark.parametrize("shape", [(7, 5), (3, 200), (40, 33)])
def test_gather(shape: tuple[int, int]) -> None:
    check(graph(*GATHERS["gather along rows"], "%b"), table(*shape), places(shape[1], shape[0], 21))
    check(graph(*GATHERS["gather along columns"], "%b"), table(*shape), places(shape[0], 30, shape[1]))


@pytest.mark.parametrize("wrong", [-1, 7, 2**40, -(2**63)])
@pytest.mark.parametrize("name", ["embedding", "rows", "softmax of rows"])
def test_places_outside(name: str, wrong: int) -> None:
    lowered = lower_graph(graph(*FORMS[name], "%b"))
    compiled = backend.compile_lowered(lowered)
    index = places(7, 30)
    compiled(table(7, 20), index)
    index[17] = wrong
    with pytest.raises(IndexError):
        compiled(table(7, 20), index)
    with pytest.raises(IndexError):
        reference.run(lowered.kernel, table(7, 20), index)


def test_sizes_that_differ() -> None:
    compiled = backend.compile_graph(graph(*GATHERS["gather along rows"], "%b"))
    for rows in (1, 2, 5):
        with pytest.raises(KernelError):
            compiled(table(4, 6), places(6, rows, 3))
    with pytest.raises(KernelError):
        compiled(table(1, 6), places(6, 4, 3))
    with pytest.raises(KernelError, match="axis of size 0"):
        backend.compile_graph(graph(*FORMS["rows"], "%b"))(table(0, 6), places(6, 4))


def test_text() -> None:
    kernel = parse_kernel(GATHERED_ROWS)
    assert print_kernel(kernel) == GATHERED_ROWS
    w, i = table(6, 5), places(6, 9)
    np.testing.assert_array_equal(backend.compile_kernel(kernel)(w, i), w[i])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("load w[%1, d1]", "load w[%0, d1]", "%0 is not known to lie within g0"),
        ("within %0, g0", "within %0, g7", "within takes an int64 and an axis"),
        ("for d0, d1 {", "for d0, d1, g0 {", "loop over axis g0, which values go along"),
        ("load w[%1, d1]", "load w[%1]", "'w' is declared with axes"),
    ],
)
def test_faults(old: str, new: str, message: str) -> None:
    with pytest.raises(KernelError, match=message):
        backend.compile_kernel(parse_kernel(GATHERED_ROWS.replace(old, new)))


def test_tables_that_are_read_otherwise_too() -> None:
    g = graph(TABLE + ", %i : Long(*)", """
        %a : Tensor = aten::index_select(%w, %zero, %i)
        %b : Tensor = aten::exp(%w)""", "%a, %b")  # fmt: skip
    with pytest.raises(LoweringError, match="used in two ways"):
        lower_graph(g)
    g = graph(TABLE + ", %i : Long(*)", """
        %a : Tensor = aten::exp(%w)
        %b : Tensor = aten::index_select(%a, %zero, %i)""", "%b")  # fmt: skip
    with pytest.raises(LoweringError, match="computed in the same region"):
        lower_graph(g)
