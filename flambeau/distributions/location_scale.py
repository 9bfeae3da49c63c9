"""Distributions around a location, and those of numbers that are stretched by a scale too."""

from __future__ import annotations

from typing import ClassVar

from flambeau.distributions import constraints
from flambeau.distributions.constraints import Constraint
from flambeau.distributions.distribution import Distribution, Number, broadcast_all
from flambeau.tensor.tensor import Tensor


class Located(Distribution):
    """A distribution that is symmetric around `loc`."""

    has_rsample: ClassVar[bool] = True
    loc: Tensor

    @property
    def mean(self) -> Tensor:
        """`loc`."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """`loc`."""
        return self.loc


class LocationScale(Located):
    """A distribution of numbers, symmetric around `loc` and stretched by `scale`.

    Args:
        loc: the mean.
        scale: above 0.
        validate_args: see `Distribution`.

    Raises ValueError for a scale that is not above 0.
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {"loc": constraints.real, "scale": constraints.positive}

    def __init__(self, loc: Number, scale: Number, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def support(self) -> Constraint:
        """All numbers."""
        return constraints.real
