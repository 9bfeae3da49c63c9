"""Probabilities made of normal numbers by breaking sticks."""

from __future__ import annotations

from typing import ClassVar

from flambeau.distributions import constraints
from flambeau.distributions.constraints import Constraint
from flambeau.distributions.continuous import Normal
from flambeau.distributions.distribution import Number
from flambeau.distributions.independent import Independent
from flambeau.distributions.transformed import TransformedDistribution
from flambeau.distributions.transforms import StickBreakingTransform
from flambeau.tensor.tensor import Tensor


class LogisticNormal(TransformedDistribution):
    """n + 1 probabilities, made of n normal numbers.

    Args:
        loc: (..., n), the means of the normal numbers.
        scale: (..., n), their standard deviations, above 0.
        validate_args: see `Distribution`.

    Raises ValueError for a scale that is not above 0, and for numbers without an axis.

    >>> import flambeau
    >>> LogisticNormal(flambeau.zeros(2), flambeau.ones(2)).sample().shape
    flambeau.Size([3])
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {"loc": constraints.real, "scale": constraints.positive}

    def __init__(self, loc: Number, scale: Number, validate_args: bool | None = None) -> None:
        normal = Normal(loc, scale, validate_args=validate_args)
        if not normal.batch_shape:
            raise ValueError("LogisticNormal: loc and scale have one axis or more, the last for the parts of a value")
        super().__init__(normal, StickBreakingTransform(), validate_args=validate_args)

    def _normal(self) -> Normal:
        base = self.base_dist
        normal = base.base_dist if isinstance(base, Independent) else base
        assert isinstance(normal, Normal)
        return normal

    @property
    def loc(self) -> Tensor:
        """The means of the normal numbers."""
        return self._normal().loc

    @property
    def scale(self) -> Tensor:
        """Their standard deviations."""
        return self._normal().scale
