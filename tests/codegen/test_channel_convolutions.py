"""Convolutions of each channel by itself in compiled functions beside PyTorch's in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available
from tests.codegen.test_convolutions import numbers
from tests.codegen.test_routines import called, is_native

torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")

CASES = [  # (input, kernel, stride, padding, dilation)
    ((1, 16, 7, 7), (3, 3), (1, 1), (1, 1), (1, 1)),
    ((2, 20, 9, 5), (3, 3), (2, 2), (1, 1), (1, 1)),
    ((1, 33, 2, 2), (5, 5), (1, 1), (2, 2), (1, 1)),
    ((3, 4, 1, 1), (3, 3), (1, 1), (1, 1), (1, 1)),
    ((1, 17, 20, 23), (3, 3), (3, 3), (2, 2), (2, 2)),
    ((2, 9, 160, 90), (3, 3), (1, 1), (1, 1), (1, 1)),
    ((1, 5, 4, 4), (1, 3), (1, 2), (0, 4), (1, 2)),
    ((1, 40, 6, 17), (5, 2), (4, 1), (3, 1), (1, 3)),
    ((1, 18, 5, 5), (5, 5), (1, 1), (0, 0), (1, 1)),
]


def parts(x: np.ndarray) -> list[np.ndarray]:
    """The same numbers side by side, as a part of larger images, and with channels between rows."""
    part = np.pad(x, ((0, 0), (0, 0), (1, 1), (2, 1)))[:, :, 1:-1, 2:-1]
    return [x, part, np.ascontiguousarray(x.transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3)]


def check(found: Any, expected: Any) -> None:
    error = 1e-4 if found.dtype == flambeau.float32 else 1e-11
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=error, atol=error)


def functions(options: tuple[Any, ...]) -> Any:
    """A convolution by itself, and one with a norm and bounds behind it."""
    told = ", ".join(map(repr, options))
    return flambeau.jit.CompilationUnit(f"""
def plain(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return flambeau.conv2d(x, w, b, {told}) + 1.0

def normed(x: Tensor, w: Tensor, b: Tensor, g: Tensor, c: Tensor, m: Tensor, v: Tensor) -> Tensor:
    y = flambeau.batch_norm(flambeau.conv2d(x, w, b, {told}), g, c, m, v, False, 0.1, 1e-5, False)
    return flambeau.nn.functional.hardtanh(y, 0.0, 6.0)
""")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_channel_by_itself_is_as_in_torch(case: Any, dtype: str) -> None:
    shape, kernel, stride, padding, dilation = case
    count = shape[1]
    options = (list(stride), list(padding), list(dilation), count)
    x, w, *vectors = (
        numbers(k, *n, dtype=dtype) for k, n in enumerate([shape, (count, 1, *kernel), *[(count,)] * 4])
    )  # fmt: skip
    x.flat[3 % x.size] = np.nan
    vectors.append(abs(vectors[0]) + 0.1)
    unit = functions(options)
    exact = [torch.tensor(a).double() for a in (x, w, *vectors)]
    sums = torch.conv2d(*exact[:3], *options)
    bounded = torch.nn.functional.hardtanh(torch.batch_norm(sums, *exact[3:], False, 0.1, 1e-5, False), 0.0, 6.0)
    for seen in parts(x):
        given = [flambeau.from_numpy(a) for a in (seen, w, *vectors)]
        found = called(unit.plain, *given[:3])
        check(found, sums + 1.0)
        check(called(unit.normed, *given), bounded)
        np.testing.assert_array_equal(found.numpy(), (flambeau.conv2d(*given[:3], *options) + 1.0).numpy())
    assert is_native(unit.plain)
    assert is_native(unit.normed)


def test_filters_changed_in_place_are_read_as_they_are() -> None:
    x, w = flambeau.from_numpy(numbers(0, 1, 24, 6, 6)), flambeau.from_numpy(numbers(1, 24, 1, 3, 3))
    unit = functions(([1, 1], [1, 1], [1, 1], 24))
    first = called(unit.plain, x, w, flambeau.zeros(24)).numpy() - 1.0
    w.mul_(2.0)
    np.testing.assert_allclose(unit.plain(x, w, flambeau.zeros(24)).numpy() - 1.0, 2 * first, rtol=1e-4, atol=1e-5)
