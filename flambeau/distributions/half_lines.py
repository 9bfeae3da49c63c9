"""The Cauchy distribution, and what lies to one side of zero: absolute values of normal and Cauchy numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from flambeau.distributions import constraints
from flambeau.distributions.constraints import Constraint
from flambeau.distributions.continuous import Normal
from flambeau.distributions.distribution import Distribution, Number, broadcast_all
from flambeau.distributions.location_scale import LocationScale
from flambeau.distributions.operators import F
from flambeau.tensor.tensor import Tensor


class Cauchy(LocationScale):
    """The Cauchy distribution, of the ratio of two normal numbers. It has no mean.

    Args:
        loc: the median.
        scale: half of the width at half the height, above 0.
        validate_args: see `Distribution`.

    Raises ValueError for a scale that is not above 0.

    >>> import flambeau
    >>> Cauchy(0.0, 1.0).cdf(flambeau.tensor(1.0))
    tensor(0.7500)
    """

    @property
    def mean(self) -> Tensor:
        """There is none: nan."""
        return F.full_like(self.loc, math.nan)

    @property
    def variance(self) -> Tensor:
        """Inf."""
        return F.full_like(self.loc, math.inf)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples, with gradients."""
        drawn = F.empty([*self._extended_shape(sample_shape)], dtype=self.loc.dtype, device=self.loc.device).cauchy_()
        return drawn * self.scale + self.loc

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        return -math.log(math.pi) - self.scale.log() - ((value - self.loc) / self.scale).square().log1p()

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of values up to these."""
        self._validate_sample(value)
        return ((value - self.loc) / self.scale).atan() / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        """The quantiles of probabilities."""
        return (math.pi * (value - 0.5)).tan() * self.scale + self.loc

    def entropy(self) -> Tensor:
        """In nats."""
        return math.log(4 * math.pi) + self.scale.log()


class _Half(Distribution):
    """Absolute values of a distribution that is symmetric around 0."""

    has_rsample: ClassVar[bool] = True
    arg_constraints: ClassVar[dict[str, Constraint]] = {"scale": constraints.positive}

    def __init__(self, scale: Number, validate_args: bool | None = None) -> None:
        (self.scale,) = broadcast_all(scale)
        super().__init__(self.scale.shape, validate_args=validate_args)

    def _whole(self) -> LocationScale:
        raise self._missing("a whole")

    @property
    def support(self) -> Constraint:
        """Numbers from 0 on."""
        return constraints.nonnegative

    @property
    def mode(self) -> Tensor:
        """0."""
        return F.zeros_like(self.scale)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples, with gradients."""
        return self._whole().rsample(sample_shape).abs()

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density: -inf below 0."""
        self._validate_sample(value)
        density = self._whole().log_prob(value) + math.log(2)
        return F.where(value >= 0, density, F.full_like(density, -math.inf))

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of values up to these."""
        self._validate_sample(value)
        return 2 * self._whole().cdf(value) - 1

    def icdf(self, value: Tensor) -> Tensor:
        """The quantiles of probabilities."""
        return self._whole().icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        """In nats."""
        return self._whole().entropy() - math.log(2)


class HalfNormal(_Half):
    """Absolute values of normal numbers around 0.

    Args:
        scale: the standard deviation of the normal numbers, above 0.
        validate_args: see `Distribution`.

    >>> HalfNormal(1.0).mean
    tensor(0.7979)
    """

    def _whole(self) -> Normal:
        return Normal(F.zeros_like(self.scale), self.scale, validate_args=False)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.scale.square() * (1 - 2 / math.pi)


class HalfCauchy(_Half):
    """Absolute values of Cauchy numbers around 0.

    Args:
        scale: the median, above 0.
        validate_args: see `Distribution`.

    >>> import flambeau
    >>> HalfCauchy(1.0).cdf(flambeau.tensor(1.0))
    tensor(0.5000)
    """

    def _whole(self) -> Cauchy:
        return Cauchy(F.zeros_like(self.scale), self.scale, validate_args=False)

    @property
    def mean(self) -> Tensor:
        """Inf."""
        return F.full_like(self.scale, math.inf)

    @property
    def variance(self) -> Tensor:
        """Inf."""
        return F.full_like(self.scale, math.inf)
