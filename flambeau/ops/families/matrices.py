"""What operators on matrices share: what they accept, batches, memory by columns, and the error of a failed one.

The leading dimensions are a batch. LAPACK, which NumPy calls, works by columns, and so do PyTorch's results lie in
memory; `columns` gives a matrix these strides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.ops.families.arrays import Array, dtype_of, is_inexact
from flambeau.ops.families.pointwise_layout import broadcast_known
from flambeau.ops.families.rules import same_dtype
from flambeau.schema.dtype import DType
from flambeau.schema.opdef import Sample, Sizes
from flambeau.schema.traits import Traits
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import Tensor, wrap


class LinAlgError(RuntimeError):
    """A matrix for which the computation has no result: a singular one, one that is not positive-definite."""


def check_matrix(name: str, array: Array, what: str = "A") -> None:
    """Raise RuntimeError unless there are two dimensions at least."""
    if array.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor {what} must have at least 2 dimensions.")


def check_square(name: str, array: Array, what: str = "A") -> None:
    """Raise RuntimeError unless these are square matrices."""
    check_matrix(name, array, what)
    rows, cols = array.shape[-2:]
    if rows != cols:
        raise RuntimeError(f"{name}: {what} must be batches of square matrices, but they are {rows} by {cols} matrices")


def check_floats(name: str, array: Array, *, halves: bool = False) -> None:
    """Raise RuntimeError unless elements are real or complex floats, of single precision at least unless `halves`."""
    dtype = dtype_of(array)
    if not is_inexact(array):
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {dtype.display}")
    if not halves and dtype.itemsize == 2:
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {dtype.display}")


def check_same_dtype(name: str, a: Array, b: Array, names: tuple[str, str] = ("A", "B")) -> None:
    """Raise RuntimeError unless both have one dtype."""
    if a.dtype != b.dtype:
        first, second = names
        raise RuntimeError(
            f"{name}: Expected {first} and {second} to have the same dtype, but found {first} of type "
            f"{dtype_of(a).display} and {second} of type {dtype_of(b).display} instead"
        )


def columns(array: Array) -> Array:
    """The matrices in fresh memory by columns."""
    if array.ndim < 2:
        return np.array(array, order="C")
    return np.array(array.swapaxes(-1, -2), order="C").swapaxes(-1, -2)


def rows(array: Array) -> Array:
    """The matrices in fresh memory by rows."""
    return np.array(array, order="C")


def adjoint(array: Array) -> Array:
    """The conjugate transpose."""
    return array.swapaxes(-1, -2).conj()


def eye_like(array: Array, size: int) -> Array:
    """The identity of that size for every matrix of the batch."""
    result = np.zeros((*array.shape[:-2], size, size), array.dtype)
    result[..., range(size), range(size)] = 1
    return result


def first_of_batch(name: str, info: Array, text: Callable[[int], str]) -> None:
    """Raise LinAlgError for the first matrix that failed: `info` has a number for each, 0 for success."""
    if not info.any():
        return
    index = int(np.flatnonzero(info)[0])
    where = f"(Batch element {index}): " if info.ndim else ""
    raise LinAlgError(f"{name}: {where}{text(int(info.ravel()[index]))}")


# -- rules -----------------------------------------------------------------------------------------------------------


def batch_rank(A: TensorType) -> Sizes | None:
    """The sizes of the batch."""
    return None if A.sizes is None or len(A.sizes) < 2 else A.sizes[:-2]


def vectors_rank(A: TensorType) -> Sizes | None:
    """A vector for each matrix."""
    return None if A.sizes is None or len(A.sizes) < 2 else (*A.sizes[:-2], None)


def matrices_rank(A: TensorType) -> Sizes | None:
    """A matrix for each matrix."""
    return None if A.sizes is None or len(A.sizes) < 2 else (*A.sizes[:-2], None, None)


def square_sizes(A: TensorType) -> Sizes | None:
    """A matrix of the same sizes for each square matrix."""
    if A.sizes is None or len(A.sizes) < 2:
        return None
    rows, cols = A.sizes[-2:]
    size = cols if rows is None else rows
    return (*A.sizes[:-2], size, size)


def called_self(rule: Callable[[TensorType], Any]) -> Callable[[TensorType], Any]:
    """The same rule for an operator whose argument is `self`."""
    return lambda self: rule(self)


def dtypes_of(*makers: Callable[[DType], DType | None]) -> Callable[[TensorType], tuple[DType | None, ...]]:
    """The rule of several results, each by the dtype of `A`."""
    return lambda A: tuple(None if A.dtype is None else make(A.dtype) for make in makers)


def same(dtype: DType) -> DType:
    """The dtype itself."""
    return dtype


def real(dtype: DType) -> DType:
    """The dtype of the real part."""
    return dtype.to_real()


def a_dtype(A: TensorType) -> DType | None:
    """The dtype of `A`."""
    return same_dtype(A)


def larger_rank(A: TensorType, B: TensorType) -> Sizes | None:
    """As many dimensions as the operand has that has more."""
    if A.sizes is None or B.sizes is None:
        return None
    return (None,) * max(len(A.sizes), len(B.sizes))


def solved_rank(A: TensorType, B: TensorType) -> Sizes | None:
    """The sizes of the solution of systems with matrices on the right: theirs, in a batch of both."""
    if A.sizes is None or B.sizes is None or len(A.sizes) < 2 or len(B.sizes) < 2:
        return None
    batch = broadcast_known([A.sizes[:-2], B.sizes[:-2]])
    assert batch is not None
    return (*batch, *B.sizes[-2:])


LAID_OUT_BY_LAPACK = Traits(layout_by_trial=True)

# -- samples ----------------------------------------------------------------------------------------------------------


def square(*batch: int) -> Tensor:
    """A regular matrix of size 3, or a batch of it."""
    matrix = np.array([[4, 1, 0], [1, 3, -1], [0.5, 0, 2]], np.float32)
    return wrap(np.broadcast_to(matrix, (*batch, 3, 3)).copy())


def right(*batch: int) -> Tensor:
    """A right side of two columns for it."""
    matrix = np.array([[1, 2], [3, 4], [-5, 6]], np.float32)
    return wrap(np.broadcast_to(matrix, (*batch, 3, 2)).copy())


def vectors(*batch: int) -> Tensor:
    """A right side that is a vector, or one for each matrix."""
    return wrap(np.broadcast_to(np.array([1, -2, 3], np.float32), (*batch, 3)).copy())


def symmetric(*batch: int) -> Tensor:
    """A positive-definite matrix of size 3, or a batch of it."""
    matrix = np.array([[4, 1, 0.5], [1, 3, -1], [0.5, -1, 2]], np.float32)
    return wrap(np.broadcast_to(matrix, (*batch, 3, 3)).copy())


def rectangles() -> list[Sample]:
    """A tall matrix, a wide one, and a batch."""
    tall = np.array([[1, 2], [4, -1], [2, 0.5], [0, 3]], np.float32)
    return [Sample(args=(wrap(tall.copy()),), note="tall"), Sample(args=(wrap(tall.T.copy()),), note="wide"),
            Sample(args=(wrap(np.stack([tall, 2 * tall])),), note="batch")]  # fmt: skip


def tall() -> list[Sample]:
    """Those of them in which no matrix is wide: the signs of their singular vectors agree among libraries."""
    return [s for s in rectangles() if s.note != "wide"]


def hermitian() -> list[Sample]:
    """Positive-definite matrices."""
    return [Sample(args=(symmetric(),)), Sample(args=(symmetric(2),), note="batch")]
