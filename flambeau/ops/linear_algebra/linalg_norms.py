"""Norms of matrices, and what is told by them: condition and rank."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any, Final

from flambeau.ops.families.arrays import (
    Array,
    as_dtype,
    contiguous,
    dtype_of,
    is_inexact,
    one_dim,
    reduce_with,
    rounded,
    widened,
)
from flambeau.ops.families.matrices import (
    batch_rank,
    check_floats,
    check_matrix,
    check_square,
    real,
    rectangles,
    square,
)
from flambeau.ops.families.numpy_cast import cast
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.rows import Row
from flambeau.ops.families.rules import real_dtype, reduced_shape, to_int64
from flambeau.ops.spread import norm_rows, vector_norm_kernel
from flambeau.schema.dtype import Category, DType, float32, float64
from flambeau.schema.opdef import ErrorSample, Sample, Sizes
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import wrap
from flambeau.util import blas

ULP: Final = {float32: 256.0, float64: 256.0}
Order = float | str | None
_BY_SUMS: Final = (1, -1, inf, -inf)


def _checked_dtype(name: str, array: Array, dtype: DType | int | None) -> Array:
    """The array as the dtype asked for. Raises RuntimeError for one that loses something."""
    asked = as_dtype(dtype)
    if asked is None:
        return array
    own = dtype_of(array)
    if asked.category < Category.FLOAT:
        raise RuntimeError(f"{name}: dtype should be floating point or complex, but got {asked.display}")
    if asked.is_complex != own.is_complex:
        kinds = ("complex", "complex") if own.is_complex else ("real", "real")
        raise RuntimeError(f"{name}: dtype should be {kinds[0]} for {kinds[1]} inputs, but got {asked.display}")
    if asked.itemsize < own.itemsize:
        raise RuntimeError(
            f"{name}: the dtype of the input ({own.display}) should be convertible without narrowing to the specified "
            f"dtype ({asked.display})"
        )
    return np.asarray(cast(array, asked))


def matrix_norm_kernel(
    self: Array,
    ord: Order = "fro",
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    dtype: DType | int | None = None,
) -> Array:
    """'fro' (the root of the sum of squares), 'nuc' (the sum of singular values), +-2 (the largest, the smallest),
    +-1 and +-inf (sums of columns and rows)."""
    name = "linalg.matrix_norm"
    check_matrix(name, self)
    if not is_inexact(self):
        check_floats(name, self)
    dims = _two_dims(name, self, dim)
    if not _is_matrix_order(ord):
        raise RuntimeError(f"{name}: Order {ord} not supported.")
    if ord == "fro":
        return vector_norm_kernel(self, 2, tuple(dim), keepdim, dtype)
    if dtype_of(self).itemsize == 2 and ord in ("nuc", 2, -2):
        check_floats("linalg.svd", self)
    array = _checked_dtype(name, self, dtype)
    matrices = np.moveaxis(array, dims, (-2, -1))
    with np.errstate(all="ignore"):
        norms = _by_sums(matrices, ord) if ord in _BY_SUMS else _by_singular_values(matrices, ord)
    norms = np.asarray(norms)
    if keepdim:
        norms = norms.reshape([1 if d in dims else s for d, s in enumerate(self.shape)])
    return contiguous(rounded(norms, array.real.dtype))


def _two_dims(name: str, array: Array, dim: Sequence[int]) -> list[int]:
    """The two dimensions of the matrices, counted from the first."""
    if len(dim) != 2:
        raise RuntimeError(f"{name}: dim must be a 2-tuple. Got {', '.join(map(str, dim))}")
    dims = [one_dim(d, array.ndim) for d in dim]
    if dims[0] == dims[1]:
        raise RuntimeError(f"{name}: dims must be different. Got ({dim[0]}, {dim[1]})")
    return dims


def _is_matrix_order(ord: Order) -> bool:
    return ord in ("fro", "nuc") if isinstance(ord, str) else ord is not None and abs(ord) in (1, 2, inf)


def _by_sums(matrices: Array, ord: Order) -> Array:
    sizes = np.abs(widened(matrices))
    along = sizes.sum(axis=-2 if ord in (1, -1) else -1)
    if along.shape[-1] == 0 and ord in (1, inf):
        return np.zeros(along.shape[:-1], along.dtype)
    if along.shape[-1] == 0:
        raise IndexError("linalg.matrix_norm: a norm that is a minimum has no value for a matrix without elements")
    return reduce_with(np.maximum if ord in (1, inf) else np.minimum, along, axis=-1)


def _by_singular_values(matrices: Array, ord: Order) -> Array:
    if 0 in matrices.shape[-2:]:
        return np.zeros(matrices.shape[:-2], matrices.real.dtype)
    is_finite = reduce_with(np.logical_and, np.isfinite(matrices), axis=(-2, -1), keepdims=True)[..., 0]
    values = np.where(is_finite, _finite_values(matrices), np.nan)
    return np.asarray(values.sum(-1) if ord == "nuc" else values[..., 0] if ord == 2 else values[..., -1])


def _finite_values(matrices: Array) -> Array:
    values: Array = blas.linalg.svd(np.nan_to_num(matrices, posinf=0, neginf=0), compute_uv=False)
    return values


def norm_kernel(
    self: Array,
    ord: Order = None,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: DType | int | None = None,
) -> Array:
    """A norm of vectors or, over two dimensions, of matrices; without `ord` that of all elements."""
    _check_norm_dims(self, ord, dim)
    if isinstance(ord, str):
        return matrix_norm_kernel(self, ord, (-2, -1) if dim is None else dim, keepdim, dtype)
    rank = self.ndim if dim is None else len(dim)
    if ord is not None and rank == 2:
        return matrix_norm_kernel(self, ord, (0, 1) if dim is None else dim, keepdim, dtype)
    return vector_norm_kernel(self, 2 if ord is None else ord, None if dim is None else tuple(dim), keepdim, dtype)


def _norm_rows(ndim: int, dtype: np.dtype[Any], ord: Order, dim: Any, keepdim: bool) -> Row | None:
    return norm_rows(ndim, dtype, dim=dim, keepdim=keepdim) if ord is None else None


def _check_norm_dims(array: Array, ord: Order, dim: Sequence[int] | None) -> None:
    if dim is not None and (len(dim) > 2 or (ord is not None and not dim)):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dim)}")
    if dim is None and ord is not None and array.ndim not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {array.ndim}D."
        )


def condition_kernel(self: Array, p: Order = None) -> Array:
    """The norm of a matrix times that of its inverse; inf for a singular one."""
    name = "linalg.cond"
    check_matrix(name, self)
    check_floats(name, self)
    if p is None or (not isinstance(p, str) and abs(p) == 2):
        with np.errstate(all="ignore"):
            largest = matrix_norm_kernel(self, 2)
            smallest = matrix_norm_kernel(self, -2)
            return np.asarray(smallest / largest if p == -2 else largest / smallest)
    if p not in ("fro", "nuc", *_BY_SUMS):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p if isinstance(p, str) else f'{p:g}'}")
    check_square(f"linalg.cond(ord={p if isinstance(p, str) else f'{p:g}'})", self)
    is_singular = np.asarray(blas.linalg.det(self) == 0)
    safe = np.where(is_singular[..., None, None], np.eye(self.shape[-1], dtype=self.dtype), self)
    inverse = np.where(is_singular[..., None, None], np.inf, blas.linalg.inv(safe)).astype(self.dtype, copy=False)
    with np.errstate(all="ignore"):
        sizes = matrix_norm_kernel(self, p) * _norm_or_inf(inverse, p)
        return np.asarray(np.where(is_singular, np.inf, sizes)).astype(self.real.dtype, copy=False)


def _norm_or_inf(array: Array, p: Order) -> Array:
    return matrix_norm_kernel(array, p)


def tolerance(values: Array, shape: tuple[int, ...], atol: Any, rtol: Any) -> Array:
    """Below which a singular value counts as zero, for each matrix: by default relative to the largest one."""
    epsilon = np.finfo(values.dtype).eps
    absolute = 0.0 if atol is None else atol
    if rtol is None:
        rtol = np.where(np.asarray(absolute) > 0, 0.0, epsilon * max(shape[-2:]))
    largest = reduce_with(np.maximum, values, axis=-1, initial=0)
    return np.asarray(np.maximum(absolute, np.asarray(rtol) * largest))


def rank_kernel(
    input: Array, tol: Any = None, atol: Any = None, rtol: Any = None, hermitian: bool = False
) -> Array:
    """How many singular values are not zero, up to a tolerance."""
    name = "torch.linalg.matrix_rank"
    check_matrix(name, input, "input")
    check_floats("linalg.eigh" if hermitian else "linalg.svd", input)
    if 0 in input.shape[-2:]:
        return np.zeros(input.shape[:-2], np.int64)
    values = np.abs(blas.linalg.eigvalsh(input)) if hermitian else blas.linalg.svd(input, compute_uv=False)
    bound = tolerance(values, input.shape, atol, rtol) if tol is None else np.asarray(tol)
    return np.asarray((values > bound[..., None]).sum(-1, dtype=np.int64))


# -- declarations -----------------------------------------------------------------------------------------------------


def _matrix_norm_shape(self: TensorType, dim: Any, keepdim: Any) -> Sizes | None:
    return reduced_shape(self, dim, keepdim)


def _rank_of_self(self: TensorType) -> Sizes | None:
    return batch_rank(self)


def _samples() -> list[Sample]:
    orders = ("fro", "nuc", 2, -2, 1, -1, inf, -inf)
    return [
        *(Sample(args=(square(2), order), note=str(order)) for order in orders if not isinstance(order, str)),
        Sample(args=(square(), 1, [0, 1], True), note="keepdim"),
    ]


declare(
    "aten::linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? "
    "dtype=None) -> Tensor",
    'aten::linalg_matrix_norm.str_ord(Tensor self, str ord="fro", int[] dim=[-2, -1], bool keepdim=False, *, '
    "ScalarType? dtype=None) -> Tensor",
    outs=("out", "str_ord_out"), kernel=matrix_norm_kernel, dtype=real_dtype, shape=_matrix_norm_shape,
    samples=_samples, ulp=ULP, is_method=False,
    errors=lambda: [
        ErrorSample(args=(wrap(np.ones(2)),), error=RuntimeError, message="must have at least 2 dimensions"),
        ErrorSample(args=(square(), "x"), error=RuntimeError, message="linalg.matrix_norm: Order x not supported."),
        ErrorSample(args=(square(), 3), error=RuntimeError, message="linalg.matrix_norm: Order 3 not supported."),
        ErrorSample(args=(square(), 1, [0, 0]), error=RuntimeError, message="dims must be different. Got (0, 0)"),
        ErrorSample(args=(square(), 1, [0]), error=RuntimeError, message="dim must be a 2-tuple. Got 0"),
    ],
    doc="A norm of matrices: 'fro', 'nuc', or 1, 2, inf and their negatives.",
)  # fmt: skip
declare(
    "aten::linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) "
    "-> Tensor",
    "aten::linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) "
    "-> Tensor",
    outs=("out", "ord_str_out"), kernel=norm_kernel, rows=_norm_rows, dtype=real_dtype,
    shape=lambda self, ord, dim, keepdim: reduced_shape(
        self, [-2, -1] if dim is None and ord in ("fro", "nuc") else dim, keepdim),
    samples=lambda: [Sample(args=(square(2),)), Sample(args=(square(), 1), note="matrix"),
                     Sample(args=(square(2), 3, [1]), note="vectors"),
                     Sample(args=(square(2), 1, [0, 2], True), note="keepdim")],
    errors=lambda: [
        ErrorSample(args=(square(2), 2), error=RuntimeError,
                    message="If dim is not specified but ord is, the input must be 1D or 2D. Got 3D."),
        ErrorSample(args=(square(2), "fro"), error=RuntimeError,
                    message="If dim is not specified but ord is, the input must be 1D or 2D. Got 3D."),
        ErrorSample(args=(square(2), 1, [0, 1, 2]), error=RuntimeError,
                    message="If dim is specified, it must be of length 1 or 2. Got [0, 1, 2]"),
    ],
    ulp=ULP, is_method=False, doc="A norm of vectors or, over two dimensions, of matrices.",
)  # fmt: skip
declare(
    "aten::linalg_cond(Tensor self, Scalar? p=None) -> Tensor",
    "aten::linalg_cond.p_str(Tensor self, str p) -> Tensor",
    outs=("out", "p_str_out"), kernel=condition_kernel, ulp=ULP, is_method=False,
    dtype=lambda self: None if self.dtype is None else real(self.dtype), shape=_rank_of_self,
    samples=lambda: [Sample(args=(square(2),)), Sample(args=(square(), 1)), Sample(args=(square(), -2))],
    errors=lambda: [ErrorSample(args=(square(), 3), error=RuntimeError,
                                message="linalg.cond got an invalid norm type: 3")],
    doc="How much a matrix may amplify errors: its norm times that of its inverse.",
)  # fmt: skip
declare(
    "aten::linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor",
    "aten::linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool "
    "hermitian=False) -> Tensor",
    outs=("out", "atol_rtol_float_out"),
    kernel=lambda self, tol=None, atol=None, rtol=None, hermitian=False: rank_kernel(self, tol, atol, rtol, hermitian),
    dtype=to_int64, shape=_rank_of_self, is_method=False,
    samples=lambda: [Sample(args=(square(2), 0.01))],
    errors=lambda: [ErrorSample(args=(wrap(np.ones(2)), 0.5), error=RuntimeError,
                                message="matrix_rank: The input tensor input must have at least 2 dimensions.")],
    doc="How many singular values are not zero, up to a tolerance.",
)  # fmt: skip
declare(
    "aten::linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) -> Tensor",
    "aten::linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? rtol=None, bool "
    "hermitian=False) -> Tensor",
    outs=("out_tol_tensor", "atol_rtol_tensor_out"), kernel=rank_kernel, dtype=to_int64,
    shape=lambda input: batch_rank(input), is_method=False,
)  # fmt: skip
declare(
    "aten::frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
    outs=("out",), kernel=lambda self, dim, keepdim=False: vector_norm_kernel(self, 2, tuple(dim), keepdim),
    dtype=real_dtype, shape=reduced_shape, samples=lambda: [Sample(args=(s.args[0], [0, 1])) for s in rectangles()],
    ulp=ULP, is_method=False, doc="The root of the sum of squares.",
)  # fmt: skip
declare(
    "aten::nuclear_norm(Tensor self, bool keepdim=False) -> Tensor",
    "aten::nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor",
    outs=("out", "dim_out"),
    kernel=lambda self, dim=(-2, -1), keepdim=False: matrix_norm_kernel(self, "nuc", dim, keepdim),
    dtype=real_dtype, shape=lambda self, keepdim, dim=(-2, -1): reduced_shape(self, dim, keepdim),
    samples=lambda: [Sample(args=(square(2),)), Sample(args=(square(),))], ulp=ULP, is_method=False,
    doc="The sum of singular values.",
)  # fmt: skip
