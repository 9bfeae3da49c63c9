"""Tensors changed where integers say, in whole graphs: in place and not, in order, and what is refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.tensor.tensor import wrap
from tests.codegen.graph.one_meaning import CALLS, Arguments, agree, functions

PROGRAM = """
def f(x: Tensor, i: Tensor, s: Tensor) -> Tuple[Tensor, int]:
    iterations = 0
    y = x{start}
    for k in range(2):
        {change}
        iterations += 1
    return y, iterations
"""
IN_PLACE = {
    "scatter_": "y.scatter_({dim}, i, s)",
    "scatter_ with a number": "y.scatter_({dim}, i, 3)",
    "scatter_add_": "y.scatter_add_({dim}, i, s)",
    "scatter_ that adds": 'y.scatter_({dim}, i, s, reduce="add")',
    "scatter_ that multiplies": 'y.scatter_({dim}, i, 2, reduce="multiply")',
}
SLICES = {
    "index_add_": "y.index_add_({dim}, i, s)",
    "index_add_ of thrice": "y.index_add_({dim}, i, s, alpha=3)",
    "index_copy_": "y.index_copy_({dim}, i, s)",
}
NEW = {
    "scatter": "y = y.scatter({dim}, i, s)",
    "scatter_add": "y = y.scatter_add({dim}, i, s)",
    "index_add": "y = y.index_add({dim}, i, s)",
    "index_copy": "y = y.index_copy({dim}, i, s)",
}
KINDS = ("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool")


def program(form: str, dim: int = 0, start: str = "") -> str:
    change = {**IN_PLACE, **SLICES, **NEW}[form].format(dim=dim)
    return PROGRAM.format(change=change, start=start)


def given(
    *shape: int, count: int, dim: int, dtype: str = "float32", is_vector: bool = False, seed: int = 0
) -> Arguments:
    rng = np.random.default_rng(seed)
    turned = (*shape[:dim], count, *shape[dim + 1 :])
    x, s = ((rng.standard_normal(n) * 50).astype(dtype) for n in (shape, turned))
    index = rng.integers(0, shape[dim], (count,) if is_vector else turned)
    return lambda: (wrap(x.copy()), wrap(index.copy()), wrap(s.copy()))


def turned(arguments: Arguments) -> Arguments:
    """Tensors that lie across."""
    return lambda: tuple(t.transpose(0, 1).contiguous().transpose(0, 1) if t.dim() > 1 else t for t in arguments())


@pytest.mark.parametrize("form", [*IN_PLACE, *SLICES, *NEW])
def test_forms(form: str) -> None:
    is_vector = "index" in form
    for shape, dim, count in (((7,), 0, 20), ((7, 5), 0, 9), ((5, 7), 1, 9), ((5, 7), 1, 1), ((2, 6, 3), 1, 4)):
        arguments = given(*shape, count=count, dim=dim, is_vector=is_vector)
        agree(program(form, dim), arguments)
        agree(program(form, dim), turned(arguments), is_native=form not in NEW)
    one = given(1, 5, count=4, dim=0, is_vector=is_vector)  # has no kernel
    agree(program(form), one)
    agree(program(form, 0, "[1:]"), given(8, 5, count=7, dim=0, is_vector=is_vector, seed=3), is_native=form not in NEW)


@pytest.mark.parametrize("form", [*IN_PLACE, *SLICES, *NEW])
@pytest.mark.parametrize("size", [1, 7])
def test_nothing_of_it_is_run_by_python(form: str, size: int) -> None:
    fn = functions(program(form))["native"]
    for _ in range(CALLS):
        fn(*given(size, 5, count=9, dim=0, is_vector="index" in form)())
    [plan] = fn._executor.plans
    [variant] = plan.compiled.variants
    assert not variant.emitted.operators


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("form", ["scatter_add_", "scatter_", "index_add_ of thrice", "scatter_ that multiplies"])
def test_dtypes(form: str, dtype: str) -> None:
    agree(program(form), given(6, 3, count=30, dim=0, dtype=dtype, is_vector="index" in form))


@pytest.mark.parametrize("form", [*IN_PLACE, *SLICES, *NEW])
@pytest.mark.parametrize("wrong", [-1, 7, 2**40])
def test_places_outside_change_nothing(form: str, wrong: int) -> None:
    arguments = given(7, count=20, dim=0, is_vector=True)

    def outside() -> tuple[Tensor, ...]:
        x, i, s = arguments()
        i[13] = wrong
        return x, i, s

    agree(program(form), outside)


def test_sizes() -> None:
    zeros = lambda *sizes: flambeau.zeros(list(sizes))  # noqa: E731
    longs = lambda *sizes: flambeau.zeros(list(sizes), dtype=flambeau.int64)  # noqa: E731
    for x, i, s in (
        ((3,), (0,), (0,)), ((3,), (0,), (5,)), ((0,), (0,), (0,)), ((0,), (2,), (2,)), ((3,), (2,), (5,)),
        ((3,), (5,), (2,)), ((3, 4), (2, 3), (5, 4)), ((3, 4), (2, 5), (5, 5)), ((1, 1), (1, 1), (1, 1)),
        ((3, 4), (2,), (2, 4)), ((3, 4), (2,), (2, 3)), ((3, 4), (2,), (2, 1)), ((3, 0), (2, 0), (2, 0)),
    ):  # fmt: skip
        for form in ("scatter_add_", "scatter_", "index_add_", "index_copy_"):
            arguments = lambda x=x, i=i, s=s: (zeros(*x), longs(*i), zeros(*s) + 2)  # noqa: E731
            agree(program(form), arguments, is_native=False)


def test_memory_that_is_shared() -> None:
    for form in ("scatter_add_", "scatter_", "index_add_", "index_copy_"):
        change = {**IN_PLACE, **SLICES}[form].format(dim=0)
        same = PROGRAM.format(change=change.replace("s)", "y[1:])"), start="")
        agree(same, given(8, count=7, dim=0, is_vector=True))
        itself = PROGRAM.format(change=change.replace("i,", "y,"), start="")
        agree(itself, given(8, count=8, dim=0, dtype="int64", is_vector=True), is_native=False)
        agree(program(form, 0, ".expand(8)"), lambda: (flambeau.ones([1]), flambeau.tensor([1, 0]), flambeau.ones([2])))


PUTS = {
    "one element": "y[i] = 2.5",
    "rows": "y[i] = s",
    "rows that add": "y[i] += s",
    "accumulated": "y.index_put_([i], s, True)",
    "not in place": "y = y.index_put([i], s, True)",
    "a mask": "y[y > 0] = -1.5",
    "a mask of rows": "y[i > 2] = 0.5",
    "one row everywhere": "y[i] = s[0]",
}


@pytest.mark.parametrize("form", list(PUTS))
def test_index_put(form: str) -> None:
    source = PROGRAM.format(change=PUTS[form], start="")
    count = 6 if form == "a mask of rows" else 9
    for shape in ((6,), (6, 5), (6, 2, 3)):
        arguments = given(*shape, count=count, dim=0, is_vector=True)
        agree(source, arguments)
        agree(source, turned(arguments), is_native=False)

        def negative(arguments: Arguments = arguments) -> tuple[Tensor, ...]:
            x, i, s = arguments()
            return x, i - 6, s

        agree(source, negative)
        for wrong in (-7, 6):

            def outside(arguments: Arguments = arguments, wrong: int = wrong) -> tuple[Tensor, ...]:
                x, i, s = arguments()
                i[2] = wrong
                return x, i, s

            agree(source, outside)


def test_index_put_sizes() -> None:
    for change in ("y[i] = s", "y.index_put_([i], s, True)"):
        source = PROGRAM.format(change=change, start="")
        for x, count, s in (
            ((3, 4), 2, (4,)), ((3, 4), 2, (2, 1)), ((3, 4), 2, (3, 4)), ((3, 4), 0, (1, 4)), ((3, 4), 0, (2, 4)),
            ((0, 4), 1, (1, 4)), ((3,), 2, (1, 2)), ((3,), 1, (1,)),
        ):  # fmt: skip

            def arguments(x: tuple[int, ...] = x, count: int = count, s: tuple[int, ...] = s) -> tuple[Tensor, ...]:
                index = flambeau.zeros([count], dtype=flambeau.int64)
                return flambeau.zeros(list(x)), index, flambeau.ones(list(s))

            agree(source, arguments, is_native=False)


def test_c05_a_write_by_a_mask_without_axes_is_native() -> None:
    def f(x: Tensor, s: Tensor) -> Tensor:
        for i in range(3):
            x[x.sum() > s] = i
            x[s > 0] += 1
        return x

    script = flambeau.script(f)
    for shape, limit in itertools.product(((3, 4), (0, 3), (1,), (2, 1, 2)), (-5.0, 3.0, 100.0)):
        for _ in range(3):
            expected = f(flambeau.ones(shape), flambeau.tensor(limit))
            got = script(flambeau.ones(shape), flambeau.tensor(limit))
            np.testing.assert_array_equal(got.numpy(), expected.numpy())

    def one(x: Tensor, m: Tensor) -> Tensor:
        x[m] = 0
        return x

    script = flambeau.script(one)
    for _ in range(3):
        assert script(flambeau.ones(2), flambeau.tensor(True)).tolist() == [0.0, 0.0]
    explained = script.explain(measure=False)
    assert explained.is_native, explained
