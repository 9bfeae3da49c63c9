"""Transforms of numbers, each for itself."""

from __future__ import annotations

import math
from typing import Any, Protocol

from flambeau.distributions import constraints
from flambeau.distributions.constraints import Constraint
from flambeau.distributions.distribution import sum_rightmost
from flambeau.distributions.operators import F
from flambeau.distributions.transforms.transform import Transform
from flambeau.tensor.tensor import Tensor


class _Rising(Transform):
    """A bijection of numbers that rises, without parameters: all of its kind are one."""

    bijective = True

    @property
    def sign(self) -> Any:
        """1."""
        return 1

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))


class ExpTransform(_Rising):
    """`exp(x)`.

    >>> import flambeau
    >>> ExpTransform()(flambeau.tensor(0.0))
    tensor(1.)
    """

    domain, codomain = constraints.real, constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """`x`."""
        return x


class SigmoidTransform(_Rising):
    """`1 / (1 + exp(-x))`; the inverse keeps off 0 and 1, where it is infinite.

    >>> import flambeau
    >>> SigmoidTransform()(flambeau.tensor(0.0))
    tensor(0.5000)
    """

    domain, codomain = constraints.real, constraints.unit_interval

    def _call(self, x: Tensor) -> Tensor:
        return inside(x.sigmoid())

    def _inverse(self, y: Tensor) -> Tensor:
        y = inside(y)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """That of the logistic function."""
        return -F.softplus(-x) - F.softplus(x)


class SoftplusTransform(_Rising):
    """`log(1 + exp(x))`, which keeps large numbers as they are.

    >>> import flambeau
    >>> SoftplusTransform()(flambeau.tensor(0.0))
    tensor(0.6931)
    """

    domain, codomain = constraints.real, constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return F.softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of the slope."""
        return -F.softplus(-x)


class TanhTransform(_Rising):
    """`tanh(x)`; a cache keeps it exact where the tangent is rounded to 1.

    >>> import flambeau
    >>> TanhTransform().log_abs_det_jacobian(flambeau.tensor(0.0), flambeau.tensor(0.0))
    tensor(0.)
    """

    domain, codomain = constraints.real, constraints.interval(-1.0, 1.0)

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """`log(1 - tanh(x) ** 2)`, by a form without cancellation."""
        return 2.0 * (math.log(2.0) - x - F.softplus(-2.0 * x))


class AbsTransform(Transform):
    """`abs(x)`, which cannot be undone: the inverse is the positive one.

    >>> import flambeau
    >>> AbsTransform()(flambeau.tensor(-1.0))
    tensor(1.)
    """

    domain, codomain = constraints.real, constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbsTransform)

    __hash__ = Transform.__hash__


class PowerTransform(Transform):
    """`x ** exponent`, of positive numbers.

    >>> import flambeau
    >>> PowerTransform(2.0)(flambeau.tensor(3.0))
    tensor(9.)
    """

    domain, codomain = constraints.positive, constraints.positive
    bijective = True

    def __init__(self, exponent: Tensor | float, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.exponent = exponent

    @property
    def sign(self) -> Any:
        """That of the exponent."""
        return _sign(self.exponent)

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of the slope, `exponent * y / x`."""
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        """Sizes, broadcast with the exponent's."""
        return _broadcast_shape(shape, self.exponent)

    inverse_shape = forward_shape

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and _equal(self.exponent, other.exponent)

    __hash__ = Transform.__hash__


class AffineTransform(Transform):
    """`loc + scale * x`.

    Args:
        loc: what is added.
        scale: the factor, not 0.
        event_dim: how many axes one value has.
        cache_size: see `Transform`.

    >>> import flambeau
    >>> AffineTransform(1.0, 2.0)(flambeau.tensor(3.0))
    tensor(7.)
    """

    bijective = True

    def __init__(
        self, loc: Tensor | float, scale: Tensor | float, event_dim: int = 0, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self) -> int:
        """How many axes one value has."""
        return self._event_dim

    @property
    def domain(self) -> Constraint:
        """Numbers."""
        return constraints.independent(constraints.real, self._event_dim) if self._event_dim else constraints.real

    codomain = domain

    @property
    def sign(self) -> Any:
        """That of the factor."""
        return _sign(self.scale)

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of the factor, once for each number of a value."""
        scale = self.scale
        slope = scale.abs().log() if isinstance(scale, Tensor) else F.full_like(x, math.log(abs(scale)))
        return sum_rightmost(slope.expand(x.shape), self._event_dim)

    def forward_shape(self, shape: Any) -> Any:
        """Sizes, broadcast with those of `loc` and `scale`."""
        return _broadcast_shape(shape, self.loc, self.scale)

    inverse_shape = forward_shape

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AffineTransform) and _equal(self.loc, other.loc) and _equal(self.scale, other.scale)

    __hash__ = Transform.__hash__


class HasDistributionFunction(Protocol):
    """A distribution of numbers whose distribution function is known, and its inverse."""

    @property
    def support(self) -> Constraint: ...
    def cdf(self, value: Tensor) -> Tensor: ...
    def icdf(self, value: Tensor) -> Tensor: ...
    def log_prob(self, value: Tensor) -> Tensor: ...


class CumulativeDistributionTransform(Transform):
    """The probability of what lies up to x, in a distribution.

    >>> import flambeau
    >>> from flambeau.distributions import Normal
    >>> CumulativeDistributionTransform(Normal(0.0, 1.0))(flambeau.tensor(0.0))
    tensor(0.5000)
    """

    bijective = True
    codomain = constraints.unit_interval

    def __init__(self, distribution: HasDistributionFunction, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Constraint:
        """Where values of the distribution lie."""
        return self.distribution.support

    @property
    def sign(self) -> Any:
        """1."""
        return 1

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of the density."""
        return self.distribution.log_prob(x)


def inside(y: Tensor) -> Tensor:
    """Probabilities, kept off 0 and 1.

    >>> import flambeau
    >>> bool(inside(flambeau.tensor(1.0)) < 1)
    True
    """
    tiny, eps = (1.17549435e-38, 1.1920929e-07) if y.element_size() < 8 else (2.2250738585072014e-308, 2.220446049e-16)
    return y.clamp(tiny, 1 - eps)


def _sign(value: Tensor | float) -> Any:
    return value.sign() if isinstance(value, Tensor) else int(math.copysign(1, value))


def _equal(a: Tensor | float, b: Tensor | float) -> bool:
    return bool(F.all(F.eq(a, b))) if isinstance(a, Tensor) else bool(a == b) if not isinstance(b, Tensor) else False


def _broadcast_shape(shape: Any, *values: Tensor | float) -> Any:
    """Sizes, broadcast with those of tensors."""
    tensors = [v for v in values if isinstance(v, Tensor)]
    first = F.empty([*shape]) if not tensors else tensors[0].new_empty(shape)
    return F.broadcast_tensors([first, *tensors])[0].shape
