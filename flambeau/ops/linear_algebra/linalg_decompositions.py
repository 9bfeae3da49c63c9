"""Decompositions of Cholesky, and into Q and R."""

from __future__ import annotations

from typing import Any, Final

from flambeau.ops.families.arrays import Array
from flambeau.ops.families.matrices import (
    LAID_OUT_BY_LAPACK,
    LinAlgError,
    adjoint,
    batch_rank,
    called_self,
    check_floats,
    check_matrix,
    check_same_dtype,
    check_square,
    columns,
    dtypes_of,
    first_of_batch,
    hermitian,
    matrices_rank,
    rectangles,
    right,
    rows,
    same,
    solved_rank,
    square_sizes,
    symmetric,
    vectors_rank,
)
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.rules import same_dtype
from flambeau.schema.dtype import float32, float64, int32
from flambeau.schema.opdef import UNKNOWN, ErrorSample, Sample, Sizes
from flambeau.schema.traits import Traits
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import wrap
from flambeau.util import blas

ULP: Final = {float32: 256.0, float64: 256.0}
NOT_POSITIVE: Final = (
    "The factorization could not be completed because the input is not positive-definite (the leading minor of order "
    "{} is not positive-definite)."
)

# -- Cholesky ---------------------------------------------------------------------------------------------------------


def _minor_order(matrix: Array) -> int:
    """The order of the first leading minor that is not positive-definite."""
    low, high = 1, len(matrix)
    while low < high:
        middle = (low + high) // 2
        try:
            blas.linalg.cholesky(matrix[:middle, :middle])
            low = middle + 1
        except np.linalg.LinAlgError:
            high = middle
    return low


def _cholesky(name: str, A: Array, upper: bool) -> tuple[Array, Array]:
    """The factor of every matrix (nan for one that has none), and which minor is not positive-definite (0: none)."""
    check_square(name, A)
    check_floats(name, A)
    lower = adjoint(A) if upper else A
    info = np.zeros(A.shape[:-2], np.int32)
    try:
        with np.errstate(all="ignore"):
            factor = blas.linalg.cholesky(lower)
    except np.linalg.LinAlgError:
        factor = np.full(A.shape, np.nan, A.dtype)
        for index in np.ndindex(A.shape[:-2]):
            try:
                factor[index] = blas.linalg.cholesky(lower[index])
            except np.linalg.LinAlgError:
                info[index] = _minor_order(lower[index])
    return columns(adjoint(factor) if upper else factor), info


def cholesky_ex_kernel(self: Array, upper: bool = False, check_errors: bool = False) -> tuple[Array, Array]:
    """The factor (nan where there is none), and which minor is not positive-definite (0: none)."""
    factor, info = _cholesky("linalg.cholesky_ex", self, upper)
    if check_errors:
        first_of_batch("linalg.cholesky_ex", info, NOT_POSITIVE.format)
    return factor, info


def cholesky_kernel(self: Array, upper: bool = False) -> Array:
    """Raises LinAlgError for a matrix that is not positive-definite."""
    factor, info = _cholesky("linalg.cholesky", self, upper)
    first_of_batch("linalg.cholesky", info, NOT_POSITIVE.format)
    return factor


def old_cholesky_kernel(self: Array, upper: bool = False) -> Array:
    """The Cholesky factor, with the older name in its error messages."""
    factor, info = _cholesky("cholesky", self, upper)
    first_of_batch("cholesky", info, NOT_POSITIVE.format)
    return factor


def cholesky_solve_kernel(self: Array, input2: Array, upper: bool = False) -> Array:
    """X of `A @ X = self` from the factor of A."""
    for name, array in (("b", self), ("u", input2)):
        if array.ndim < 2:
            raise RuntimeError(f"{name} should have at least 2 dimensions, but has {array.ndim} dimensions instead")
    check_square("cholesky_solve", input2)
    check_same_dtype("cholesky_solve", self, input2, ("b", "A"))
    factor = adjoint(np.triu(input2)) if upper else np.tril(input2)
    with np.errstate(all="ignore"):
        return columns(blas.linalg.solve(blas.matmul(factor, adjoint(factor)), self))


def cholesky_inverse_kernel(self: Array, upper: bool = False) -> Array:
    """The inverse of A from its factor."""
    check_square("cholesky_inverse", self)
    factor = adjoint(np.triu(self)) if upper else np.tril(self)
    with np.errstate(all="ignore"):
        inner = blas.linalg.inv(factor)
        return columns(blas.matmul(adjoint(inner), inner))


# -- QR ---------------------------------------------------------------------------------------------------------------


