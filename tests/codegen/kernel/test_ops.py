"""Every scalar operation on every element type it takes, over special values, against the reference evaluator."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from flambeau.codegen import backend, reference
from flambeau.codegen.kernel.dtypes import ELEMENT_TYPES
from flambeau.codegen.kernel.opset import OPS, TRAPPING
from flambeau.codegen.llvm.accuracy import ULP
from tests.codegen.kernels import pointwise, random_values, special_values

CASES = [(op, t.name) for op, spec in OPS.items() for t in ELEMENT_TYPES.values() if t.kind in spec.kinds]


def samples(op: str, dtype: str) -> list[np.ndarray]:
    values = np.concatenate([special_values(dtype), random_values(dtype, 30)])
    if OPS[op].arity == 1:
        return [values]
    pairs = list(itertools.product(special_values(dtype), repeat=2))
    left = np.concatenate([np.array([p[0] for p in pairs], dtype), random_values(dtype, 60, 1)])
    right = np.concatenate([np.array([p[1] for p in pairs], dtype), random_values(dtype, 60, 2)])
    if op in TRAPPING and not dtype.startswith("float"):
        keep = right != 0
        left, right = left[keep], right[keep]
    return [left, right]


@pytest.mark.parametrize(("op", "dtype"), CASES, ids=[f"{o}-{d}" for o, d in CASES])
def test_operation(op: str, dtype: str) -> None:
    kernel = pointwise(op, (dtype,) * OPS[op].arity)
    arrays = samples(op, dtype)
    got = backend.compile_kernel(kernel)(*arrays)
    (want,) = reference.run(kernel, *arrays)
    assert got.dtype == want.dtype
    if got.dtype.kind != "f":
        np.testing.assert_array_equal(got, want)
        return
    step = np.finfo(got.dtype).eps
    with np.errstate(all="ignore"):
        close = np.abs(got - want) <= (ULP[op][dtype] + 0.5 if op in ULP else 0) * step * np.abs(want) + (
            2 * np.finfo(dtype).smallest_subnormal if op in ULP else 0
        )
    same = (got == want) | (np.isnan(got) & np.isnan(want)) | close
    wrong = [(*(a[k] for a in arrays), got[k], want[k]) for k in np.flatnonzero(~same)[:5]]
    assert same.all(), wrong


@pytest.mark.parametrize("op", sorted(TRAPPING))
@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8"])
def test_zero_divisor_is_reported(op: str, dtype: str) -> None:
    compiled = backend.compile_kernel(pointwise(op, (dtype, dtype)))
    left = np.arange(1, 101, dtype=dtype)
    right = np.ones(100, dtype)
    compiled(left, right)
    for place in (0, 63, 99):
        bad = right.copy()
        bad[place] = 0
        with pytest.raises(ZeroDivisionError, match="ZeroDivisionError"):
            compiled(left, bad)
        with pytest.raises(ZeroDivisionError, match="ZeroDivisionError"):
            reference.run(compiled.kernel, left, bad)


PAIRS = list(itertools.product(ELEMENT_TYPES, repeat=2))


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=[f"{a}-{b}" for a, b in PAIRS])
def test_cast(source: str, target: str) -> None:
    kernel = pointwise("cast", (source,), to=target)
    values = np.concatenate([special_values(source), random_values(source, 70)])
    got = backend.compile_kernel(kernel)(values)
    (want,) = reference.run(kernel, values)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", list(ELEMENT_TYPES))
def test_select(dtype: str) -> None:
    kernel = pointwise("select", ("bool", dtype, dtype))
    c, a, b = random_values("bool", 75), random_values(dtype, 75, 1), random_values(dtype, 75, 2)
    np.testing.assert_array_equal(backend.compile_kernel(kernel)(c, a, b), np.where(c, a, b))


def test_cast_of_known_floats_to_small_integers() -> None:
    values = np.array([-7.0, 300.0, 3e9, np.nan, 1e20], np.float32)
    assert backend.compile_kernel(pointwise("cast", ("float32",), to="uint8"))(values).tolist() == [249, 44, 0, 0, 0]
    assert backend.compile_kernel(pointwise("cast", ("float32",), to="int8"))(values[:2]).tolist() == [-7, 44]
