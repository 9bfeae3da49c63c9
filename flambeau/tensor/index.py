"""`x[...]` and `x[...] = v`: what an index expression means, as a chain of operators.

Integers select, slices slice, None and bools add a dimension, `...` skips: views. Tensors, lists and masks are
gathered and go together to `aten::index` or `aten::index_put_` on that view.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from flambeau.schema.dtype import Category, bool_, from_numpy_dtype
from flambeau.schema.symbolic import SymbolicInt
from flambeau.tensor import observer
from flambeau.tensor.bridge import from_numpy_or_copy
from flambeau.tensor.dispatch import call
from flambeau.tensor.levels import Wrapper
from flambeau.tensor.observer import thread
from flambeau.tensor.quick_index import number_in, parts_of, picked, places_of, plain_view, put_number, shown
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util.user_code import warn_user

NOT_AN_INDEX: Final = (
    "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {})"
)
BAD_INDEX_DTYPE: Final = "tensors used as indices must be long, int, byte or bool tensors"
BYTES: Final = "indexing with dtype uint8 is deprecated: write x[mask.bool()] for a mask, x[index.long()] for places"
SCALAR_INDEX: Final = (
    "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim "
    "tensor to a number"
)


LIST_FOR_SEVERAL: Final = (
    "Using a non-tuple sequence for multidimensional indexing is deprecated: a list with sequences, slices or tensors "
    "in it is read as x[tuple(list)]. Write that, or x[flambeau.tensor(list)] for an index of several dimensions"
)
_PARTS: Final = (Tensor, list, tuple, range, slice, np.ndarray)


def get_item(self: Tensor, key: Any) -> Tensor:
    """`self[key]`. Raises IndexError, TypeError or ValueError for what is no index of it."""
    if not thread.handlers:
        quick = None if self.asks() else plain_view(self, key)
        if quick is None and type(self) is Tensor:
            quick = shown(self, key) if type(key) in _VIEWS else None
            if quick is None:
                quick = picked(self, key)
        if quick is not None:
            return quick
    return get_item_by_operators(self, key)


_VIEWS: Final = frozenset({int, slice, tuple, type(None), type(Ellipsis)})
"""Classes of keys that may mean a view."""


def get_item_by_operators(self: Tensor, key: Any) -> Tensor:
    """`self[key]` by operators alone, for tensors on which these run otherwise. Raises what `get_item` raises."""
    view, indices = _apply(self, _items(key))
    if any(i is not None for i in indices):
        result: Tensor = call("aten::index", view, indices)
        return result
    return call("aten::alias", view) if view is self else view


def _target(self: Tensor, key: Any) -> tuple[Tensor, Sequence[Tensor | None]]:
    """The view that the basic items of a key make, and the places in it, which are None where it is all of it."""
    if not thread.handlers and type(self) is Tensor:
        view = None if self.asks() else plain_view(self, key)
        if view is None and type(key) in _VIEWS:
            view = shown(self, key)
        if view is not None:
            return view, ()
        indices = places_of(key)
        if indices is not None and len(indices) <= self._array.ndim:
            return self, indices
        parts = parts_of(self, key) if type(key) is tuple else number_in(self, key)
        if parts is not None:
            return parts
    return _apply(self, _items(key))


def set_item(self: Tensor, key: Any, value: Any) -> None:
    """`self[key] = value`, converting numbers and views' sources to the dtype of `self`."""
    if put_number(self, key, value):
        return
    view, indices = _target(self, key)
    if isinstance(value, np.ndarray):
        value = from_numpy_or_copy(value)
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, Tensor):
        if not isinstance(value, int | float | complex):
            raise TypeError(f"can't assign a {type(value).__name__} to a torch.{self.dtype.display}Tensor")
        if _are_none(indices) and not _repeats(view):
            call("aten::fill_", view, value)
            return
        value = call("aten::scalar_tensor", value, dtype=self.dtype)
    if _are_none(indices):
        source = _without_leading_ones(value, view._array.ndim)
        if source._array.shape != view._array.shape:
            source = call("aten::expand", source, list(view.shape))
        call("aten::copy_", view, source)
        return
    if value.dtype is not self.dtype and value.numel() == 1 and _is_one_mask(indices):
        value = call("aten::to", value, self.dtype)
    if value._array.ndim:
        value = _without_leading_ones(value, _result_rank(view, indices))
    call("aten::index_put_", view, list(indices), value)


