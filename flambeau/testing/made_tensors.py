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
from flambeau.schema.dtype import DType, bool_, float32, float64
from flambeau.schema.dtype_limits import finfo, iinfo
from flambeau.tensor.tensor import Tensor

BOUNDS: Final = "make_tensor draws from low up to high, and low={low} is not below high={high}"
NAN: Final = "make_tensor takes numbers as bounds, but got low={low}, high={high}"
NO_GRAD: Final = "requires_grad=True takes a dtype of floats or complex numbers, not {dtype}"
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
    without a sign from 0 to 9. Bounds outside of what the dtype has are those of the dtype.

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
        ValueError: bounds in the wrong order, or nan; gradients for ints; both `noncontiguous` and `memory_format`.

    >>> import flambeau
    >>> flambeau.testing.make_tensor((2, 2), dtype=flambeau.float32, noncontiguous=True).is_contiguous()
    False
    """
    sizes = list(shape[0]) if len(shape) == 1 and isinstance(shape[0], Sequence) else list(shape)
    kind = to_dtype(dtype)
    has_gradients = kind.is_floating_point or kind.is_complex
    if requires_grad and not has_gradients:
        raise ValueError(NO_GRAD.format(dtype=kind))
    if noncontiguous and memory_format is not None:
        raise ValueError("noncontiguous and memory_format both say how elements lie in memory: give one of them")
    drawn = _drawn(sizes, kind, *_bounds(kind, low, high)).to(device)
    if exclude_zero:
        drawn[drawn == 0] = finfo(kind).tiny if has_gradients else 1
    if noncontiguous and sizes:
        drawn = drawn.repeat_interleave(2, -1)[..., ::2]
    elif memory_format is not None:
        drawn = drawn.clone(memory_format=memory_format)
    return drawn.requires_grad_() if requires_grad else drawn


def _bounds(dtype: DType, low: float | None, high: float | None) -> tuple[float, float]:
    """The bounds that are drawn from."""
    if dtype is bool_:
        least, usual, most = 0.0, 0.0, 2.0
    elif dtype.is_floating_point or dtype.is_complex:
        limits = finfo(dtype)
        least, usual, most = limits.min, -_USUAL, limits.max
    else:
        least, most = float(iinfo(dtype).min), float(iinfo(dtype).max) + 1
        usual = max(-_USUAL, least)
    whole = not (dtype.is_floating_point or dtype.is_complex)
    lowest = usual if low is None else low
    highest = (2 if dtype is bool_ else _USUAL + whole) if high is None else high
    if math.isnan(lowest) or math.isnan(highest):
        raise ValueError(NAN.format(low=low, high=high))
    if not lowest < highest:
        raise ValueError(BOUNDS.format(low=lowest, high=highest))
    return max(lowest, least), min(highest, most)


def _drawn(sizes: list[int], dtype: DType, low: float, high: float) -> Tensor:
    if dtype.is_floating_point:
        exact = F.empty(sizes, dtype=float64).uniform_(low, high).to(dtype)
        drawn: Tensor = F.where(exact < high, exact, F.full_like(exact, low))  # what was rounded up to the bound
    elif dtype.is_complex:
        parts = F.empty([*sizes, 2], dtype=float32 if dtype.itemsize < 16 else float64).uniform_(low, high)
        drawn = F.view_as_complex(parts).to(dtype)
    else:
        drawn = F.randint(math.ceil(low), max(math.ceil(high), math.ceil(low) + 1), sizes).to(dtype)
    return drawn
