"""Modules as functions of their tensors, for programs that call `functional_call` with one.

A module is what it is when the program is compiled: its structure, and what it has besides tensors.
"""

from __future__ import annotations

from typing import Any, Final

from flambeau.executor.known_classes import for_classes_of
from flambeau.executor.parameter_promotion import promotion_of
from flambeau.jit.modules.script_module import RecursiveScriptModule
from flambeau.jit.script import script
from flambeau.nn.module import Module
from flambeau.program.function import Function
from flambeau.program.object import ScriptObject
from flambeau.tensor.tensor import Tensor
from flambeau.util.errors import CompileError
from flambeau.util.inversions import FUNCTION_OF_MODULE
from flambeau.util.source import SourceRange

NEEDS_OBJECT: Final = (
    "functional_call of a {name} in programs: its forward assigns attributes, gives its tensors away or reads lists of "
    "them, so that it is no function of tensors by name. Call functional_call outside"
)
NOT_BY_NAME: Final = (
    "functional_call of a {name} in programs: forward reads '{path}', a {kind}, which has no name among its tensors"
)
Hidden = tuple[tuple[str, ...], Any]
"""The names that stand for a tensor; without any, a value that is what it is."""


@FUNCTION_OF_MODULE.provide
def function_of(module: Any, where: SourceRange) -> tuple[Function, list[Hidden]] | None:
    """`forward` as a function that takes what it reads of its module last, and what that is; None for what is no module
    of Python. Raises CompileError for modules that are more than that."""
    if not isinstance(module, Module) or not hasattr(module, "forward"):
        return None
    name = type(module).__name__
    scripted: Any = module if isinstance(module, RecursiveScriptModule) else script(module)
    owner: ScriptObject = scripted.script_object
    function, _ = for_classes_of(scripted.forward.script_function, owner)
    promotion = promotion_of(function)
    if promotion is None or promotion.assigned:
        raise CompileError(NEEDS_OBJECT.format(name=name), where)
    values = [_read(owner, path) for path in promotion.paths]
    names = _names(module)
    for path, value in zip(promotion.paths, values, strict=True):
        if isinstance(value, list | dict | ScriptObject) or (isinstance(value, Tensor) and ".".join(path) not in names):
            text = NOT_BY_NAME.format(name=name, path=".".join(path), kind=type(value).__name__)
            raise CompileError(text, where)
    variant = promotion.variant(values)
    if variant is None:
        raise CompileError(NEEDS_OBJECT.format(name=name), where)
    pairs = zip(promotion.paths, values, variant[1], strict=True)
    left = [(path, value) for path, value, is_written_in in pairs if not is_written_in]
    return variant[0], [(names[".".join(p)], None) if isinstance(v, Tensor) else ((), v) for p, v in left]


def _read(owner: ScriptObject, path: tuple[str, ...]) -> Any:
    value: Any = owner
    for name in path:
        if not isinstance(value, ScriptObject):
            return None
        value = value.values[value.type.definition.slot(name)]
    return value


def _names(module: Module) -> dict[str, tuple[str, ...]]:
    """Of each tensor by its dotted name, that name, and the first one of the same tensor if it is another."""
    first: dict[int, str] = {}
    names: dict[str, tuple[str, ...]] = {}
    for tensors in (module.named_parameters, module.named_buffers):
        for name, tensor in tensors(remove_duplicate=False):
            other = first.setdefault(id(tensor), name)
            names[name] = (name,) if other == name else (name, other)
    return names
