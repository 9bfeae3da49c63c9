"""The factors L and D of symmetric and Hermitian matrices, D of blocks of one or two, and systems solved with them.

`A = P @ L @ D @ L.T @ P.T` by the pivoting of Bunch and Kaufman (Mathematics of Computation 31, 1977), packed and
counted as LAPACK's `sytrf` does: a pivot above 0 is the row that its row was exchanged with, counted from 1; two equal
ones below 0 stand for a block of two, whose second row was.
"""

from __future__ import annotations

from math import sqrt
from typing import Any, Final

from flambeau.ops.families.arrays import Array
from flambeau.ops.families.matrices import (
    LAID_OUT_BY_LAPACK,
    batch_rank,
    check_floats,
    check_matrix,
    check_same_dtype,
    check_square,
    columns,
    matrices_rank,
    right,
    solved_rank,
    symmetric,
    vectors_rank,
)
from flambeau.ops.families.opaque import declare
from flambeau.schema.dtype import float32, float64, int32
from flambeau.schema.opdef import ErrorSample, Sample
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import np
from flambeau.tensor.layout import broadcast
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util import blas

GROWTH: Final = (1 + sqrt(17)) / 8
"""Below this part of the largest element of its column, a diagonal element is no pivot: it bounds how elements grow."""
ULP: Final = {float32: 512.0, float64: 512.0}
ZERO_PIVOT: Final = (
    "{name}: D[{row},{row}] is zero, so that systems have no solution: linalg.ldl_factor_ex(A) gives the factors "
    "all the same"
)


def ldl_factor_ex_kernel(
    self: Array, hermitian: bool = False, check_errors: bool = False, name: str = "linalg.ldl_factor_ex"
) -> tuple[Array, Array, Array]:
    """L and D in one matrix, the pivots, and the place of a zero on the diagonal of D (0: none)."""
    check_square(f"torch.{name}", self)
    check_floats(f"torch.{name}", self)
    packed = np.tril(self)
    size = self.shape[-1]
    pivots = np.empty(self.shape[:-1], np.int32)
    info = np.zeros(self.shape[:-2], np.int32)
    is_hermitian = hermitian and np.iscomplexobj(self)
    for index in np.ndindex(*self.shape[:-2]):
        info[index] = _factor(packed[index], pivots[index], is_hermitian)
    if check_errors and info.any():
        row = int(info.ravel()[np.flatnonzero(info)[0]])
        raise RuntimeError(ZERO_PIVOT.format(name=f"torch.{name}", row=row))
    return columns(packed) if size else packed, pivots, info


def ldl_factor_kernel(self: Array, hermitian: bool = False) -> tuple[Array, Array]:
    """Raises RuntimeError where D has a zero on its diagonal."""
    return ldl_factor_ex_kernel(self, hermitian, True, "linalg.ldl_factor")[:2]


def _factor(a: Array, pivots: Array, is_hermitian: bool) -> int:
    """Factor the lower triangle of a matrix in place; the number of the first zero pivot, 0 if there is none."""
    size, info, k = len(a), 0, 0
    while k < size:
        column = _size_of(a[k + 1 :, k])
        diagonal = float(_size_of(a[k, k].real if is_hermitian else a[k, k]))
        largest = _largest(column)
        if not max(diagonal, largest) > 0:  # zero, or nan
            info = info or k + 1
            pivots[k] = k + 1
            k += 1
            continue
        is_large = diagonal >= GROWTH * largest
        row, width = (k, 1) if is_large else _pivot(a, k, k + 1 + int(column.argmax()), is_hermitian)
        if is_hermitian:
            a[k, k] = a[k, k].real
        _exchange(a, k, k + width - 1, row, is_hermitian)
        _eliminate(a, k, width, is_hermitian)
        pivots[k : k + width] = row + 1 if width == 1 else -(row + 1)
        k += width
    return info


def _pivot(a: Array, k: int, other: int, is_hermitian: bool) -> tuple[int, int]:
    """Which row becomes the next, and how many rows the block has, where the diagonal element is small."""
    diagonal = float(_size_of(a[k, k].real if is_hermitian else a[k, k]))
    largest = float(_size_of(a[other, k]))
    in_row = max(float(_size_of(a[other, k:other]).max()), _largest(_size_of(a[other + 1 :, other])))
    if diagonal >= GROWTH * largest * (largest / in_row):
        return k, 1
    own = float(_size_of(a[other, other].real if is_hermitian else a[other, other]))
    return (other, 1) if own >= GROWTH * in_row else (other, 2)


