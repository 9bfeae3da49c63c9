"""Gradients of convolutions of all kinds, and their gradients, beside differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.autograd import gradcheck, gradgradcheck
from flambeau.nn import functional

CASES: list[tuple[str, tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ("conv1d", (2, 4, 4), (4, 2, 3), {"stride": 2, "padding": 1, "groups": 2}),
    ("conv2d", (1, 2, 3, 2), (2, 2, 3, 2), {"padding": 2}),
    ("conv2d", (1, 2, 4, 3), (2, 2, 2, 2), {"stride": 2, "dilation": 2}),
    ("conv2d", (3, 3, 2), (3, 1, 2, 2), {"groups": 3, "padding": 1}),
    ("conv2d", (2, 9, 1, 1), (2, 9, 1, 3), {"stride": (2, 1), "padding": 1, "dilation": (2, 1)}),
    ("conv3d", (1, 1, 2, 2, 2), (1, 1, 2, 2, 2), {"padding": 1}),
    ("conv_transpose1d", (2, 4, 3), (4, 3, 3), {"padding": 1}),
    ("conv_transpose2d", (1, 2, 3, 2), (2, 2, 2, 3), {"stride": 2, "output_padding": 1}),
    ("conv_transpose2d", (1, 2, 3, 3), (2, 1, 2, 2), {"groups": 2, "padding": 2, "dilation": 2}),
]


@pytest.mark.parametrize(("name", "sizes", "weight", "options"), CASES, ids=[f"{c[0]} {c[3]}" for c in CASES])
def test_gradients_are_the_slopes(
    name: str, sizes: tuple[int, ...], weight: tuple[int, ...], options: dict[str, Any]
) -> None:
    draw = np.random.default_rng(0).standard_normal
    arguments = tuple(flambeau.tensor(draw(s)).requires_grad_() for s in (sizes, weight))

    def run(x: Any, w: Any) -> Any:
        return getattr(functional, name)(x, w, **options)

    assert gradcheck(run, arguments)
    assert gradgradcheck(run, arguments)
