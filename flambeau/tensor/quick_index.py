"""The usual index expressions of plain tensors, as few calls of operators: integers, slices, None and `...`, one mask
or tensor of places, several of them. What is not one of these, or is refused, goes the full way in `index`.

>>> import flambeau
>>> x = flambeau.arange(6.0).reshape(2, 3).requires_grad_()
>>> shown(x, (0, slice(1, None)))
tensor([1., 2.], grad_fn=<SliceBackward0>)
>>> plain_view(flambeau.ones(2, 3), (0, ...))
tensor([1., 1., 1.])
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from flambeau.tensor.call_keys import call_key
from flambeau.tensor.dispatch import operator_of
from flambeau.tensor.observer import thread
from flambeau.tensor.subclasses import special
from flambeau.tensor.tensor import Tensor, share, wrap

_SELECT: Final = operator_of("aten::select")
_SLICE: Final = operator_of("aten::slice")
_UNSQUEEZE: Final = operator_of("aten::unsqueeze")
_ALIAS: Final = operator_of("aten::alias")
_INDEX: Final = operator_of("aten::index")
_TENSOR_INT_INT: Final = (Tensor, int, int)
_TENSOR_LIST: Final = (Tensor, list)
_BOUNDS: Final = frozenset({int, type(None)})
_BASIC: Final = frozenset({int, slice, type(None), type(Ellipsis)})
_KINDS_OF_PLACES: Final = (np.dtype(np.int64), np.dtype(np.bool_))
_KINDS_OF_NUMBERS: Final = (np.dtype(np.int64), np.dtype(np.int32))
_FLOATS: Final = frozenset({np.dtype(np.float32), np.dtype(np.float64)})
_SAFE: Final = 1e38
"""Up to here every float of Python's is one of any of these dtypes, rounded."""
_LISTED: Final = ({int}, {bool})
_WHOLE: Final = slice(None)


def plain_view(self: Tensor, key: Any) -> Tensor | None:
    """The result for an integer, a slice or a tuple of these and `...`, of a tensor that asks for no gradients; None
    leaves the key, or its refusal, to the full way."""
    array = self._array
    kind = type(key)
    try:
        if kind is slice:
            return share(self, array[key]) if _is_plain_slice(key) else None
        if kind is int:
            return share(self, array[key, ...])
        if kind is not tuple or len(key) > array.ndim + 1:
            return None
        dots = 0
        for one in key:
            if one is Ellipsis:
                dots += 1
            elif type(one) is not int and not (type(one) is slice and _is_plain_slice(one)):
                return None
        if not dots:
            return share(self, array[(*key, ...)]) if len(key) <= array.ndim else None
        return share(self, array[key]) if dots == 1 else None
    except IndexError:
        return None


def _is_plain_slice(part: slice) -> bool:
    """Whether its bounds are integers and its step leads forward."""
    step = part.step
    leads_forward = step is None or (type(step) is int and step > 0)
    return leads_forward and type(part.start) in _BOUNDS and type(part.stop) in _BOUNDS


def shown(self: Tensor, key: Any) -> Tensor | None:
    """The same by operators, which may be recorded, and for None in a tuple, too."""
    if type(key) is int:
        fast_path = _SELECT.fast_path.get(_TENSOR_INT_INT)
        sizes = self._array.shape
        if fast_path is not None and sizes and -sizes[0] <= key < sizes[0]:
            return fast_path(self, 0, key)  # type: ignore[no-any-return]
    parts = key if type(key) is tuple else (key,)
    taken = _taken(parts)
    rank = self._array.ndim
    if taken < 0 or taken > rank:
        return None
    view, dim = self, 0
    for one in parts:
        if type(one) is int:
            size = view._array.shape[dim]
            if not -size <= one < size:
                return None
            view = _SELECT(view, dim, one)
            continue
        if one is None:
            view = _UNSQUEEZE(view, dim)
        elif one is not Ellipsis:
            view = _part(view, dim, one)
        dim += rank - taken if one is Ellipsis else 1
    return _ALIAS(view) if view is self else view


def _taken(parts: tuple[Any, ...]) -> int:
    """How many dimensions basic parts take; -1 where there are others, or several `...`."""
    taken = dots = 0
    for one in parts:
        kind = type(one)
        if kind not in _BASIC or (kind is slice and not _is_plain_slice(one)):
            return -1
        taken += kind is int or kind is slice
        dots += one is Ellipsis
    return taken if dots < 2 else -1


def _part(view: Tensor, dim: int, part: slice) -> Any:
    if part.start is None and part.stop is None and part.step in (None, 1):
        return view
    return _SLICE(view, dim, part.start, part.stop, 1 if part.step is None else part.step)


def picked(self: Tensor, key: Any) -> Tensor | None:
    """`self[key]` for a key of masks and tensors of places, and whatever else lies between them."""
    if type(key) is Tensor and _is_number(key):
        number = int(key._array)
        return shown(self, number) if self.asks() else plain_view(self, number)
    indices = places_of(key)
    if indices is None:
        view_and_indices = parts_of(self, key) if type(key) is tuple else None
        if view_and_indices is None:
            return None
        self, indices = view_and_indices
        if not indices:
            return self
    elif len(indices) > self._array.ndim:
        return None
    run = _INDEX.fast_path.get(_TENSOR_LIST) or _INDEX.direct(call_key((self, indices), {})) or _INDEX
    result: Tensor = run(self, indices)
    return result


