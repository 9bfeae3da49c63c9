"""The gamma distribution, and what is made of gamma numbers: beta, Dirichlet, chi-squared, Student's t."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from flambeau.distributions import constraints
from flambeau.distributions.constraints import Constraint
from flambeau.distributions.distribution import Distribution, Number, broadcast_all
from flambeau.distributions.exponential_family import ExponentialFamily
from flambeau.distributions.operators import F
from flambeau.tensor.tensor import Tensor


class Gamma(ExponentialFamily):
    """The gamma distribution.

    Args:
        concentration: the shape, above 0.
        rate: the inverse of the scale, above 0.
        validate_args: see `Distribution`.

    Raises ValueError for parameters that are not above 0.

    >>> Gamma(3.0, 2.0).mean
    tensor(1.5000)
    """

    has_rsample: ClassVar[bool] = True
    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "concentration": constraints.positive, "rate": constraints.positive,
    }  # fmt: skip

    def __init__(self, concentration: Number, rate: Number, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    @property
    def support(self) -> Constraint:
        """Numbers from 0 on."""
        return constraints.nonnegative

    @property
    def mean(self) -> Tensor:
        """The shape over the rate."""
        return F.div(self.concentration, self.rate)

    @property
    def mode(self) -> Tensor:
        """Where the density is highest: 0 for shapes up to 1."""
        return F.clamp(F.div(F.sub(self.concentration, 1), self.rate), min=0)

    @property
    def variance(self) -> Tensor:
        """The shape over the square of the rate."""
        return F.div(self.concentration, F.square(self.rate))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples, with gradients."""
        shape = [*self._extended_shape(sample_shape)]
        draws = F._standard_gamma(F.contiguous(F.expand(self.concentration, shape)))
        return F.div(draws, F.expand(self.rate, shape))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        head = F.sub(F.xlogy(self.concentration, self.rate), F.lgamma(self.concentration))
        return F.add(head, F.sub(F.xlogy(F.sub(self.concentration, 1), value), F.mul(self.rate, value)))

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of values up to these."""
        self._validate_sample(value)
        return F.special_gammainc(self.concentration, F.mul(self.rate, value))

    def entropy(self) -> Tensor:
        """In nats."""
        a = self.concentration
        rest = F.mul(F.add(F.neg(a), 1), F.digamma(a))
        return F.add(F.add(F.sub(a, F.log(self.rate)), F.lgamma(a)), rest)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        shape, rate = natural_params[0] + 1, -natural_params[1]
        return shape.lgamma() - shape * rate.log()

    @property
    def _mean_carrier_measure(self) -> float:
        return 0.0


class Chi2(Gamma):
    """The distribution of the sum of the squares of `df` normal numbers.

    >>> Chi2(3.0).mean
    tensor(3.)
    """

    def __init__(self, df: Number, validate_args: bool | None = None) -> None:
        (freedom,) = broadcast_all(df)
        super().__init__(F.mul(freedom, 0.5), 0.5, validate_args=validate_args)

    @property
    def df(self) -> Tensor:
        """Degrees of freedom."""
        return F.mul(self.concentration, 2)


class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution of probabilities that add up to 1.

    Args:
        concentration: (..., n), above 0.
        validate_args: see `Distribution`.

    Raises ValueError for parameters that are not above 0, or have no axes.

    >>> import flambeau
    >>> Dirichlet(flambeau.tensor([1.0, 3.0])).mean
    tensor([0.2500, 0.7500])
    """

    has_rsample: ClassVar[bool] = True
    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "concentration": constraints.independent(constraints.positive, 1)
    }

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("Dirichlet: concentration has one axis or more, the last for the parts of a value")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    @property
    def support(self) -> Constraint:
        """Probabilities."""
        return constraints.simplex

    @property
    def mean(self) -> Tensor:
        """The shares of the parameters."""
        return F.div(self.concentration, self._total(keep=True))

    @property
    def mode(self) -> Tensor:
        """Where the density is highest; of parameters that all lie below 1, the corner of the largest."""
        less = F.clamp(F.sub(self.concentration, 1), min=0)
        total = F.sum(less, [-1], True)
        corner = F.one_hot(F.argmax(self.concentration, -1), self.concentration.shape[-1])
        outside = F.all(F.lt(self.concentration, 1), -1, True)
        return F.where(outside, F.to(corner, less.dtype), F.div(less, total))

    @property
    def variance(self) -> Tensor:
        """The variance of each part."""
        total, mean = self._total(keep=True), self.mean
        return F.div(F.mul(mean, F.add(F.neg(mean), 1)), F.add(total, 1))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples, with gradients."""
        shape = [*self._extended_shape(sample_shape)]
        draws = F._standard_gamma(F.contiguous(F.expand(self.concentration, shape)))
        return F.div(draws, F.sum(draws, [-1], True))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        weighted = F.sum(F.xlogy(F.sub(self.concentration, 1), value), [-1])
        return F.sub(F.add(weighted, F.lgamma(self._total())), F.sum(F.lgamma(self.concentration), [-1]))

    def entropy(self) -> Tensor:
        """In nats."""
        a, count = self.concentration, self.concentration.shape[-1]
        total = self._total()
        by_total = F.mul(F.add(F.neg(total), count), F.digamma(total))
        by_parts = F.sum(F.mul(F.sub(a, 1), F.digamma(a)), [-1])
        return F.add(F.sub(F.sum(F.lgamma(a), [-1]), F.lgamma(total)), F.sub(F.neg(by_total), by_parts))

    def _total(self, keep: bool = False) -> Tensor:
        return F.sum(self.concentration, [-1], keep)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.concentration - 1,)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        concentration = natural_params[0] + 1
        return concentration.lgamma().sum(-1) - concentration.sum(-1).lgamma()

    @property
    def _mean_carrier_measure(self) -> float:
        return 0.0


class Beta(ExponentialFamily):
    """The beta distribution of a probability.

    Args:
        concentration1: draws to 1, above 0.
        concentration0: draws to 0, above 0.
        validate_args: see `Distribution`.

    Raises ValueError for parameters that are not above 0.

    >>> Beta(1.0, 3.0).mean
    tensor(0.2500)
    """

    has_rsample: ClassVar[bool] = True
    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "concentration1": constraints.positive, "concentration0": constraints.positive,
    }  # fmt: skip

    def __init__(self, concentration1: Number, concentration0: Number, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        super().__init__(self.concentration1.shape, validate_args=validate_args)

    def _both(self) -> Dirichlet:
        return Dirichlet(F.stack([self.concentration1, self.concentration0], -1), validate_args=False)

    @property
    def support(self) -> Constraint:
        """From 0 to 1."""
        return constraints.unit_interval

    @property
    def mean(self) -> Tensor:
        """The share of `concentration1`."""
        return F.div(self.concentration1, F.add(self.concentration1, self.concentration0))

    @property
    def mode(self) -> Tensor:
        """Where the density is highest."""
        return F.select(self._both().mode, -1, 0)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return F.select(self._both().variance, -1, 0)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples, with gradients."""
        return F.select(self._both().rsample(sample_shape), -1, 0)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        return self._both().log_prob(F.stack([value, F.add(F.neg(value), 1)], -1))

    def entropy(self) -> Tensor:
        """In nats."""
        return self._both().entropy()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return self.concentration1 - 1, self.concentration0 - 1

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        ones, zeros = (p + 1 for p in natural_params)
        return ones.lgamma() + zeros.lgamma() - (ones + zeros).lgamma()

    @property
    def _mean_carrier_measure(self) -> float:
        return 0.0