def _are_none(indices: Sequence[Tensor | None]) -> bool:
    return not indices or all(i is None for i in indices)


def _is_one_mask(indices: Sequence[Tensor | None]) -> bool:
    """Whether elements are chosen by one mask alone: they are filled with a number of any dtype."""
    used = [index for index in indices if index is not None]
    return len(used) == 1 and _is_mask(used[0])


def _repeats(view: Tensor) -> bool:
    """Whether elements share memory: a write to such a tensor is left to `copy_`, which refuses it."""
    array = view._array
    return 0 in array.strides and any(s == 0 and n > 1 for s, n in zip(array.strides, array.shape, strict=True))


def _items(key: Any) -> list[Any]:
    """The parts of an index expression, lists and arrays as tensors."""
    if isinstance(key, list) and _is_for_several(key):
        warn_user(LIST_FOR_SEVERAL, UserWarning)
        key = tuple(key)
    parts = list(key) if isinstance(key, tuple) else [key]
    items = [_item(p) for p in parts]
    if any(isinstance(i, Tensor) and i._array.dtype == np.uint8 for i in items):
        warn_user(BYTES, UserWarning)
    return items


def _is_for_several(key: list[Any]) -> bool:
    """Whether a list has an index for each of several dimensions, as a tuple has: of the older ways, a short one."""
    return len(key) < 32 and any(p is None or p is Ellipsis or isinstance(p, _PARTS) for p in key)


def _item(part: Any) -> Any:
    if isinstance(part, Tensor | int | slice | SymbolicInt) or part is None or part is Ellipsis:
        return part
    if isinstance(part, np.ndarray):
        return from_numpy_or_copy(part)
    if isinstance(part, np.bool_):
        return bool(part)
    if isinstance(part, list | tuple | range):
        return _sequence(part)
    if isinstance(part, str):
        raise TypeError("new(): invalid data type 'str'")
    if hasattr(part, "__index__"):
        return part.__index__()
    raise IndexError(NOT_AN_INDEX.format(type(part).__name__))


def _sequence(part: list[Any] | tuple[Any, ...] | range) -> Tensor:
    """A nested list of ints or bools (tensors among them) as an index tensor."""
    plain = [_plain(p) for p in part]
    array = np.asarray(plain) if plain else np.empty(0, np.int64)
    if array.dtype.kind not in "iub":
        if array.size == 0:
            array = array.astype(np.int64)
        else:
            raise IndexError(NOT_AN_INDEX.format(f"a list of {type(plain[0]).__name__}"))
    return wrap(array)


def _plain(part: Any) -> Any:
    if isinstance(part, Tensor):
        return part.tolist()
    if isinstance(part, slice) or part is None or part is Ellipsis:
        raise IndexError(
            f"a list used as an index holds numbers only, got {type(part).__name__}; use a tuple, x[:, 0], for "
            "several dimensions"
        )
    return [_plain(p) for p in part] if isinstance(part, list | tuple | range) else part


def _consumed(item: Any) -> int:
    """How many dimensions an item takes."""
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    if isinstance(item, Tensor) and _is_mask(item):
        return item._array.ndim
    return 1


def _is_mask(tensor: Tensor) -> bool:
    return tensor._array.dtype.kind == "b" or bool(tensor._array.dtype == np.uint8)


