"""Where parameters and values of distributions may lie: each constraint says of every element whether it is met."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flambeau.distributions.operators import F
from flambeau.schema.dtype import bool_
from flambeau.tensor.tensor import Tensor

Check = Callable[[Tensor], Tensor]


class Constraint:
    """A set of numbers, vectors or matrices. One of your own is a class derived from this, with a `check`.

    Attributes:
        is_discrete: whether the set is one of whole numbers.
        event_dim: how many of the last axes one value takes.
        advice: what to write for a parameter that keeps to it.

    >>> import flambeau
    >>> positive.check(flambeau.tensor([-1.0, 2.0]))
    tensor([False,  True])
    >>> positive
    positive
    """

    is_discrete = False
    event_dim = 0
    advice = ""

    def check(self, value: Tensor) -> Tensor:
        """For each value of `event_dim` axes, whether it lies in the set."""
        raise NotImplementedError(f"{type(self).__name__} has no check: write `def check(self, value)`")

    def __repr__(self) -> str:
        return type(self).__name__


class Named(Constraint):
    """A set that has a name, `positive`.

    >>> import flambeau
    >>> Named("even", lambda x: x % 2 == 0, is_discrete=True).check(flambeau.tensor([1, 2]))
    tensor([False,  True])
    """

    def __init__(
        self, name: str, check: Check, *, is_discrete: bool = False, event_dim: int = 0, advice: str = ""
    ) -> None:
        self.name, self._check, self.advice = name, check, advice
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def check(self, value: Tensor) -> Tensor:
        """For each value, whether it lies in the set."""
        return self._check(value)

    def __repr__(self) -> str:
        return self.name


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


def _is_square(value: Tensor) -> Tensor:
    is_square = value.shape[-1] == value.shape[-2]
    return F.full([*value.shape[:-2]], is_square, dtype=bool_, device=value.device)


def _is_symmetric(value: Tensor) -> Tensor:
    if value.shape[-1] != value.shape[-2]:
        return _is_square(value)
    return F.isclose(value, value.mT, 1e-5, 1e-6).all(-1).all(-1)


def _is_positive_semidefinite(value: Tensor) -> Tensor:
    is_symmetric = _is_symmetric(value)
    return (F.linalg_eigvalsh(value) >= 0).all(-1) if bool(is_symmetric.all()) else is_symmetric


def _is_lower_triangular(value: Tensor) -> Tensor:
    return (value.tril() == value).all(-1).all(-1)


def _is_corr_cholesky(value: Tensor) -> Tensor:
    """Factors of matrices with ones on the diagonal: rows of length 1, but for what rounding leaves."""
    tolerance = value.shape[-1] * 10 * (2.2e-16 if value.element_size() >= 8 else 1.2e-7)
    is_unit = ((value.square().sum(-1).sqrt() - 1).abs() < tolerance).all(-1)
    return F.logical_and(_is_lower_cholesky(value), is_unit)


def _is_one_hot(value: Tensor) -> Tensor:
    return F.logical_and(F.logical_or(value == 0, value == 1).all(-1), value.sum(-1) == 1)


real: Final = Named("real", _is_number)
positive: Final = Named("positive", lambda value: F.gt(value, 0), advice="softplus(x) is positive")
nonnegative: Final = Named("nonnegative", lambda value: F.ge(value, 0))
unit_interval: Final = Named(
    "unit_interval", lambda v: F.logical_and(F.ge(v, 0), F.le(v, 1)), advice="sigmoid(x) lies between 0 and 1"
)
boolean: Final = Named("boolean", lambda v: F.logical_or(F.eq(v, 0), F.eq(v, 1)), is_discrete=True)
nonnegative_integer: Final = Named(
    "nonnegative_integer", lambda v: F.logical_and(_is_whole(v), F.ge(v, 0)), is_discrete=True
)
real_vector: Final = Named("real_vector", _vectors(_is_number), event_dim=1)
simplex: Final = Named(
    "simplex", _is_simplex, event_dim=1, advice="softmax(x, -1) adds up to 1"
)
positive_definite: Final = Named(
    "positive_definite", _is_positive_definite, event_dim=2, advice="a @ a.mT + 0.001 * eye(n) is positive definite"
)
lower_cholesky: Final = Named(
    "lower_cholesky", _is_lower_cholesky, event_dim=2, advice="tril(a, -1) + diag_embed(softplus(d)) is one"
)
lower_triangular: Final = Named("lower_triangular", _is_lower_triangular, event_dim=2, advice="x.tril()")
square: Final = Named("square", _is_square, event_dim=2)
symmetric: Final = Named("symmetric", _is_symmetric, event_dim=2, advice="(x + x.mT) / 2")
positive_semidefinite: Final = Named("positive_semidefinite", _is_positive_semidefinite, event_dim=2, advice="a @ a.mT")
corr_cholesky: Final = Named(
    "corr_cholesky", _is_corr_cholesky, event_dim=2, advice="transform_to(constraints.corr_cholesky)(x) is one"
)
one_hot: Final = Named("one_hot", _is_one_hot, is_discrete=True, event_dim=1, advice="nn.functional.one_hot(x, n)")
positive_integer: Final = Named(
    "positive_integer", lambda v: F.logical_and(_is_whole(v), F.gt(v, 0)), is_discrete=True
)


class Dependent(Constraint):
    """What depends on parameters, and is known of a distribution alone.

    >>> Dependent(event_dim=1).event_dim
    1
    """

    def __init__(self, *, is_discrete: bool = False, event_dim: int = 0) -> None:
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def check(self, value: Tensor) -> Tensor:
        """Raises ValueError: nothing is known before there is a distribution."""
        raise ValueError("a dependent constraint says nothing by itself: ask `distribution.support`")

    def __call__(self, *, is_discrete: bool = False, event_dim: int = 0) -> Dependent:
        return Dependent(is_discrete=is_discrete, event_dim=event_dim)

    def __repr__(self) -> str:
        return "dependent"


dependent: Final = Dependent()


class dependent_property(property):
    """A property of a distribution that gives its constraint: `@constraints.dependent_property(event_dim=1)`.

    >>> class D:
    ...     @dependent_property(is_discrete=False, event_dim=0)
    ...     def support(self): return positive
    >>> D().support, is_dependent(D.support)
    (positive, True)
    """

    def __init__(
        self, fn: Callable[[Any], Constraint] | None = None, *, is_discrete: bool = False, event_dim: int = 0
    ) -> None:
        super().__init__(fn)
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def __call__(self, fn: Callable[[Any], Constraint]) -> dependent_property:
        return dependent_property(fn, is_discrete=self.is_discrete, event_dim=self.event_dim)


def is_dependent(constraint: object) -> bool:
    """Whether a constraint is known of a distribution alone.

    >>> is_dependent(positive), is_dependent(dependent)
    (False, True)
    """
    return isinstance(constraint, Dependent | dependent_property)
