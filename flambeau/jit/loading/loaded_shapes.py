"""`_restore_shapes`: the parameters of traced methods have the types of the inputs that they were traced with."""

from __future__ import annotations

from typing import Any

from flambeau.jit.modules.script_module import RecursiveScriptModule
from flambeau.schema.types import DictType, ListType, TensorType, TupleType, Type
from flambeau.serialize.archive_reader.storage_reader import TensorShape


def restore_shapes(module: RecursiveScriptModule, inputs: dict[str, list[Any]]) -> None:
    """Give the parameters of the graphs of these methods the types of their example inputs."""
    for name, values in inputs.items():
        if name not in module.script_object.type.definition.methods:
            continue
        graph = module._method(name).graph
        for value, example in zip(graph.parameters[1:], values, strict=False):
            value.set_type(_typed(value.static_type, example))


def _typed(type_: Type, example: Any) -> Type:
    """A type with what an example says of its tensors."""
    match type_, example:
        case TensorType(), TensorShape():
            return TensorType(
                dtype=example.dtype, sizes=example.sizes, strides=example.strides, device=example.device,
                requires_grad=example.requires_grad,
            )  # fmt: skip
        case TupleType(), tuple() if len(example) == len(type_.elements):
            return type_.with_contained(tuple(map(_typed, type_.elements, example)))
        case ListType(element), list() if example:
            return ListType(_common([_typed(element, e) for e in example]))
        case DictType(key, value), dict() if example:
            return DictType(key, _common([_typed(value, e) for e in example.values()]))
    return type_


def _common(types: list[Type]) -> Type:
    first = types[0]
    return first if all(t == first for t in types) else _plain(first)


def _plain(type_: Type) -> Type:
    if isinstance(type_, TensorType):
        return TensorType()
    return type_.with_contained(tuple(map(_plain, type_.contained))) if type_.contained else type_