def _largest(sizes: Array) -> float:
    """The largest of some numbers, 0 where there are none."""
    return float(sizes.max()) if sizes.size else 0.0


def _size_of(x: Any) -> Array:
    """How large elements count as: of complex ones the sum of both parts, as LAPACK has it."""
    sizes: Array = np.abs(x.real) + np.abs(x.imag) if np.iscomplexobj(x) else np.abs(x)
    return sizes


def _exchange(a: Array, k: int, at: int, row: int, is_hermitian: bool) -> None:
    """Exchange two rows and columns of what is left to factor."""
    if row == at:
        if is_hermitian:
            a[at, at] = a[at, at].real
        return
    below = a[row + 1 :, at].copy()
    a[row + 1 :, at], a[row + 1 :, row] = a[row + 1 :, row], below
    between, across = a[at + 1 : row, at].copy(), a[row, at + 1 : row].copy()
    a[at + 1 : row, at], a[row, at + 1 : row] = across, between
    if is_hermitian:
        a[at + 1 : row, at], a[row, at + 1 : row] = np.conj(across), np.conj(between)
        a[row, at] = np.conj(a[row, at])
    first, second = a[at, at], a[row, row]
    a[at, at], a[row, row] = (second.real, first.real) if is_hermitian else (second, first)
    if at != k:
        a[at, k], a[row, k] = a[row, k], a[at, k]


def _eliminate(a: Array, k: int, width: int, is_hermitian: bool) -> None:
    """Take a block of D out of what is below it, and leave the columns of L in its place."""
    block, panel = _symmetric(a[k : k + width, k : k + width], is_hermitian), a[k + width :, k : k + width]
    if not len(panel):
        return
    factors = panel / block if width == 1 else blas.linalg.solve(block.T, panel.T).T
    rest = a[k + width :, k + width :]
    rest -= np.tril(factors @ (np.conj(panel) if is_hermitian else panel).swapaxes(0, 1))
    if is_hermitian:
        np.fill_diagonal(rest, rest.diagonal().real)
    panel[...] = factors


def _symmetric(block: Array, is_hermitian: bool) -> Array:
    """A block of D with both triangles, from the lower one."""
    if len(block) == 1:
        return block
    other = np.conj(block[1, 0]) if is_hermitian else block[1, 0]
    return np.array([[block[0, 0], other], [block[1, 0], block[1, 1]]], block.dtype)


def ldl_solve_kernel(LD: Array, pivots: Array, B: Array, hermitian: bool = False) -> Array:
    """X of `A @ X = B` from the factors of A."""
    name = "torch.linalg.ldl_solve"
    check_matrix(name, B, "B")
    check_square(name, LD, "LD")
    check_floats(name, LD)
    if pivots.dtype.kind not in "iu":
        raise RuntimeError(f"{name}: Expected pivots to be integers. Got {wrap(pivots).dtype.display}")
    if LD.shape[:-1] != pivots.shape:
        raise RuntimeError(
            f"{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{list(pivots.shape)} instead"
        )
    if LD.shape[-1] != B.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for {name}: each A matrix is {LD.shape[-1]} by {LD.shape[-1]} but each b "
            f"matrix is {B.shape[-2]} by {B.shape[-1]}"
        )
    check_same_dtype(name, LD, B, ("A", "b"))
    batch = broadcast(LD.shape[:-2], B.shape[:-2])
    solution = np.array(np.broadcast_to(B, (*batch, *B.shape[-2:])))
    factors, rows = np.broadcast_to(LD, (*batch, *LD.shape[-2:])), np.broadcast_to(pivots, (*batch, LD.shape[-1]))
    for index in np.ndindex(*batch):
        _solve(factors[index], rows[index].tolist(), solution[index], hermitian and np.iscomplexobj(LD))
    return columns(solution)


