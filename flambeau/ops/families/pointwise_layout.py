"""Shapes and strides of pointwise results, over arrays that exist and over types of which something is known.

A result keeps the order of dimensions that its operands have in memory; where operands disagree, the first wins;
where none says anything (broadcast dimensions), it is row-major.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.schema.opdef import Sizes
from flambeau.tensor.array_library import np
from flambeau.tensor.layout import channels_last_strides, elementwise_strides

Array = Any


def broadcast_known(sizes: Sequence[Sizes | None]) -> Sizes | None:
    """Broadcasting of what is known: None for unknown sizes, and altogether if a rank is unknown.

    >>> broadcast_known([(None, 3), (2, 1)])
    (2, 3)
    """
    result: Sizes = ()
    for other in sizes:
        if other is None:
            return None
        rank = max(len(result), len(other))
        a = (1,) * (rank - len(result)) + tuple(result)
        b = (1,) * (rank - len(other)) + tuple(other)
        result = tuple(map(_broadcast_dimension, a, b))
    return result


def _broadcast_dimension(a: int | None, b: int | None) -> int | None:
    if a == b or b == 1:
        return a
    if a == 1:
        return b
    known = [n for n in (a, b) if n is not None and n > 1]
    return known[0] if len(known) == 1 else None


def arranged(result: Array, shape: tuple[int, ...], operands: Sequence[Array]) -> Array:
    """`result` as an array of its own with the sizes and strides that an elementwise operator gives.

    `operands` are the arrays it was computed from; nothing is copied when NumPy chose the same strides.
    """
    array = result if type(result) is np.ndarray else np.asarray(result)
    flags = array.flags
    is_fresh = flags.owndata and not any(array is a for a in operands)
    strides = _byte_strides(shape, operands, array.itemsize)
    if is_fresh and array.shape == shape and (flags.c_contiguous if strides is None else array.strides == strides):
        return array
    fresh = empty(shape, array.dtype, strides)
    fresh[...] = array
    return fresh


def empty(shape: tuple[int, ...], dtype: Any, byte_strides: tuple[int, ...] | None = None) -> Array:
    """Fresh memory with these sizes, row-major or with these dense strides."""
    if byte_strides is None or 0 in shape:
        return np.empty(shape, dtype)
    order = sorted(range(len(shape)), key=lambda i: (-byte_strides[i], shape[i] == 1, i))
    return np.empty([shape[i] for i in order], dtype).transpose(tuple(sorted(range(len(order)), key=order.__getitem__)))


def result_strides(shape: tuple[int, ...], operands: Sequence[Array]) -> tuple[int, ...] | None:
    """The strides in elements of an elementwise operator's result; None for row-major."""
    return _byte_strides(shape, operands, 1)


def _byte_strides(shape: tuple[int, ...], operands: Sequence[Array], itemsize: int) -> tuple[int, ...] | None:
    """The strides a result gets; None for row-major."""
    if len(shape) < 2:
        return None
    spread = [a for a in operands if a.ndim]
    if all(a.flags.c_contiguous and a.shape == shape for a in spread):
        return None
    if len(shape) == 4 and all(a.shape == shape and _is_channels_last(a) for a in spread):
        strides = channels_last_strides(shape)
    else:
        strides = elementwise_strides(shape, [_broadcast_strides(a, shape) for a in spread])
    return tuple([s * itemsize for s in strides])


def _is_channels_last(array: Array) -> bool:
    return bool(array.transpose(0, 2, 3, 1).flags.c_contiguous)


def _broadcast_strides(array: Array, shape: tuple[int, ...]) -> tuple[int, ...]:
    missing: int = len(shape) - array.ndim
    own: list[int] = [
        0 if size == 1 and shape[missing + i] != 1 else stride
        for i, (size, stride) in enumerate(zip(array.shape, array.strides, strict=True))
    ]
    return (0,) * missing + tuple(own)
