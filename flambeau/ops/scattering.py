"""Writing elements at places that tensors name: index_put, scatter, index_add, masked_fill and their relatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import ml_dtypes
import numpy as np

from flambeau.ops.families.overwrite import overwrite
from flambeau.ops.families.scalars import exact_scalar
from flambeau.ops.indexing import along, check_gather, check_index_range, places
from flambeau.ops.views import _sample
from flambeau.schema.dtype import from_numpy_dtype
from flambeau.schema.opdef import ErrorSample, Sample
from flambeau.tensor import layout
from flambeau.tensor.layout import wrap_dim
from flambeau.tensor.tensor import Tensor, wrap

Array = np.ndarray[Any, Any]
_HALVES: Final = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))


def display(array: Array) -> str:
    """The dtype's name in messages."""
    return from_numpy_dtype(array.dtype).display


def fold_at(target: Array, index: Any, values: Any, fold: np.ufunc) -> None:
    """`target[index] = fold(target[index], values)` where places that are named twice count twice."""
    if target.dtype in _HALVES:
        wide = target.astype(np.float32)
        fold.at(wide, index, np.asarray(values).astype(np.float32))
        target[...] = wide.astype(target.dtype)
    else:
        with np.errstate(all="ignore"):
            fold.at(target, index, values)


def index_put(self: Array, indices: Sequence[Array | None], values: Array, accumulate: bool = False) -> None:
    """`self[indices] = values` or, with `accumulate`, `+=` counting repeated places."""
    if values.dtype != self.dtype:
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {display(self)} for the destination and "
            f"{display(values)} for the source."
        )
    where = places(self.shape, indices)
    shape = self[where].shape
    try:
        np.broadcast_to(values, shape)
    except ValueError:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing result of "
            f"shape {list(shape)}"
        ) from None
    if accumulate:
        fold_at(self, where, values, np.logical_or if self.dtype == np.bool_ else np.add)
    else:
        self[where] = values


