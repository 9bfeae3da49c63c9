"""`cummax`, `cummin` and `logcumsumexp` natively: NumPy's running folds, where each value was last seen, and once nan
always nan.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available

pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(3)
TENSORS = {
    "floats": RNG.standard_normal((3, 4, 5)).astype(np.float32),
    "doubles that repeat": RNG.integers(0, 4, (4, 6)).astype(np.float64),
    "odd ones": np.array([[1.0, np.nan, 2.0], [-np.inf, -0.0, 0.0], [np.inf, np.inf, np.nan], [-np.inf] * 3]),
    "ints": RNG.integers(-9, 9, (5, 3)),
    "the least int": np.array([[np.iinfo(np.int64).min, 0], [np.iinfo(np.int64).min, np.iinfo(np.int64).max]]),
    "small ints": RNG.integers(0, 255, (2, 7)).astype(np.uint8),
    "bools": RNG.integers(0, 2, (3, 4)).astype(np.bool_),
    "a line": RNG.standard_normal(9),
    "no rows": np.zeros((0, 3)),
    "no columns": np.zeros((3, 0), np.float32),
    "turned": RNG.standard_normal((4, 3)).T,
}


def folded(fold: np.ufunc, x: Array, dim: int) -> tuple[Array, Array]:
    """Element by element, along the last axis."""
    if not x.size:
        return x, np.zeros(x.shape, np.int64)
    lines, values, indices = np.moveaxis(x, dim, -1), [], []
    for line in lines.reshape(-1, lines.shape[-1]):
        best, at, own, own_at = None, 0, [], []
        for k, item in enumerate(line):
            if best is None or item != item or fold(item, best) == item:
                best, at = item, k
            own.append(best)
            own_at.append(at)
        values.append(own)
        indices.append(own_at)
    shape = lines.shape
    return tuple(
        np.moveaxis(np.array(a, d).reshape(shape), -1, dim) for a, d in ((values, x.dtype), (indices, np.int64))
    )  # type: ignore[return-value]


@flambeau.script
def extremes(x: flambeau.Tensor, dim: int) -> tuple[flambeau.Tensor, flambeau.Tensor]:
    largest, at = flambeau.cummax(x, 0) if dim == 0 else flambeau.cummax(x, -1)
    smallest, where = flambeau.cummin(x, 0) if dim == 0 else flambeau.cummin(x, -1)
    return flambeau.stack([largest, smallest]), flambeau.stack([at, where])


@pytest.mark.parametrize("name", TENSORS)
@pytest.mark.parametrize("dim", [0, -1])
def test_the_best_so_far_and_where_it_was_last(name: str, dim: int) -> None:
    x = TENSORS[name]
    wanted = [folded(fold, x, dim) for fold in (np.maximum, np.minimum)]
    for _ in range(4):
        values, indices = extremes(flambeau.from_numpy(x), dim)
    for k, (value, index) in enumerate(wanted):
        np.testing.assert_array_equal(values[k].numpy(), value)
        np.testing.assert_array_equal(indices[k].numpy(), index)
    assert extremes.explain(measure=False).is_native, str(extremes.explain(measure=False))


@flambeau.script
def logarithms(x: flambeau.Tensor) -> flambeau.Tensor:
    return flambeau.logcumsumexp(x, -1) * 1.0


@pytest.mark.parametrize("name", [n for n, x in TENSORS.items() if x.dtype.kind == "f"])
def test_logarithms_of_running_sums_of_powers(name: str) -> None:
    x = TENSORS[name]
    with np.errstate(all="ignore"):
        wanted = np.logaddexp.accumulate(x.astype(np.float64), axis=-1) if x.size else x
    for _ in range(4):
        result = logarithms(flambeau.from_numpy(x))
    np.testing.assert_allclose(result.numpy(), wanted, rtol=1e-5 if x.dtype == np.float32 else 1e-13)
    assert result.numpy().dtype == x.dtype
    assert logarithms.explain(measure=False).is_native


def test_large_numbers_do_not_overflow() -> None:
    for _ in range(4):
        result = logarithms(flambeau.tensor([1e4, 1e4, -1e4, float("inf")], dtype=flambeau.float64))
    np.testing.assert_allclose(result.numpy(), [1e4, 1e4 + np.log(2), 1e4 + np.log(2), np.inf], rtol=1e-15)


def test_what_the_operators_refuse_is_refused_in_their_words() -> None:
    for _ in range(4):
        with pytest.raises(RuntimeError, match="not implemented for 'Long'"):
            logarithms(flambeau.ones(3, dtype=flambeau.int64))


def test_in_loops() -> None:
    source = (
        "def f(x: Tensor, n: int) -> Tensor:\n    for _ in range(n):\n"
        "        y, at = x.cummax(0)\n        x = y - at\n    return x\n"
    )
    function = flambeau.jit.CompilationUnit(source).f
    x = wanted = RNG.standard_normal((5, 2))
    for _ in range(7):
        value, index = folded(np.maximum, wanted, 0)
        wanted = value - index
    for _ in range(3):
        result = function(flambeau.from_numpy(x), 7)
    np.testing.assert_array_equal(result.numpy(), wanted)
    assert function.explain(measure=False).is_native