class StudentT(Distribution):
    """Student's t distribution: normal numbers over the root of a mean of squares.

    Args:
        df: degrees of freedom, above 0.
        loc: the centre.
        scale: above 0.
        validate_args: see `Distribution`.

    Raises ValueError for parameters that are not above 0.

    >>> StudentT(3.0).variance
    tensor(3.)
    """

    has_rsample: ClassVar[bool] = True
    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "df": constraints.positive, "loc": constraints.real, "scale": constraints.positive,
    }  # fmt: skip

    def __init__(
        self, df: Number, loc: Number = 0.0, scale: Number = 1.0, validate_args: bool | None = None
    ) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        super().__init__(self.df.shape, validate_args=validate_args)

    @property
    def support(self) -> Constraint:
        """All numbers."""
        return constraints.real

    @property
    def mean(self) -> Tensor:
        """`loc`; nan with one degree of freedom or fewer."""
        return F.where(F.gt(self.df, 1), self.loc, F.full_like(self.loc, math.nan))

    @property
    def mode(self) -> Tensor:
        """`loc`."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """Inf with two degrees of freedom or fewer, nan with one or fewer."""
        usual = F.div(F.mul(F.square(self.scale), self.df), F.sub(self.df, 2))
        wide = F.where(F.gt(self.df, 2), usual, F.full_like(self.df, math.inf))
        return F.where(F.gt(self.df, 1), wide, F.full_like(self.df, math.nan))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples, with gradients."""
        shape = [*self._extended_shape(sample_shape)]
        noise = F.randn(shape, dtype=self.df.dtype, device=self.df.device)
        half = F.contiguous(F.expand(F.mul(self.df, 0.5), shape))
        squares: Any = F.mul(F._standard_gamma(half), 2)
        return F.add(self.loc, F.mul(self.scale, F.mul(noise, F.rsqrt(F.div(squares, self.df)))))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        df = self.df
        z = F.div(F.sub(value, self.loc), self.scale)
        half = F.mul(F.add(df, 1), 0.5)
        head = F.add(F.log(self.scale), F.mul(F.add(F.log(df), math.log(math.pi)), 0.5))
        head = F.sub(F.add(head, F.lgamma(F.mul(df, 0.5))), F.lgamma(half))
        return F.sub(F.neg(F.mul(half, F.log1p(F.div(F.square(z), df)))), head)

    def entropy(self) -> Tensor:
        """In nats."""
        df, half = self.df, F.mul(self.df, 0.5)
        more = F.mul(F.add(df, 1), 0.5)
        beta = F.sub(F.add(F.lgamma(half), math.lgamma(0.5)), F.lgamma(more))
        spread = F.mul(more, F.sub(F.digamma(more), F.digamma(half)))
        return F.add(F.add(F.log(self.scale), spread), F.add(F.mul(F.log(df), 0.5), beta))
