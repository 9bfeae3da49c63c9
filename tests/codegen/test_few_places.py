"""Convolutions of few places in compiled functions beside PyTorch's in double precision."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available
from tests.codegen.test_convolutions import numbers
from tests.codegen.test_routines import called, is_native

torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")


@flambeau.script
def plain(x: flambeau.Tensor, w: flambeau.Tensor, b: flambeau.Tensor) -> flambeau.Tensor:
    return flambeau.conv2d(x, w, b)


@flambeau.script
def block(
    x: flambeau.Tensor, w: flambeau.Tensor, b: flambeau.Tensor, g: flambeau.Tensor, m: flambeau.Tensor,
    v: flambeau.Tensor, r: flambeau.Tensor,
) -> flambeau.Tensor:  # fmt: skip
    y = flambeau.batch_norm(flambeau.conv2d(x, w, b), g, b, m, v, False, 0.1, 1e-5, False)
    return flambeau.relu(y + r)


@flambeau.script
def gate(x: flambeau.Tensor, w: flambeau.Tensor, b: flambeau.Tensor) -> flambeau.Tensor:
    return flambeau.sigmoid(flambeau.conv2d(x, w, b))


SIZES = [  # (images, channels, filters, rows, columns, rows and columns of the kernel)
    (1, 288, 48, 1, 1, 1, 1),
    (3, 33, 7, 2, 2, 1, 1),
    (2, 100, 131, 1, 3, 1, 1),
    (1, 64, 70, 5, 1, 1, 1),
    (2, 40, 9, 3, 3, 1, 1),
    (2, 5, 70, 3, 4, 3, 4),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_few_places_are_as_in_torch(sizes: tuple[int, ...], dtype: str) -> None:
    images, channels, filters, rows, columns, down, across = sizes
    x, w, b, g, m = (
        numbers(k, *n, dtype=dtype)
        for k, n in enumerate([(images, channels, rows, columns), (filters, channels, down, across), *[(filters,)] * 3])
    )
    x[-1, channels - 1, 0, 0], v = np.inf, abs(b) + 0.5
    places = rows - down + 1, columns - across + 1
    r = numbers(9, images, filters, *places, dtype=dtype)
    xs, ws, bs, gs, ms, vs, rs = (torch.tensor(a).double() for a in (x, w, b, g, m, v, r))
    sums = torch.conv2d(xs, ws, bs)
    normed = torch.relu(torch.batch_norm(sums, gs, bs, ms, vs, False, 0.1, 1e-5, False) + rs)
    error = 1e-4 if dtype == "float32" else 1e-11
    parts = [x, np.ascontiguousarray(x.transpose(1, 0, 2, 3)).transpose(1, 0, 2, 3)]
    added = [r, np.ascontiguousarray(r.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)]
    for seen, beside in zip(parts, added, strict=True):
        given = [flambeau.from_numpy(a) for a in (seen, w, b, g, m, v, beside)]
        for mine, theirs in (
            (called(plain, *given[:3]), sums), (called(gate, *given[:3]), torch.sigmoid(sums)),
            (called(block, *given), normed),
        ):  # fmt: skip
            np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=error, atol=error)
    assert is_native(plain)
    assert is_native(block)


def test_weights_of_few_places_changed_in_place_are_read_as_they_are() -> None:
    x, w = flambeau.from_numpy(numbers(0, 1, 40, 2, 2)), flambeau.from_numpy(numbers(1, 24, 40, 1, 1))
    first = called(plain, x, w, flambeau.zeros(24)).numpy().copy()
    w.mul_(2.0)
    np.testing.assert_allclose(plain(x, w, flambeau.zeros(24)).numpy(), 2 * first, rtol=1e-4, atol=1e-5)
