"""Variance, standard deviation, vector norms and log-sum-exp. Accumulated in float64 for float32 and smaller."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import inf, prod
from typing import Any, Final

from flambeau.ops.families.arrays import (
    Array,
    as_dtype,
    contiguous,
    dtype_of,
    is_inexact,
    reduce_with,
    rounded,
    some_dims,
    widened,
)
from flambeau.ops.families.numpy_cast import cast
from flambeau.ops.families.reduce import ULP, reduction
from flambeau.ops.families.rows import Row, folded, is_usual
from flambeau.ops.families.rules import real_dtype, reduced_pair, reduced_shape, to_float
from flambeau.ops.reductions import errors, mean_kernel
from flambeau.schema.dtype import Category, DType, complex128, float64
from flambeau.schema.opdef import ErrorSample
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import is_host_array, np
from flambeau.tensor.tensor import wrap
from flambeau.util.inversions import LARGE, ROW_FOLDS
from flambeau.util.record import replace
from flambeau.util.user_code import warn_user

NO_FREEDOM: Final = (
    "std and var: degrees of freedom is <= 0: of {count} elements {less:g} are taken off, so that the result is nan "
    "or infinite. Write correction=0 for the spread of the elements themselves"
)
Dims = int | Sequence[int] | None


def precise(array: Array) -> Array:
    """Floats as float64, complex numbers as complex128."""
    return array.astype(complex128.numpy if array.dtype.kind == "c" else float64.numpy, copy=False)


def var_kernel(
    self: Array, dim: Dims = None, unbiased: bool = True, keepdim: bool = False, correction: float | None = None
) -> Array:
    """Squared distances from the mean, divided by their number less the correction (1 unless `unbiased` is False)."""
    if not is_inexact(self):
        raise RuntimeError("std and var only support floating point and complex dtypes")
    less = float(unbiased) if correction is None else float(correction)
    dims = some_dims(dim, self.ndim)
    count = prod(self.shape[d] for d in dims)
    if count <= less:
        warn_user(NO_FREEDOM.format(count=count, less=less), UserWarning)
    with np.errstate(all="ignore"):
        wide = precise(self)
        centred = wide - reduce_with(np.add, wide, axis=dims, keepdims=True) / np.float64(count)
        squares = (centred * np.conj(centred)).real
        variance = reduce_with(np.add, squares, axis=dims, keepdims=keepdim) / np.float64(max(count - less, 0))
        return contiguous(rounded(variance, dtype_of(self).to_real().numpy))


def std_kernel(
    self: Array, dim: Dims = None, unbiased: bool = True, keepdim: bool = False, correction: float | None = None
) -> Array:
    """The root of the variance."""
    if not is_inexact(self):
        raise RuntimeError("std and var only support floating point and complex dtypes")
    with np.errstate(all="ignore"):
        variance = var_kernel(precise(self), dim, unbiased, keepdim, correction)
        return rounded(np.sqrt(variance), dtype_of(self).to_real().numpy)


def with_mean(kernel: Callable[..., Array], name: str) -> Callable[..., tuple[Array, Array]]:
    """The kernel that returns the mean too."""

    def pair(
        self: Array, dim: Dims = None, unbiased: bool = True, keepdim: bool = False, correction: float | None = None
    ) -> tuple[Array, Array]:
        if not is_inexact(self):
            raise RuntimeError(f"{name} only support floating point and complex dtypes")
        return kernel(self, dim, unbiased, keepdim, correction), mean_kernel(self, dim, keepdim)

    return pair


def vector_norm_kernel(
    self: Array, ord: float = 2, dim: Dims = None, keepdim: bool = False, dtype: DType | int | None = None
) -> Array:
    """`sum(|x|^ord)^(1/ord)`, the largest or smallest for +-inf, the number of non-zeros for 0."""
    if ord == 2 and dtype is None and 0 < self.size < LARGE and is_usual(self.dtype):
        return _roots_of_squares(self, dim, keepdim)
    asked = as_dtype(dtype)
    if not is_inexact(self):
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {dtype_of(self).display}"
        )
    if asked is not None and asked.category < Category.FLOAT:
        raise RuntimeError(f"linalg.vector_norm: dtype should be floating point or complex, but got {asked.display}")
    dims = some_dims(dim, self.ndim)
    require_identity(self, dims, float(ord), dim)
    quick = _norms_of_rows(self, dims, keepdim) if ord == 2 and asked is None else None
    if quick is not None:
        return quick
    array = np.abs(widened(self if asked is None else cast(self, asked)))
    result = rounded(folded_norm(array, dims, keepdim, float(ord)), (asked or dtype_of(self)).to_real().numpy)
    return contiguous(result)


def _roots_of_squares(array: Array, dim: Dims, keepdim: bool) -> Array:
    """The norms of few elements: as `folded_norm` has them."""
    dims = None if dim is None or dim == [] else some_dims(dim, array.ndim)
    with np.errstate(all="ignore"):
        wide = array.astype(np.float64)
        wide *= wide
        norms = np.sqrt(reduce_with(np.add, wide, axis=dims, keepdims=keepdim))
        return contiguous(np.asarray(norms).astype(array.dtype, copy=False))


def norm_rows(
    ndim: int, dtype: np.dtype[Any], ord: float = 2, p: float | None = 2, dim: Dims = None, keepdim: bool = False
) -> Row | None:
    """What norms do with few rows: `_roots_of_squares`. Their order is `ord` or `p`."""
    if ord != 2 or p not in (2, None) or not is_usual(dtype):
        return None

    def compute(r: Any, x: Any) -> Any:
        wide = r.converted(x, np.dtype(np.float64))
        return r.converted(np.sqrt(r.fold(np.add, np.multiply(wide, wide))), dtype)

    row = folded(ndim, dim, keepdim, compute)
    return None if row is None else replace(row, most=LARGE - 1)


def _norms_of_rows(array: Array, dims: tuple[int, ...], keepdim: bool) -> Array | None:
    """The norms over the last dimensions of many float32 elements by native code; None where there is none."""
    first = array.ndim - len(dims)
    if array.dtype != np.float32 or array.size < LARGE or not is_host_array(array) or not array.flags.c_contiguous:
        return None
    if dims != tuple(range(first, array.ndim)):
        return None
    norms: Array | None = ROW_FOLDS.implementation("norm", array.reshape(*array.shape[:first], -1))
    if norms is None:
        return None
    return norms.reshape(*norms.shape, *[1] * len(dims)) if keepdim else norms


def folded_norm(array: Array, dims: tuple[int, ...], keepdim: bool, ord: float) -> Array:
    """The norm of magnitudes."""
    with np.errstate(all="ignore"):
        if ord == inf:
            return np.asarray(
                reduce_with(np.maximum, array, axis=dims, keepdims=keepdim, initial=-inf if array.size else 0)
            )
        if ord == -inf:
            return np.asarray(reduce_with(np.minimum, array, axis=dims, keepdims=keepdim, initial=inf))
        if ord == 0:
            return reduce_with(np.add, array != 0, axis=dims, keepdims=keepdim, dtype=array.dtype)
        wide = array.astype(np.float64, copy=False)
        if ord == 1:
            return reduce_with(np.add, wide, axis=dims, keepdims=keepdim)
        if ord == 2:
            return np.asarray(np.sqrt(reduce_with(np.add, wide * wide, axis=dims, keepdims=keepdim)))
        return np.asarray(reduce_with(np.add, wide**ord, axis=dims, keepdims=keepdim) ** (1 / ord))


def require_identity(array: Array, dims: tuple[int, ...], ord: float, dim: Dims) -> None:
    """Raise RuntimeError for a norm of nothing that has no value."""
    if array.size or (ord >= 0 and ord != inf):
        return
    shown = f"{ord:g}"
    if dim is None or dim == []:
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {shown} norm on an empty tensor because the operation does not "
            f"have "
            "an identity"
        )
    for one in dims:
        if array.shape[one] == 0:
            raise RuntimeError(
                f"linalg.vector_norm cannot compute the {shown} norm on the dimension {one}because this dimension is "
                "empty and the operation does not have an identity"
            )


def norm_kernel(
    self: Array, p: float | None = 2, dim: Dims = None, keepdim: bool = False, dtype: DType | int | None = None
) -> Array:
    """The vector norm; no `p` means 2."""
    return vector_norm_kernel(self, 2 if p is None else p, dim, keepdim, dtype)


def logsumexp_kernel(self: Array, dim: Dims, keepdim: bool = False) -> Array:
    """`log(sum(exp(x)))` without overflow; -inf for nothing."""
    array = widened(self.astype(to_float(dtype_of(self)).numpy, copy=False))
    dims = some_dims(dim, self.ndim)
    target = to_float(dtype_of(self)).numpy
    with np.errstate(all="ignore"):
        if not array.size:
            return rounded(np.log(reduce_with(np.add, np.exp(array), axis=dims, keepdims=keepdim)), target)
        largest = reduce_with(np.maximum, array.real, axis=dims, keepdims=True)
        largest = np.where(np.isinf(largest), array.real.dtype.type(0), largest)
        added = np.log(reduce_with(np.add, np.exp(array - largest), axis=dims, keepdims=True)) + largest
        result = added if keepdim else added.reshape([s for i, s in enumerate(added.shape) if i not in dims])
        return contiguous(rounded(result, target))


def pair_dtype(self: TensorType) -> tuple[DType | None, ...]:
    """The real part's dtype, and the dtype itself."""
    return (None if self.dtype is None else self.dtype.to_real(), self.dtype)