def number_in(self: Tensor, key: Any) -> tuple[Tensor, list[Tensor | None]] | None:
    """What `parts_of` gives for one integer tensor without axes; None for any other key."""
    return parts_of(self, (key,)) if type(key) is Tensor and _is_number(key) else None


def parts_of(self: Tensor, key: tuple[Any, ...]) -> tuple[Tensor, list[Tensor | None]] | None:
    """The view that the integers, slices, None and `...` of a key make, integer tensors without axes counted with
    integers, and what the operator `index` takes on it for the other tensors: empty where there are none. None leaves
    a key, or its refusal, to the full way.
    """
    parts = [int(one._array) if type(one) is Tensor and _is_number(one) else one for one in key]
    counts = [_dims_of(one) for one in parts]
    skipped = self._array.ndim - sum(counts)
    if skipped < 0 or -1 in counts or sum([one is Ellipsis for one in parts]) > 1:
        return None
    basic, indices = _separated(parts, counts, skipped)
    view = self if all(one is Ellipsis or one == _WHOLE for one in basic) else _shown_by(self, tuple(basic))
    if view is None:
        return None
    return (_ALIAS(view) if view is self and not indices else view), indices


def _separated(parts: list[Any], counts: list[int], skipped: int) -> tuple[list[Any], list[Tensor | None]]:
    """The basic parts of a key, with whole dimensions where tensors are, and the tensors, with None where others are
    whose dimensions stay; of `...` the `skipped` ones."""
    basic: list[Any] = []
    indices: list[Tensor | None] = []
    for one, count in zip(parts, counts, strict=True):
        is_tensor = type(one) is Tensor
        basic += [_WHOLE] * count if is_tensor else [one]
        if one is Ellipsis:
            indices += [None] * skipped
        elif type(one) is not int:
            indices.append(one if is_tensor else None)
    while indices and indices[-1] is None:
        indices.pop()
    return basic, indices


def _dims_of(part: Any) -> int:
    """How many dimensions a part of a key takes; -1 for one that is left to the full way."""
    kind = type(part)
    if kind is Tensor:
        is_mask = part._array.dtype.kind == "b"
        return (part._array.ndim if is_mask else 1) if _are_places(part) else -1
    if kind is int or (kind is slice and _is_plain_slice(part)):
        return 1
    return 0 if part is None or part is Ellipsis else -1


def _shown_by(self: Tensor, key: tuple[Any, ...]) -> Tensor | None:
    """The view of a key of basic parts; None for one that is refused."""
    if None in key or self.asks():  # NumPy's new dimensions have other strides
        return shown(self, key)
    try:
        return share(self, self._array[key] if Ellipsis in key else self._array[(*key, ...)])
    except IndexError:
        return None


def places_of(key: Any) -> list[Tensor | None] | None:
    """What the operator `index` takes for such a key; None for others."""
    kind = type(key)
    if kind is Tensor:
        return [key] if _are_places(key) else None
    if kind is list:
        return [wrap(np.array(key))] if len({*map(type, key)}) == 1 and {*map(type, key)} in _LISTED else None
    if kind is not tuple:
        return None
    indices: list[Tensor | None] = []
    is_used = False
    for one in key:
        if type(one) is Tensor and _are_places(one):
            indices.append(one)
            is_used = True
        elif type(one) is slice and one.start is None and one.stop is None and one.step is None:
            indices.append(None)
        else:
            return None
    return indices if is_used else None


def put_number(self: Tensor, key: Any, value: Any) -> bool:
    """Write a number to `self[key]`, where `self` is a plain tensor of floats that asks for no gradients, and the key
    one of few kinds; whether that was done. What is refused is left to the full way, and nothing is written."""
    if not _takes_number(self, value):
        return False
    view = plain_view(self, key) if type(key) is not Tensor else None
    if view is not None:
        view._array[...] = value
    else:
        indices = places_of(key) if type(key) in (Tensor, tuple) else None
        if indices is None or any(one is not None and one._storage is self._storage for one in indices):
            return False
        try:
            self._array[tuple([_WHOLE if one is None else one._array for one in indices])] = value
        except IndexError:
            return False
    self._storage.version += 1
    return True


def _takes_number(self: Tensor, value: Any) -> bool:
    """Whether a number can be written at once, and nobody watches."""
    if type(value) not in (float, int) or type(self) is not Tensor or thread.handlers or special.exists:
        return False
    flags = self._array.flags
    is_plain = self._array.dtype in _FLOATS and flags.c_contiguous and flags.writeable and self._storage.version >= 0
    return is_plain and thread.observer is None and -_SAFE < value < _SAFE and not self.asks()


def _is_number(tensor: Tensor) -> bool:
    """Whether it is an integer tensor without axes, which counts as an integer, and nobody watches which one it is."""
    array = tensor._array
    return not array.ndim and array.dtype in _KINDS_OF_NUMBERS and thread.observer is None


def _are_places(tensor: Tensor) -> bool:
    array = tensor._array
    return array.ndim > 0 and array.dtype in _KINDS_OF_PLACES