def _source_at(name: str, self: Array, dim: int, index: Array, src: Array) -> int:
    """Check what scatter asks of its operands; the dimension from the front."""
    at = check_gather(name, self.shape, dim, index)
    if src.dtype != self.dtype:
        raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype")
    if index.size == 0:
        return at
    if max(src.ndim, 1) != max(index.ndim, 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    for d in range(index.ndim):
        beyond_self = d != at and index.shape[d] > self.shape[d]
        if beyond_self or index.shape[d] > src.shape[d]:
            raise RuntimeError(
                f"Expected index {list(index.shape)} to be no larger than self {list(self.shape)} apart from "
                f"dimension {at} and to be no larger size than src {list(src.shape)}"
            )
    return at


def scatter_src(self: Array, dim: int, index: Array, src: Array) -> None:
    """self[index[i][j]][j] = src[i][j] for dim 0."""
    _scatter("scatter", self, dim, index, src, None)


def scatter_value(self: Array, dim: int, index: Array, value: Any) -> None:
    """The same with one number."""
    number = exact_scalar(value, from_numpy_dtype(self.dtype))
    _scatter("scatter", self, dim, index, np.broadcast_to(number, index.shape), None)


def scatter_add(self: Array, dim: int, index: Array, src: Array) -> None:
    """The same with `+=`, counting repeated places."""
    _scatter("scatter_add", self, dim, index, src, np.logical_or if self.dtype == np.bool_ else np.add)


def _scatter(name: str, self: Array, dim: int, index: Array, src: Array, fold: np.ufunc | None) -> None:
    at = _source_at(name, self, dim, index, src)
    if index.size == 0:
        return
    target = self.reshape(1) if self.ndim == 0 else self
    flat = index.reshape(1) if index.ndim == 0 else index
    source = src.reshape(1) if src.ndim == 0 else src
    if not name.startswith("scatter_r"):
        check_index_range(flat, target.shape[at], at)
    values = source[tuple(slice(n) for n in flat.shape)]
    if fold is None:
        target[along(flat, at)] = values
    else:
        fold_at(target, along(flat, at), values, fold)


_REDUCE_OLD: Final[dict[str, np.ufunc]] = {"add": np.add, "multiply": np.multiply}


def _old_fold(reduce: str) -> np.ufunc:
    if reduce not in _REDUCE_OLD:
        raise RuntimeError("reduce argument must be either add or multiply.")
    return _REDUCE_OLD[reduce]


def scatter_reduce_old(self: Array, dim: int, index: Array, src: Array, reduce: str) -> None:
    """`scatter` that adds or multiplies."""
    _scatter("scatter", self, dim, index, src, _old_fold(reduce))


def scatter_value_reduce(self: Array, dim: int, index: Array, value: Any, reduce: str) -> None:
    """The same with one number."""
    number = exact_scalar(value, from_numpy_dtype(self.dtype))
    _scatter("scatter", self, dim, index, np.broadcast_to(number, index.shape), _old_fold(reduce))


_FOLDS: Final[dict[str, np.ufunc]] = {
    "sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum,
}  # fmt: skip


def _neutral(reduce: str, dtype: np.dtype[Any]) -> Any:
    """What a fold starts from when the element itself does not count."""
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    if dtype.kind == "b":
        return reduce == "amin"
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return limits.min if reduce == "amax" else limits.max
    return -np.inf if reduce == "amax" else np.inf


def reduce_at(self: Array, where: tuple[Any, ...], values: Array, reduce: str, include_self: bool) -> None:
    """Fold `values` into the named places, with the elements there or without."""
    before = self.copy() if not include_self else None
    count = np.zeros(self.shape, np.int64)
    np.add.at(count, where, 1)
    if before is not None:
        self[count > 0] = _neutral(reduce, self.dtype)
    fold_at(self, where, values, _FOLDS[reduce])
    if reduce == "mean":
        divisor = np.maximum(count + (1 if include_self else 0), 1)
        if self.dtype.kind in "iu":
            self[...] = np.floor_divide(self, divisor).astype(self.dtype)
        else:
            wide = self.astype(np.float32) if self.dtype in _HALVES else self
            np.copyto(self, (wide / divisor).astype(self.dtype))


def scatter_reduce(self: Array, dim: int, index: Array, src: Array, reduce: str, include_self: bool = True) -> None:
    """`scatter` that folds with sum, prod, mean, amax or amin."""
    if reduce not in _FOLDS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    at = _source_at("scatter_reduce", self, dim, index, src)
    if index.size == 0:
        return
    target = self.reshape(1) if self.ndim == 0 else self
    flat = index.reshape(1) if index.ndim == 0 else index
    source = src.reshape(1) if src.ndim == 0 else src
    check_index_range(flat, target.shape[at], at)
    reduce_at(target, along(flat, at), source[tuple(slice(n) for n in flat.shape)], reduce, include_self)


def _vector_places(name: str, self: Array, dim: int, index: Array) -> tuple[int, tuple[Any, ...]]:
    """The dimension and the NumPy index of a vector of places along it."""
    at = wrap_dim(dim, self.ndim)
    if index.ndim > 1:
        raise IndexError(
            f"{name}(): Index is supposed to be a vector, but got dim: {index.ndim} with type: {display(index)}"
        )
    if index.dtype not in (np.int64, np.int32):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index but got: {display(index)}")
    size = self.shape[at] if self.ndim else 1
    flat = index.reshape(-1)
    if flat.size and (int(flat.max()) >= size or int(flat.min()) < (-size if name == "index_fill_" else 0)):
        raise IndexError("index out of range in self")
    return at, ((*(slice(None),) * at, flat) if self.ndim else (flat,))


def _check_vector_source(name: str, self: Array, at: int, index: Array, source: Array) -> None:
    if source.dtype != self.dtype:
        raise RuntimeError(
            f"{name}(): self ({display(self)}) and source ({display(source)}) must have the same scalar type"
        )
    expected = tuple(index.size if d == at else n for d, n in enumerate(self.shape))
    if (source.ndim and source.shape[at] != index.size) or (not source.ndim and index.size != 1):
        raise RuntimeError(
            f"{name}(): Number of indices ({index.size}) should be equal to source.size(dim): "
            f"({source.shape[at] if source.ndim else 1}), for dim: {at}"
        )
    if source.ndim and self.ndim and source.shape != expected:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(self.shape)} source.shape = {list(source.shape)}"
        )


