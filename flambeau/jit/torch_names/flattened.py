"""Nested inputs as their tensors in a row, and back.

>>> import flambeau
>>> tensors, shape = _jit_flatten((flambeau.ones(1), [flambeau.zeros(2)]))
>>> len(tensors), _jit_unflatten(tensors, shape)
(2, (tensor([1.]), [tensor([0., 0.])]))
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from flambeau.tensor.tensor import Tensor
from flambeau.util.record import dataclass

WRONG = "only tensors, and tuples, lists and dicts of them, can be flattened, but there is a {type}"


@dataclass(frozen=True)
class IODescriptor:
    """How tensors in a row are nested: `nested` has their numbers in their places."""

    nested: Any
    count: int


def _jit_flatten(value: Any) -> tuple[list[Tensor], IODescriptor]:
    """The tensors in a value, dicts by their keys in order, and how they are nested. Raises RuntimeError for others."""
    tensors: list[Tensor] = []
    nested = _numbered(value, tensors)
    return tensors, IODescriptor(nested, len(tensors))


def _numbered(value: Any, tensors: list[Tensor]) -> Any:
    if isinstance(value, Tensor):
        tensors.append(value)
        return len(tensors) - 1
    if isinstance(value, dict):
        return {key: _numbered(value[key], tensors) for key in sorted(value)}
    if isinstance(value, list | tuple):
        parts = [_numbered(v, tensors) for v in value]
        if hasattr(value, "_make"):
            return type(value)._make(parts)
        return parts if isinstance(value, list) else tuple(parts)
    raise RuntimeError(WRONG.format(type=type(value).__name__))


def _jit_unflatten(tensors: Sequence[Tensor], shape: IODescriptor) -> Any:
    """Tensors nested as others were. Raises RuntimeError unless there are as many."""
    if len(tensors) != shape.count:
        raise RuntimeError(f"there are {len(tensors)} tensors, but {shape.count} places for them")
    return _placed(shape.nested, iter(tensors))


def _placed(nested: Any, tensors: Iterator[Tensor]) -> Any:
    if isinstance(nested, int):
        return next(tensors)
    if isinstance(nested, dict):
        return {key: _placed(part, tensors) for key, part in nested.items()}
    parts = [_placed(part, tensors) for part in nested]
    if hasattr(nested, "_make"):
        return type(nested)._make(parts)
    return parts if isinstance(nested, list) else tuple(parts)
