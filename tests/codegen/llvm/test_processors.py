"""Code for lesser processors of this kind: narrower vectors, no fused multiply-add, no masked instructions."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from flambeau.codegen import backend, reference
from flambeau.codegen.kernel import KernelBuilder
from flambeau.codegen.llvm.accuracy import ULP
from flambeau.codegen.llvm.engine import Engine, using
from flambeau.codegen.llvm.processor import LEVELS
from tests.codegen.kernels import pointwise, random_values, special_values, ulp_error

OPS = ["exp", "log", "tanh", "erf", "sin", "expm1", "pow", "round", "remainder"]


@pytest.fixture(scope="module", params=LEVELS)
def other(request: pytest.FixtureRequest, engine_of: Callable[[str], Engine]) -> Engine:
    return engine_of(request.param)


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


INTEGER_OPS = ("add", "mul", "floordiv", "remainder", "shl", "maximum", "pow")


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8"])
def test_integers(other: Engine, dtype: str) -> None:
    """All operations in one kernel, which is compiled for whole arrays and for strided ones."""
    a, b = random_values(dtype, 99, 1), random_values(dtype, 99, 2)
    b[b == 0] = 1
    builder = KernelBuilder("integers", ("i",))
    names = [builder.input(n, dtype, ("i",)) for n in ("a", "b")]
    with builder.loop("i"):
        values = [builder.load(n) for n in names]
        for op in INTEGER_OPS:
            result = builder.apply(op, *values)
            builder.output(f"y_{op}", builder.dtypes[result], ("i",))
            builder.store(f"y_{op}", result)
    kernel = builder.kernel()
    wanted = reference.run(kernel, a, b)
    with using(other):
        run = backend.compile_kernel(kernel)
        whole, strided = run(a, b), run(a[::-1][::2], b[::-1][::2])
    for got, part, want in zip(whole, strided, wanted, strict=True):
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(part, want[::-1][::2])


EDGES = [
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    np.nan,
    -1.0,
    1e-310,
    1e-40,
    1e-30,
    -1e-30,
    88.5,
    -88.5,
    -103.0,
    127.5,
    709.5,
    -745.0,
    1e30,
]


@pytest.mark.parametrize(
    "op", ["exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sigmoid", "tanh", "erf", "erfc"]
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_c20_a_lane_does_not_depend_on_its_neighbours(other: Engine, op: str, dtype: str) -> None:
    """Vectors without edges take a shorter way: each value is computed among plain numbers, and among edges."""
    kernel = pointwise(op, (dtype,))
    plain = np.linspace(0.25, 3.0, 64).astype(dtype)
    with np.errstate(over="ignore", under="ignore"):
        edges = np.array(EDGES).astype(dtype)
    with using(other):
        run = backend.compile_kernel(kernel)
        alone = run(plain)
        for edge in edges:
            mixed = plain.copy()
            mixed[5] = edge
            got = run(mixed)
            np.testing.assert_array_equal(np.delete(got, 5), np.delete(alone, 5))
            np.testing.assert_array_equal(got[5], run(np.full(64, edge))[5])
            np.testing.assert_array_equal(got[5], run(np.full(1, edge))[0])


def test_c20_erf_of_float32_is_exact_to_one_unit_by_tables_too(other: Engine) -> None:
    """On each piece and where pieces meet, beyond the last one, and near 0; never above 1."""
    x = np.concatenate([np.linspace(-4.5, 4.5, 40_000), np.logspace(-40, 0.7, 5_000), [3.95, np.inf]])
    x = x.astype(np.float32)
    with using(other):
        got = backend.compile_kernel(pointwise("erf", ("float32",)))(x)
    exact = np.array([math.erf(float(v)) for v in x])
    assert ulp_error(got, exact.astype(np.longdouble)) <= 1.0
    assert np.abs(got).max() == 1.0
    np.testing.assert_array_equal(np.signbit(got), np.signbit(x))