def index_add(self: Array, dim: int, index: Array, source: Array, alpha: Any = 1) -> None:
    """self[index[i]] += alpha * source[i] for dim 0."""
    at, where = _vector_places("index_add", self, dim, index)
    _check_vector_source("index_add", self, at, index, source)
    target = self.reshape(1) if self.ndim == 0 else self
    values = source.reshape(1) if source.ndim == 0 and self.ndim == 0 else source
    if alpha != 1:
        values = (values * exact_scalar(alpha, from_numpy_dtype(self.dtype))).astype(self.dtype)
    fold_at(target, where, values, np.logical_or if self.dtype == np.bool_ else np.add)


def index_copy(self: Array, dim: int, index: Array, source: Array) -> None:
    """self[index[i]] = source[i] for dim 0."""
    at, where = _vector_places("index_copy_", self, dim, index)
    if source.dtype != self.dtype:
        raise RuntimeError(
            f"index_copy_(): self and source expected to have the same dtype, but got (self) {display(self)} and "
            f"(source) {display(source)}"
        )
    if self.ndim and source.ndim and self.ndim != source.ndim:
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source "
            f"dimensionality ({source.ndim}), destination dimensionality ({self.ndim})"
        )
    if (source.shape[at] if source.ndim else 1) != index.size:
        raise IndexError(
            f"index_copy_(): Number of indices ({index.size}) should be equal to source.size(dim) "
            f"({source.shape[at] if source.ndim else 1})"
        )
    target = self.reshape(1) if self.ndim == 0 else self
    target[where] = source.reshape(1) if source.ndim == 0 and self.ndim == 0 else source


def index_fill_scalar(self: Array, dim: int, index: Array, value: Any) -> None:
    """self[index[i]] = value for dim 0."""
    _, where = _vector_places("index_fill_", self, dim, index)
    (self.reshape(1) if self.ndim == 0 else self)[where] = exact_scalar(value, from_numpy_dtype(self.dtype))


def index_fill_tensor(self: Array, dim: int, index: Array, value: Array) -> None:
    """The same from a 0-d tensor."""
    if value.ndim:
        raise RuntimeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    index_fill_scalar(self, dim, index, value.item())


def index_reduce(self: Array, dim: int, index: Array, source: Array, reduce: str, include_self: bool = True) -> None:
    """`index_add` that folds with prod, mean, amax or amin."""
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    at, where = _vector_places("index_reduce", self, dim, index)
    _check_vector_source("index_reduce", self, at, index, source)
    target = self.reshape(1) if self.ndim == 0 else self
    reduce_at(target, where, source, reduce, include_self)


def put(self: Array, index: Array, source: Array, accumulate: bool = False) -> None:
    """Elements by their number in row-major order."""
    if index.dtype != np.int64:
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {display(index)}")
    if source.dtype != self.dtype:
        raise RuntimeError(
            f"put_(): self and source expected to have the same dtype, but got self.dtype = {display(self)} and "
            f"source.dtype = {display(source)}"
        )
    if index.size != source.size:
        raise RuntimeError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source.size}, index.numel() = {index.size}"
        )
    if index.size and (int(index.max()) >= self.size or int(index.min()) < -self.size):
        bad = index[(index >= self.size) | (index < -self.size)].flat[0]
        raise IndexError(f"out of range: tried to access index {bad} on a tensor of {self.size} elements.")
    where = np.unravel_index(np.where(index < 0, index + self.size, index).reshape(-1), self.shape or (1,))
    target = self.reshape(1) if self.ndim == 0 else self
    if accumulate:
        fold_at(target, where, source.reshape(-1), np.logical_or if self.dtype == np.bool_ else np.add)
    else:
        target[where] = source.reshape(-1)


