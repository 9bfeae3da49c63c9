"""The Kumaraswamy distribution, of numbers from 0 to 1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from flambeau.distributions import constraints
from flambeau.distributions.constraints import Constraint
from flambeau.distributions.distribution import Distribution, Number, broadcast_all
from flambeau.distributions.extremes import EULER
from flambeau.distributions.operators import F
from flambeau.distributions.unit_samples import open_uniform
from flambeau.tensor.tensor import Tensor


class Kumaraswamy(Distribution):
    """The Kumaraswamy distribution of numbers from 0 to 1, like a beta distribution with a simple cdf.

    Args:
        concentration1: the power of a value, above 0.
        concentration0: the power of what is left of 1, above 0.
        validate_args: see `Distribution`.

    Raises ValueError for parameters that are not above 0.

    >>> Kumaraswamy(1.0, 1.0).mean
    tensor(0.5000)
    """

    has_rsample: ClassVar[bool] = True
    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "concentration1": constraints.positive, "concentration0": constraints.positive,
    }  # fmt: skip

    def __init__(self, concentration1: Number, concentration0: Number, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        super().__init__(self.concentration1.shape, validate_args=validate_args)

    def _moment(self, n: int) -> Tensor:
        a = 1 + n / self.concentration1
        b = self.concentration0
        return b * (a.lgamma() + b.lgamma() - (a + b).lgamma()).exp()

    @property
    def support(self) -> Constraint:
        """From 0 to 1."""
        return constraints.unit_interval

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        """Where the density is highest; nan where that is at an end."""
        a, b = self.concentration1, self.concentration0
        inner = ((a - 1).clamp(min=0) / (a * b - 1)).pow(1 / a)
        return F.where(F.logical_or(a < 1, b < 1), F.full_like(a, math.nan), inner)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self._moment(2) - self.mean.square()

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples, with gradients."""
        left = open_uniform(self.concentration1, self._extended_shape(sample_shape)).pow(1 / self.concentration0)
        return (1 - left).pow(1 / self.concentration1)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        a, b = self.concentration1, self.concentration0
        return a.log() + b.log() + F.xlogy(a - 1, value) + F.special_xlog1py(b - 1, -value.pow(a))

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of values up to these."""
        self._validate_sample(value)
        return 1 - (1 - value.pow(self.concentration1)).pow(self.concentration0)

    def icdf(self, value: Tensor) -> Tensor:
        """The quantiles of probabilities."""
        left = (-value).log1p() / self.concentration0
        return (-left.expm1()).pow(1 / self.concentration1)

    def entropy(self) -> Tensor:
        """In nats."""
        a, b = self.concentration1, self.concentration0
        return (1 - 1 / b) + (1 - 1 / a) * ((b + 1).digamma() + EULER) - a.log() - b.log()
