"""Shape rules that tell how many dimensions there are, and of their sizes at most which are 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flambeau.ops.families.arrays import one_dim
from flambeau.ops.families.pointwise_layout import broadcast_known
from flambeau.ops.families.promotion import common_dtype
from flambeau.schema.dtype import DType, int64
from flambeau.schema.opdef import UNKNOWN, Sizes
from flambeau.schema.types import ListType, TensorType


def of_rank(rank: int) -> Sizes:
    """That many dimensions of unknown sizes."""
    return (None,) * rank


def vector() -> Sizes:
    """One dimension."""
    return (None,)


def matrix() -> Sizes:
    """Two dimensions."""
    return (None, None)


def no_dims() -> Sizes:
    """None."""
    return ()


def self_rank(self: TensorType, more: int = 0) -> Sizes | None:
    """As many dimensions as `self` has."""
    return None if self.sizes is None else of_rank(len(self.sizes) + more)


def input_rank(input: TensorType) -> Sizes | None:
    """As many dimensions as `input` has."""
    return self_rank(input)


def one_more(self: TensorType) -> Sizes | None:
    """A dimension more than `self` has."""
    return self_rank(self, 1)


def at_least(rank: int) -> Callable[[TensorType], Sizes | None]:
    """The rule for as many dimensions as `self` has, but not fewer than `rank`."""

    def rule(self: TensorType) -> Sizes | None:
        return None if self.sizes is None else of_rank(max(rank, len(self.sizes)))

    return rule


def larger(self: TensorType, other: TensorType) -> Sizes | None:
    """As many dimensions as the operand has that has more."""
    if self.sizes is None or other.sizes is None:
        return None
    return of_rank(max(len(self.sizes), len(other.sizes)))


def both(self: TensorType, other: TensorType) -> Sizes | None:
    """What two operands broadcast to."""
    return broadcast_known([self.sizes, other.sizes])


def as_long_as(values: Any) -> Sizes | None:
    """A dimension for each element of a literal list."""
    return of_rank(len(values)) if isinstance(values, list | tuple) else None


def self_values_and_places(self: TensorType) -> tuple[Sizes | None, ...]:
    """As many dimensions as `self` has, twice."""
    return (self_rank(self), self_rank(self))


def with_dim(sizes: Sizes | None, dim: Any, size: int | None) -> Sizes | None:
    """The sizes with another one at `dim`."""
    if sizes is None or dim is UNKNOWN:
        return None
    axis = one_dim(dim, len(sizes))
    return tuple(size if i == axis else s for i, s in enumerate(sizes))


def without_dim(sizes: Sizes | None, dim: Any) -> Sizes | None:
    """The sizes without that at `dim`."""
    if sizes is None or dim is UNKNOWN:
        return None
    axis = one_dim(dim, len(sizes))
    return tuple(s for i, s in enumerate(sizes) if i != axis)


def promoted(*tensors: TensorType) -> DType | None:
    """The dtype in which tensors meet."""
    return common_dtype(tensors)


def elements_of(tensors: Any) -> Sequence[TensorType]:
    """The types of the tensors in a list; of one of unknown length, that which all have. Empty if nothing is known."""
    if isinstance(tensors, ListType):
        return (tensors.element,) if isinstance(tensors.element, TensorType) else ()
    if not isinstance(tensors, list | tuple) or not all(isinstance(t, TensorType) for t in tensors):
        return ()
    return tensors


def value_and_counts(count: int) -> Callable[[TensorType], tuple[DType | None, ...]]:
    """The rule for the dtype of `self`, followed by int64 up to `count` dtypes."""
    return lambda self: (self.dtype, *(int64,) * (count - 1))
