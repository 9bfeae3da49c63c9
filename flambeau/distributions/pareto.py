"""Distributions of sizes without a typical one, which fall off with a power."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from flambeau.distributions import constraints
from flambeau.distributions.constraints import Constraint
from flambeau.distributions.continuous import Exponential
from flambeau.distributions.distribution import Distribution, Number, broadcast_all
from flambeau.distributions.operators import F
from flambeau.distributions.unit_samples import open_uniform
from flambeau.tensor.tensor import Tensor


class Pareto(Distribution):
    """The Pareto distribution of sizes above `scale`, which fall off with a power.

    Args:
        scale: the smallest value, above 0.
        alpha: the power, above 0.
        validate_args: see `Distribution`.

    Raises ValueError for parameters that are not above 0.

    >>> Pareto(1.0, 3.0).mean
    tensor(1.5000)
    """

    has_rsample: ClassVar[bool] = True
    arg_constraints: ClassVar[dict[str, Constraint]] = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale: Number, alpha: Number, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        super().__init__(self.scale.shape, validate_args=validate_args)

    @property
    def support(self) -> Constraint:
        """Numbers from `scale` on."""
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Tensor:
        """The mean; inf for powers up to 1."""
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    @property
    def mode(self) -> Tensor:
        """`scale`."""
        return self.scale

    @property
    def variance(self) -> Tensor:
        """The variance; inf for powers up to 2."""
        a = self.alpha.clamp(min=2)
        return self.scale.square() * a / ((a - 1).square() * (a - 2))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples, with gradients."""
        return self.scale * Exponential(self.alpha, validate_args=False).rsample(sample_shape).exp()

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        return self.alpha.log() + self.alpha * self.scale.log() - (self.alpha + 1) * value.log()

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of values up to these."""
        self._validate_sample(value)
        return 1 - (self.scale / value).pow(self.alpha)

    def icdf(self, value: Tensor) -> Tensor:
        """The quantiles of probabilities."""
        return self.scale * (-(-value).log1p() / self.alpha).exp()

    def entropy(self) -> Tensor:
        """In nats."""
        return (self.scale / self.alpha).log() + (1 + 1 / self.alpha)


class GeneralizedPareto(Distribution):
    """The generalised Pareto distribution of what lies above a high threshold.

    Args:
        loc: the threshold.
        scale: above 0.
        concentration: the tail: a power above 0, exponential at 0, with an end below 0.
        validate_args: see `Distribution`.

    Raises ValueError for a scale that is not above 0.

    >>> GeneralizedPareto(0.0, 1.0, 0.0).mean
    tensor(1.)
    """

    has_rsample: ClassVar[bool] = True
    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real,
    }  # fmt: skip

    def __init__(
        self, loc: Number, scale: Number, concentration: Number, validate_args: bool | None = None
    ) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def support(self) -> Constraint:
        """From `loc` on; up to `loc - scale / concentration` where that is below 0."""
        end = self.loc - self.scale / self.concentration
        return constraints.interval(self.loc, F.where(self.concentration < 0, end, F.full_like(end, math.inf)))

    @property
    def mean(self) -> Tensor:
        """The mean; inf for tails of 1 or more."""
        k = self.concentration
        mean = self.loc + self.scale / (1 - k)
        return F.where(k < 1, mean, F.full_like(mean, math.inf))

    @property
    def mode(self) -> Tensor:
        """`loc`."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The variance; inf for tails of 1/2 or more."""
        k = self.concentration
        variance = self.scale.square() / ((1 - k).square() * (1 - 2 * k))
        return F.where(k < 0.5, variance, F.full_like(variance, math.inf))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples, with gradients."""
        return self.icdf(open_uniform(self.scale, self._extended_shape(sample_shape)))

    def _log_left(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of larger values."""
        z, k, is_exponential = (value - self.loc) / self.scale, *self._tail()
        return F.where(is_exponential, -z, -(k * z).log1p() / k)

    def _tail(self) -> tuple[Tensor, Tensor]:
        """The tail, 1 where it is exponential, and whether it is."""
        is_exponential = self.concentration.abs() < 1e-12
        return F.where(is_exponential, F.ones_like(self.concentration), self.concentration), is_exponential

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        z, k, is_exponential = (value - self.loc) / self.scale, *self._tail()
        return F.where(is_exponential, -z, -(1 + 1 / k) * (k * z).log1p()) - self.scale.log()

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of values up to these."""
        self._validate_sample(value)
        return -self._log_left(value).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        """The quantiles of probabilities."""
        k, is_exponential = self._tail()
        log_left = (-value).log1p()
        return self.loc + self.scale * F.where(is_exponential, -log_left, (-k * log_left).expm1() / k)

    def entropy(self) -> Tensor:
        """In nats."""
        return self.scale.log() + self.concentration + 1
