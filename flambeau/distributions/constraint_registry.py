"""Transforms that give values of a constraint, by the constraint: what optimisers of free numbers need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flambeau.distributions import constraints, transforms
from flambeau.distributions.constraints.named import Named
from flambeau.distributions.transforms import Transform

Factory = Callable[[Any], Transform]


class ConstraintRegistry:
    """A map from constraints to transforms of all numbers into them.

    >>> transform_to(constraints.positive)
    ExpTransform()
    """

    def __init__(self) -> None:
        self._factories: dict[Any, Factory] = {}

    def register(self, constraint: Any, factory: Factory | None = None) -> Any:
        """Say which transform a constraint, or a class of constraints, has; a decorator without `factory`.

        Raises TypeError for what is no constraint.
        """
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        is_kind = isinstance(constraint, type) and issubclass(constraint, constraints.Constraint)
        if not is_kind and not isinstance(constraint, constraints.Constraint):
            raise TypeError(f"register takes a constraint or a class of constraints, but got {constraint!r}")
        self._factories[_key(constraint)] = factory
        return factory

    def __call__(self, constraint: constraints.Constraint) -> Transform:
        factory = self._factories.get(_key(constraint))
        if factory is None:
            raise NotImplementedError(
                f"no transform gives values of {constraint!r}: register one, `@transform_to.register(constraint)`"
            )
        return factory(constraint)


def _key(constraint: Any) -> Any:
    """What a constraint is registered by: its name, or its class."""
    if isinstance(constraint, type):
        return constraint
    return constraint.name if isinstance(constraint, Named) else type(constraint)


biject_to: Final = ConstraintRegistry()
"""Bijections, which densities may be changed by."""
transform_to: Final = ConstraintRegistry()
"""Transforms that optimisers go well with, whether they can be undone or not."""


def _both(*kinds: Any) -> Callable[[Factory], Factory]:
    def register(factory: Factory) -> Factory:
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory

    return register


@_both(constraints.real, constraints.real_vector)
def _to_real(constraint: Any) -> Transform:
    return transforms.identity_transform


@_both(constraints.positive, constraints.nonnegative)
def _to_positive(constraint: Any) -> Transform:
    return transforms.ExpTransform()


@_both(constraints.greater_than, constraints.greater_than_eq)
def _above(constraint: Any) -> Transform:
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(constraint.lower_bound, 1)]
    )


@_both(constraints.less_than)
def _below(constraint: Any) -> Transform:
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(constraint.upper_bound, -1)]
    )


@_both(constraints.unit_interval)
def _to_probabilities(constraint: Any) -> Transform:
    return transforms.SigmoidTransform()


@_both(constraints.interval, constraints.half_open_interval)
def _between(constraint: Any) -> Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


@_both(constraints.corr_cholesky)
def _to_correlations(constraint: Any) -> Transform:
    return transforms.CorrCholeskyTransform()


biject_to.register(constraints.simplex, lambda constraint: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda constraint: transforms.SoftmaxTransform())


@_both(constraints.lower_cholesky)
def _to_factors(constraint: Any) -> Transform:
    return transforms.LowerCholeskyTransform()


@_both(constraints.positive_definite, constraints.positive_semidefinite)
def _to_definite(constraint: Any) -> Transform:
    return transforms.PositiveDefiniteTransform()


def _parts(registry: ConstraintRegistry) -> None:
    """What is made of other constraints is transformed as these are, by the same registry."""

    def independent(constraint: Any) -> Transform:
        base = registry(constraint.base_constraint)
        return transforms.IndependentTransform(base, constraint.reinterpreted_batch_ndims)

    def cat(constraint: Any) -> Transform:
        return transforms.CatTransform([registry(c) for c in constraint.cseq], constraint.dim, constraint.lengths)

    def stack(constraint: Any) -> Transform:
        return transforms.StackTransform([registry(c) for c in constraint.cseq], constraint.dim)

    registry.register(constraints.independent, independent)
    registry.register(constraints.cat, cat)
    registry.register(constraints.stack, stack)


_parts(biject_to)
_parts(transform_to)
