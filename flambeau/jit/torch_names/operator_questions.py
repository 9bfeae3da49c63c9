"""Questions about operators: which ones a module uses, how one is declared, which overload a call means.

>>> import flambeau
>>> _jit_resolve_packet("aten::add", flambeau.ones(2), 1), _get_schema("aten::neg", "")
('Scalar', aten::neg(Tensor self) -> Tensor)
"""

from __future__ import annotations

from typing import Any, Final

from flambeau.interpreter.conform import conforms
from flambeau.ir.torchscript.types import Type
from flambeau.jit.inventory import export_opnames
from flambeau.jit.torch_names.handle import ModuleHandle
from flambeau.jit.torch_names.schemas import FunctionSchema
from flambeau.schema import registry
from flambeau.tensor import dispatch

NO_OVERLOAD: Final = "Found no matching schema: {name} has no overload '{overload}'"
NOT_OF_TYPE: Final = "expected a value of type '{type}', got {value!r}, which is of type '{kind}'"


def _export_opnames(module: ModuleHandle) -> list[str]:
    """The operators, with their overloads, that a module uses."""
    return export_opnames(module.ours)


def _get_schema(name: str, overload: str) -> FunctionSchema:
    """The declaration of one overload, "" for the one without a name. Raises RuntimeError where there is none."""
    for definition in registry.overloads(name):
        if definition.schema.overload == overload:
            return FunctionSchema(definition.schema)
    raise RuntimeError(NO_OVERLOAD.format(name=name, overload=overload))


def _jit_resolve_packet(name: str, /, *args: Any, **kwargs: Any) -> str:
    """The overload that a call means. Raises what the call would raise where none fits."""
    return dispatch.operator(name).binding(args, kwargs).definition.schema.overload or "default"


def _jit_assert_is_instance(value: Any, type: Type) -> None:
    """Raise RuntimeError unless a value is of a type."""
    if not conforms(value, type.ours):
        kind = value.__class__.__name__
        raise RuntimeError(NOT_OF_TYPE.format(type=type.annotation_str, value=value, kind=kind))
