"""What functions of masked elements begin with: dimensions, dtypes, and what stands where a mask does not hold."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any, Final

from flambeau.ops.families.composite import F
from flambeau.schema.dtype import DType
from flambeau.schema.dtype_limits import iinfo
from flambeau.tensor.tensor import Tensor

Dims = int | Sequence[int] | None
WIDER: Final = "mask cannot be broadcast to input, as it has more dimensions: {mask} and {own}"
OUTSIDE: Final = "Dimension out of range (expected to be in range of [{first}, {last}], but got {dim})"
TWICE: Final = "dim={dim} appears multiple times in the list of dims"
FLOATS: Final = "{name} of masked elements is of floating point or complex numbers, but got {dtype}: convert the input"


def dims_of(input: Tensor, dim: Dims) -> list[int]:
    """The dimensions that a call names, counted from 0; all for None."""
    count = max(input.ndim, 1)
    if dim is None:
        return list(range(input.ndim))
    result: list[int] = []
    for one in (dim,) if isinstance(dim, int) else dim:
        if not -count <= one < count:
            raise IndexError(OUTSIDE.format(first=-count, last=count - 1, dim=one))
        if one % count in result:
            raise RuntimeError(TWICE.format(dim=one))
        result.append(one % count)
    return sorted(result) if input.ndim else []


def whole_mask(input: Tensor, mask: Tensor | None) -> Tensor | None:
    """The mask as a tensor of bools with the sizes of the input. Raises IndexError if it has more dimensions."""
    if mask is None:
        return None
    if mask.ndim > input.ndim:
        raise IndexError(WIDER.format(mask=mask.ndim, own=input.ndim))
    return mask.bool().expand(input.shape)


def filled(input: Tensor, mask: Tensor | None, value: float) -> Tensor:
    """The input with a number where the mask does not hold."""
    where = whole_mask(input, mask)
    return input if where is None else F.where(where, input, F.full((), value, dtype=input.dtype, device=input.device))


def counted(input: Tensor, dims: Sequence[int], mask: Tensor | None, keepdim: bool) -> Tensor:
    """How many elements take part, over some dimensions."""
    where = whole_mask(input, mask)
    ones = F.ones_like(input, dtype=None) if where is None else where
    return over(ones.long(), dims, "sum", keepdim)


def over(input: Tensor, dims: Sequence[int], name: str, keepdim: bool, **options: Any) -> Tensor:
    """A fold over some dimensions; over none it is of each element alone."""
    if dims or not input.ndim:
        return getattr(F, name)(input, list(dims), keepdim, **options)  # type: ignore[no-any-return]
    return getattr(F, name)(input.unsqueeze(-1), [-1], False, **options)  # type: ignore[no-any-return]


def lowest(dtype: DType) -> float:
    """What no element is below."""
    return -inf if dtype.is_floating_point or dtype.is_complex else 0 if dtype.name == "bool" else iinfo(dtype).min


def highest(dtype: DType) -> float:
    """What no element is above."""
    return inf if dtype.is_floating_point else 1 if dtype.name == "bool" else iinfo(dtype).max


def in_floats(name: str, input: Tensor, dtype: DType | None) -> Tensor:
    """The input in the dtype of a call. Raises TypeError for integers."""
    result = converted(input, dtype)
    if not (result.dtype.is_floating_point or result.dtype.is_complex):
        raise TypeError(FLOATS.format(name=name, dtype=result.dtype))
    return result


def converted(input: Tensor, dtype: DType | None) -> Tensor:
    """The input in the dtype of a call, or as it is."""
    return input if dtype is None else input.to(dtype)