def _solve(packed: Array, pivots: list[int], x: Array, is_hermitian: bool) -> None:
    """Solve in place: down through L and D, and up through the transpose of L."""
    steps = _steps(pivots)
    for k, width, row in steps:
        at = k + width - 1
        x[[at, row]] = x[[row, at]]
        x[k + width :] -= packed[k + width :, k : k + width] @ x[k : k + width]
        block = _symmetric(packed[k : k + width, k : k + width], is_hermitian)
        x[k : k + width] = x[k : k + width] / block if width == 1 else blas.linalg.solve(block, x[k : k + width])
    for k, width, row in reversed(steps):
        panel = packed[k + width :, k : k + width]
        x[k : k + width] -= (np.conj(panel) if is_hermitian else panel).swapaxes(0, 1) @ x[k + width :]
        at = k + width - 1
        x[[at, row]] = x[[row, at]]


def _steps(pivots: list[int]) -> list[tuple[int, int, int]]:
    """The blocks of D from the first one on: where each begins, its rows, and which row came to its last."""
    steps, k = [], 0
    while k < len(pivots):
        width = 1 if pivots[k] >= 0 else 2
        row = max(abs(pivots[k]) - 1, 0)
        if k + width > len(pivots) or row >= len(pivots):
            raise IndexError(f"torch.linalg.ldl_solve: pivots must be those of ldl_factor, but got {pivots}")
        steps.append((k, width, row))
        k += width
    return steps


# -- declarations -----------------------------------------------------------------------------------------------------


def _indefinite(*batch: int) -> Tensor:
    """Matrices with zeros on the diagonal, which need blocks of two."""
    return wrap(np.broadcast_to(np.array([[0, 2, 1], [2, 0, 3], [1, 3, 4]], np.float32), (*batch, 3, 3)).copy())


def _factors(*batch: int) -> tuple[Tensor, Tensor]:
    packed, pivots = ldl_factor_kernel(_indefinite(*batch)._array)
    return wrap(packed), wrap(pivots)


def _samples() -> list[Sample]:
    return [Sample(args=(symmetric(2),)), Sample(args=(_indefinite(),), note="indefinite"),
            Sample(args=(_indefinite(2),), kwargs={"hermitian": True}, note="hermitian")]  # fmt: skip


def _ranks(self: TensorType) -> tuple[Any, Any]:
    return matrices_rank(self), vectors_rank(self)


declare(
    "aten::linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> (Tensor LD, Tensor "
    "pivots, Tensor info)",
    outs=("out",), kernel=lambda self, hermitian, check_errors: ldl_factor_ex_kernel(self, hermitian, check_errors),
    dtype=lambda self: (self.dtype, int32, int32), shape=lambda self: (*_ranks(self), batch_rank(self)),
    samples=_samples, ulp=ULP, is_method=False,
    errors=lambda: [ErrorSample(args=(wrap(np.zeros((2, 2))),), kwargs={"check_errors": True}, error=RuntimeError,
                                message="D[1,1] is zero")],
    doc="L and D of a symmetric matrix in one, the pivots, and the place of a zero on the diagonal of D (0: none).",
)  # fmt: skip
declare(
    "aten::linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)",
    outs=("out",), kernel=ldl_factor_kernel, dtype=lambda self: (self.dtype, int32), shape=_ranks, samples=_samples,
    ulp=ULP, is_method=False,
    errors=lambda: [ErrorSample(args=(wrap(np.zeros((2, 2))),), error=RuntimeError, message="D[1,1] is zero"),
                    ErrorSample(args=(wrap(np.zeros((2, 3))),), error=RuntimeError,
                                message="A must be batches of square matrices, but they are 2 by 3 matrices")],
    doc="L and D of a symmetric matrix in one matrix, and the pivots: only the lower triangle is read.",
)  # fmt: skip
declare(
    "aten::linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor",
    outs=("out",), kernel=ldl_solve_kernel, ulp=ULP, is_method=False, dtype=lambda LD: LD.dtype,
    shape=lambda LD, B: solved_rank(LD, B),
    samples=lambda: [Sample(args=(*_factors(2), right(2))), Sample(args=(*_factors(), right()), note="one matrix")],
    traits=LAID_OUT_BY_LAPACK,
    doc="X of `A @ X = B` from the factors of a symmetric A.",
)  # fmt: skip
