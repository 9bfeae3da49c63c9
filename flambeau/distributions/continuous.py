"""Distributions of numbers with simple densities: normal, log-normal, uniform, exponential, Laplace."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from flambeau.distributions import constraints
from flambeau.distributions.constraints import Constraint
from flambeau.distributions.distribution import Distribution, Number, broadcast_all
from flambeau.distributions.exponential_family import ExponentialFamily
from flambeau.distributions.location_scale import LocationScale
from flambeau.distributions.operators import F
from flambeau.tensor.tensor import Tensor


def _uniform(like: Tensor, shape: Sequence[int]) -> Tensor:
    return F.rand([*shape], dtype=like.dtype, device=like.device)


class Normal(LocationScale, ExponentialFamily):
    """The normal distribution.

    Args:
        loc: the mean.
        scale: the standard deviation, above 0.
        validate_args: see `Distribution`.

    Raises ValueError for a scale that is not above 0.

    >>> import flambeau
    >>> Normal(0.0, 1.0).log_prob(flambeau.tensor(0.0))
    tensor(-0.9189)
    """

    @property
    def variance(self) -> Tensor:
        """The square of `scale`."""
        return F.square(self.scale)

    @property
    def stddev(self) -> Tensor:
        """`scale`."""
        return self.scale

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples, with gradients."""
        shape = self._extended_shape(sample_shape)
        noise = F.randn([*shape], dtype=self.loc.dtype, device=self.loc.device)
        return F.add(self.loc, F.mul(noise, self.scale))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        z = F.div(F.sub(value, self.loc), self.scale)
        return F.sub(F.neg(F.add(F.div(F.square(z), 2), F.log(self.scale))), math.log(math.sqrt(2 * math.pi)))

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of values up to these."""
        self._validate_sample(value)
        z = F.div(F.sub(value, self.loc), F.mul(self.scale, math.sqrt(2)))
        return F.mul(F.add(F.erf(z), 1), 0.5)

    def icdf(self, value: Tensor) -> Tensor:
        """The quantiles of probabilities."""
        z = F.erfinv(F.sub(F.mul(value, 2), 1))
        return F.add(self.loc, F.mul(F.mul(self.scale, z), math.sqrt(2)))

    def entropy(self) -> Tensor:
        """In nats."""
        return F.add(F.log(self.scale), 0.5 + 0.5 * math.log(2 * math.pi))

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        square = F.square(self.scale)
        return F.div(self.loc, square), F.mul(F.reciprocal(square), -0.5)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        by_value, by_square = natural_params
        return F.sub(F.mul(F.log(F.div(by_square, -math.pi)), -0.5), F.div(F.mul(F.square(by_value), 0.25), by_square))

    @property
    def _mean_carrier_measure(self) -> float:
        return 0.0


class LogNormal(Normal):
    """What has a normal distribution as its logarithm.

    >>> import flambeau
    >>> LogNormal(0.0, 1.0).log_prob(flambeau.tensor(1.0))
    tensor(-0.9189)
    """

    @property
    def support(self) -> Constraint:
        """Numbers above 0."""
        return constraints.positive

    @property
    def mean(self) -> Tensor:
        """The mean, which lies above the median."""
        return F.exp(F.add(self.loc, F.div(F.square(self.scale), 2)))

    @property
    def mode(self) -> Tensor:
        """Where the density is highest."""
        return F.exp(F.sub(self.loc, F.square(self.scale)))

    @property
    def variance(self) -> Tensor:
        """The variance."""
        square = F.square(self.scale)
        return F.mul(F.expm1(square), F.exp(F.add(F.mul(self.loc, 2), square)))

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return F.sqrt(self.variance)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples, with gradients."""
        return F.exp(super().rsample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        below = F.log(value)
        z = F.div(F.sub(below, self.loc), self.scale)
        density = F.neg(F.add(F.div(F.square(z), 2), F.log(self.scale)))
        return F.sub(F.sub(density, math.log(math.sqrt(2 * math.pi))), below)

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of values up to these."""
        self._validate_sample(value)
        z = F.div(F.sub(F.log(value), self.loc), F.mul(self.scale, math.sqrt(2)))
        return F.mul(F.add(F.erf(z), 1), 0.5)

    def icdf(self, value: Tensor) -> Tensor:
        """The quantiles of probabilities."""
        return F.exp(super().icdf(value))

    def entropy(self) -> Tensor:
        """In nats."""
        return F.add(super().entropy(), self.loc)


class Uniform(Distribution):
    """The uniform distribution from `low` to `high`, which itself is left out.

    Raises ValueError where `low` is not below `high`.

    >>> import flambeau
    >>> Uniform(0.0, 2.0).log_prob(flambeau.tensor(1.0))
    tensor(-0.6931)
    """

    has_rsample: ClassVar[bool] = True
    arg_constraints: ClassVar[dict[str, Constraint]] = {"low": constraints.dependent, "high": constraints.dependent}

    def __init__(self, low: Number, high: Number, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)
        if self._validate_args and not bool(F.all(F.lt(self.low, self.high))):
            raise ValueError(f"Uniform: low has to lie below high, but got low={self.low} and high={self.high}")

    @property
    def support(self) -> Constraint:
        """From `low` to `high`."""
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Tensor:
        """The middle."""
        return F.div(F.add(self.low, self.high), 2)

    @property
    def mode(self) -> Tensor:
        """No value is more likely than others: nan."""
        return F.full_like(self.low, math.nan)

    @property
    def variance(self) -> Tensor:
        """The square of the width, over 12."""
        return F.div(F.square(F.sub(self.high, self.low)), 12)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples, with gradients."""
        u = _uniform(self.low, self._extended_shape(sample_shape))
        return F.add(self.low, F.mul(u, F.sub(self.high, self.low)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density: -inf outside."""
        self._validate_sample(value)
        inside = F.logical_and(F.le(self.low, value), F.gt(self.high, value))
        return F.sub(F.log(F.to(inside, self.low.dtype)), F.log(F.sub(self.high, self.low)))

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of values up to these."""
        self._validate_sample(value)
        return F.clamp(F.div(F.sub(value, self.low), F.sub(self.high, self.low)), 0, 1)

    def icdf(self, value: Tensor) -> Tensor:
        """The quantiles of probabilities."""
        return F.add(self.low, F.mul(value, F.sub(self.high, self.low)))

    def entropy(self) -> Tensor:
        """In nats."""
        return F.log(F.sub(self.high, self.low))


class Exponential(ExponentialFamily):
    """The exponential distribution: how long it takes until what happens at a `rate` does.

    Raises ValueError for a rate that is not above 0.

    >>> import flambeau
    >>> Exponential(2.0).mean
    tensor(0.5000)
    """

    has_rsample: ClassVar[bool] = True
    arg_constraints: ClassVar[dict[str, Constraint]] = {"rate": constraints.positive}

    def __init__(self, rate: Number, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def support(self) -> Constraint:
        """Numbers from 0 on."""
        return constraints.nonnegative

    @property
    def mean(self) -> Tensor:
        """The inverse of the rate."""
        return F.reciprocal(self.rate)

    @property
    def mode(self) -> Tensor:
        """0."""
        return F.zeros_like(self.rate)

    @property
    def stddev(self) -> Tensor:
        """As large as the mean."""
        return F.reciprocal(self.rate)

    @property
    def variance(self) -> Tensor:
        """The square of the mean."""
        return F.reciprocal(F.square(self.rate))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples, with gradients."""
        times = F.empty([*self._extended_shape(sample_shape)], dtype=self.rate.dtype, device=self.rate.device)
        return F.div(F.exponential_(times), self.rate)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        return F.sub(F.log(self.rate), F.mul(self.rate, value))

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of values up to these."""
        self._validate_sample(value)
        return F.neg(F.expm1(F.neg(F.mul(self.rate, value))))

    def icdf(self, value: Tensor) -> Tensor:
        """The quantiles of probabilities."""
        return F.div(F.neg(F.log1p(F.neg(value))), self.rate)

    def entropy(self) -> Tensor:
        """In nats."""
        return F.add(F.neg(F.log(self.rate)), 1)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (F.neg(self.rate),)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        return F.neg(F.log(F.neg(natural_params[0])))

    @property
    def _mean_carrier_measure(self) -> float:
        return 0.0


class Laplace(LocationScale):
    """The Laplace distribution: exponential to both sides of `loc`.

    Raises ValueError for a scale that is not above 0.

    >>> import flambeau
    >>> Laplace(0.0, 1.0).variance
    tensor(2.)
    """

    @property
    def variance(self) -> Tensor:
        """Twice the square of `scale`."""
        return F.mul(F.square(self.scale), 2)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples, with gradients."""
        u = F.sub(_uniform(self.loc, self._extended_shape(sample_shape)), 0.5)
        away = F.mul(F.sign(u), F.log1p(F.neg(F.mul(F.abs(u), 2))))
        return F.sub(self.loc, F.mul(self.scale, away))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        away = F.div(F.abs(F.sub(value, self.loc)), self.scale)
        return F.sub(F.neg(F.log(F.mul(self.scale, 2))), away)

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of values up to these."""
        self._validate_sample(value)
        z = F.div(F.sub(value, self.loc), self.scale)
        return F.add(F.mul(F.mul(F.sign(z), F.expm1(F.neg(F.abs(z)))), -0.5), 0.5)

    def icdf(self, value: Tensor) -> Tensor:
        """The quantiles of probabilities."""
        u = F.sub(value, 0.5)
        away = F.mul(F.sign(u), F.log1p(F.neg(F.mul(F.abs(u), 2))))
        return F.sub(self.loc, F.mul(self.scale, away))

    def entropy(self) -> Tensor:
        """In nats."""
        return F.add(F.log(F.mul(self.scale, 2)), 1)
