"""What is made of gamma numbers by division: their inverses, and ratios of sums of squares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from flambeau.distributions import constraints
from flambeau.distributions.constraints import Constraint
from flambeau.distributions.distribution import Distribution, Number, broadcast_all
from flambeau.distributions.gamma import Gamma
from flambeau.distributions.operators import F
from flambeau.tensor.tensor import Tensor


class InverseGamma(Distribution):
    """The distribution of `1 / x`, where x has a gamma distribution.

    Args:
        concentration: the shape, above 0.
        rate: the scale of the inverse, above 0.
        validate_args: see `Distribution`.

    Raises ValueError for parameters that are not above 0.

    >>> InverseGamma(3.0, 2.0).mean
    tensor(1.)
    """

    has_rsample: ClassVar[bool] = True
    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "concentration": constraints.positive, "rate": constraints.positive,
    }  # fmt: skip

    def __init__(self, concentration: Number, rate: Number, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    def _inverses(self) -> Gamma:
        return Gamma(self.concentration, self.rate, validate_args=False)

    @property
    def support(self) -> Constraint:
        """Numbers above 0."""
        return constraints.positive

    @property
    def mean(self) -> Tensor:
        """The mean; inf for shapes up to 1."""
        usual = self.rate / (self.concentration - 1)
        return F.where(self.concentration > 1, usual, F.full_like(usual, math.inf))

    @property
    def mode(self) -> Tensor:
        """Where the density is highest."""
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        """The variance; inf for shapes up to 2."""
        a = self.concentration
        usual = self.rate.square() / ((a - 1).square() * (a - 2))
        return F.where(a > 2, usual, F.full_like(usual, math.inf))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples, with gradients."""
        return self._inverses().rsample(sample_shape).reciprocal()

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        return self._inverses().log_prob(value.reciprocal()) - 2 * value.log()

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of values up to these."""
        self._validate_sample(value)
        return F.special_gammaincc(self.concentration, self.rate / value)

    def entropy(self) -> Tensor:
        """In nats."""
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()


class FisherSnedecor(Distribution):
    """The F distribution, of the ratio of two means of squares of normal numbers.

    Args:
        df1: degrees of freedom above, more than 0.
        df2: degrees of freedom below, more than 0.
        validate_args: see `Distribution`.

    Raises ValueError for parameters that are not above 0.

    >>> FisherSnedecor(1.0, 4.0).mean
    tensor(2.)
    """

    has_rsample: ClassVar[bool] = True
    arg_constraints: ClassVar[dict[str, Constraint]] = {"df1": constraints.positive, "df2": constraints.positive}

    def __init__(self, df1: Number, df2: Number, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        super().__init__(self.df1.shape, validate_args=validate_args)

    @property
    def support(self) -> Constraint:
        """Numbers above 0."""
        return constraints.positive

    @property
    def mean(self) -> Tensor:
        """The mean; nan for two degrees of freedom below or fewer."""
        return F.where(self.df2 > 2, self.df2 / (self.df2 - 2), F.full_like(self.df2, math.nan))

    @property
    def mode(self) -> Tensor:
        """Where the density is highest; nan for two degrees of freedom above or fewer."""
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return F.where(self.df1 > 2, mode, F.full_like(mode, math.nan))

    @property
    def variance(self) -> Tensor:
        """The variance; nan for four degrees of freedom below or fewer."""
        a, b = self.df1, self.df2
        usual = 2 * b.square() * (a + b - 2) / (a * (b - 2).square() * (b - 4))
        return F.where(b > 4, usual, F.full_like(usual, math.nan))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples, with gradients."""
        above = Gamma(self.df1 * 0.5, self.df1, validate_args=False).rsample(sample_shape)
        below = Gamma(self.df2 * 0.5, self.df2, validate_args=False).rsample(sample_shape)
        return above / below.clamp(min=1.17549435e-38 if below.element_size() < 8 else 2.2250738585072014e-308)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        a, b, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        head = (a + b).lgamma() - a.lgamma() - b.lgamma()
        return head + a * ratio.log() + (a - 1) * value.log() - (a + b) * (ratio * value).log1p()
