"""Distributions of largest and smallest values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from flambeau.distributions import constraints
from flambeau.distributions.constraints import Constraint
from flambeau.distributions.continuous import Exponential
from flambeau.distributions.distribution import Distribution, Number, broadcast_all
from flambeau.distributions.location_scale import LocationScale
from flambeau.distributions.operators import F
from flambeau.distributions.unit_samples import open_uniform
from flambeau.tensor.tensor import Tensor

EULER = 0.57721566490153286060
"""Euler's constant: the mean of standard Gumbel numbers."""


class Gumbel(LocationScale):
    """The Gumbel distribution of the largest of many values.

    Args:
        loc: where the density is highest.
        scale: above 0.
        validate_args: see `Distribution`.

    Raises ValueError for a scale that is not above 0.

    >>> Gumbel(0.0, 1.0).mean
    tensor(0.5772)
    """

    @property
    def mean(self) -> Tensor:
        """The mean, above `loc`."""
        return self.loc + self.scale * EULER

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.scale.square() * (math.pi**2 / 6)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples, with gradients."""
        return self.icdf(open_uniform(self.loc, self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        y = (self.loc - value) / self.scale
        return y - y.exp() - self.scale.log()

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of values up to these."""
        self._validate_sample(value)
        return (-((self.loc - value) / self.scale).exp()).exp()

    def icdf(self, value: Tensor) -> Tensor:
        """The quantiles of probabilities."""
        return self.loc - self.scale * (-value.log()).log()

    def entropy(self) -> Tensor:
        """In nats."""
        return self.scale.log() + (1 + EULER)


class Weibull(Distribution):
    """The Weibull distribution of the smallest of many positive values.

    Args:
        scale: above 0.
        concentration: the power, above 0.
        validate_args: see `Distribution`.

    Raises ValueError for parameters that are not above 0.

    >>> Weibull(1.0, 1.0).mean
    tensor(1.)
    """

    has_rsample: ClassVar[bool] = True
    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "scale": constraints.positive, "concentration": constraints.positive,
    }  # fmt: skip

    def __init__(self, scale: Number, concentration: Number, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        super().__init__(self.scale.shape, validate_args=validate_args)

    @property
    def support(self) -> Constraint:
        """Numbers above 0."""
        return constraints.positive

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.scale * (1 + 1 / self.concentration).lgamma().exp()

    @property
    def mode(self) -> Tensor:
        """Where the density is highest: 0 for powers up to 1."""
        k = self.concentration
        return F.where(k > 1, self.scale * ((k - 1).clamp(min=0) / k).pow(1 / k), F.zeros_like(k))

    @property
    def variance(self) -> Tensor:
        """The variance."""
        once = (1 + 1 / self.concentration).lgamma()
        return self.scale.square() * ((1 + 2 / self.concentration).lgamma().exp() - (2 * once).exp())

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples, with gradients."""
        drawn = Exponential(F.ones_like(self.scale), validate_args=False).rsample(sample_shape)
        return self.scale * drawn.pow(1 / self.concentration)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        k, log_ratio = self.concentration, (value / self.scale).log()
        return k.log() - self.scale.log() + (k - 1) * log_ratio - (k * log_ratio).exp()

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of values up to these."""
        self._validate_sample(value)
        return -(-(value / self.scale).pow(self.concentration)).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        """The quantiles of probabilities."""
        return self.scale * (-(-value).log1p()).pow(1 / self.concentration)

    def entropy(self) -> Tensor:
        """In nats."""
        k = self.concentration
        return EULER * (1 - 1 / k) + (self.scale / k).log() + 1
