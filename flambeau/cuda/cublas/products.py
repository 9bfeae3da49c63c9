"""Products of matrices, and of batches of them, that lie in any order which cuBLAS reads in place."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import Any, Final

from flambeau.cuda import tensors
from flambeau.cuda.cublas import binding
from flambeau.cuda.devices import device as using
from flambeau.tensor import layout
from flambeau.tensor.settled import settle
from flambeau.tensor.tensor import Tensor, view_of
from flambeau.util.record import dataclass

PLAIN, TRANSPOSED = 0, 1
DEFAULT_WAY: Final = -1
MOST: Final = 1 << 31
"""Sizes are C's ints there."""


@dataclass(frozen=True, slots=True)
class _Matrix:
    """Matrices as cuBLAS reads them, column by column: what is row by row here is transposed there."""

    address: int
    way: int
    leading: int
    batch: int
    """Elements from one matrix to the next."""


def product(first: Tensor, second: Tensor, into: Tensor | None = None, alpha: float = 1.0, beta: float = 0.0) -> Any:
    """`alpha * first @ second + beta * into`, of matrices or batches of as many; written to `into` if there is one.

    NotImplemented where cuBLAS does not compute it: other dtypes, sizes that do not fit, nothing to add up.
    """
    name = first.dtype.name
    sizes = (*first._array.shape[:-1], second._array.shape[-1])
    if not binding.is_available() or name not in binding.DTYPES or second.dtype is not first.dtype:
        return NotImplemented
    if first._array.shape[-1] != second._array.shape[-2] or first._array.shape[:-2] != second._array.shape[:-2]:
        return NotImplemented
    if 0 in sizes or not first._array.shape[-1] or max(*sizes, *first._array.shape) >= MOST:
        return NotImplemented
    result = tensors.empty(sizes, first.dtype, first.device) if into is None else into
    with using(first.device.index):
        _multiply(_in_place(first), _in_place(second), result, alpha, beta)
    return result


def _multiply(first: Tensor, second: Tensor, result: Tensor, alpha: float, beta: float) -> None:
    """Row by row, a product is that of the transposed matrices in the other order, column by column."""
    name = first.dtype.name
    rows, inner = first._array.shape[-2:]
    columns = second._array.shape[-1]
    count = prod(result._array.shape[:-2])
    left, right = _matrix(second), _matrix(first)
    scalar = ctypes.c_double if name == "float64" else ctypes.c_float
    kind = binding.DTYPES[name]
    ends = (binding.computed_in(name), DEFAULT_WAY)
    starts = (
        left.way, right.way, columns, rows, inner, ctypes.byref(scalar(alpha)),
        ctypes.c_void_p(left.address), kind, left.leading,
    )  # fmt: skip
    target, addend = ctypes.c_void_p(result.data_ptr()), ctypes.byref(scalar(beta))
    source = ctypes.c_void_p(right.address)
    if count == 1:
        middle = (source, kind, right.leading, addend, target, kind, columns)
        with binding.handle() as handle:
            binding.call("cublasGemmEx", handle, *starts, *middle, *ends)
        return
    wide = ctypes.c_longlong
    batches = (
        wide(left.batch), source, kind, right.leading, wide(right.batch), addend, target, kind, columns,
        wide(rows * columns), count,
    )  # fmt: skip
    with binding.handle() as handle:
        binding.call("cublasGemmStridedBatchedEx", handle, *starts, *batches, *ends)


def _in_place(tensor: Tensor) -> Tensor:
    """The tensor if cuBLAS reads it where it is, else a copy row by row."""
    if _ways(tensor) is not None and _batch_stride(tensor) is not None:
        return tensor
    copied = tensors.empty(tensor._array.shape, tensor.dtype, tensor.device)
    tensors.lent(copied)[...] = tensors.lent(tensor)
    return copied


def _ways(tensor: Tensor) -> tuple[int, int] | None:
    """How cuBLAS reads the matrices of a tensor, and the elements from one line to the next; None where it cannot."""
    rows, columns = tensor._array.shape[-2:]
    down, across = tensor.stride()[-2:]
    if (across == 1 or columns == 1) and (down >= max(columns, 1) or rows == 1):
        return PLAIN, max(down if rows > 1 else columns, 1)
    if (down == 1 or rows == 1) and (across >= max(rows, 1) or columns == 1):
        return TRANSPOSED, max(across if columns > 1 else rows, 1)
    return None


def _batch_stride(tensor: Tensor) -> int | None:
    """Elements from one matrix to the next; None where the matrices are not as far from each other."""
    pairs = zip(tensor._array.shape[:-2], tensor.stride()[:-2], strict=True)
    dims = [(n, step) for n, step in pairs if n != 1]
    if not dims:
        return 0
    for (_, outer), (size, inner) in pairwise(dims):
        if outer != size * inner:
            return None
    step: int = dims[-1][1]
    return step


def _matrix(tensor: Tensor) -> _Matrix:
    ways, batch = _ways(tensor), _batch_stride(tensor)
    assert ways is not None
    assert batch is not None
    return _Matrix(tensor.data_ptr(), *ways, batch)


def folded(tensor: Tensor) -> Tensor | None:
    """All rows of a tensor as one matrix on the same memory; None where they do not lie like that."""
    shape = tensor._array.shape
    sizes = (prod(shape[:-1]), shape[-1])
    strides = layout.view_strides(shape, tensor.stride(), sizes)
    return None if strides is None else tensors.shown(tensor, sizes, strides)


def shaped(tensor: Tensor, sizes: Sequence[int]) -> Tensor:
    """A row-major tensor with other sizes."""
    return settle(view_of(tensor, sizes, layout.contiguous_strides(sizes)))


def transposed(matrix: Tensor) -> Tensor:
    """The last two dimensions the other way round."""
    sizes, strides = list(matrix._array.shape), list(matrix.stride())
    sizes[-2:], strides[-2:] = sizes[:-3:-1], strides[:-3:-1]
    return tensors.shown(matrix, sizes, strides)
