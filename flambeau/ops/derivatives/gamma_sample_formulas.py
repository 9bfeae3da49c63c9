"""The gradient of gamma numbers of scale 1 by their shape.

A sample x of shape a leaves P(a, x), the probability of what is below it, as it is when a changes: so dx/da is
- (dP/da) / (dP/dx). The first is a difference of P, or of 1 - P where that is smaller, the second the density.
"""

from __future__ import annotations

from typing import Any

from flambeau.schema.dtype import float64
from flambeau.schema.gradient import formulas

STEP = 1e-4
"""The step of the difference, in units of the shape, or of its square root where that is above 1."""


def derivative_by_shape(F: Any, concentration: Any, sample: Any) -> Any:
    """dx/da for samples x of gamma distributions of shapes a.

    >>> import flambeau
    >>> from flambeau.ops.derivatives.operators import OPERATORS
    >>> one = flambeau.tensor([1.0], dtype=float64)
    >>> derivative_by_shape(OPERATORS, one, one).round(decimals=4)
    tensor([1.1736], dtype=flambeau.float64)
    """
    a, x = F.to(concentration, float64), F.to(sample, float64)
    step = F.mul(F.minimum(a, F.sqrt(a)), STEP)
    change = F.div(F.add(F.mul(_difference(F, a, x, step), 8.0), F.neg(_difference(F, a, x, F.mul(step, 2.0)))), 12.0)
    log_density = F.sub(F.sub(F.mul(F.sub(a, 1.0), F.log(x)), x), F.lgamma(a))
    usual = F.div(F.neg(F.div(change, step)), F.exp(log_density))
    near_zero = F.mul(F.div(x, a), F.sub(F.digamma(F.add(a, 1.0)), F.log(x)))
    is_near_zero = F.lt(F.mul(x, 1e8), F.add(a, 1.0))
    far = F.mul(F.add(F.div(x, a), 1.0), 0.5)  # where P and the density are 0: as of normal numbers
    usual = F.where(F.isfinite(usual), usual, far)
    return F.to(F.where(is_near_zero, near_zero, usual), concentration.dtype)


def _difference(F: Any, a: Any, x: Any, step: Any) -> Any:
    """P(a + step, x) - P(a - step, x), by what is left of 1 where P is the larger part."""
    lower = F.sub(F.special_gammainc(F.add(a, step), x), F.special_gammainc(F.sub(a, step), x))
    upper = F.sub(F.special_gammaincc(F.sub(a, step), x), F.special_gammaincc(F.add(a, step), x))
    return F.where(F.lt(x, a), lower, upper)


formulas(
    "aten::_standard_gamma",
    self=lambda f, grad, self, result: f.mul(grad, derivative_by_shape(f, self, result)),
)
