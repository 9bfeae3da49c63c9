"""Tensors of random elements for tests.

>>> import flambeau
>>> x = make_tensor(2, 3, dtype=flambeau.int64, low=0, high=4)
>>> x.shape, bool((x >= 0).all() and (x < 4).all())
(flambeau.Size([2, 3]), True)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from flambeau.ops.families.composite import F
from flambeau.schema.argument_rules import to_dtype
from flambeau.schema.dtype import DType, bool_, float16, float32, float64, int64
from flambeau.schema.dtype_limits import finfo, iinfo
from flambeau.tensor.tensor import Tensor
from flambeau.util.user_code import warn_user

ORDER: Final = "`low` must be less than `high`, but got {low} >= {high}"
OUTSIDE: Final = (
    "The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} only supports [{least}, {most})"
)
NAN: Final = "`low` and `high` cannot be NaN, but got low={low} and high={high}"
ONE_NUMBER: Final = (
    "Passing `low==high` to `flambeau.testing.make_tensor` for floating or complex types is deprecated since 2.1: "
    "write `flambeau.full(...)`"
)
NO_GRAD: Final = "`requires_grad=True` is not supported for boolean and integral dtypes, but got dtype={dtype}"
TWO_LAYOUTS: Final = (
    "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got noncontiguous=True and "
    "memory_format={format}"
)
NO_DTYPE: Final = "The requested dtype '{dtype}' is not supported by flambeau.testing.make_tensor()."
_USUAL: Final = 9
"""Numbers lie between -9 and 9 unless bounds are given."""


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any = "cpu",
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor of elements that are drawn evenly from `low` up to, but without, `high`.

    Without bounds, floats and complex numbers, whose parts are drawn, lie between -9 and 9, ints from -9 to 9, those
    without a sign from 0 to 9. Bounds outside of what the dtype has are those of the dtype. Equal seeds draw what
    PyTorch's function of this name draws.

    Args:
        shape: the sizes, one by one or as a sequence.
        dtype: of the elements.
        device: where the tensor is.
        low: the lowest number.
        high: the number above all others.
        requires_grad: whether it asks for gradients.
        noncontiguous: whether its elements lie apart in memory, where there are several.
        exclude_zero: whether zeros are replaced by the least positive number, 1 for ints.
        memory_format: the order of the dimensions in memory.

    Raises:
        ValueError: bounds in the wrong order, outside of the dtype, or nan; gradients for ints; both `noncontiguous`
            and `memory_format`.
        TypeError: a quantised dtype.

    >>> import flambeau
    >>> flambeau.testing.make_tensor((2, 2), dtype=flambeau.float32, noncontiguous=True).is_contiguous()
    False
    """
    sizes = list(shape[0]) if len(shape) == 1 and isinstance(shape[0], Sequence) else list(shape)
    kind = to_dtype(dtype)
    _check(kind, requires_grad, memory_format if noncontiguous else None)
    is_apart = noncontiguous and math.prod(sizes) > 1  # every other one of twice as many
    in_memory = [*sizes[:-1], 2 * sizes[-1]] if is_apart else sizes
    drawn = _drawn(in_memory, kind, *_bounds(kind, low, high)).to(device)
    if is_apart:
        drawn = drawn[..., 1::2]
    if exclude_zero:
        drawn[drawn == 0] = finfo(kind).tiny if _has_gradients(kind) else 1
    if memory_format is not None:
        drawn = drawn.clone(memory_format=memory_format)
    return drawn.requires_grad_() if requires_grad else drawn


def _has_gradients(dtype: DType) -> bool:
    return dtype.is_floating_point or dtype.is_complex


def _check(dtype: DType, requires_grad: bool, other_format: Any) -> None:
    """Raise for what does not go together."""
    if dtype.name.startswith("q"):
        raise TypeError(NO_DTYPE.format(dtype=dtype))
    if requires_grad and not _has_gradients(dtype):
        raise ValueError(NO_GRAD.format(dtype=dtype))
    if other_format is not None:
        raise ValueError(TWO_LAYOUTS.format(format=other_format))


def _bounds(dtype: DType, low: float | None, high: float | None) -> tuple[float, float]:
    """The bounds that are drawn from."""
    least, most, lowest, highest = _limits(dtype)
    low, high = lowest if low is None else low, highest if high is None else high
    if math.isnan(low) or math.isnan(high):
        raise ValueError(NAN.format(low=low, high=high))
    is_whole = not _has_gradients(dtype)
    if low == high and not is_whole:
        warn_user(ONE_NUMBER, FutureWarning)
    elif low >= high:
        raise ValueError(ORDER.format(low=low, high=high))
    elif high < least or low >= most:
        raise ValueError(OUTSIDE.format(low=low, high=high, dtype=dtype, least=least, most=most))
    low, high = (min(max(bound, least), most) for bound in (low, high))
    return (math.ceil(low), math.ceil(high)) if is_whole else (low, high)


def _limits(dtype: DType) -> tuple[float, float, float, float]:
    """The least number of a dtype, the one above all of its, and what is drawn from where nothing is said."""
    if dtype is bool_:
        return 0, 2, 0, 2
    if _has_gradients(dtype):
        limits = finfo(dtype)
        return limits.min, limits.max, -_USUAL, _USUAL
    whole = iinfo(dtype)
    return whole.min, whole.max + (whole.max < iinfo(int64).max), max(-_USUAL, whole.min), _USUAL + 1


def _drawn(sizes: list[int], dtype: DType, low: float, high: float) -> Tensor:
    if dtype.is_complex:
        part = {4: float16, 8: float32}.get(dtype.itemsize, float64)
        return F.view_as_complex(_uniform([*sizes, 2], part, low, high))  # type: ignore[no-any-return]
    if dtype.is_floating_point:
        return _uniform(sizes, dtype, low, high)
    drawn: Tensor = F.randint(low, high, sizes).to(dtype)
    return drawn


def _uniform(sizes: list[int], dtype: DType, low: float, high: float) -> Tensor:
    """Floats of a dtype: what is rounded up to the bound becomes the lower one; a range may be wider than the dtype."""
    empty: Tensor = F.empty(sizes, dtype=dtype)
    drawn = empty.uniform_(low / 2, high / 2).mul_(2) if high - low >= finfo(dtype).max else empty.uniform_(low, high)
    return drawn.masked_fill_(drawn >= high, low) if low < high else drawn
