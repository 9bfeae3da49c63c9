"""Mixtures: a component is chosen, and gives the value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from flambeau.distributions import constraints
from flambeau.distributions.categorical import Categorical
from flambeau.distributions.constraints import Constraint
from flambeau.distributions.distribution import Distribution
from flambeau.tensor.grad_mode import no_grad
from flambeau.tensor.tensor import Tensor


class MixtureSameFamily(Distribution):
    """A mixture of distributions that are the last axis of one batch.

    Args:
        mixture_distribution: a `Categorical`, of the components.
        component_distribution: the components; its last batch axis is as long as the Categorical has values.
        validate_args: see `Distribution`.

    Raises ValueError for what is no Categorical, and for another number of components.

    >>> import flambeau
    >>> from flambeau.distributions import Normal
    >>> halves = Categorical(flambeau.ones(2))
    >>> MixtureSameFamily(halves, Normal(flambeau.tensor([-1.0, 3.0]), 1.0)).mean
    tensor(1.)
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {}

    def __init__(
        self, mixture_distribution: Categorical, component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                f"MixtureSameFamily: components are chosen by a Categorical, but got {mixture_distribution!r}"
            )
        batch = component_distribution.batch_shape
        if not batch or batch[-1] != mixture_distribution.param_shape[-1]:
            raise ValueError(
                f"MixtureSameFamily: there are {mixture_distribution.param_shape[-1]} components, so the last batch "
                f"axis of the distribution of components is as long, but its batch has sizes {tuple(batch)}"
            )
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        super().__init__(batch[:-1], component_distribution.event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> MixtureSameFamily:
        """The same distribution, repeated for a larger batch."""
        count = self._component_distribution.batch_shape[-1]
        components = self._component_distribution.expand((*batch_shape, count))
        mixture = self._mixture_distribution.expand(batch_shape)
        return type(self)(mixture, components, validate_args=self._validate_args)

    @property
    def mixture_distribution(self) -> Categorical:
        """Which component is chosen."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The components."""
        return self._component_distribution

    @property
    def support(self) -> Constraint:
        """What every component may give."""
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    def _weights(self) -> Tensor:
        probs: Tensor = self._mixture_distribution.probs
        return probs.reshape([*probs.shape, *[1] * len(self._event_shape)])

    @property
    def mean(self) -> Tensor:
        """The mean of the components' means."""
        return (self._weights() * self._component_distribution.mean).sum([self._axis])

    @property
    def variance(self) -> Tensor:
        """The mean of the components' variances, and the variance of their means."""
        within = (self._weights() * self._component_distribution.variance).sum([self._axis])
        away = self._component_distribution.mean - self.mean.unsqueeze(self._axis)
        return within + (self._weights() * away.square()).sum([self._axis])

    @property
    def _axis(self) -> int:
        """The axis of the components."""
        return -1 - len(self._event_shape)

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of values up to these."""
        return (self._component_distribution.cdf(value.unsqueeze(self._axis)) * self._weights()).sum([self._axis])

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        by_component = self._component_distribution.log_prob(value.unsqueeze(self._axis))
        chances: Tensor = self._mixture_distribution.logits.log_softmax(-1)
        return (by_component + chances).logsumexp(-1)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples, without gradients."""
        with no_grad():
            chosen = self._mixture_distribution.sample(sample_shape)
            values = self._component_distribution.sample(sample_shape)
            axis = len(sample_shape) + len(self._batch_shape)
            indices = chosen.reshape([*chosen.shape, 1, *[1] * len(self._event_shape)])
            indices = indices.expand([*chosen.shape, 1, *self._event_shape])
            return values.gather(axis, indices).squeeze(axis)

    def __repr__(self) -> str:
        return f"MixtureSameFamily({self._mixture_distribution!r}, {self._component_distribution!r})"