def _mask_for(name: str, self: Array, mask: Array) -> Array:
    if mask.dtype != np.bool_:
        raise RuntimeError(
            f"{name} only supports boolean masks, but got mask with dtype {from_numpy_dtype(mask.dtype).short}"
        )
    shape = layout.broadcast(self.shape, mask.shape)
    if shape != self.shape:
        raise RuntimeError(f"output with shape {list(self.shape)} doesn't match the broadcast shape {list(shape)}")
    return np.broadcast_to(mask, shape)


def masked_fill_scalar(self: Array, mask: Array, value: Any) -> None:
    """One number where the mask holds."""
    number = exact_scalar(value, from_numpy_dtype(self.dtype))
    np.copyto(self, number, where=_mask_for("masked_fill_", self, mask), casting="unsafe")


def masked_fill_tensor(self: Array, mask: Array, value: Array) -> None:
    """The same from a 0-d tensor."""
    if value.ndim:
        raise RuntimeError(
            f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    masked_fill_scalar(self, mask, wrap(value).item())


def masked_scatter(self: Array, mask: Array, source: Array) -> None:
    """The elements of `source` in order where the mask holds."""
    if source.dtype != self.dtype:
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got {display(self)} and "
            f"{display(source)}"
        )
    if mask.dtype != np.bool_:
        raise RuntimeError(f"masked_scatter_ only supports boolean masks, but got mask with dtype {display(mask)}")
    held = _mask_for("masked_scatter_", self, mask)
    count = int(np.count_nonzero(held))
    if count > source.size:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    self[held] = np.ascontiguousarray(source).reshape(-1)[:count]


def _long(*values: int) -> Tensor:
    return wrap(np.array(values, np.int64))


def _grid() -> Tensor:
    return wrap(np.array([[0, 1, 0], [1, 0, 1]]))


def _scatter_samples(*rest: Any, **named: Any) -> Callable[[], tuple[Sample, ...]]:
    return lambda: (Sample(args=(_sample(2, 3), 0, _grid(), *rest), kwargs=named),)


