"""Code for lesser processors of this kind: narrower vectors, no fused multiply-add, no masked instructions."""

from __future__ import annotations

import platform

import numpy as np
import pytest
from kernels import pointwise, random_values, special_values

from flambeau.codegen import backend, reference
from flambeau.codegen.llvm.accuracy import ULP
from flambeau.codegen.llvm.engine import Engine, engine, using

IS_X86 = platform.machine() in ("x86_64", "AMD64")
CPUS = (["x86-64", "x86-64-v3"] if engine().target.vector_bits >= 256 else ["x86-64"]) if IS_X86 else []
OPS = ["exp", "log", "tanh", "erf", "sin", "expm1", "pow", "round", "remainder"]


@pytest.fixture(scope="module", params=CPUS)
def other(request: pytest.FixtureRequest) -> Engine:
    return Engine(request.param)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions(other: Engine, op: str, dtype: str) -> None:
    arity = 2 if op in ("pow", "remainder") else 1
    kernel = pointwise(op, (dtype,) * arity)
    values = np.concatenate([special_values(dtype), random_values(dtype, 30)])
    arrays = [values, values[::-1].copy()][:arity]
    (want,) = reference.run(kernel, *arrays)
    with using(other):
        got = backend.compile_kernel(kernel)(*arrays)
    # Without a fused multiply-add in hardware, C's own is exact all the same.
    bound = (ULP.get(op, {}).get(dtype, 0.0) + 0.5) * np.finfo(dtype).eps
    np.testing.assert_allclose(got, want, rtol=bound, atol=2 * np.finfo(dtype).smallest_subnormal)


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8"])
def test_integers(other: Engine, dtype: str) -> None:
    a, b = random_values(dtype, 99, 1), random_values(dtype, 99, 2)
    b[b == 0] = 1
    for op in ("add", "mul", "floordiv", "remainder", "shl", "maximum", "pow"):
        kernel = pointwise(op, (dtype, dtype))
        (want,) = reference.run(kernel, a, b)
        with using(other):
            got = backend.compile_kernel(kernel)(a, b)
            strided = backend.compile_kernel(kernel)(a[::-1][::2], b[::-1][::2])
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(strided, want[::-1][::2])
