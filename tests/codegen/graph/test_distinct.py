"""Places, distinct elements and bins in native code, beside the interpreter and the reference: values and
strides to the bit, errors to the letter."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen import available
from tests.codegen.graph import one_meaning

pytestmark = pytest.mark.skipif(not available(), reason="native code needs llvmlite")
NAN, INF = float("nan"), float("inf")
VALUES = [3.0, NAN, -0.0, 0.0, INF, -INF, 3.0, NAN, 1.5, -2.0, 2.0, 0.0, 0.0]
PROGRAMS = {
    "nonzero": "x.nonzero(), flambeau.argwhere(x), flambeau.where(x)[0], x[flambeau.where(x)[-1] * 0].numel()",
    "unique": "*flambeau._unique2(x, True, True, True), *flambeau._unique2(x), flambeau.unique(x, True)",
    "consecutive": "*flambeau.unique_consecutive(x, True, True), flambeau.unique_consecutive(x)",
    "histc": "flambeau.histc(x, k, -2.0, 3.0), x.histc(4, 0, k)",
}
SHAPES = [(7,), (70,), (0,), (3, 5), (0, 4), (4, 0), (1, 1), (2, 3, 4)]
DTYPES = ["float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool"]


def program(name: str) -> str:
    return f"def f(x: Tensor, k: int):\n    return {PROGRAMS[name]}\n"


def tensor(dtype: str, shape: tuple[int, ...]) -> Tensor:
    count = int(np.prod(shape))
    if dtype.startswith("float"):
        return flambeau.tensor((VALUES * 20)[:count], dtype=getattr(flambeau, dtype)).reshape(shape)
    draw = np.random.default_rng(count).integers(0, 2 if dtype == "bool" else 4, count)
    return flambeau.tensor(draw.tolist(), dtype=getattr(flambeau, dtype)).reshape(shape)


def agree(name: str, x: Tensor, k: int = 5, *, is_native: bool = True) -> None:
    one_meaning.agree(program(name), lambda: (x, k), is_native=is_native)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_dtypes(name: str, dtype: str) -> None:
    agree(name, tensor(dtype, (4, 9)), is_native=name != "histc" or dtype.startswith("float"))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_shapes(name: str, shape: tuple[int, ...]) -> None:
    agree(name, tensor("float32", shape))


@pytest.mark.parametrize("name", PROGRAMS)
def test_tensors_with_gaps_and_turned_ones(name: str) -> None:
    x = tensor("float64", (8, 9))
    for view in (x.t(), x[::2, 1::3], x[:, :1].expand(8, 5), x[:, 2], x.flip(0)[1:]):
        agree(name, view)


@pytest.mark.parametrize("fill", [0.0, 1.0])
def test_none_and_all(fill: float) -> None:
    for shape in SHAPES:
        agree("nonzero", flambeau.full(shape, fill))


@pytest.mark.parametrize("k", [0, -1, -5])
def test_bins_that_are_none_are_refused(k: int) -> None:
    agree("histc", tensor("float32", (9,)), k)


def test_bounds_of_bins() -> None:
    text = "def f(x: Tensor, low: float, high: float):\n    return x.histc(4, low, high)\n"
    x = flambeau.tensor([0.0, 1.0, 1.0, 2.5, -1.0, 4.0])
    odd = (0.0, INF), (NAN, 1.0), (INF, INF), (1e-40, 0.3)
    for low, high in ((0.0, 0.0), (0.1, 0.7), (-1.0, 4.0), (2.0, 1.0), *odd):
        one_meaning.agree(text, lambda low=low, high=high: (x, low, high))


def test_ends_of_ints_are_no_nan() -> None:
    for dtype in ("int32", "int64"):
        ends = np.iinfo(dtype)
        values = [ends.max, ends.min, ends.max, 0, -1, ends.max]
        agree("unique", flambeau.tensor(values, dtype=getattr(flambeau, dtype)))


def test_arrays_in_loops() -> None:
    def events(x: np.ndarray, n: int) -> np.ndarray:
        out = np.zeros(n, dtype=np.int64)
        for k in range(n):
            places = np.nonzero(x > k * 0.1)[0]
            out[k] = places.sum() + np.flatnonzero(x[:5] < 0).size
            if places.size > 2:
                out[k] += places[2]
        return out

    scripted = flambeau.script(events)
    x = np.random.default_rng(0).normal(size=200)
    for _ in range(3):
        np.testing.assert_array_equal(scripted(x, 40), events(x, 40))
    assert scripted.explain(measure=False).is_native, str(scripted.explain(measure=False))
