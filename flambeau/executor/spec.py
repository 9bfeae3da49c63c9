"""What a plan is made for: of each tensor its dtype, rank, device, need of gradients, and which sizes are 1.

>>> import numpy as np
>>> from flambeau.tensor.tensor import wrap
>>> spec_of((wrap(np.zeros((1, 3), np.float32)), 2)) == spec_of((wrap(np.ones((1, 7), np.float32)), 5))
True
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from flambeau.program.object import ScriptObject
from flambeau.schema.types import NoneType, OptionalType, TensorType, TupleType, Type
from flambeau.tensor.tensor import Tensor

Spec = tuple[Hashable, ...]
NUMBER = "number"
"""Marks a tensor that stands for a Python number: it gives way to others in type promotion, as no other tensor does."""


def spec_of(arguments: Sequence[Any]) -> Spec:
    """The key of a plan for these arguments."""
    return tuple([_part(a) for a in arguments])


def _part(value: Any) -> Hashable:
    if isinstance(value, Tensor):
        array = value._array
        kind = NUMBER if value.is_wrapped_number else value.requires_grad
        return (array.dtype, tuple([s == 1 for s in array.shape]), kind)
    if isinstance(value, tuple):
        return (tuple, *[_part(v) for v in value])
    if isinstance(value, ScriptObject):
        return value.type
    found: Hashable = value.__class__
    return found


def refine(type_: Type, value: Any) -> Type:
    """The declared type with what the spec of `value` tells."""
    if isinstance(value, Tensor) and value.is_wrapped_number:
        return type_
    if isinstance(value, Tensor) and isinstance(type_, TensorType):
        return tensor_facts(value)
    if isinstance(type_, OptionalType) and isinstance(value, Tensor) and isinstance(type_.element, TensorType):
        return tensor_facts(value)
    if isinstance(type_, OptionalType) and value is None:
        return NoneType()
    if isinstance(type_, TupleType) and isinstance(value, tuple):
        return type_.with_contained(tuple(refine(t, v) for t, v in zip(type_.elements, value, strict=True)))
    return type_


def tensor_facts(value: Tensor) -> TensorType:
    """What a plan may rely on."""
    return TensorType(
        dtype=value.dtype,
        sizes=tuple(1 if s == 1 else None for s in value._array.shape),
        device=value.device,
        requires_grad=value.requires_grad,
    )


def describe(spec: Spec) -> str:
    """A spec as people read it: `float32[*, 1], int`."""
    return ", ".join(map(_describe, spec))


def _describe(part: Hashable) -> str:
    if isinstance(part, tuple) and part and part[0] is tuple:
        return f"({', '.join(map(_describe, part[1:]))})"
    if isinstance(part, tuple):
        dtype, ones, kind = part
        sizes = ", ".join("1" if one else "*" for one in ones)
        return f"{dtype}[{sizes}]{' of a number' if kind == NUMBER else ' with gradient' if kind else ''}"
    if isinstance(part, Type):
        return str(part)
    return getattr(part, "__name__", str(part))
