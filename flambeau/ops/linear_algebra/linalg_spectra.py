"""Eigenvalues and singular values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flambeau.ops.families.arrays import Array
from flambeau.ops.families.matrices import (
    LinAlgError,
    adjoint,
    called_self,
    check_floats,
    check_matrix,
    check_square,
    columns,
    dtypes_of,
    eye_like,
    hermitian,
    matrices_rank,
    real,
    rectangles,
    right,
    rows,
    same,
    square_sizes,
    symmetric,
    tall,
    vectors_rank,
)
from flambeau.ops.families.opaque import declare
from flambeau.schema.dtype import DType, float32, float64
from flambeau.schema.opdef import ErrorSample, Sample, Sizes
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import wrap
from flambeau.util import blas

ULP: Final = {float32: 256.0, float64: 256.0}
NO_DRIVER: Final = "{}: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."

# -- eigenvalues ------------------------------------------------------------------------------------------------------


def _check_hermitian(A: Array, uplo: str) -> bool:
    check_square("linalg.eigh", A)
    check_floats("linalg.eigh", A)
    if uplo.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {uplo}")
    return uplo.upper() == "U"


def eigh_kernel(self: Array, UPLO: str = "L") -> tuple[Array, Array]:
    """The eigenvalues in order, and the eigenvectors as columns, by one triangle of a Hermitian matrix."""
    values, vectors = _of_triangle(blas.linalg.eigh, self, UPLO)
    return np.asarray(values), columns(vectors)


def _of_triangle(function: Callable[..., Any], self: Array, UPLO: str) -> Any:
    """A function of one triangle. Raises LinAlgError where it does not come to an end."""
    upper = _check_hermitian(self, UPLO)
    with np.errstate(all="ignore"):
        try:
            return function(self, "U" if upper else "L")
        except np.linalg.LinAlgError:
            raise LinAlgError("linalg.eigh: The algorithm failed to converge because the input matrix is "
                              "ill-conditioned or has too many repeated eigenvalues.") from None  # fmt: skip


def eigvalsh_kernel(self: Array, UPLO: str = "L") -> Array:
    """The eigenvalues in order."""
    return np.asarray(_of_triangle(blas.linalg.eigvalsh, self, UPLO))


def eig_kernel(self: Array) -> tuple[Array, Array]:
    """Complex eigenvalues and eigenvectors. Raises RuntimeError for inf and nan."""
    check_square("linalg.eig", self)
    check_floats("linalg.eig", self)
    if not np.isfinite(self).all():
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    dtype = np.complex64 if self.dtype.itemsize == (8 if self.dtype.kind == "c" else 4) else np.complex128
    values, vectors = blas.linalg.eig(self)
    return np.asarray(values).astype(dtype, copy=False), columns(vectors.astype(dtype, copy=False))


# -- singular values --------------------------------------------------------------------------------------------------


def svd_kernel(A: Array, full_matrices: bool = True, driver: str | None = None) -> tuple[Array, Array, Array]:
    """U, the singular values from the largest, and the adjoint of V. Raises LinAlgError for inf and nan."""
    _check_svd(A, driver)
    tall, wide = A.shape[-2:]
    if 0 in A.shape[-2:]:
        u, vh = (eye_like(A, tall), eye_like(A, wide)) if full_matrices else (A[..., :, :0], A[..., :0, :])
        return columns(u), np.zeros((*A.shape[:-2], 0), A.real.dtype), columns(vh)
    u, s, vh = _finite_svd(A, full_matrices)
    return columns(u), np.asarray(s), columns(vh)


def _check_svd(A: Array, driver: str | None) -> None:
    check_matrix("linalg.svd", A)
    check_floats("linalg.svd", A)
    if driver is not None:
        raise RuntimeError(NO_DRIVER.format("torch.linalg.svd"))


def _finite_svd(A: Array, *options: bool) -> Any:
    if not np.isfinite(A).all():
        _svd_failed()
    try:
        return blas.linalg.svd(A, *options)
    except np.linalg.LinAlgError:
        _svd_failed()


def _svd_failed() -> None:
    raise LinAlgError(
        "linalg.svd: The algorithm failed to converge because the input matrix contained non-finite values."
    )


def svdvals_kernel(A: Array, driver: str | None = None) -> Array:
    """The singular values from the largest."""
    _check_svd(A, driver)
    if not A.size:
        return np.zeros((*A.shape[:-2], min(A.shape[-2:])), A.real.dtype)
    return np.asarray(_finite_svd(A, False, False))


def old_svd_kernel(self: Array, some: bool = True, compute_uv: bool = True) -> tuple[Array, Array, Array]:
    """U, the singular values, and V (not its adjoint); U and V are zeros unless asked for."""
    u, s, vh = svd_kernel(self, not some)
    if compute_uv:
        return u, s, rows(adjoint(vh))
    tall, wide = self.shape[-2:]
    batch = self.shape[:-2]
    return np.zeros((*batch, tall, tall), self.dtype), s, columns(np.zeros((*batch, wide, wide), self.dtype))


# -- declarations -----------------------------------------------------------------------------------------------------


def _three(A: TensorType) -> tuple[Sizes | None, ...]:
    return (matrices_rank(A), vectors_rank(A), matrices_rank(A))


def _complex(dtype: DType) -> DType:
    return dtype if dtype.is_complex else dtype.to_complex()


def _not_square() -> list[ErrorSample]:
    return [ErrorSample(args=(right(),), error=RuntimeError,
                        message="A must be batches of square matrices, but they are 3 by 2 matrices")]  # fmt: skip


def _declare_eigenvalues() -> None:
    real_and_same, complex_both = dtypes_of(real, same), dtypes_of(_complex, _complex)
    pair = lambda self: (vectors_rank(self), square_sizes(self))  # noqa: E731
    declare(
        'aten::linalg_eigh(Tensor self, str UPLO="L") -> (Tensor eigenvalues, Tensor eigenvectors)',
        outs=("eigvals(eigvals, eigvecs)",), kernel=eigh_kernel, dtype=called_self(real_and_same), shape=pair,
        samples=lambda: [Sample(args=(wrap(np.diag(np.array([3, 1], np.float32))),))], ulp=ULP, is_method=False,
        errors=lambda: [*_not_square(), ErrorSample(args=(symmetric(), "X"), error=RuntimeError,
                                                    message="Expected UPLO argument to be 'L' or 'U', but got X")],
        doc="Eigenvalues in order and eigenvectors of Hermitian matrices, by their lower triangle or the upper one.",
    )  # fmt: skip
    declare(
        'aten::linalg_eigvalsh(Tensor self, str UPLO="L") -> Tensor',
        outs=("out",), kernel=eigvalsh_kernel, dtype=lambda self: None if self.dtype is None else real(self.dtype),
        shape=called_self(vectors_rank), samples=hermitian, errors=_not_square, reference=np.linalg.eigvalsh,
        ulp=ULP, is_method=False, doc="The eigenvalues of Hermitian matrices in order.",
    )  # fmt: skip
    declare(
        "aten::linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)",
        outs=("out",), kernel=eig_kernel, dtype=called_self(complex_both), shape=pair, ulp=ULP, is_method=False,
        samples=lambda: [Sample(args=(wrap(np.diag(np.array([3, 1], np.float32))),))],
        errors=lambda: [*_not_square(), ErrorSample(args=(wrap(np.full((2, 2), np.nan)),), error=RuntimeError,
                                                    message="input tensor should not contain infs or NaNs.")],
        doc="Complex eigenvalues and eigenvectors of square matrices.",
    )  # fmt: skip
    declare(
        "aten::linalg_eigvals(Tensor self) -> Tensor",
        outs=("out",), kernel=lambda self: eig_kernel(self)[0], ulp=ULP, is_method=False, errors=_not_square,
        dtype=lambda self: None if self.dtype is None else _complex(self.dtype), shape=called_self(vectors_rank),
        samples=lambda: [Sample(args=(wrap(np.diag(np.array([3, 1], np.float32))),))],
        doc="The complex eigenvalues of square matrices.",
    )  # fmt: skip


def _not_finite() -> list[ErrorSample]:
    text = "linalg.svd: The algorithm failed to converge because the input matrix contained non-finite values."
    return [ErrorSample(args=(wrap(np.full((2, 2), np.inf)),), error=LinAlgError, message=text),
            ErrorSample(args=(wrap(np.ones((2, 2))),), kwargs={"driver": "gesvd"}, error=RuntimeError,
                        message="keyword argument `driver=` is only supported on CUDA inputs")]  # fmt: skip


def _declare_svd() -> None:
    dtypes = dtypes_of(same, real, same)
    declare(
        "aten::linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)",
        outs=("U(U, S, Vh)",), kernel=svd_kernel, dtype=dtypes, shape=_three, ulp=ULP, is_method=False,
        samples=lambda: [Sample(args=(*s.args, full), note=f"{s.note} {full}") for s in tall()
                         for full in (True, False)],
        errors=_not_finite, doc="U, the singular values from the largest, and the adjoint of V.",
    )  # fmt: skip
    declare(
        "aten::linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor",
        outs=("out",), kernel=svdvals_kernel, dtype=lambda A: None if A.dtype is None else real(A.dtype),
        shape=vectors_rank, samples=rectangles, errors=_not_finite, ulp=ULP, is_method=False,
        doc="The singular values from the largest.",
    )  # fmt: skip
    declare(
        "aten::svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)",
        outs=("U",), kernel=old_svd_kernel, dtype=called_self(dtypes), shape=called_self(_three), ulp=ULP,
        samples=lambda: [*tall(), *(Sample(args=(*s.args, True, False), note=f"{s.note}, values")
                                    for s in rectangles())],
        doc="U, the singular values, and V: `linalg.svd` under its old name.",
    )  # fmt: skip


_declare_eigenvalues()
_declare_svd()
