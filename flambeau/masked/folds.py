"""Sums, products, extremes and norms of the elements where a mask holds."""

from __future__ import annotations

from math import inf
from typing import Any

from flambeau.masked.elements import Dims, converted, dims_of, filled, highest, in_floats, lowest, over
from flambeau.ops.families.composite import F
from flambeau.schema.dtype import DType, int64
from flambeau.tensor.tensor import Tensor


def _accumulated(input: Tensor, dtype: DType | None) -> Tensor:
    """Integers that are added or multiplied are of 64 bits, where the call says no dtype."""
    is_whole = not (input.dtype.is_floating_point or input.dtype.is_complex)
    return converted(input, int64 if dtype is None and is_whole else dtype)


def sum(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The sum of the elements where the mask holds; 0 where there are none.

    Args:
        input: a tensor.
        dim: the dimensions that go away; all if None.
        keepdim: whether they stay, with size 1.
        dtype: in which dtype; integers are added in 64 bits.
        mask: which elements take part; it is broadcast to the input. All if None.

    Raises IndexError for a mask of more dimensions, RuntimeError for a dimension that is named twice.

    >>> import flambeau
    >>> x = flambeau.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> sum(x, 1, mask=x > 1)
    tensor([2., 7.])
    """
    return over(filled(_accumulated(input, dtype), mask, 0), dims_of(input, dim), "sum", keepdim)


def prod(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The product of the elements where the mask holds; 1 where there are none. See `sum` for the arguments.

    >>> import flambeau
    >>> x = flambeau.tensor([[1, 2], [3, 4]])
    >>> prod(x, mask=x > 2)
    tensor(12)
    """
    result = filled(_accumulated(input, dtype), mask, 1)
    for axis in reversed(dims_of(input, dim)):
        result = F.prod(result, axis, keepdim)
    return result.clone() if result is input else result


def amax(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The largest element where the mask holds; where there is none, what no element is below. See `sum`.

    >>> import flambeau
    >>> x = flambeau.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> amax(x, 1, mask=x < 4)
    tensor([2., 3.])
    """
    values = converted(input, dtype)
    return over(filled(values, mask, lowest(values.dtype)), dims_of(input, dim), "amax", keepdim)


def amin(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The smallest element where the mask holds; where there is none, what no element is above. See `sum`.

    >>> import flambeau
    >>> x = flambeau.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> amin(x, 1, mask=x > 1)
    tensor([2., 3.])
    """
    values = converted(input, dtype)
    return over(filled(values, mask, highest(values.dtype)), dims_of(input, dim), "amin", keepdim)


def argmax(
    input: Tensor, dim: int | None = None, *, keepdim: bool = False, dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Where the largest element is among those where the mask holds; over all, in row-major order. See `sum`.

    The places are numbers of the dtype of the call, or of the input; `long()` makes indexes of them.

    >>> import flambeau
    >>> x = flambeau.tensor([1.0, 4.0, 3.0])
    >>> argmax(x, mask=x < 4)
    tensor(2.)
    """
    values = converted(input, dtype)
    indices = F.argmax(filled(values, mask, lowest(values.dtype)), dim, keepdim)
    return indices.to(values.dtype)  # type: ignore[no-any-return]


def argmin(
    input: Tensor, dim: int | None = None, *, keepdim: bool = False, dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Where the smallest element is among those where the mask holds; over all, in row-major order. See `sum`.

    The places are numbers of the dtype of the call, or of the input; `long()` makes indexes of them.

    >>> import flambeau
    >>> x = flambeau.tensor([1.0, 4.0, 3.0])
    >>> argmin(x, mask=x > 1)
    tensor(2.)
    """
    values = converted(input, dtype)
    indices = F.argmin(filled(values, mask, highest(values.dtype)), dim, keepdim)
    return indices.to(values.dtype)  # type: ignore[no-any-return]


def logsumexp(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The logarithm of the sum of the exponentials where the mask holds; -inf where there are none. See `sum`.

    The result has the dtype of the call, or of the input: integers are cut off.

    >>> import flambeau
    >>> logsumexp(flambeau.zeros(4), mask=flambeau.tensor([True, False, True, True])).exp()
    tensor(3.)
    """
    values = converted(input, dtype)
    result = over(filled(values, mask, lowest(values.dtype)), dims_of(input, dim), "logsumexp", keepdim)
    return result.to(values.dtype)


def logaddexp(
    input: Tensor, other: Tensor, *, dtype: DType | None = None, input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """log(exp(input) + exp(other)), in which what a mask leaves out is 0.

    Args:
        input, other: tensors.
        dtype: in which dtype.
        input_mask, other_mask: which elements of each take part; all if None.

    >>> import flambeau
    >>> x = flambeau.zeros(2)
    >>> logaddexp(x, x, other_mask=flambeau.tensor([True, False])).exp()
    tensor([2., 1.])
    """
    a, b = converted(input, dtype), converted(other, dtype)
    return F.logaddexp(filled(a, input_mask, -inf), filled(b, other_mask, -inf))  # type: ignore[no-any-return]


def norm(
    input: Tensor, ord: float = 2.0, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The vector norm of order `ord` of the elements where the mask holds; see `sum` for the other arguments.

    Raises TypeError for integers.

    >>> import flambeau
    >>> norm(flambeau.tensor([3.0, 4.0, 9.0]), mask=flambeau.tensor([True, True, False]))
    tensor(5.)
    """
    values = filled(in_floats("norm", input, dtype), mask, inf if ord < 0 else 0)
    dims: Any = dims_of(input, dim)
    if not dims and input.ndim:
        values, dims, keepdim = values.unsqueeze(-1), [-1], False
    return F.linalg_vector_norm(values, ord, dims, keepdim)  # type: ignore[no-any-return]
