"""Means, medians and variances of the elements where a mask holds."""

from __future__ import annotations

from math import nan

from flambeau.masked.elements import Dims, converted, counted, dims_of, filled, in_floats, over
from flambeau.ops.families.composite import F
from flambeau.schema.dtype import DType, float32
from flambeau.tensor.tensor import Tensor


def mean(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The mean of the elements where the mask holds; nan where there are none.

    Args:
        input: a tensor; bools are counted.
        dim: the dimensions that go away; all if None.
        keepdim: whether they stay, with size 1.
        dtype: in which dtype.
        mask: which elements take part; it is broadcast to the input. All if None.

    Raises TypeError for integers, if the call says no dtype.

    >>> import flambeau
    >>> x = flambeau.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> mean(x, 0, mask=x > 1)
    tensor([3., 3.])
    """
    if input.dtype.name == "bool" and dtype is None:
        dtype = float32
    values, dims = in_floats("mean", input, dtype), dims_of(input, dim)
    total = over(filled(values, mask, 0), dims, "sum", keepdim)
    return total / counted(input, dims, mask, keepdim)


def median(
    input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The lower median of the elements where the mask holds, along one dimension; nan where there are none.

    Raises TypeError for integers, ValueError for nan among what takes part under a mask.

    >>> import flambeau
    >>> x = flambeau.tensor([5.0, 1.0, 3.0, 9.0])
    >>> median(x, 0, mask=x < 9)
    tensor(3.)
    """
    values = in_floats("median", input, dtype)
    if mask is None:
        return F.nanmedian(values, dim, keepdim)[0]  # type: ignore[no-any-return]
    if bool(filled(values, mask, 0).isnan().any()):
        raise ValueError("median of masked elements has no answer where nan takes part: mask it out, x.isnan()")
    return F.nanmedian(filled(values, mask, nan), dim, keepdim)[0]  # type: ignore[no-any-return]


def var(
    input: Tensor, dim: Dims = None, unbiased: bool | None = None, *, correction: float | None = None,
    keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The variance of the elements where the mask holds, in their dtype; nan where there are too few.

    Args:
        input: a tensor.
        dim: the dimensions that go away; all if None.
        unbiased: whether 1 is taken from how many there are, as `correction=1` says; the default.
        correction: what is taken from how many there are.
        keepdim: whether the dimensions stay, with size 1.
        dtype: in which dtype; integers are float32 if the call says none.
        mask: which elements take part; it is broadcast to the input. All if None.

    Raises ValueError if both `unbiased` and `correction` are said.

    >>> import flambeau
    >>> x = flambeau.tensor([1.0, 3.0, 99.0])
    >>> var(x, mask=x < 9)
    tensor(2.)
    """
    if unbiased is not None and correction is not None:
        raise ValueError("Only one of unbiased and correction may be given")
    taken = (1 if unbiased is None or unbiased else 0) if correction is None else correction
    is_float = input.dtype.is_floating_point or input.dtype.is_complex
    values = converted(input, float32 if dtype is None and not is_float else dtype)
    dims = dims_of(input, dim)
    count = counted(input, dims, mask, keepdim=True if dims else keepdim)
    if not dims and input.ndim:
        count = count.reshape(input.shape)
    centre = over(filled(values, mask, 0), dims, "sum", True) / count
    distance = filled(values - centre, mask, 0)
    squares = (distance * distance.conj()).real if distance.is_complex() else distance * distance
    total = over(squares, dims, "sum", keepdim)
    return (total / (count.reshape(total.shape) - taken).clamp_min(0)).to(values.dtype)


def std(
    input: Tensor, dim: Dims = None, unbiased: bool | None = None, *, correction: float | None = None,
    keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The standard deviation of the elements where the mask holds: the root of `var`, whose arguments these are.

    >>> import flambeau
    >>> x = flambeau.tensor([1.0, 3.0, 99.0])
    >>> std(x, correction=0, mask=x < 9)
    tensor(1.)
    """
    return var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask).sqrt()
