"""Constraints with parameters: intervals, several axes at once, parts that each have their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.distributions.constraints.named import Constraint
from flambeau.distributions.operators import F
from flambeau.tensor.tensor import Tensor

Bound = Tensor | float


class interval(Constraint):
    """Numbers from `lower_bound` to `upper_bound`, both included.

    >>> interval(0, 2)
    interval(lower_bound=0, upper_bound=2)
    """

    def __init__(self, lower_bound: Bound, upper_bound: Bound) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def check(self, value: Tensor) -> Tensor:
        """For each number, whether it lies in the interval."""
        return F.logical_and(value >= self.lower_bound, value <= self.upper_bound)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(lower_bound={self.lower_bound}, upper_bound={self.upper_bound})"


class half_open_interval(interval):
    """Numbers from `lower_bound` to `upper_bound`, which itself is left out.

    >>> import flambeau
    >>> half_open_interval(0, 2).check(flambeau.tensor([0.0, 2.0]))
    tensor([ True, False])
    """

    def check(self, value: Tensor) -> Tensor:
        """For each number, whether it lies in the interval."""
        return F.logical_and(value >= self.lower_bound, value < self.upper_bound)


class integer_interval(interval):
    """Whole numbers from `lower_bound` to `upper_bound`, both included.

    >>> integer_interval(0, 2)
    integer_interval(lower_bound=0, upper_bound=2)
    """

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        """For each number, whether it is whole and lies in the interval."""
        is_whole = value == value.floor() if value.is_floating_point() else value == value
        return F.logical_and(is_whole, super().check(value))


class greater_than(Constraint):
    """Numbers above `lower_bound`.

    >>> greater_than(0)
    greater_than(lower_bound=0)
    """

    def __init__(self, lower_bound: Bound) -> None:
        self.lower_bound = lower_bound

    def check(self, value: Tensor) -> Tensor:
        """For each number, whether it lies above."""
        return value > self.lower_bound

    def __repr__(self) -> str:
        return f"{type(self).__name__}(lower_bound={self.lower_bound})"


class greater_than_eq(greater_than):
    """Numbers from `lower_bound` on.

    >>> import flambeau
    >>> greater_than_eq(0).check(flambeau.tensor([0.0, -1.0]))
    tensor([ True, False])
    """

    def check(self, value: Tensor) -> Tensor:
        """For each number, whether it lies above, or is the bound."""
        return value >= self.lower_bound


class less_than(Constraint):
    """Numbers below `upper_bound`.

    >>> less_than(0)
    less_than(upper_bound=0)
    """

    def __init__(self, upper_bound: Bound) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        """For each number, whether it lies below."""
        return value < self.upper_bound

    def __repr__(self) -> str:
        return f"less_than(upper_bound={self.upper_bound})"


class multinomial(Constraint):
    """Vectors of whole numbers from 0 on that add up to at most `upper_bound`.

    >>> multinomial(3)
    multinomial(upper_bound=3)
    """

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Bound) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        """For each vector, whether its numbers do."""
        return F.logical_and((value >= 0).all(-1), value.sum(-1) <= self.upper_bound)

    def __repr__(self) -> str:
        return f"multinomial(upper_bound={self.upper_bound})"


class independent(Constraint):
    """Values with `reinterpreted_batch_ndims` more axes, all of whose parts meet a constraint.

    >>> from flambeau.distributions.constraints import real
    >>> independent(real, 1)
    independent(real, 1)
    """

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims
        self.is_discrete, self.advice = base_constraint.is_discrete, base_constraint.advice
        self.event_dim = base_constraint.event_dim + reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        """For each value, whether all its parts meet the constraint."""
        result = self.base_constraint.check(value)
        if result.dim() < self.reinterpreted_batch_ndims:
            raise ValueError(
                f"{self!r}: a value has {self.event_dim} axes or more, but got one of shape {tuple(value.shape)}"
            )
        for _ in range(self.reinterpreted_batch_ndims):
            result = result.all(-1)
        return result

    def __repr__(self) -> str:
        return f"independent({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """What a mixture may give, if each of its components may.

    >>> from flambeau.distributions.constraints import positive
    >>> MixtureSameFamilyConstraint(positive)
    MixtureSameFamilyConstraint(positive)
    """

    def __init__(self, base_constraint: Constraint) -> None:
        self.base_constraint = base_constraint
        self.is_discrete, self.event_dim = base_constraint.is_discrete, base_constraint.event_dim

    def check(self, value: Tensor) -> Tensor:
        """For each value, whether every component may give it."""
        axis = -1 - self.event_dim
        return self.base_constraint.check(value.unsqueeze(axis)).all(-1)

    def __repr__(self) -> str:
        return f"MixtureSameFamilyConstraint({self.base_constraint!r})"


class cat(Constraint):
    """Parts along an axis, `lengths` of them at a time, each with its constraint.

    >>> import flambeau
    >>> from flambeau.distributions.constraints import positive, real
    >>> cat([real, positive], lengths=[2, 1]).check(flambeau.tensor([-1.0, -1.0, 1.0]))
    tensor([True, True, True])
    """

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        self.cseq, self.dim = list(cseq), dim
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise ValueError(f"cat: {len(self.cseq)} constraints have as many lengths, but got {len(self.lengths)}")
        self.is_discrete = any(c.is_discrete for c in self.cseq)
        self.event_dim = max(c.event_dim for c in self.cseq)

    def check(self, value: Tensor) -> Tensor:
        """For each part, whether its constraint is met."""
        parts: Any = value.split(self.lengths, self.dim)
        return F.cat([c.check(part) for c, part in zip(self.cseq, parts, strict=True)], self.dim)

    def __repr__(self) -> str:
        return f"cat({self.cseq}, dim={self.dim}, lengths={self.lengths})"


class stack(Constraint):
    """Slices along an axis, each with its constraint.

    >>> from flambeau.distributions.constraints import positive, real
    >>> stack([real, positive])
    stack([real, positive], dim=0)
    """

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        self.cseq, self.dim = list(cseq), dim
        self.is_discrete = any(c.is_discrete for c in self.cseq)
        dim_of_events = max(c.event_dim for c in self.cseq)
        self.event_dim = dim_of_events + 1 if self.dim + dim_of_events < 0 else dim_of_events

    def check(self, value: Tensor) -> Tensor:
        """For each slice, whether its constraint is met."""
        slices = [value.select(self.dim, i) for i in range(value.shape[self.dim])]
        return F.stack([c.check(part) for c, part in zip(self.cseq, slices, strict=True)], self.dim)

    def __repr__(self) -> str:
        return f"stack({self.cseq}, dim={self.dim})"
