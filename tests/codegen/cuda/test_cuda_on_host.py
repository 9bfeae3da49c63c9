"""The code that becomes PTX, run on this machine's processor: every operation, and folds across threads."""

from __future__ import annotations

import numpy as np
import pytest

from flambeau.codegen import reference
from flambeau.codegen.cuda.schedule import CudaSchedule
from flambeau.codegen.cuda.simulator import simulate
from flambeau.codegen.kernel.dtypes import ELEMENT_TYPES, KernelError
from flambeau.codegen.kernel.opset import OPS
from flambeau.codegen.llvm.accuracy import ULP
from tests.codegen.cuda.cuda_kernels import SOFTMAX, VARIANCE, Array, add_broadcast, bound_for, fold, random_inputs
from tests.codegen.cuda.on_host import on_host
from tests.codegen.kernel.test_random_kernels import random_kernel
from tests.codegen.kernels import FLOATS, pointwise, random_values, special_values, ulp_error

BEYOND = {"float32": [3e4, 1e5, -7e7, 1e30, -3e38], "float64": [1e7, -1e9, 1e22, 1e200, -1e308]}
"""Arguments at which sin, cos, tan and remainders leave their own method."""


def operands(dtype: str, arity: int) -> list[Array]:
    """Special values against each other, and random ones."""
    special = special_values(dtype)
    if dtype in BEYOND:
        special = np.concatenate([special, np.array(BEYOND[dtype], dtype)])
    if arity == 1:
        return [np.concatenate([special, random_values(dtype, 60)])]
    others = special[::3] if dtype in BEYOND else special
    first, second = np.repeat(special, len(others)), np.tile(others, len(special))
    return [
        np.concatenate([first, random_values(dtype, 60, 1)]),
        np.concatenate([second, random_values(dtype, 60, 2)]),
    ]


@pytest.mark.parametrize("dtype", list(ELEMENT_TYPES))
def test_every_operation(dtype: str) -> None:
    """All operations that a dtype has, each a kernel of its own, against the meaning of one value at a time."""
    for op, spec in OPS.items():
        if ELEMENT_TYPES[dtype].kind not in spec.kinds or spec.result == "whole":  # complex numbers are the host's
            continue
        arrays = operands(dtype, spec.arity)
        if op in ("floordiv", "truncdiv", "remainder", "fmod") and ELEMENT_TYPES[dtype].is_integer:
            keep = arrays[1] != 0
            arrays = [a[keep] for a in arrays]
        kernel = pointwise(op, (dtype,) * spec.arity)
        with np.errstate(all="ignore"):
            (want,) = reference.run(kernel, *arrays)
        (got,) = on_host(bound_for(kernel, *arrays, schedule=CudaSchedule(threads=1024, max_blocks=4)), *arrays)
        bound = ULP.get(op, {}).get(dtype, 0.0)
        if bound == 0.0:
            np.testing.assert_array_equal(got, want, err_msg=op)
        else:
            # The reference rounds once, from float64: half a unit for float32, its own error for float64.
            assert ulp_error(got, want.astype(np.longdouble)) <= bound + 1.0, op


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("to", list(ELEMENT_TYPES))
def test_casts(dtype: str, to: str) -> None:
    x = operands(dtype, 1)[0]
    kernel = pointwise("cast", (dtype,), to=to)
    with np.errstate(all="ignore"):
        (want,) = reference.run(kernel, x)
    (got,) = on_host(bound_for(kernel, x), x)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("seed", range(8))
def test_random_kernels(seed: int) -> None:
    kernel = random_kernel(seed)
    arrays = random_inputs(kernel, {"i": 5, "j": 37}, turned=True)
    with np.errstate(all="ignore"):
        want = reference.run(kernel, *arrays)
    bound = bound_for(kernel, *arrays, schedule=CudaSchedule("warp", 32, narrow=bool(seed % 2)))
    for g, w in zip(on_host(bound, *arrays), want, strict=True):
        np.testing.assert_array_equal(g, w)


@pytest.mark.parametrize(
    "schedule",
    [
        CudaSchedule("warp", 64, shared_scratch=True),
        CudaSchedule("block", 64, shared_scratch=True, narrow=True),
        CudaSchedule("block", 64),
        CudaSchedule("thread", 32),
    ],
    ids=CudaSchedule.key,
)
def test_softmax(schedule: CudaSchedule) -> None:
    x = np.random.default_rng(0).normal(size=(3, 70)).astype(np.float32)
    bound = bound_for(SOFTMAX, x, schedule=schedule)
    (got,) = on_host(bound, x)
    (same,) = simulate(bound, x)
    np.testing.assert_allclose(got, same, rtol=1e-6)
    np.testing.assert_allclose(got, np.exp(x) / np.exp(x).sum(1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("alone", [False, True])
def test_several_kernels_after_one_another(alone: bool) -> None:
    x = np.random.default_rng(1).normal(size=300)
    schedule = CudaSchedule("block" if alone else "thread", 64, alone=alone, max_blocks=1 if alone else 3)
    bound = bound_for(VARIANCE, x, schedule=schedule)
    assert bound.program is not None
    assert len(bound.program.kernels) == (1 if alone else 4)
    v, off = on_host(bound, x)
    np.testing.assert_allclose(v, x.var(), rtol=1e-14)
    np.testing.assert_allclose(off, x - x.mean(), rtol=1e-12)
    # The order of the sum is the program's, and so are its bits.
    np.testing.assert_array_equal(v, simulate(bound, x)[0])


@pytest.mark.parametrize(
    ("reducer", "dtype"), [("argmax", "float64"), ("argmin", "int8"), ("all", "bool"), ("max", "int64")]
)
def test_folds(reducer: str, dtype: str) -> None:
    kernel = fold(reducer, dtype, rows=False)
    x = random_values(dtype, 200)
    x[50] = x[150] = x.max() if "max" in reducer else x.min()
    bound = bound_for(kernel, x, schedule=CudaSchedule("thread", 64, max_blocks=2))
    np.testing.assert_array_equal(on_host(bound, x)[0], reference.run(kernel, x)[0])


def test_strides_and_broadcasts() -> None:
    x = np.arange(60, dtype=np.float32).reshape(6, 10)[::-2, ::3]
    w, c = np.array([0.5, -1.0, 2.0, 4.0], np.float32), np.float64(3.0)
    kernel = add_broadcast()
    arrays = [x, w[::-1], np.asarray(c)]
    got = on_host(bound_for(kernel, *arrays), *arrays)
    np.testing.assert_array_equal(got[0], x + w[::-1])
    np.testing.assert_array_equal(got[1], x.astype(np.float64) * c)


def test_a_zero_divisor_is_reported() -> None:
    kernel = pointwise("floordiv", ("int32", "int32"))
    x, y = np.arange(5, dtype=np.int32), np.array([1, 2, 0, 3, 4], np.int32)
    with pytest.raises(ZeroDivisionError):
        on_host(bound_for(kernel, x, y), x, y)


def test_complex_numbers_are_refused() -> None:
    kernel = pointwise("complex", ("float32", "float32"))
    one = np.ones(3, np.float32)
    with pytest.raises(KernelError, match="complex numbers have no device code"):
        bound_for(kernel, one, one)
