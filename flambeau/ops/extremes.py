"""Largest and smallest elements, and where they are. nan is both: it wins over every number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from flambeau.ops.families.arrays import (
    Array,
    contiguous,
    dtype_of,
    is_complex,
    not_implemented,
    one_dim,
    reduce_with,
    some_dims,
    widened,
)
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.reduce import along_one_dim, reduction, require_elements
from flambeau.ops.families.rows import Describe, Row, folded
from flambeau.ops.families.rules import reduced_pair, same_dtype, to_int64, value_and_index
from flambeau.ops.reductions import errors as dim_errors
from flambeau.schema.dtype import DType
from flambeau.schema.opdef import ErrorSample
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import wrap

Dims = int | Sequence[int] | None


def _folded(fold: np.ufunc, name: str, array: Array, dim: Dims, keepdim: bool, refused: str) -> Array:
    if is_complex(array):
        raise not_implemented(refused, dtype_of(array))
    dims = some_dims(dim, array.ndim)
    require_elements(name, array, dim)
    folded = np.asarray(reduce_with(fold, widened(array), axis=dims, keepdims=keepdim))
    return contiguous(folded.astype(array.dtype, copy=False))


def amax_kernel(self: Array, dim: Dims = None, keepdim: bool = False) -> Array:
    """Raises IndexError or RuntimeError when there is nothing to compare."""
    return _folded(np.maximum, "amax", self, dim, keepdim, "max_values_cpu")


def amin_kernel(self: Array, dim: Dims = None, keepdim: bool = False) -> Array:
    """Raises IndexError or RuntimeError when there is nothing to compare."""
    return _folded(np.minimum, "amin", self, dim, keepdim, "min_values_cpu")


def max_kernel(self: Array) -> Array:
    """The largest element of all."""
    return _folded(np.maximum, "max", self, None, False, "max_all")


def min_kernel(self: Array) -> Array:
    """The smallest element of all."""
    return _folded(np.minimum, "min", self, None, False, "min_all")


def extreme_rows(fold: np.ufunc) -> Describe:
    """What largest and smallest elements are in terms of rows."""

    def describe(ndim: int, dtype: np.dtype[Any], dim: Dims = None, keepdim: bool = False) -> Row | None:
        return folded(ndim, dim, keepdim, lambda r, x: r.fold(fold, x)) if dtype.kind in "biuf" else None

    return describe


def max_dim_kernel(self: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
    """The largest elements along a dimension and where each occurs first."""
    return _with_index("max", np.argmax, self, dim, keepdim)


def min_dim_kernel(self: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
    """The smallest elements along a dimension and where each occurs first."""
    return _with_index("min", np.argmin, self, dim, keepdim)


def _with_index(name: str, where: Any, array: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    one_dim(dim, array.ndim)
    if is_complex(array):
        raise RuntimeError(f"{name}(): does not support complex input")
    require_elements(name, array, dim) if array.size == 0 else None
    return along_one_dim(array, dim, keepdim, lambda a, d: where(widened(a), axis=d, keepdims=True))


def argmax_kernel(self: Array, dim: int | None = None, keepdim: bool = False) -> Array:
    """The index of the first of the largest elements."""
    return _index("argmax", np.argmax, self, dim, keepdim)


def argmin_kernel(self: Array, dim: int | None = None, keepdim: bool = False) -> Array:
    """The index of the first of the smallest elements."""
    return _index("argmin", np.argmin, self, dim, keepdim)


def _index(name: str, where: Any, array: Array, dim: int | None, keepdim: bool) -> Array:
    if dim is not None:
        one_dim(dim, array.ndim)
        require_elements(name, array, dim)
    elif not array.size:
        raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
    if is_complex(array) or array.dtype == np.bool_:
        raise RuntimeError(f"{name}(): does not support {'complex' if is_complex(array) else 'bool'} input")
    if dim is None or array.ndim == 0:
        flat = np.asarray(where(widened(array)), dtype=np.int64)
        return flat.reshape((1,) * array.ndim if keepdim else ())
    return contiguous(np.asarray(where(widened(array), axis=dim, keepdims=keepdim), dtype=np.int64))


def aminmax_kernel(self: Array, dim: int | None = None, keepdim: bool = False) -> tuple[Array, Array]:
    """Smallest and largest together."""
    if is_complex(self):
        raise not_implemented("aminmax_cpu", dtype_of(self))
    if dim is None and not self.size:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
        )
    if dim is not None:
        axis = one_dim(dim, self.ndim)
        if self.ndim and self.shape[axis] == 0:
            raise IndexError(f"aminmax: Expected reduction dim {axis} to have non-zero size.")
    return amin_kernel(self, dim, keepdim), amax_kernel(self, dim, keepdim)


def pair_dtype(self: TensorType) -> tuple[DType | None, ...]:
    """Twice the input's."""
    return (self.dtype, self.dtype)


def empty_errors() -> Iterable[ErrorSample]:
    """A dimension out of range, and an empty one."""
    yield from dim_errors()
    yield ErrorSample(
        args=(wrap(np.ones((0, 2), np.float32)), 0),
        error=IndexError,
        message="Expected reduction dim 0 to have non-zero size.",
    )


for _word, _many, _fold, _whole, _pair, _index_of, _numpy, _second, _rows in (
    ("largest", "amax", amax_kernel, max_kernel, max_dim_kernel, argmax_kernel, np.amax, "max_values", np.maximum),
    ("smallest", "amin", amin_kernel, min_kernel, min_dim_kernel, argmin_kernel, np.amin, "min_indices", np.minimum),
):
    _name = _many[1:]
    reduction(
        f"aten::{_many}(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
        outs=("out",),
        kernel=_fold,
        rows=extreme_rows(_rows),
        accumulator=_name,
        doc=f"The {_word} element over the dimensions `dim`, or of all.",
        dtype=same_dtype,
        errors=empty_errors,
        reference=lambda self, dim=(), keepdim=False, fold=_numpy: fold(
            self, axis=dim if isinstance(dim, int) else tuple(dim) or None, keepdims=keepdim
        ),
    )
    reduction(
        f"aten::{_name}(Tensor self) -> Tensor",
        outs=("unary_out",),
        kernel=_whole,
        rows=extreme_rows(_rows),
        accumulator=_name,
        doc=f"The {_word} element; with `dim`, values and indices; with another tensor, the {_word} of each pair.",
        dtype=same_dtype,
    )
    reduction(
        f"aten::{_name}.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
        outs=(f"dim_{_name}({_name}, {_second})",),
        kernel=_pair,
        accumulator=f"{_name}_at",
        dtype=value_and_index,
        shape=reduced_pair,
        errors=empty_errors,
    )
    reduction(
        f"aten::arg{_name}(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
        outs=("out",),
        kernel=_index_of,
        accumulator=f"arg{_name}",
        doc=f"Where the {_word} element occurs first, in dimension `dim` or in the flattened tensor.",
        dtype=to_int64,
        errors=empty_errors,
    )

declare(
    "aten::aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
    outs=("out",),
    kernel=aminmax_kernel,
    doc="The smallest and the largest element, over dimension `dim` or of all.",
    dtype=pair_dtype,
    shape=reduced_pair,
)