def _apply(self: Tensor, items: list[Any]) -> tuple[Tensor, list[Tensor | None]]:
    """The view that the basic items make, and an index tensor (or None) per part of it."""
    rank = self._array.ndim
    consumed = sum(map(_consumed, items))
    if consumed > rank:
        if rank == 0 and all(isinstance(i, int) for i in items):
            raise IndexError(SCALAR_INDEX)
        if rank == 0 and any(isinstance(i, slice) for i in items):
            raise IndexError("slice() cannot be applied to a 0-dim tensor.")
        raise IndexError(f"too many indices for tensor of dimension {rank}")
    view, dim = self, 0
    indices: list[Tensor | None] = []
    for position, item in enumerate(items):
        if item is Ellipsis:
            rest = items[position + 1 :]
            rank = view.dim() if rest else view._array.ndim  # what is asked for, a trace keeps to
            skipped = rank - dim - sum(map(_consumed, rest))
            dim += skipped
            indices += [None] * skipped
        elif item is None:
            view = call("aten::unsqueeze", view, dim)
            dim += 1
            indices.append(None)
        elif isinstance(item, slice):
            view = _slice(view, dim, item)
            dim += 1
            indices.append(None)
        elif isinstance(item, bool):
            view = call("aten::unsqueeze", view, dim)
            dim += 1
            indices.append(wrap(np.array([item])))
        elif isinstance(item, int | SymbolicInt):
            view = _select(view, dim, item, position)
        else:
            view, dim = _tensor_item(view, dim, item, position, indices)
    return view, indices


def _tensor_item(
    view: Tensor, dim: int, item: Tensor, position: int, indices: list[Tensor | None]
) -> tuple[Tensor, int]:
    """Note an index tensor; a 0-d one is an integer or a bool."""
    if from_numpy_dtype(item._array.dtype).category >= Category.FLOAT or item._array.dtype == np.int16:
        raise IndexError(BAD_INDEX_DTYPE)
    if item._array.ndim == 0:
        if isinstance(item, Wrapper) and not _is_mask(item):  # each element of a batch may be another place
            indices.append(item)
            return view, dim + 1
        if not _is_mask(item):
            watching = observer.current()
            at = int(item.item()) if watching is None else watching.integer(item)
            return _select(view, dim, at, position), dim
        view = call("aten::unsqueeze", view, dim)
        indices.append(call("aten::to", call("aten::reshape", item, [1]), bool_))
        return view, dim + 1
    indices.append(item)
    return view, dim + (item._array.ndim if _is_mask(item) else 1)


def _select(view: Tensor, dim: int, at: int | SymbolicInt, position: int) -> Tensor:
    size = view._array.shape[dim]
    number = at.number if isinstance(at, SymbolicInt) else at
    if not -size <= number < size:
        raise IndexError(f"index {number} is out of bounds for dimension {position} with size {size}")
    result: Tensor = call("aten::select", view, dim, at)
    return result


def _bound(bound: Any) -> Any:
    if bound is None or isinstance(bound, SymbolicInt):
        return bound
    watching = observer.current()
    if watching is not None and isinstance(bound, Tensor) and _is_one_integer(bound):
        return watching.integer(bound)
    return bound.__index__()


def _is_one_integer(tensor: Tensor) -> bool:
    return tensor._array.size == 1 and tensor._array.dtype.kind in "iub"


def _slice(view: Tensor, dim: int, item: slice) -> Tensor:
    for bound in (item.start, item.stop, item.step):
        if bound is not None and not hasattr(bound, "__index__"):
            raise TypeError("slice indices must be integers or None or have an __index__ method")
    start, stop, step = map(_bound, (item.start, item.stop, item.step))
    stride = step.number if isinstance(step, SymbolicInt) else step
    if stride == 0:
        raise ValueError("slice step cannot be zero")
    if stride is not None and stride < 0:
        raise ValueError("step must be greater than zero")
    if start is None and stop is None and not isinstance(step, SymbolicInt) and step in (None, 1):
        return view
    result: Tensor = call("aten::slice", view, dim, start, stop, 1 if step is None else step)
    return result


def _without_leading_ones(value: Tensor, rank: int) -> Tensor:
    """The value without leading dimensions of size 1 that the target does not have."""
    array = value._array
    extra = 0
    while array.ndim - extra > rank and array.shape[extra] == 1:
        extra += 1
    for _ in range(extra):
        value = call("aten::squeeze", value, 0)
    return value


def _result_rank(view: Tensor, indices: Sequence[Tensor | None]) -> int:
    """The number of dimensions of `view[indices]`."""
    used = 0
    rank = 0
    for one in indices:
        if one is not None:
            used += one._array.ndim if _is_mask(one) else 1
            rank = max(rank, 1 if _is_mask(one) else one._array.ndim)
    return view._array.ndim - used + rank