def logsumexp_dtype(self: TensorType) -> DType | None:
    """Floats stay; integers become float32."""
    return None if self.dtype is None else to_float(self.dtype)


def integer_errors() -> Iterable[ErrorSample]:
    """Integers, and a dimension out of range."""
    yield from errors()
    yield ErrorSample(
        args=(wrap(np.ones(2, np.int64)),),
        error=RuntimeError,
        message="std and var only support floating point and complex dtypes",
    )


for _name, _kernel, _numpy, _text in (
    ("var", var_kernel, np.var, "variance"),
    ("std", std_kernel, np.std, "standard deviation"),
):
    reduction(
        f"aten::{_name}(Tensor self, bool unbiased=True) -> Tensor",
        f"aten::{_name}.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
        f"aten::{_name}.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False)"
        " -> Tensor",
        outs=("", "out", "correction_out"),
        kernel=_kernel,
        accumulator=_name,
        doc=f"The {_text} over `dim`, or over all, with `correction` (1) taken off the number of elements.",
        dtype=real_dtype,
        errors=integer_errors,
        reference=lambda self, dim=None, fold=_numpy: fold(self.astype(np.float64), axis=dim, ddof=1),
        ulp=ULP,
    )
    _both = with_mean(_kernel, f"{_name}_mean")
    reduction(
        f"aten::{_name}_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
        f"aten::{_name}_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)",
        f"aten::{_name}_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False)"
        " -> (Tensor, Tensor)",
        outs=("", "", "correction_out"),
        kernel=_both,
        accumulator=f"{_name}_mean",
        doc=f"The {_text} and the mean.",
        dtype=pair_dtype,
        shape=reduced_pair,
        ulp=ULP,
        is_method=False,
    )

