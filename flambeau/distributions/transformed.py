"""Distributions of what a transform makes of the values of another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from flambeau.distributions import constraints
from flambeau.distributions.constraints import Constraint
from flambeau.distributions.distribution import Distribution, sum_rightmost
from flambeau.distributions.independent import Independent
from flambeau.distributions.transforms import ComposeTransform, Transform
from flambeau.tensor.grad_mode import no_grad
from flambeau.tensor.tensor import Tensor


class TransformedDistribution(Distribution):
    """What transforms, one after another, make of values of a distribution.

    Args:
        base_distribution: the distribution of the values.
        transforms: a transform, or a list of them.
        validate_args: see `Distribution`.

    Raises ValueError for what is no transform, and for values with fewer axes than a transform takes.

    >>> import flambeau
    >>> from flambeau.distributions import Normal
    >>> from flambeau.distributions.transforms import ExpTransform
    >>> TransformedDistribution(Normal(0.0, 1.0), ExpTransform()).log_prob(flambeau.tensor(1.0))
    tensor(-0.9189)
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {}

    def __init__(
        self, base_distribution: Distribution, transforms: Transform | list[Transform],
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        for transform in self.transforms:
            if not isinstance(transform, Transform):
                raise ValueError(f"{type(self).__name__} takes a Transform or a list of them, but got {transform!r}")
        whole = ComposeTransform(self.transforms)
        before, after = whole.domain.event_dim, whole.codomain.event_dim
        shape = (*base_distribution.batch_shape, *base_distribution.event_shape)
        if len(shape) < before:
            raise ValueError(
                f"{type(self).__name__}: the transforms take values of {before} axes or more, but got a distribution "
                f"of shape {tuple(shape)}"
            )
        wide = whole.forward_shape(shape)
        base = base_distribution.expand(whole.inverse_shape(wide)[: len(base_distribution.batch_shape)])
        more = before - len(base.event_shape)
        self.base_dist: Distribution = Independent(base, more) if more > 0 else base
        events = after + max(len(base_distribution.event_shape) - before, 0)
        cut = len(wide) - events
        super().__init__(wide[:cut], wide[cut:], validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> TransformedDistribution:
        """The same distribution, repeated for a larger batch."""
        expanded: Any = TransformedDistribution.__new__(type(self))
        shape = ComposeTransform(self.transforms).inverse_shape((*batch_shape, *self.event_shape))
        cut = len(shape) - len(self.base_dist.event_shape)
        expanded.transforms, expanded.base_dist = self.transforms, self.base_dist.expand(shape[:cut])
        Distribution.__init__(expanded, batch_shape, self.event_shape, validate_args=False)
        expanded._validate_args = self._validate_args
        result: TransformedDistribution = expanded
        return result

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """As the distribution within."""
        return self.base_dist.has_rsample

    @property
    def support(self) -> Constraint:
        """Where the last transform leads."""
        if not self.transforms:
            return self.base_dist.support
        codomain: Constraint = self.transforms[-1].codomain
        more = len(self.event_shape) - codomain.event_dim
        return constraints.independent(codomain, more) if more > 0 else codomain

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples, without gradients."""
        with no_grad():
            return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples, with gradients where the distribution within has them."""
        return self._forward(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density: of the value within, less the log-determinants on the way."""
        self._validate_sample(value)
        axes, total, y = len(self.event_shape), None, value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            axes += transform.domain.event_dim - transform.codomain.event_dim
            term = sum_rightmost(transform.log_abs_det_jacobian(x, y), axes - transform.domain.event_dim)
            total, y = term if total is None else total + term, x
        within = sum_rightmost(self.base_dist.log_prob(y), axes - len(self.base_dist.event_shape))
        return within if total is None else within - total

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of values up to these, of transforms that rise or fall."""
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        self.base_dist._validate_sample(value)
        return self._rising(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        """The quantiles of probabilities, of transforms that rise or fall."""
        return self._forward(self.base_dist.icdf(self._rising(value)))

    def _forward(self, x: Tensor) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def _rising(self, probability: Tensor) -> Tensor:
        """Probabilities, or what is left of 1 where the transforms fall."""
        sign = ComposeTransform(self.transforms).sign
        return probability if isinstance(sign, int) and sign == 1 else sign * (probability - 0.5) + 0.5

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist!r}, {self.transforms})"
