"""Some axes of a batch as axes of one value: a vector of independent numbers has one probability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from flambeau.distributions import constraints
from flambeau.distributions.constraints import Constraint
from flambeau.distributions.distribution import Distribution, sum_rightmost
from flambeau.tensor.size import Size
from flambeau.tensor.tensor import Tensor


class Independent(Distribution):
    """A distribution whose last batch axes are axes of a value.

    Args:
        base_distribution: the batch of distributions.
        reinterpreted_batch_ndims: how many of its batch axes.
        validate_args: see `Distribution`.

    Raises ValueError for more axes than the batch has.

    >>> import flambeau
    >>> from flambeau.distributions.continuous import Normal
    >>> d = Independent(Normal(flambeau.zeros(3), 1.0), 1)
    >>> d.batch_shape, d.event_shape, d.log_prob(flambeau.zeros(3))
    (flambeau.Size([]), flambeau.Size([3]), tensor(-2.7568))
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {}

    def __init__(
        self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        batch, count = base_distribution.batch_shape, reinterpreted_batch_ndims
        if count > len(batch):
            raise ValueError(
                f"Independent: {count} axes of the batch are to be axes of a value, but the batch of "
                f"{type(base_distribution).__name__} has {len(batch)}: its shape is {tuple(batch)}"
            )
        cut = len(batch) - count
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, count
        super().__init__(batch[:cut], (*batch[cut:], *base_distribution.event_shape), validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Independent:
        """The same distribution, repeated for a larger batch."""
        own = self.event_shape[: self.reinterpreted_batch_ndims]
        base = self.base_dist.expand(Size((*batch_shape, *own)))
        return type(self)(base, self.reinterpreted_batch_ndims, validate_args=self._validate_args)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """As the distribution within."""
        return self.base_dist.has_rsample

    @property
    def support(self) -> Constraint:
        """That of the distribution within, for each part of a value."""
        base, count = self.base_dist.support, self.reinterpreted_batch_ndims
        return constraints.independent(base, count) if count else base

    @property
    def mean(self) -> Tensor:
        """The means."""
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        """The modes."""
        return self.base_dist.mode

    @property
    def variance(self) -> Tensor:
        """The variances."""
        return self.base_dist.variance

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples, without gradients."""
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples, with gradients where the distribution within has them."""
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        """The sum of the parts' log-probabilities."""
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        """The sum of the parts' entropies."""
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values, where no axis of the batch became one of a value."""
        if self.reinterpreted_batch_ndims:
            raise NotImplementedError("Independent: the values of several parts together are too many to enumerate")
        return self.base_dist.enumerate_support(expand)

    def __repr__(self) -> str:
        return f"Independent({self.base_dist!r}, {self.reinterpreted_batch_ndims})"
