"""Views that native code has Python make keep their gaps: what follows in native code reads the right elements."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import flambeau
from flambeau import Tensor


def by_view(p: Tensor) -> Tensor:
    q = p.view(-1)
    s = p.sum() * 0
    for i in range(p.size(0)):
        s = s + q[:i].sum()
    return s


def by_reshape(p: Tensor) -> Tensor:
    q = p.reshape(p.size(0))
    s = p.sum() * 0
    for i in range(p.size(0)):
        s = s + (q[i:] * q[i:]).sum()
    return s


def by_flatten(p: Tensor) -> Tensor:
    q = p.flatten()
    s = p.sum() * 0
    for i in range(p.size(0)):
        s = s + q[:i] @ q[:i]
    return s


def by_diagonal(p: Tensor) -> Tensor:
    q = flambeau.outer(p, p).diagonal()
    s = p.sum() * 0
    for i in range(p.size(0)):
        s = s + q[i:].sum()
    return s


@pytest.mark.parametrize("function", [by_view, by_reshape, by_flatten, by_diagonal])
@pytest.mark.parametrize("backend", ["interpreter", "native"])
def test_c07_views_with_gaps(function: Callable[[Tensor], Tensor], backend: str) -> None:
    wide = np.arange(1.0, 15.0, dtype=np.float32)
    scripted = flambeau.script(function, backend=backend)
    for array in (wide[::2], wide[:7], wide[::-1][::3].copy()[::2], wide[1::3]):
        for _ in range(2):
            assert scripted(flambeau.from_numpy(array)).item() == function(flambeau.from_numpy(array)).item()


def by_rows(x: Tensor) -> tuple[Tensor, list[Tensor], Tensor]:
    (p, q), *rest = x
    p += 10
    y = [u + v for u, v in x]
    rest[0][1] = 7.0
    return p + q, y, x


def test_items_of_lists_that_python_gives_on_are_views_still() -> None:
    expected = by_rows(flambeau.arange(6.0).reshape(3, 2))
    found = flambeau.script(by_rows, backend="native")
    for _ in range(2):
        p, y, x = found(flambeau.arange(6.0).reshape(3, 2))
        assert (p.item(), [v.item() for v in y]) == (expected[0].item(), [v.item() for v in expected[1]])
        np.testing.assert_array_equal(x.numpy(), expected[2].numpy())
    assert x.numpy().tolist() == [[10.0, 1.0], [2.0, 7.0], [4.0, 5.0]]