reduction(
    "aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, "
    "ScalarType? dtype=None) -> Tensor",
    outs=("out",),
    kernel=vector_norm_kernel,
    rows=norm_rows,
    accumulator="norm",
    dtype=real_dtype,
    reference=lambda self, ord=2, dim=None, keepdim=False: np.linalg.norm(self.reshape(-1), ord),
    ulp=ULP,
    is_method=False,
)

reduction(
    "aten::norm.Scalar(Tensor self, Scalar p=2) -> Tensor",
    "aten::norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor",
    "aten::norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) -> Tensor",
    "aten::norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor",
    outs=("Scalar_out", "out", "dtype_out", "ScalarOpt_dtype_out"),
    kernel=norm_kernel,
    rows=norm_rows,
    accumulator="norm",
    doc="The vector norm of order `p` over the dimensions `dim`, or over all.",
    dtype=real_dtype,
    shape=reduced_shape,
    ulp=ULP,
)

reduction(
    "aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
    outs=("out",),
    kernel=logsumexp_kernel,
    accumulator="logsumexp",
    doc="log(sum(exp(x))) over the dimensions `dim`.",
    dtype=logsumexp_dtype,
    errors=lambda: [
        ErrorSample(args=(wrap(np.ones(2, np.float32)), 1), error=IndexError, message="Dimension out of range")
    ],
    reference=lambda self, dim, keepdim=False: np.logaddexp.reduce(self.astype(np.float64), axis=dim, keepdims=keepdim),
    ulp=ULP,
)
