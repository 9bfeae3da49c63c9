"""Bernoulli and categorical values, relaxed to have samples with gradients (Maddison and others, 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from flambeau.distributions import constraints
from flambeau.distributions.categorical import WEIGHTS, CategoricalVectors
from flambeau.distributions.constraints import Constraint
from flambeau.distributions.discrete import WithOdds
from flambeau.distributions.distribution import Number, broadcast_all
from flambeau.distributions.operators import F
from flambeau.distributions.transformed import TransformedDistribution
from flambeau.distributions.transforms import ExpTransform, SigmoidTransform
from flambeau.distributions.unit_samples import open_uniform
from flambeau.tensor.tensor import Tensor


class LogitRelaxedBernoulli(WithOdds):
    """The logarithms of the odds of relaxed Bernoulli numbers.

    Args:
        temperature: above 0; the lower, the closer to 0 and 1 the numbers are.
        probs: the probability of 1.
        logits: in its place, the logarithm of its odds.
        validate_args: see `Distribution`.

    >>> import flambeau
    >>> LogitRelaxedBernoulli(1.0, 0.5).log_prob(flambeau.tensor(0.0))
    tensor(-1.3863)
    """

    has_rsample: ClassVar[bool] = True

    def __init__(
        self, temperature: Number, probs: Number | None = None, logits: Number | None = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        (self.temperature,) = broadcast_all(temperature)
        super().__init__(probs, logits, validate_args)

    def _expand_into(self, expanded: Any, batch_shape: Sequence[int]) -> None:
        expanded.temperature = self.temperature

    @property
    def param_shape(self) -> Sequence[int]:
        """The sizes of the probabilities."""
        return self._given.shape

    @property
    def support(self) -> Constraint:
        """All numbers."""
        return constraints.real

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples, with gradients."""
        noise = open_uniform(self._given, self._extended_shape(sample_shape))
        return (noise.log() - (-noise).log1p() + self.logits) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        difference = self.logits - value * self.temperature
        return self.temperature.log() + difference - 2 * F.softplus(difference)


class _Relaxed(TransformedDistribution):
    """Samples of a relaxed distribution of logarithms, brought back: parameters are those of what is transformed."""

    base_dist: Any

    @property
    def temperature(self) -> Tensor:
        """How far the samples are from those that are not relaxed."""
        temperature: Tensor = self.base_dist.temperature
        return temperature

    @property
    def probs(self) -> Tensor:
        """The probabilities: of 1, or of each value."""
        probs: Tensor = self.base_dist.probs
        return probs

    @property
    def logits(self) -> Tensor:
        """In their place, the logarithm of the odds, or of each probability."""
        logits: Tensor = self.base_dist.logits
        return logits


class RelaxedBernoulli(_Relaxed):
    """Numbers between 0 and 1 with gradients to the probability of 1.

    Args:
        temperature: above 0; the lower, the closer to 0 and 1 the numbers are.
        probs: the probability of 1.
        logits: in its place, the logarithm of its odds.
        validate_args: see `Distribution`.

    >>> import flambeau
    >>> RelaxedBernoulli(0.5, flambeau.tensor([0.1, 0.9])).rsample().shape
    flambeau.Size([2])
    """

    base_dist: LogitRelaxedBernoulli
    arg_constraints: ClassVar[dict[str, Constraint]] = WithOdds.arg_constraints

    def __init__(
        self, temperature: Number, probs: Number | None = None, logits: Number | None = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        base = LogitRelaxedBernoulli(temperature, probs, logits, validate_args)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)


class ExpRelaxedCategorical(CategoricalVectors):
    """The logarithms of relaxed one-hot vectors.

    Args:
        temperature: above 0; the lower, the closer to one-hot the vectors are.
        probs: (..., n), weights that are 0 or more; their shares are the probabilities.
        logits: in their place, logarithms of weights.
        validate_args: see `Distribution`.

    >>> import flambeau
    >>> ExpRelaxedCategorical(1.0, flambeau.ones(3)).rsample().exp().sum().round(decimals=3)
    tensor(1.)
    """

    has_rsample: ClassVar[bool] = True

    def __init__(
        self, temperature: Number, probs: Tensor | None = None, logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        (self.temperature,) = broadcast_all(temperature)
        super().__init__(probs, logits, validate_args)

    def _further_parameters(self) -> dict[str, Any]:
        return {"temperature": self.temperature}

    @property
    def support(self) -> Constraint:
        """All vectors: those whose exponentials add up to 1 alone are drawn."""
        return constraints.real_vector

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples, with gradients."""
        noise = open_uniform(self.logits, self._extended_shape(sample_shape))
        scores = (self.logits - (-noise.log()).log()) / self.temperature
        return scores - scores.logsumexp(-1, True)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        n = self.event_shape[0]
        score = self.logits - value * self.temperature
        scale = F.full_like(self.temperature, float(n)).lgamma() + self.temperature.log() * (n - 1)
        return (score - score.logsumexp(-1, True)).sum([-1]) + scale


class RelaxedOneHotCategorical(_Relaxed):
    """Vectors of shares, close to one-hot ones, with gradients to the probabilities.

    Args:
        temperature: above 0; the lower, the closer to one-hot the vectors are.
        probs: (..., n), weights that are 0 or more; their shares are the probabilities.
        logits: in their place, logarithms of weights.
        validate_args: see `Distribution`.

    >>> import flambeau
    >>> RelaxedOneHotCategorical(0.5, flambeau.ones(3)).rsample().shape
    flambeau.Size([3])
    """

    base_dist: ExpRelaxedCategorical
    arg_constraints: ClassVar[dict[str, Constraint]] = WEIGHTS

    def __init__(
        self, temperature: Number, probs: Tensor | None = None, logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    @property
    def support(self) -> Constraint:
        """Shares that add up to 1."""
        return constraints.simplex
