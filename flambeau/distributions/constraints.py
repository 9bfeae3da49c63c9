"""Where parameters and values of distributions may lie: each constraint says of every element whether it is met."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from flambeau.distributions.operators import F
from flambeau.tensor.tensor import Tensor

Check = Callable[[Tensor], Tensor]


class Constraint:
    """A set of numbers, vectors or matrices.

    Args:
        name: how it is written in messages, `positive`.
        check: gives of a tensor, for each value of `event_dim` axes, whether it lies in the set.
        is_discrete: whether the set is one of whole numbers.
        event_dim: how many of the last axes one value takes.
        advice: what to write for a parameter that keeps to it.

    >>> import flambeau
    >>> positive.check(flambeau.tensor([-1.0, 2.0]))
    tensor([False,  True])
    >>> positive
    positive
    """

    def __init__(
        self, name: str, check: Check, *, is_discrete: bool = False, event_dim: int = 0, advice: str = ""
    ) -> None:
        self._name, self.check, self.advice = name, check, advice
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def __repr__(self) -> str:
        return self._name


def _vectors(check: Check) -> Check:
    """A check of elements, as one of whole vectors."""
    return lambda value: F.all(check(value), -1)


def _is_number(value: Tensor) -> Tensor:
    return F.eq(value, value)


def _is_whole(value: Tensor) -> Tensor:
    return F.eq(value, F.floor(value)) if value.is_floating_point() else F.eq(value, value)


def _is_simplex(value: Tensor) -> Tensor:
    """Probabilities that add up to 1, but for what rounding leaves."""
    total = F.abs(F.sub(F.sum(value, [-1]), 1.0))
    return F.logical_and(F.all(F.ge(value, 0), -1), F.lt(total, 1e-6 if value.element_size() >= 8 else 1e-5))


def _is_positive_definite(value: Tensor) -> Tensor:
    turned = F.transpose(value, -2, -1)
    alike = F.all(F.all(F.isclose(value, turned, 1e-05, 1e-06), -2), -1)
    if not bool(F.all(alike)):
        return alike
    return F.eq(F.linalg_cholesky_ex(value)[1], 0)


def _is_lower_cholesky(value: Tensor) -> Tensor:
    is_lower = F.all(F.all(F.eq(F.tril(value), value), -2), -1)
    return F.logical_and(is_lower, F.all(F.gt(F.diagonal(value, 0, -2, -1), 0), -1))


real: Final = Constraint("real", _is_number)
positive: Final = Constraint("positive", lambda value: F.gt(value, 0), advice="softplus(x) is positive")
nonnegative: Final = Constraint("nonnegative", lambda value: F.ge(value, 0))
unit_interval: Final = Constraint(
    "unit_interval", lambda v: F.logical_and(F.ge(v, 0), F.le(v, 1)), advice="sigmoid(x) lies between 0 and 1"
)
boolean: Final = Constraint("boolean", lambda v: F.logical_or(F.eq(v, 0), F.eq(v, 1)), is_discrete=True)
nonnegative_integer: Final = Constraint(
    "nonnegative_integer", lambda v: F.logical_and(_is_whole(v), F.ge(v, 0)), is_discrete=True
)
real_vector: Final = Constraint("real_vector", _vectors(_is_number), event_dim=1)
simplex: Final = Constraint(
    "simplex", _is_simplex, event_dim=1, advice="softmax(x, -1) adds up to 1"
)
positive_definite: Final = Constraint(
    "positive_definite", _is_positive_definite, event_dim=2, advice="a @ a.mT + 0.001 * eye(n) is positive definite"
)
lower_cholesky: Final = Constraint(
    "lower_cholesky", _is_lower_cholesky, event_dim=2, advice="tril(a, -1) + diag_embed(softplus(d)) is one"
)
dependent: Final = Constraint("dependent", _is_number)
"""What depends on parameters, and is known of a distribution alone."""


def interval(low: Tensor | float, high: Tensor | float) -> Constraint:
    """Numbers from `low` to `high`, both included.

    >>> interval(0, 2)
    interval(lower_bound=0, upper_bound=2)
    """
    name = f"interval(lower_bound={low}, upper_bound={high})"
    return Constraint(name, lambda v: F.logical_and(F.ge(v, low), F.le(v, high)))


def integer_interval(low: int, high: int) -> Constraint:
    """Whole numbers from `low` to `high`, both included.

    >>> integer_interval(0, 2)
    integer_interval(lower_bound=0, upper_bound=2)
    """

    def check(value: Tensor) -> Tensor:
        return F.logical_and(_is_whole(value), F.logical_and(F.ge(value, low), F.le(value, high)))

    return Constraint(f"integer_interval(lower_bound={low}, upper_bound={high})", check, is_discrete=True)


def greater_than(low: Tensor | float) -> Constraint:
    """Numbers above `low`.

    >>> greater_than(0)
    greater_than(lower_bound=0)
    """
    return Constraint(f"greater_than(lower_bound={low})", lambda v: F.gt(v, low))


def independent(base: Constraint, count: int) -> Constraint:
    """Values with `count` more axes, all of whose parts meet a constraint.

    >>> independent(real, 1)
    independent(real, 1)
    """

    def check(value: Tensor) -> Tensor:
        result = base.check(value)
        for _ in range(count):
            result = F.all(result, -1)
        return result

    name = f"independent({base!r}, {count})"
    return Constraint(
        name, check, is_discrete=base.is_discrete, event_dim=base.event_dim + count, advice=base.advice
    )
