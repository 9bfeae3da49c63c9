"""Running folds and normalisations along a dimension, of the elements where a mask holds."""

from __future__ import annotations

from math import inf

from flambeau.masked.elements import converted, filled, highest, lowest
from flambeau.masked.folds import _accumulated, norm
from flambeau.ops.families.composite import F
from flambeau.schema.dtype import DType
from flambeau.tensor.tensor import Tensor


def cumsum(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Running sums along a dimension; what is masked out adds nothing.

    Args:
        input: a tensor.
        dim: along which dimension.
        dtype: in which dtype; integers are added in 64 bits.
        mask: which elements take part; it is broadcast to the input. All if None.

    >>> import flambeau
    >>> cumsum(flambeau.tensor([1, 2, 3]), 0, mask=flambeau.tensor([True, False, True]))
    tensor([1, 1, 4])
    """
    return F.cumsum(filled(_accumulated(input, dtype), mask, 0), dim)  # type: ignore[no-any-return]


def cumprod(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Running products along a dimension; what is masked out is a factor 1. See `cumsum` for the arguments.

    >>> import flambeau
    >>> cumprod(flambeau.tensor([2, 5, 3]), 0, mask=flambeau.tensor([True, False, True]))
    tensor([2, 2, 6])
    """
    return F.cumprod(filled(_accumulated(input, dtype), mask, 1), dim)  # type: ignore[no-any-return]


def softmax(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Exponentials that add up to 1 along a dimension, 0 where the mask does not hold; nan where it nowhere does.

    >>> import flambeau
    >>> softmax(flambeau.zeros(3), 0, mask=flambeau.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    values = converted(input, dtype)
    return F.softmax(filled(values, mask, lowest(values.dtype)), dim)  # type: ignore[no-any-return]


def log_softmax(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """The logarithms of `softmax`.

    >>> import flambeau
    >>> log_softmax(flambeau.zeros(3), 0, mask=flambeau.tensor([True, False, True]))
    tensor([-0.6931,    -inf, -0.6931])
    """
    values = converted(input, dtype)
    return F.log_softmax(filled(values, mask, lowest(values.dtype)), dim)  # type: ignore[no-any-return]


def softmin(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """`softmax` of the negated elements.

    >>> import flambeau
    >>> softmin(flambeau.zeros(3), 0, mask=flambeau.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    values = converted(input, dtype)
    return F.softmax(-filled(values, mask, highest(values.dtype)), dim)  # type: ignore[no-any-return]


def normalize(
    input: Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The elements through the norm of order `ord` along a dimension, 0 where the mask does not hold.

    Args:
        input: a tensor.
        ord: the order of the norm.
        dim: along which dimension.
        eps: what norms are at least.
        dtype: in which dtype.
        mask: which elements take part; it is broadcast to the input. All if None.

    >>> import flambeau
    >>> normalize(flambeau.tensor([3.0, 4.0, 9.0]), 2.0, 0, mask=flambeau.tensor([True, True, False]))
    tensor([0.6000, 0.8000, 0.0000])
    """
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return filled(converted(input, dtype), mask, 0) / length.clamp(min=eps, max=inf)
