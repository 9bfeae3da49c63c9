"""Products of matrices, and of batches of them, that lie in any order which cuBLAS reads in place."""

from __future__ import annotations

import ctypes
from collections.abc import Hashable, Sequence
from functools import lru_cache
from itertools import pairwise
from math import prod
from typing import Any, Final

from flambeau.cuda import tensors
from flambeau.cuda.cublas import binding
from flambeau.cuda.devices import device as using
from flambeau.cuda.fresh import row_major
from flambeau.tensor import layout
from flambeau.tensor.array_library import address_of
from flambeau.tensor.settled import settle
from flambeau.tensor.tensor import Tensor, view_of
from flambeau.util.record import dataclass

PLAIN, TRANSPOSED = 0, 1
DEFAULT_WAY: Final = -1
MOST: Final = 1 << 31
"""Sizes are C's ints there."""
MAX_PLANS: Final = 256


@dataclass(frozen=True, slots=True)
class _Matrices:
    """Matrices as cuBLAS reads them, column by column: what is row by row here is transposed there."""

    way: int
    leading: int
    step: int
    """Elements from one matrix to the next."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """What all products of matrices have in common that lie in one way."""

    left: _Matrices | None
    """The second operand, as everything is transposed; None where it has to be copied first."""
    right: _Matrices | None
    rows: int
    inner: int
    columns: int
    count: int
    sizes: tuple[int, ...]
    kind: int
    """The dtype."""
    dtype: str
    scalar: Any
    """What factors are given as."""


_plans: Final[dict[Hashable, _Plan | None]] = {}
"""By how operands lie; None where cuBLAS does not compute it."""


def product(
    first: Tensor, second: Tensor, into: Tensor | None = None, alpha: float = 1.0, beta: float = 0.0, *,
    is_turned: bool = False,
) -> Any:  # fmt: skip
    """`alpha * first @ second + beta * into`, of matrices or batches of as many; written to `into` if there is one.

    `is_turned`: whether the second operand is given the other way round, as weights are. NotImplemented where cuBLAS
    does not compute it: other dtypes, sizes that do not fit, nothing to add up.
    """
    plan = _plan(first, second, is_turned)
    if plan is None or not binding.is_available():
        return NotImplemented
    if plan.left is None or plan.right is None:
        first = first if plan.right is not None else _copied(first)
        second, is_turned = (second, is_turned) if plan.left is not None else (_copied(second), is_turned)
        return product(first, second, into, alpha, beta, is_turned=is_turned)
    result = row_major(plan.sizes, first.dtype, first.device) if into is None else into
    with using(first._storage.device.index):
        _multiply(plan, plan.left, plan.right, address_of(first._array), address_of(second._array), result, alpha, beta)
    return result


def _plan(first: Tensor, second: Tensor, is_turned: bool) -> _Plan | None:
    one, other = first._array, second._array
    key = one.dtype, one.shape, one.strides, other.dtype, other.shape, other.strides, is_turned
    try:
        return _plans[key]
    except KeyError:
        if len(_plans) >= MAX_PLANS:
            _plans.clear()
        plan = _plans[key] = _planned(first, second, is_turned)
        return plan


def _planned(first: Tensor, second: Tensor, is_turned: bool) -> _Plan | None:
    name = first.dtype.name
    batch, (rows, inner) = first._array.shape[:-2], first._array.shape[-2:]
    axes = (-1, -2) if is_turned else (-2, -1)
    below, columns = [second._array.shape[k] for k in axes]
    if name not in binding.DTYPES or second.dtype is not first.dtype:
        return None
    if inner != below or batch != second._array.shape[:-2]:
        return None
    sizes = (*batch, rows, columns)
    if 0 in sizes or not inner or max(*sizes, inner) >= MOST:
        return None
    scalar = ctypes.c_double if name == "float64" else ctypes.c_float
    left, right = _matrices(second, is_turned), _matrices(first, False)
    kind = binding.DTYPES[name]
    return _Plan(left, right, rows, inner, columns, prod(batch), sizes, kind, name, scalar)


@lru_cache(maxsize=64)
def _factor(value: float, scalar: Any) -> Any:
    return ctypes.byref(scalar(value))


def _multiply(
    plan: _Plan, left: _Matrices, right: _Matrices, first: int, second: int, result: Tensor, alpha: float, beta: float
) -> None:
    """Row by row, a product is that of the transposed matrices in the other order, column by column."""
    kind, columns, target = plan.kind, plan.columns, address_of(result._array)
    factor, addend = _factor(alpha, plan.scalar), _factor(beta, plan.scalar)
    shape = left.way, right.way, columns, plan.rows, plan.inner, factor
    ends = binding.computed_in(plan.dtype), DEFAULT_WAY
    with binding.handle() as handle:
        if plan.count == 1:
            binding.call(
                "cublasGemmEx", handle, *shape, second, kind, left.leading, first, kind, right.leading, addend, target,
                kind, columns, *ends,
            )  # fmt: skip
        else:
            binding.call(
                "cublasGemmStridedBatchedEx", handle, *shape, second, kind, left.leading, left.step, first, kind,
                right.leading, right.step, addend, target, kind, columns, plan.rows * columns, plan.count, *ends,
            )  # fmt: skip


def _copied(tensor: Tensor) -> Tensor:
    """A copy row by row, which cuBLAS reads where it is."""
    copied = tensors.empty(tensor._array.shape, tensor.dtype, tensor.device)
    tensors.lent(copied)[...] = tensors.lent(tensor)
    return copied


def _matrices(tensor: Tensor, is_turned: bool) -> _Matrices | None:
    """How cuBLAS reads the matrices of a tensor, given the other way round or not; None where it cannot."""
    step = _batch_step(tensor)
    sizes, steps = tensor._array.shape[-2:], tensor.stride()[-2:]
    (rows, columns), (down, across) = (sizes[::-1], steps[::-1]) if is_turned else (sizes, steps)
    if step is None:
        return None
    if (across == 1 or columns == 1) and (down >= max(columns, 1) or rows == 1):
        return _Matrices(PLAIN, max(down if rows > 1 else columns, 1), step)
    if (down == 1 or rows == 1) and (across >= max(rows, 1) or columns == 1):
        return _Matrices(TRANSPOSED, max(across if columns > 1 else rows, 1), step)
    return None


def _batch_step(tensor: Tensor) -> int | None:
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


def folded(tensor: Tensor) -> Tensor | None:
    """All rows of a tensor as one matrix on the same memory; None where they do not lie like that."""
    shape = tensor._array.shape
    sizes = (prod(shape[:-1]), shape[-1])
    strides = layout.view_strides(shape, tensor.stride(), sizes)
    return None if strides is None else tensors.shown(tensor, sizes, strides)


def shaped(tensor: Tensor, sizes: Sequence[int]) -> Tensor:
    """A row-major tensor with other sizes."""
    return settle(view_of(tensor, sizes, layout.contiguous_strides(sizes)))
