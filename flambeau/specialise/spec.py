"""What a plan is made for: of each tensor its dtype, rank, device, need of gradients, and which sizes are 1.

Lists of tensors are told by what all their tensors have in common, whatever their number: dtype, rank and need of
gradients. Where these differ, each tensor is told as it is told alone.

>>> import numpy as np
>>> from flambeau.tensor.tensor import wrap
>>> spec_of((wrap(np.zeros((1, 3), np.float32)), 2)) == spec_of((wrap(np.ones((1, 7), np.float32)), 5))
True
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Final

import numpy as np

from flambeau.program import instances
from flambeau.program.object import ScriptObject
from flambeau.schema.device import Device
from flambeau.schema.types import ListType, NoneType, OptionalType, TensorType, TupleType, Type
from flambeau.specialise.cache import differences
from flambeau.tensor.subclasses import special
from flambeau.tensor.tensor import Tensor
from flambeau.util.record import dataclass

Spec = tuple[Hashable, ...]

NUMBER = "number"
"""Marks a tensor that stands for a Python number: it gives way to others in type promotion, as no other tensor does."""


@dataclass(frozen=True, slots=True)
class Alike:
    """A list whose items are all like this: a tensor's dtype, rank and need of gradients, or what else they are."""

    item: Hashable


@dataclass(frozen=True, slots=True)
class OnDevice:
    """An argument that is, or holds, tensors on a CUDA device, and what else is told of it."""

    item: Hashable
    device: Device


ASKING: Final = (dict, True)
"""A container that holds a tensor that asks for gradients, of which no more is told."""


def spec_of(arguments: Sequence[Any]) -> Spec:
    """The key of a plan for these arguments."""
    if special.exists:
        return tuple([_part_on_device(a) for a in arguments])
    return tuple([_part(a) for a in arguments])


def _part_on_device(value: Any) -> Hashable:
    device = device_among(value)
    return _part(value) if device is None else OnDevice(_part(value), device)


def device_among(value: Any) -> Device | None:
    """The CUDA device of the first tensor on one that a value is or holds; None where all are on the host."""
    if isinstance(value, Tensor):
        return value.device if getattr(type(value), "_is_on_device", False) else None
    if value is None or isinstance(value, int | float | str | Device):
        return None
    return _device_within(value)


def _device_within(value: Any) -> Device | None:
    """The same of containers and objects, each of which is looked at once."""
    seen: set[int] = set()
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Tensor):
            if getattr(type(one), "_is_on_device", False):
                return one.device
        elif not isinstance(one, int | float | str) and one is not None and id(one) not in seen:
            seen.add(id(one))
            waiting += _contents(one)
    return None


def _contents(value: Any) -> Sequence[Any]:
    if isinstance(value, list | tuple | dict):
        items = list(value.values()) if isinstance(value, dict) else value
        return () if items and isinstance(items[0], int | float | str) else items
    definition = instances.definition_of(value)
    if definition is None or not instances.may_hold_tensors(definition):
        return ()
    return instances.attribute_values(value, definition)


def device_of(spec: Spec) -> Device | None:
    """The device of the first argument of a spec that has to do with one; None for arguments on the host."""
    return next((part.device for part in spec if isinstance(part, OnDevice)), None)


def asks_for_gradients(spec: Spec) -> bool:
    """Whether arguments of a spec are, or hold, tensors that ask for gradients."""
    return any(map(_asks, spec))


def _asks(part: Hashable) -> bool:
    if isinstance(part, Alike | OnDevice):
        return _asks(part.item)
    if not isinstance(part, tuple) or not part:
        return False
    if part == ASKING:
        return True
    if part[0] is tuple or part[0] is list:
        return any(map(_asks, part[1:]))
    return part[-1] is True if len(part) == 3 and isinstance(part[0], np.dtype) else any(map(_asks, part))


def _part(value: Any) -> Hashable:
    if isinstance(value, Tensor):
        array = value._array
        kind = NUMBER if value.is_wrapped_number else value.requires_grad
        return (array.dtype, tuple([s == 1 for s in array.shape]), kind)
    if isinstance(value, tuple):
        return (tuple, *[_part(v) for v in value])
    if type(value) is list and _has_tensors(value):
        return in_common(value) or (list, *(map(_part, value) if _is_flat(value) else _asking_within(value)))
    return _kind_of_container(value) if type(value) in (dict, list) else _kind_of(value)


def _kind_of_container(value: dict[Any, Any] | list[Any]) -> Hashable:
    """Of containers of which no more is told than whether a tensor in them asks for gradients."""
    if not value or (type(value) is list and isinstance(value[0], int | float | str)):
        return type(value)
    return ASKING if _holds_asking(value) else type(value)


def _asking_within(value: list[Any]) -> tuple[Hashable, ...]:
    return (ASKING,) if _holds_asking(value) else ()


