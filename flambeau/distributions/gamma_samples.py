"""Samples of gamma distributions of scale 1, with gradients to their shape.

A sample x of shape a leaves P(a, x), the probability of what is below it, as it is when a changes: so dx/da is
- (dP/da) / (dP/dx). The first is a difference of P, or of 1 - P where that is smaller, the second the density.
"""

from __future__ import annotations

from typing import Any

from flambeau.autograd.function import Function
from flambeau.distributions.operators import F
from flambeau.schema.dtype import float64
from flambeau.tensor.tensor import Tensor

STEP = 1e-4
"""The step of the difference, in units of the shape, or of its square root where that is above 1."""


class StandardGamma(Function):
    """A sample for each element of a tensor of shapes."""

    @staticmethod
    def forward(ctx: Any, concentration: Tensor) -> Tensor:
        """The samples."""
        sample = standard_gamma(concentration)
        ctx.save_for_backward(concentration, sample)
        return sample

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        """The gradient of the shapes."""
        concentration, sample = ctx.saved_tensors
        return F.mul(grad_output, derivative_by_shape(concentration, sample))


def standard_gamma(concentration: Tensor) -> Tensor:
    """Samples, without gradients.

    >>> import flambeau
    >>> bool((standard_gamma(flambeau.tensor([0.5, 20.0])) > 0).all())
    True
    """
    return F._standard_gamma(concentration)


def derivative_by_shape(concentration: Tensor, sample: Tensor) -> Tensor:
    """dx/da for samples x of gamma distributions of shapes a.

    >>> import flambeau
    >>> one = flambeau.tensor([1.0], dtype=float64)
    >>> derivative_by_shape(one, one).round(decimals=4)
    tensor([1.1736], dtype=flambeau.float64)
    """
    a, x = F.to(concentration, float64), F.to(sample, float64)
    step = F.mul(F.minimum(a, F.sqrt(a)), STEP)
    change = F.div(F.add(F.mul(_difference(a, x, step), 8.0), F.neg(_difference(a, x, F.mul(step, 2.0)))), 12.0)
    log_density = F.sub(F.sub(F.mul(F.sub(a, 1.0), F.log(x)), x), F.lgamma(a))
    usual = F.div(F.neg(F.div(change, step)), F.exp(log_density))
    near_zero = F.mul(F.div(x, a), F.sub(F.digamma(F.add(a, 1.0)), F.log(x)))
    is_near_zero = F.lt(F.mul(x, 1e8), F.add(a, 1.0))
    far = F.mul(F.add(F.div(x, a), 1.0), 0.5)  # where P and the density are 0: as of normal numbers
    usual = F.where(F.isfinite(usual), usual, far)
    return F.to(F.where(is_near_zero, near_zero, usual), concentration.dtype)


def _difference(a: Tensor, x: Tensor, step: Tensor) -> Tensor:
    """P(a + step, x) - P(a - step, x), by what is left of 1 where P is the larger part."""
    lower = F.sub(F.special_gammainc(F.add(a, step), x), F.special_gammainc(F.sub(a, step), x))
    upper = F.sub(F.special_gammaincc(F.sub(a, step), x), F.special_gammaincc(F.add(a, step), x))
    return F.where(F.lt(x, a), lower, upper)