overwrite(
    "aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
    "aten::index_put.hacked_twin(Tensor self, Tensor[] indices, Tensor values, bool accumulate=False) -> Tensor",
    kernel=index_put,
    outs=("out",),
    is_in_place_function=True,
    doc="Values at the places that index tensors name; `accumulate` adds and counts repeated places.",
    samples=lambda: (
        Sample(args=(_sample(3), [_long(0, 0)], _sample(2), True)),
        Sample(args=(_sample(3, 2), [_long(1)], _sample(2))),
    ),
    errors=lambda: (
        ErrorSample(
            args=(_sample(3), [_long(0)], wrap(np.ones(1))),
            error=RuntimeError,
            message="Index put requires the source and destination dtypes match, got Float for the destination and "
            "Double",
        ),
        ErrorSample(
            args=(_sample(3), [_long(0, 1)], _sample(3)),
            error=RuntimeError,
            message="shape mismatch: value tensor of shape [3] cannot be broadcast to indexing result of shape [2]",
        ),
    ),
)
overwrite(
    "aten::_index_put_impl(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False, bool unsafe=False) "
    "-> Tensor",
    kernel=index_put,
    is_function=False,
)
overwrite(
    "aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    kernel=scatter_src,
    outs=("src_out",),
    doc="Along one dimension, values at the places that `index` names: self[index[i][j]][j] = src[i][j] for dim 0.",
    samples=_scatter_samples(_sample(2, 3)),
    errors=lambda: (
        ErrorSample(
            args=(_sample(2, 3), 1, wrap(np.array([[5]])), _sample(1, 1)),
            error=RuntimeError,
            message="index 5 is out of bounds for dimension 1 with size 3",
        ),
    ),
)
overwrite(
    "aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
    kernel=scatter_value,
    outs=("value_out",),
    samples=_scatter_samples(2.5),
)
overwrite(
    "aten::scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor",
    kernel=scatter_reduce_old,
    outs=("reduce_out",),
    samples=_scatter_samples(_sample(2, 3), reduce="add"),
)
overwrite(
    "aten::scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor",
    kernel=scatter_value_reduce,
    outs=("value_reduce_out",),
    samples=_scatter_samples(2.0, reduce="multiply"),
)
overwrite(
    "aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    kernel=scatter_add,
    outs=("out",),
    doc="`scatter` that adds, counting repeated places.",
    samples=_scatter_samples(_sample(2, 3)),
)
overwrite(
    "aten::scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool "
    "include_self=True) -> Tensor",
    kernel=scatter_reduce,
    outs=("two_out",),
    doc="`scatter` that folds with sum, prod, mean, amax or amin.",
    samples=lambda: tuple(
        Sample(args=(_sample(2, 3), 0, _grid(), _sample(2, 3), r), kwargs={"include_self": s})
        for r in ("sum", "prod", "mean", "amax", "amin")
        for s in (True, False)
    ),
)
overwrite(
    "aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor",
    kernel=index_add,
    outs=("out",),
    doc="Slices of `source` added at the places that a vector names, counting repeated places.",
    samples=lambda: (Sample(args=(_sample(3, 2), 0, _long(2, 2), _sample(2, 2)), kwargs={"alpha": 2}),),
    errors=lambda: (
        ErrorSample(args=(_sample(3), 0, _long(3), _sample(1)), error=IndexError, message="index out of range in self"),
    ),
)
overwrite(
    "aten::index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor",
    kernel=index_copy,
    outs=("out",),
    doc="Slices of `source` written at the places that a vector names.",
    samples=lambda: (Sample(args=(_sample(3, 2), 0, _long(2, 0), _sample(2, 2))),),
)
overwrite(
    "aten::index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
    kernel=index_fill_scalar,
    outs=("int_Scalar_out",),
    doc="One number at the places that a vector names.",
    samples=lambda: (Sample(args=(_sample(3, 2), 1, _long(0), 5)),),
)
overwrite(
    "aten::index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor",
    kernel=index_fill_tensor,
    outs=("int_Tensor_out",),
    samples=lambda: (Sample(args=(_sample(3, 2), 1, _long(0), _sample())),),
)
overwrite(
    "aten::index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) "
    "-> Tensor",
    kernel=index_reduce,
    outs=("out",),
    doc="`index_add` that folds with prod, mean, amax or amin.",
    samples=lambda: (Sample(args=(_sample(3, 2), 0, _long(2, 2), _sample(2, 2), "amax")),),
)
overwrite(
    "aten::put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor",
    kernel=put,
    outs=("out",),
    doc="Elements by their number in row-major order, overwritten or added to.",
    samples=lambda: (Sample(args=(_sample(2, 3), _long(0, -1), _sample(2))),),
)
overwrite(
    "aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor",
    kernel=masked_fill_scalar,
    outs=("Scalar_out",),
    broadcasts=True,
    doc="One number where the mask holds.",
    samples=lambda: (Sample(args=(_sample(2, 3), wrap(np.array([True, False, True])), 9)),),
    errors=lambda: (
        ErrorSample(
            args=(_sample(2), _sample(2), 1),
            error=RuntimeError,
            message="masked_fill_ only supports boolean masks, but got mask with dtype float",
        ),
    ),
)
overwrite(
    "aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor",
    kernel=masked_fill_tensor,
    outs=("Tensor_out",),
    broadcasts=True,
    samples=lambda: (Sample(args=(_sample(2), wrap(np.array([True, False])), _sample())),),
)
overwrite(
    "aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor",
    kernel=masked_scatter,
    outs=("out",),
    broadcasts=True,
    doc="The elements of `source` in order where the mask holds.",
    samples=lambda: (Sample(args=(_sample(2, 3), wrap(np.array([True, False, True])), _sample(4))),),
)
