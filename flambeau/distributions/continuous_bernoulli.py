"""Numbers from 0 to 1 with the density of a Bernoulli variable (Loaiza-Ganem and Cunningham, 2019)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from flambeau.distributions import constraints
from flambeau.distributions.constraints import Constraint
from flambeau.distributions.discrete import WithOdds, inner
from flambeau.distributions.exponential_family import ExponentialFamily
from flambeau.distributions.operators import F
from flambeau.distributions.unit_samples import open_uniform
from flambeau.tensor.tensor import Tensor

NEAR_HALF = 1e-3
"""How close to 0.5 a probability's formulas are a series: their quotients become 0 / 0 there."""


class ContinuousBernoulli(WithOdds, ExponentialFamily):
    """The density of a value x from 0 to 1 is `probs ** x * (1 - probs) ** (1 - x)`, times what makes it one.

    Args:
        probs: between 0 and 1.
        logits: in its place, the logarithm of its odds.
        validate_args: see `Distribution`.

    >>> import flambeau
    >>> ContinuousBernoulli(0.5).mean
    tensor(0.5000)
    """

    has_rsample: ClassVar[bool] = True

    def __init__(
        self, probs: Tensor | float | None = None, logits: Tensor | float | None = None,
        lims: tuple[float, float] = (0.5 - NEAR_HALF, 0.5 + NEAR_HALF), validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__(probs, logits, validate_args)
        self._limits = lims

    def _expand_into(self, expanded: object, batch_shape: Sequence[int]) -> None:
        expanded.__dict__["_limits"] = self._limits

    @property
    def param_shape(self) -> Sequence[int]:
        """The sizes of the probabilities."""
        return self._given.shape

    @property
    def support(self) -> Constraint:
        """From 0 to 1."""
        return constraints.unit_interval

    def _split(self) -> tuple[Tensor, Tensor, Tensor]:
        """Whether probabilities are away from 0.5, these (0.25 where they are not), and the others less 0.5."""
        probs = inner(self.probs)
        is_away = F.logical_or(probs <= self._limits[0], probs > self._limits[1])
        return is_away, F.where(is_away, probs, F.full_like(probs, 0.25)), probs - 0.5

    def _log_constant(self) -> Tensor:
        """The logarithm of what makes the density one."""
        is_away, probs, near = self._split()
        usual = (2 * (1 - 2 * probs).abs().atanh()).log() - (1 - 2 * probs).abs().log()
        square = near.square()
        return F.where(is_away, usual, math.log(2) + (4 / 3 + 104 / 45 * square) * square)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        is_away, probs, near = self._split()
        usual = probs / (2 * probs - 1) + 1 / ((-probs).log1p() - probs.log())
        return F.where(is_away, usual, 0.5 + (1 / 3 + 16 / 45 * near.square()) * near)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        is_away, probs, near = self._split()
        usual = probs * (probs - 1) / (1 - 2 * probs).square() + 1 / ((-probs).log1p() - probs.log()).square()
        square = near.square()
        return F.where(is_away, usual, 1 / 12 - (1 / 15 - 128 / 945 * square) * square)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples, with gradients."""
        return self.icdf(open_uniform(self._given, self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        logits, value = F.broadcast_tensors([self.logits, value])
        return value * logits - F.softplus(logits) + self._log_constant()

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of values up to these."""
        self._validate_sample(value)
        is_away, probs, _ = self._split()
        usual = (probs.pow(value) * (1 - probs).pow(1 - value) + probs - 1) / (2 * probs - 1)
        inside = F.where(is_away, usual, value)
        return F.where(value <= 0, F.zeros_like(inside), F.where(value >= 1, F.ones_like(inside), inside))

    def icdf(self, value: Tensor) -> Tensor:
        """The quantiles of probabilities."""
        is_away, probs, _ = self._split()
        usual = ((value * (2 * probs - 1) - probs).log1p() - (-probs).log1p()) / (probs.log() - (-probs).log1p())
        return F.where(is_away, usual, value)

    def entropy(self) -> Tensor:
        """In nats."""
        log_odds = self.logits
        return F.softplus(log_odds) - self._log_constant() - self.mean * log_odds

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        odds = natural_params[0]  # the logarithm of (exp(odds) - 1) / odds
        is_away = odds.abs() > 1e-2
        size = F.where(is_away, odds.abs(), F.ones_like(odds))
        usual = size + (-(-size).expm1() / size).log() - F.where(odds < 0, size, F.zeros_like(size))
        return F.where(is_away, usual, odds / 2 + odds.square() / 24)

    @property
    def _mean_carrier_measure(self) -> float:
        return 0.0