def qr_kernel(A: Array, mode: str = "reduced") -> tuple[Array, Array]:
    """Q with orthonormal columns and an upper R with `A = Q @ R`; mode 'r' leaves Q out."""
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    check_matrix("linalg.qr", A)
    check_floats("linalg.qr", A)
    tall, wide = A.shape[-2:]
    if 0 in A.shape[-2:]:
        count = tall if mode == "complete" else min(tall, wide)
        q = np.broadcast_to(np.eye(tall, count, dtype=A.dtype), (*A.shape[:-2], tall, count))
        r = np.zeros((*A.shape[:-2], count, wide), A.dtype)
        return (np.empty(0, A.dtype), r) if mode == "r" else (columns(q), columns(r))
    with np.errstate(all="ignore"):
        if mode == "r":
            return np.empty(0, A.dtype), columns(np.asarray(blas.linalg.qr(A, mode="r")))
        q, r = blas.linalg.qr(A, mode="complete" if mode == "complete" else "reduced")
    return columns(q), columns(r)


def geqrf_kernel(self: Array) -> tuple[Array, Array]:
    """R with the Householder vectors below its diagonal, and their scales."""
    check_matrix("torch.geqrf", self, "input")
    check_floats("torch.geqrf", self)
    packed, scales = blas.linalg.qr(self, mode="raw")
    return columns(packed.swapaxes(-1, -2)), rows(scales)


def householder_kernel(input: Array, tau: Array) -> Array:
    """The first columns of the product of the reflections `I - tau v v^H`."""
    name = "torch.linalg.householder_product"
    check_matrix(name, input, "input")
    tall, wide = input.shape[-2:]
    if tall < wide:
        raise RuntimeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if wide < tau.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    result = np.broadcast_to(np.eye(tall, wide, dtype=input.dtype), input.shape).copy()
    for k in reversed(range(tau.shape[-1])):
        result = _reflected(input, tau, k, result)
    return columns(result)


def _reflected(packed: Array, tau: Array, k: int, x: Array, conjugate: bool = False) -> Array:
    vector = np.zeros((*packed.shape[:-2], packed.shape[-2], 1), packed.dtype)
    vector[..., k + 1 :, 0] = packed[..., k + 1 :, k]
    vector[..., k, 0] = 1
    scale = tau[..., k, None, None]
    return np.asarray(x - (scale.conj() if conjugate else scale) * vector * blas.matmul(adjoint(vector), x))


def ormqr_kernel(self: Array, input2: Array, input3: Array, left: bool = True, transpose: bool = False) -> Array:
    """Q of a `geqrf` (or its adjoint) times `input3`, from the left or the right."""
    x = input3 if left else adjoint(input3)
    is_adjoint = transpose == left
    steps = range(input2.shape[-1])
    for k in steps if is_adjoint else reversed(steps):
        x = _reflected(self, input2, k, x, is_adjoint)
    return columns(x if left else adjoint(x))


# -- declarations -----------------------------------------------------------------------------------------------------


def _twice(A: TensorType) -> tuple[Sizes | None, ...]:
    return (matrices_rank(A),) * 2


def _qr_rank(A: TensorType, mode: Any) -> tuple[Sizes | None, ...]:
    return (None if mode is UNKNOWN else (0,) if mode == "r" else None, None) if mode in (UNKNOWN, "r") else _twice(A)


def _indefinite(name: str) -> list[ErrorSample]:
    matrix = np.array([[1, 2], [2, 1]], np.float32)
    return [
        ErrorSample(args=(wrap(matrix),), error=LinAlgError,
                    message=f"{name}: The factorization could not be completed because the input is not positive-"
                    "definite (the leading minor of order 2 is not positive-definite)."),
        ErrorSample(args=(wrap(np.stack([matrix] * 2)),), error=LinAlgError, message=f"{name}: (Batch element 0): "),
    ]  # fmt: skip


