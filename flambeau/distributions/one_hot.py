"""Categorical values as vectors with a single 1, and samples of them that let gradients through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from flambeau.distributions import constraints
from flambeau.distributions.categorical import CategoricalVectors
from flambeau.distributions.constraints import Constraint
from flambeau.distributions.operators import F
from flambeau.tensor.tensor import Tensor


class OneHotCategorical(CategoricalVectors):
    """One of n values, each with its probability, as a vector with a 1 in its place.

    Args:
        probs: (..., n), weights that are 0 or more; their shares are the probabilities.
        logits: in their place, logarithms of weights.
        validate_args: see `Distribution`.

    Raises ValueError for weights below 0 or without axes, and unless one of both is given.

    >>> import flambeau
    >>> OneHotCategorical(flambeau.tensor([1.0, 3.0])).mean
    tensor([0.2500, 0.7500])
    """

    has_enumerate_support: ClassVar[bool] = True

    @property
    def support(self) -> Constraint:
        """Vectors with a single 1."""
        return constraints.one_hot

    @property
    def mean(self) -> Tensor:
        """The probabilities."""
        return self.probs

    @property
    def mode(self) -> Tensor:
        """The most likely vector."""
        return F.one_hot(self.probs.argmax(-1), self.event_shape[0]).type_as(self.probs)

    @property
    def variance(self) -> Tensor:
        """The variance of each number of the vector."""
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples, without gradients."""
        return F.one_hot(self._values.sample(sample_shape), self.event_shape[0]).type_as(self.probs)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability."""
        self._validate_sample(value)
        return self._values.log_prob(value.argmax(-1))

    def entropy(self) -> Tensor:
        """In nats."""
        return self._values.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All vectors, along a new first axis."""
        n = self.event_shape[0]
        values = F.eye(n, dtype=self.probs.dtype, device=self.probs.device)
        values = values.view([n] + [1] * len(self.batch_shape) + [n])
        return values.expand([n, *self.batch_shape, n]) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """One-hot samples whose gradients go to the probabilities, as if the samples were these.

    >>> import flambeau
    >>> weights = flambeau.tensor([0.5, 0.5], requires_grad=True)
    >>> OneHotCategoricalStraightThrough(weights).rsample().requires_grad
    True
    """

    has_rsample: ClassVar[bool] = True

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples, with the gradients of the probabilities."""
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