def _holds_asking(value: Any) -> bool:
    """Whether a tensor in a container asks for gradients."""
    if isinstance(value, Tensor):
        return value.requires_grad
    if isinstance(value, list | tuple):
        return any(map(_holds_asking, value))
    return type(value) is dict and any(map(_holds_asking, value.values()))


def _kind_of(value: Any) -> Hashable:
    if type(value) is Device and value.type == "cuda":
        return OnDevice(Device, value)
    kind: Hashable = value.type if isinstance(value, ScriptObject) else value.__class__
    return kind


def _has_tensors(value: Any) -> bool:
    """Whether the first of all that is in a list or tuple, at whatever depth, is a tensor."""
    if isinstance(value, tuple):
        return any(map(_has_tensors, value))
    return _has_tensors(value[0]) if isinstance(value, list) and value else isinstance(value, Tensor)


def _is_flat(value: list[Any]) -> bool:
    return all(isinstance(v, Tensor) and not v.is_wrapped_number for v in value)


def in_common(value: Any) -> Hashable | None:
    """What all items of a list, at whatever depth, have in common; None where they differ in anything but sizes."""
    if isinstance(value, Tensor):
        return None if value.is_wrapped_number else (value._array.dtype, value._array.ndim, value.requires_grad)
    if isinstance(value, list):
        first = in_common(value[0]) if value else None
        return None if first is None or any(in_common(v) != first for v in value) else Alike(first)
    if isinstance(value, tuple):
        parts = list(map(in_common, value))
        return None if None in parts else (tuple, *parts)
    return _kind_of_container(value) if type(value) is dict else _kind_of(value)


def refine(type_: Type, value: Any) -> Type:
    """The declared type with what the spec of `value` tells."""
    if isinstance(value, Tensor) and value.is_wrapped_number:
        return type_
    if isinstance(value, Tensor) and isinstance(type_, TensorType):
        return type_of_tensor(value)
    if isinstance(type_, OptionalType):
        return NoneType() if value is None else refine(type_.element, value)
    if isinstance(type_, ListType) and type(value) is list and _has_tensors(value):
        return type_ if in_common(value) is None else _of_any_size(type_, value)
    if isinstance(type_, TupleType) and isinstance(value, tuple):
        return type_.with_contained(tuple(refine(t, v) for t, v in zip(type_.elements, value, strict=True)))
    return type_


def _of_any_size(type_: Type, value: Any) -> Type:
    """The declared type with what is told of a value in a list, like which all others are."""
    if isinstance(type_, TensorType) and isinstance(value, Tensor):
        return type_of_tensor(value).refine(sizes=(None,) * value._array.ndim)
    if isinstance(type_, ListType) and isinstance(value, list):
        return ListType(_of_any_size(type_.element, value[0]))
    if isinstance(type_, TupleType) and isinstance(value, tuple):
        return type_.with_contained(tuple(map(_of_any_size, type_.elements, value)))
    return type_


def is_mixed(type_: Type, value: Any) -> bool:
    """Whether it is a list of tensors of which something is known, but different things."""
    if not (isinstance(type_, ListType) and isinstance(type_.element, TensorType) and type(value) is list):
        return False
    return _has_tensors(value) and _is_flat(value) and in_common(value) is None


def type_of_tensor(value: Tensor) -> TensorType:
    """What a plan may rely on."""
    return TensorType(
        dtype=value.dtype,
        sizes=tuple(1 if s == 1 else None for s in value._array.shape),
        device=value.device,
        requires_grad=value.requires_grad,
    )


def compare(spec: Spec, other: Spec, names: Iterable[str] = ()) -> str:
    """What is new about a spec beside another one; arguments go by their names, or their numbers."""
    shown = list(names) or [str(number) for number in range(len(spec))]
    return differences(spec, other, shown, lambda part: describe((part,)))


def describe(spec: Spec) -> str:
    """A spec as people read it: `float32[*, 1], int`."""
    texts = {part: _describe(part) for part in set(spec)}  # a model has hundreds of parameters, of a few kinds
    return ", ".join([texts[part] for part in spec])


def _describe(part: Hashable) -> str:
    if isinstance(part, OnDevice):
        return f"{_describe(part.item)} on {part.device}"
    if isinstance(part, Alike):
        return f"list of {_describe(part.item)}"
    if isinstance(part, tuple) and part and part[0] in (tuple, list, dict):
        return _describe_container(part)
    if isinstance(part, tuple):
        dtype, sizes, kind = part
        shown = ["*"] * sizes if isinstance(sizes, int) else ["1" if is_one else "*" for is_one in sizes]
        return f"{dtype}[{', '.join(shown)}]{' of a number' if kind == NUMBER else ' with gradient' if kind else ''}"
    if isinstance(part, Type):
        return str(part)
    return getattr(part, "__name__", str(part))


def _describe_container(part: tuple[Hashable, ...]) -> str:
    if part[0] is dict:
        return "container with gradient"
    items = ", ".join(map(_describe, part[1:]))
    return f"({items})" if part[0] is tuple else f"[{items}]"
