"""Gradients compared with differences."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import Tensor
from flambeau.autograd import Function, gradcheck, gradgradcheck
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
        gradcheck(lambda t: t.detach() * 2, asking(1.0))
    assert gradcheck(lambda t: t > 0, asking(1.0))  # the same on both sides
    with pytest.raises(RuntimeError, match=r"0th input has a dimension with stride 0"):
        gradcheck(lambda t: t.sum(), asking(1.0).expand(3))
    with pytest.warns(UserWarning, match=r"Input #0 requires gradient and is not a double precision floating point"):
        gradcheck(lambda t: t * 2, asking(1.0, dtype=flambeau.float32), eps=1e-2, atol=1e-2)


class Slanted(Function):
    """A cube, whose tangent is wrong."""

    @staticmethod
    def forward(x: Any) -> Any:
        return x**3

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.save_for_forward(inputs[0])

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 3 * ctx.saved_tensors[0] ** 2

    @staticmethod
    def jvp(ctx: Any, tangent: Any) -> Any:
        return tangent * 4 * ctx.saved_tensors[0] ** 2


class Single(Function):
    """Two times, which cannot go back in a batch: it looks at the gradient's elements."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 2 if bool((grad == grad).all()) else grad


def numbers() -> flambeau.Tensor:
    return flambeau.tensor([0.5, -1.5], dtype=flambeau.float64, requires_grad=True)


def test_tangents_are_compared_where_that_is_asked_for() -> None:
    assert gradcheck(lambda x: x.sin() * x, numbers(), check_forward_ad=True)
    assert gradcheck(lambda x: x.sin() * x, numbers(), check_forward_ad=True, fast_mode=True)
    assert gradcheck(Slanted.apply, numbers())
    for checks_gradients in (True, False):
        with pytest.raises(GradcheckError, match="Jacobian mismatch"):
            gradcheck(Slanted.apply, numbers(), check_forward_ad=True, check_backward_ad=checks_gradients)
    with pytest.raises(ValueError, match="Expected at least one of check_forward_ad and check_backward_ad"):
        gradcheck(Slanted.apply, numbers(), check_backward_ad=False)


def test_complex_tangents_are_compared() -> None:
    z = flambeau.tensor([1 + 2j, 0.5 - 1j], dtype=flambeau.complex128, requires_grad=True)
    assert gradcheck(lambda t: t * t.conj() + t.exp(), z, check_forward_ad=True, check_batched_grad=True)


def test_gradients_go_back_in_batches() -> None:
    assert gradcheck(lambda x: x.cumsum(0) * x, numbers(), check_batched_grad=True)
    assert gradcheck(Single.apply, numbers())
    with pytest.raises(GradcheckError, match="While computing batched gradients, got: vmap: It looks like"):
        gradcheck(Single.apply, numbers(), check_batched_grad=True)


def test_second_derivatives_forward_over_reverse() -> None:
    assert gradgradcheck(lambda x: x.exp() * x, numbers(), check_fwd_over_rev=True)
    assert gradgradcheck(lambda x: x.exp() * x, numbers(), check_fwd_over_rev=True, check_rev_over_rev=False)


def test_dtypes_of_gradients() -> None:
    assert gradcheck(lambda x: x * 2, numbers(), check_grad_dtypes=True)


def test_one_tensor_as_two_inputs_is_varied_in_both() -> None:
    x = asking(2.0)
    assert gradcheck(lambda a, b: a * b * a, (x, x), check_forward_ad=True)


class ReadsTangents(Function):
    """Twice its argument, with a tangent that reads a number."""

    @staticmethod
    def forward(x: Any) -> Any:
        return x * 2

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def jvp(ctx: Any, tangent: Any) -> Any:
        return flambeau.full_like(tangent, 2 * float(tangent.sum()))


def test_tangents_in_batches() -> None:
    x = asking(0.5)
    assert gradcheck(lambda t: t.sin() * t, x, check_forward_ad=True, check_batched_forward_grad=True)
    with pytest.raises(GradcheckError, match=r"While computing batched tangents, got"):
        gradcheck(
            ReadsTangents.apply, x, check_backward_ad=False, check_forward_ad=True, check_batched_forward_grad=True
        )