def _declare_cholesky() -> None:
    both = dtypes_of(same, lambda _: int32)
    pair = lambda A: (square_sizes(A), batch_rank(A))  # noqa: E731
    declare(
        "aten::linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor",
        outs=("out",), kernel=cholesky_kernel, dtype=same_dtype, shape=called_self(square_sizes), samples=hermitian,
        errors=lambda: _indefinite("linalg.cholesky"), reference=np.linalg.cholesky, ulp=ULP, is_method=False,
        traits=LAID_OUT_BY_LAPACK,
        doc="A lower L with `A = L @ L.mH`, or an upper one. Raises LinAlgError unless A is positive-definite.",
    )  # fmt: skip
    declare(
        "aten::cholesky(Tensor self, bool upper=False) -> Tensor",
        outs=("out",), kernel=old_cholesky_kernel, dtype=same_dtype, shape=called_self(square_sizes),
        samples=lambda: [*hermitian(), Sample(args=(symmetric(), True), note="upper")],
        errors=lambda: _indefinite("cholesky"), ulp=ULP,
        traits=Traits(layout_by_trial=True, instead="linalg.cholesky(A), or linalg.cholesky(A).mH for upper=True"),
        doc="A lower L with `A = L @ L.mH`, or an upper one; `linalg.cholesky` under its old name.",
    )  # fmt: skip
    declare(
        "aten::linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor "
        "info)",
        outs=("L(L, info)",), kernel=cholesky_ex_kernel, dtype=called_self(both), shape=called_self(pair),
        samples=hermitian, ulp=ULP, is_method=False,
        traits=LAID_OUT_BY_LAPACK,
        doc="The factor, and for each matrix 0 or which minor is not positive-definite.",
    )  # fmt: skip
    declare(
        "aten::cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor",
        outs=("out",), kernel=cholesky_solve_kernel, dtype=same_dtype,
        shape=lambda self, input2: solved_rank(input2, self),
        samples=lambda: [Sample(args=(right(2), wrap(cholesky_kernel(symmetric(2)._array))))], ulp=ULP,
        traits=LAID_OUT_BY_LAPACK,
        doc="X of `A @ X = self` from the Cholesky factor of A.",
    )  # fmt: skip
    declare(
        "aten::cholesky_inverse(Tensor self, bool upper=False) -> Tensor",
        outs=("out",), kernel=cholesky_inverse_kernel, dtype=same_dtype, shape=called_self(square_sizes),
        samples=lambda: [Sample(args=(wrap(cholesky_kernel(symmetric()._array)),))], ulp=ULP,
        traits=LAID_OUT_BY_LAPACK,
        doc="The inverse of A from its Cholesky factor.",
    )  # fmt: skip


def _declare_qr() -> None:
    declare(
        'aten::linalg_qr(Tensor A, str mode="reduced") -> (Tensor Q, Tensor R)',
        outs=("out",), kernel=qr_kernel, dtype=dtypes_of(same, same), shape=_qr_rank, ulp=ULP, is_method=False,
        samples=lambda: [*rectangles(), *(Sample(args=(*s.args, "complete"), note=f"{s.note}, complete")
                                           for s in rectangles())],
        errors=lambda: [ErrorSample(args=(right(), "full"), error=RuntimeError,
                                    message="qr received unrecognized mode 'full' but expected one of 'reduced'")],
        doc="Q with orthonormal columns and an upper R with `A = Q @ R`; mode 'complete' has all of Q, 'r' none of it.",
    )  # fmt: skip
    declare(
        "aten::qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)",
        outs=("Q",), kernel=lambda self, some=True: qr_kernel(self, "reduced" if some else "complete"), ulp=ULP,
        dtype=called_self(dtypes_of(same, same)), shape=called_self(_twice), samples=rectangles,
        traits=Traits(instead="linalg.qr(A), or linalg.qr(A, 'complete') for some=False"),
        doc="`linalg.qr` under its old name.",
    )  # fmt: skip
    declare(
        "aten::geqrf(Tensor self) -> (Tensor a, Tensor tau)",
        outs=("a",), kernel=geqrf_kernel, dtype=called_self(dtypes_of(same, same)), ulp=ULP, samples=rectangles,
        shape=lambda self: (matrices_rank(self), vectors_rank(self)),
        doc="R with the Householder vectors of Q below its diagonal, and their scales.",
    )  # fmt: skip
    for name in ("linalg_householder_product(Tensor input, Tensor tau)", "orgqr(Tensor self, Tensor input2)"):
        is_old = name.startswith("orgqr")
        declare(
            f"aten::{name} -> Tensor",
            outs=("out",),
            kernel=(lambda self, input2: householder_kernel(self, input2)) if is_old else householder_kernel,
            dtype=same_dtype if is_old else (lambda input: input.dtype), is_method=is_old, ulp=ULP,
            shape=called_self(matrices_rank) if is_old else (lambda input: matrices_rank(input)),
            samples=lambda: [Sample(args=tuple(map(wrap, geqrf_kernel(rectangles()[0].args[0]._array))))],
            doc="The first columns of Q from what `geqrf` gives.",
        )  # fmt: skip
    declare(
        "aten::ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor",
        outs=("out",), kernel=ormqr_kernel, dtype=same_dtype, shape=lambda input3: matrices_rank(input3), ulp=ULP,
        samples=lambda: [Sample(args=(*map(wrap, geqrf_kernel(symmetric()._array)), right(), True, flag))
                         for flag in (False, True)],
        doc="Q from what `geqrf` gives (or its adjoint) times a matrix, from the left or the right.",
    )  # fmt: skip


_declare_cholesky()
_declare_qr()
