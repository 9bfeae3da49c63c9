"""`script(fastmath=True)`: arithmetic of floats may be regrouped; without it, nothing is."""

from __future__ import annotations

import math

import numpy as np
import pytest

import flambeau
from flambeau import Tensor

RNG = np.random.default_rng(3)


def dot(x: Tensor, y: Tensor) -> float:
    total = 0.0
    for i in range(x.size(0)):
        total += float(x[i]) * float(y[i])
    return total


def blend(x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    return x * y + z


def count_nans(x: Tensor, y: Tensor) -> int:
    count = 0
    for i in range(x.size(0)):
        z = float(x[i]) - float(y[i])
        if z != z:
            count += 1
    return count


def test_sums_in_loops_keep_their_order_unless_asked() -> None:
    x, y = (flambeau.from_numpy(RNG.normal(size=10_001) * 10.0 ** RNG.integers(-8, 8, 10_001)) for _ in range(2))
    plain, fast = flambeau.script(dot), flambeau.script(dot, fastmath=True)
    in_order = 0.0
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        in_order += a * b
    assert plain(x, y) == in_order
    exact = math.fsum(a * b for a, b in zip(x.tolist(), y.tolist(), strict=True))
    largest = sum(abs(a * b) for a, b in zip(x.tolist(), y.tolist(), strict=True))
    assert abs(fast(x, y) - exact) < 1e-13 * largest
    assert "reassoc" in fast.llvm_ir
    assert "reassoc" not in plain.llvm_ir


@pytest.mark.parametrize("function", [blend, dot], ids=lambda f: f.__name__)
def test_interpreter_and_reference_take_no_notice(function: object) -> None:
    x = flambeau.from_numpy(RNG.normal(size=100))
    arguments = (x, x, x)[: 3 if function is blend else 2]
    expected = flambeau.script(function)(*arguments)  # type: ignore[call-overload]
    for backend in ("interpreter", "reference"):
        found = flambeau.script(function, backend=backend, fastmath=True)(*arguments)  # type: ignore[call-overload]
        if isinstance(found, float):
            assert found == expected
        else:
            np.testing.assert_array_equal(found.numpy(), expected.numpy())


def test_kernels_may_fuse_products_and_sums() -> None:
    x, y, z = (flambeau.from_numpy(RNG.normal(size=1000)) for _ in range(3))
    plain, fast = flambeau.script(blend), flambeau.script(blend, fastmath=True)
    np.testing.assert_array_equal(plain(x, y, z).numpy(), x.numpy() * y.numpy() + z.numpy())
    np.testing.assert_allclose(fast(x, y, z).numpy(), x.numpy() * y.numpy() + z.numpy(), rtol=1e-12, atol=1e-15)
    assert "contract" in fast.llvm_ir
    assert "contract" not in plain.llvm_ir


def test_nan_and_infinities_keep_their_meaning() -> None:
    x = flambeau.tensor([1.0, math.inf, math.nan, -math.inf] * 33)
    y = flambeau.tensor([1.0, math.inf, 1.0, 2.0] * 33)
    assert flambeau.script(count_nans, fastmath=True)(x, y) == 66


def test_functions_that_were_called_before_are_not_changed() -> None:
    x = flambeau.from_numpy(RNG.normal(size=10))
    plain = flambeau.script(dot)
    before = plain(x, x)
    flambeau.script(dot, fastmath=True)(x, x)
    assert plain(x, x) == before
    assert not plain.options.fastmath
