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
from flambeau.tensor.tensor import Tensor, share, wrap

_SELECT: Final = operator_of("aten::select")
_SLICE: Final = operator_of("aten::slice")
_UNSQUEEZE: Final = operator_of("aten::unsqueeze")
_ALIAS: Final = operator_of("aten::alias")
_INDEX: Final = operator_of("aten::index")
_TENSOR_INT_INT: Final = (Tensor, int, int)
_BOUNDS: Final = frozenset({int, type(None)})
_BASIC: Final = frozenset({int, slice, type(None), type(Ellipsis)})
_KINDS_OF_PLACES: Final = (np.dtype(np.int64), np.dtype(np.bool_))
_LISTED: Final = ({int}, {bool})


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
    """`self[key]` for a key of masks and tensors of places, and slices of whole dimensions."""
    indices = places_of(key)
    if indices is None or len(indices) > self._array.ndim:
        return None
    run = _INDEX.direct(call_key((self, indices), {}))
    return None if run is None else run(self, indices)


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


def _are_places(tensor: Tensor) -> bool:
    array = tensor._array
    return array.ndim > 0 and array.dtype in _KINDS_OF_PLACES
