"""Writing elements at places that tensors name: index_put and scatter in its forms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from flambeau.ops.families.element_loops import add_along, fold_along, put_along
from flambeau.ops.families.folds import FOLDS, display, fold_at, reduce_at
from flambeau.ops.families.numpy_cast import cast
from flambeau.ops.families.overwrite import overwrite
from flambeau.ops.families.samples import longs, sample
from flambeau.ops.families.scalars import exact_scalar
from flambeau.ops.gathering import along, check_gather, check_index_range
from flambeau.ops.indexing import check_places, is_leading_mask, places, with_mask_axes
from flambeau.schema.dtype import from_numpy_dtype
from flambeau.schema.opdef import ErrorSample, Sample
from flambeau.schema.traits import Traits
from flambeau.tensor.array_library import is_host_array, np
from flambeau.tensor.tensor import Tensor, share, wrap

Array = np.ndarray[Any, Any]


def index_put(self: Array, indices: Sequence[Array | None], values: Array, accumulate: bool = False) -> None:
    """`self[indices] = values` or, with `accumulate`, `+=` counting repeated places.

    Integers without axes are what ints are: the slice that they name is overwritten with values of any dtype.
    """
    if not accumulate and names_one_slice(indices):
        values = cast(values, from_numpy_dtype(self.dtype))
    if values.dtype != self.dtype:
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {display(self)} for the destination and "
            f"{display(values)} for the source."
        )
    mask = indices[0] if len(indices) == 1 and not values.ndim and not accumulate else None
    if mask is not None and is_leading_mask(self, mask):
        _fill_masked(self, mask, values)
        return
    self, indices = with_mask_axes(self, indices)
    if not accumulate and is_host_array(self):
        _overwrite_named(self, places(self.shape, indices, checks=False), values)
        return
    where = places(self.shape, indices)
    _check_fits(values, _shape_of_named(self.shape, where))
    if accumulate:
        fold_at(self, where, values, np.logical_or if self.dtype == np.bool_ else np.add)
    else:
        self[where] = values


def _overwrite_named(self: Array, where: tuple[Any, ...], values: Array) -> None:
    if values.ndim:
        shape = _shape_of_named(self.shape, where)
        if values.shape != shape:
            _check_fits(values, shape)
    try:
        self[where] = values
    except IndexError:
        check_places(self.shape, where)
        raise


def _check_fits(values: Array, shape: tuple[int, ...]) -> None:
    """Raise RuntimeError for values that are not broadcast to a shape."""
    try:
        np.broadcast_to(values, shape)
    except ValueError:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing result of "
            f"shape {list(shape)}"
        ) from None


def _fill_masked(self: Array, mask: Array, value: Array) -> None:
    """Write one number to the places of a mask of the first dimensions."""
    if self.shape != mask.shape:
        mask = np.expand_dims(mask, tuple(range(mask.ndim, self.ndim)))
    np.copyto(self, value, where=mask)


def _shape_of_named(shape: Sequence[int], where: tuple[Any, ...]) -> tuple[int, ...]:
    """The sizes of what an index names, of the sizes of its arrays alone: these may lie on a device.

    >>> _shape_of_named((4, 5, 6), (slice(None), np.zeros((2, 1), int), np.zeros(3, int)))
    (4, 2, 3)
    >>> _shape_of_named((4, 5, 6), (np.zeros(3, int), slice(None), np.zeros(3, int)))
    (3, 5)
    """
    named = [dim for dim, index in enumerate(where) if not isinstance(index, slice)]
    if not named:
        return tuple(shape)
    are_neighbours = named[-1] - named[0] + 1 == len(named)
    kept = [size for dim, size in enumerate(shape) if dim not in named]
    at = named[0] if are_neighbours else 0
    return (*kept[:at], *np.broadcast_shapes(*(where[dim].shape for dim in named)), *kept[at:])


def names_one_slice(indices: Sequence[Array | None]) -> bool:
    """Whether all indexes are integers without axes."""
    if len(indices) == 1 and indices[0] is not None and indices[0].ndim:
        return False
    named = [i for i in indices if i is not None]
    return bool(named) and all(i.ndim == 0 and i.dtype in (np.int64, np.int32) for i in named)


def _met(self: Tensor, indices: Sequence[Tensor | None], values: Tensor, *rest: Any) -> tuple[Tensor, Sequence[Any]]:
    """What `index_put_` writes to and what it reads: one slice and what is broadcast to it, or anything."""
    arrays = [None if i is None else i._array for i in indices]
    if not names_one_slice(arrays):
        return self, (*indices, values)
    where = tuple(i if isinstance(i, slice) else int(i) for i in places(self._array.shape, arrays))
    part = share(self, self._array[(*where, ...)])
    if values._array.shape != part._array.shape and values._array.size == 1:
        return part, ()  # broadcast, as `copy_` of an expanded tensor is
    return part, (values,)


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
    """`scatter` of one number."""
    number = exact_scalar(value, from_numpy_dtype(self.dtype))
    _scatter("scatter", self, dim, index, np.broadcast_to(np.asarray(number), index.shape), None)


def scatter_add(self: Array, dim: int, index: Array, src: Array) -> None:
    """`scatter_add`: add to the elements, for repeated places as often as they come."""
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
    values = source if source.shape == flat.shape else source[tuple([slice(n) for n in flat.shape])]
    if fold is None:
        if not put_along(target, flat, values, at):
            target[along(flat, at)] = values
    elif fold is not np.add or not add_along(target, flat, values, at):
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
    """`scatter` of one number with `reduce`."""
    number = exact_scalar(value, from_numpy_dtype(self.dtype))
    _scatter("scatter", self, dim, index, np.broadcast_to(number, index.shape), _old_fold(reduce))


def scatter_reduce(self: Array, dim: int, index: Array, src: Array, reduce: str, include_self: bool = True) -> None:
    """`scatter` that folds with sum, prod, mean, amax or amin."""
    if reduce not in FOLDS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    at = _source_at("scatter_reduce", self, dim, index, src)
    if index.size == 0:
        return
    target = self.reshape(1) if self.ndim == 0 else self
    flat = index.reshape(1) if index.ndim == 0 else index
    source = src.reshape(1) if src.ndim == 0 else src
    check_index_range(flat, target.shape[at], at)
    values = source[tuple(slice(n) for n in flat.shape)]
    natively = partial(fold_along, target, flat, values, at)
    reduce_at(target, along(flat, at), values, reduce, include_self, natively)


def _grid() -> Tensor:
    return wrap(np.array([[0, 1, 0], [1, 0, 1]]))


def _scatter_samples(*rest: Any, **named: Any) -> Callable[[], tuple[Sample, ...]]:
    return lambda: (Sample(args=(sample(2, 3), 0, _grid(), *rest), kwargs=named),)


overwrite(
    "aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
    "aten::index_put.hacked_twin(Tensor self, Tensor[] indices, Tensor values, bool accumulate=False) -> Tensor",
    kernel=index_put,
    traits=Traits(stores=True),
    outs=("out",),
    is_in_place_function=True,
    meets=_met,
    doc="Values at the places that index tensors name; `accumulate` adds and counts repeated places.",
    samples=lambda: (
        Sample(args=(sample(3), [longs(0, 0)], sample(2), True)),
        Sample(args=(sample(3, 2), [longs(1)], sample(2))),
        Sample(args=(sample(3, 2), [wrap(np.array(True))], sample(2))),
    ),
    errors=lambda: (
        ErrorSample(
            args=(sample(3), [longs(0)], wrap(np.ones(1))),
            error=RuntimeError,
            message="Index put requires the source and destination dtypes match, got Float for the destination and "
            "Double",
        ),
        ErrorSample(
            args=(sample(3), [longs(0, 1)], sample(3)),
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
    accumulator="scatter",
    outs=("src_out",),
    doc="Along one dimension, values at the places that `index` names: self[index[i][j]][j] = src[i][j] for dim 0.",
    samples=_scatter_samples(sample(2, 3)),
    errors=lambda: (
        ErrorSample(
            args=(sample(2, 3), 1, wrap(np.array([[5]])), sample(1, 1)),
            error=RuntimeError,
            message="index 5 is out of bounds for dimension 1 with size 3",
        ),
    ),
)


overwrite(
    "aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
    kernel=scatter_value,
    accumulator="scatter",
    outs=("value_out",),
    samples=_scatter_samples(2.5),
)


overwrite(
    "aten::scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor",
    kernel=scatter_reduce_old,
    accumulator="scatter",
    outs=("reduce_out",),
    samples=_scatter_samples(sample(2, 3), reduce="add"),
)


overwrite(
    "aten::scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor",
    kernel=scatter_value_reduce,
    accumulator="scatter",
    outs=("value_reduce_out",),
    samples=_scatter_samples(2.0, reduce="multiply"),
)


overwrite(
    "aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    kernel=scatter_add,
    accumulator="scatter_add",
    outs=("out",),
    doc="`scatter` that adds, counting repeated places.",
    samples=_scatter_samples(sample(2, 3)),
)


overwrite(
    "aten::scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool "
    "include_self=True) -> Tensor",
    kernel=scatter_reduce,
    accumulator="scatter",
    outs=("two_out",),
    doc="`scatter` that folds with sum, prod, mean, amax or amin.",
    samples=lambda: tuple(
        Sample(args=(sample(2, 3), 0, _grid(), sample(2, 3), r), kwargs={"include_self": s})
        for r in ("sum", "prod", "mean", "amax", "amin")
        for s in (True, False)
    ),
)
