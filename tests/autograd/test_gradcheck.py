"""Gradients compared with differences."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import Tensor
from flambeau.autograd import gradcheck, gradgradcheck
from flambeau.autograd.gradcheck import GradcheckError


def asking(*values: Any, dtype: Any = flambeau.float64) -> Tensor:
    return flambeau.tensor(values, dtype=dtype).requires_grad_()


@pytest.mark.parametrize("fast_mode", [False, True])
def test_right_gradients(fast_mode: bool) -> None:
    x, y = asking(0.5, -1.5, 2.0), asking(1.0, 2.0, -0.5)

    def function(a: Tensor, b: Tensor, n: int) -> tuple[Tensor, Tensor]:
        return (a * b).sin() ** n, (a @ b).exp()

    assert gradcheck(function, (x, y, 2), fast_mode=fast_mode)
    assert gradgradcheck(function, (x, y, 2), fast_mode=fast_mode)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_complex_numbers(fast_mode: bool) -> None:
    z = asking(1 + 2j, -0.5 + 0.25j, dtype=flambeau.complex128)
    assert gradcheck(lambda t: (t * t.conj()).real + t.abs(), (z,), fast_mode=fast_mode)
    assert gradcheck(lambda t: t**2 * t.exp(), z, fast_mode=fast_mode)
    assert gradgradcheck(lambda t: t**3, z, fast_mode=fast_mode)


def test_wrong_gradients_are_shown() -> None:
    class Wrong(flambeau.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
            return a * 1, b * 2

        @staticmethod
        def backward(ctx: Any, g: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
            return g, h * 3

    inputs = (asking(1.0), asking(1.0))
    with pytest.raises(GradcheckError, match=r"(?s)output 1 with respect to input 1,.*numerical:.*2.*analytical:.*3"):
        gradcheck(Wrong.apply, inputs)
    assert not gradcheck(Wrong.apply, inputs, raise_exception=False)
    with pytest.raises(ValueError, match=r"gradcheck expects at least one input tensor to require gradient"):
        gradcheck(lambda t: t, flambeau.ones(1))
    with pytest.raises(GradcheckError, match=r"none of the outputs"):
        gradcheck(lambda t: t > 0, asking(1.0))
    with pytest.warns(UserWarning, match=r"Input #0 requires gradient and is not a double precision floating point"):
        gradcheck(lambda t: t * 2, asking(1.0, dtype=flambeau.float32), eps=1e-2, atol=1e-2)
