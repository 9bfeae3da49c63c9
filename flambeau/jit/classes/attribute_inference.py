"""Attributes whose types the methods tell: `__init__` leaves a list or a dict empty, or a None, that a method fills.

def __init__(self):            def add(self, n: int):
    self.seen = []                 self.seen.append(n)        →      class: seen : int[]

While an attribute is undetermined, the methods that name it are compiled on trial, one after the other, until one
tells. Then
`__init__` is compiled again with what was learned, and all else that was compiled on trial is forgotten. What nobody
tells holds tensors, as in TorchScript; the first that tells is believed, and others that disagree are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from types import CodeType, FunctionType
from typing import Protocol

from flambeau.frontend.closures.bound import Bound
from flambeau.frontend.emit.type_variables import InferenceRestart, TypeVariables
from flambeau.ir.walk import nodes_within
from flambeau.jit.script_registry import ScriptRegistry
from flambeau.program.classes import Attribute, ClassDefinition
from flambeau.program.function import Function
from flambeau.schema.types import ClassType, Type
from flambeau.util.errors import CompileError


class ClassSource(Protocol):
    """Where a class has its methods from, as far as its attributes are concerned."""

    definition: ClassDefinition
    python: type
    optional: set[str]
    """Attributes that `__init__` may leave without a value."""

    def method(self, name: str) -> Function | None:
        """A method, compiled."""

    def compile_on_trial(self, name: str, fn: FunctionType, bound: Bound) -> None:
        """Compile a method for what it tells. Raises InferenceRestart, or CompileError."""

    def start_over(self, attributes: Sequence[Attribute], optional: Set[str]) -> None:
        """Forget all but the attributes that there were before `__init__` was compiled."""


def define_attributes(source: ClassSource, registry: ScriptRegistry, types: TypeVariables) -> None:
    """Compile `__init__`, and what tells the types that it leaves open. Raises CompileError as `__init__` does."""
    definition = source.definition
    attributes, optional = list(definition.attributes), set(source.optional)
    while True:
        failure: CompileError | None = None
        try:
            source.method("__init__")
        except CompileError as error:
            failure = error
        if not _try_methods(source, registry, types):
            break
        source.start_over(attributes, optional)
    if failure is not None:
        raise failure


def undetermined(definition: ClassDefinition, types: TypeVariables) -> list[str]:
    """The attributes whose types are not known yet."""
    if not types.open:
        return []
    return [a.name for a in definition.attributes if any(id(part) in types.open for part in a.type.walk())]


def _try_methods(source: ClassSource, registry: ScriptRegistry, types: TypeVariables) -> bool:
    """Whether a method told something."""
    names = set(undetermined(source.definition, types))
    if not names:
        return False
    before = dict(types.open)
    for key, fn in _methods(source.python):
        if not names & set(_names(fn.__code__)):
            continue
        with registry.trial() as trial:
            try:
                source.compile_on_trial(key, fn, Bound(type_variables=types))
            except InferenceRestart as settled:
                if settled.owner is not types:
                    raise
                if not any(_depends(d, source.definition, names) for d in trial.classes):
                    return True
                _take_back(types, before)
            except CompileError:
                continue  # refused again, with its message, if a program reaches it
            for definition in trial.classes:
                if _depends(definition, source.definition, names):
                    registry.forget_class(definition.python)
    return False


def _take_back(types: TypeVariables, before: dict[int, Type]) -> None:
    """What a method told is not used: a class that it makes took its types from what was not told yet."""
    for key in before.keys() - types.open.keys():
        types.open[key] = before[key]
        del types.learned[key]


def _methods(cls: type) -> Iterator[tuple[str, FunctionType]]:
    """The methods and accessors of a class and its bases, with the names that they are compiled under."""
    seen: set[str] = set()
    for base in cls.__mro__[:-1]:
        for name, member in vars(base).items():
            if name in seen or name == "__init__":
                continue
            seen.add(name)
            if isinstance(member, FunctionType):
                yield name, member
            elif isinstance(member, property):
                accessors = (f"__{name}_getter", member.fget), (f"__{name}_setter", member.fset)
                yield from ((key, fn) for key, fn in accessors if isinstance(fn, FunctionType))


def _names(code: CodeType) -> Iterator[str]:
    """The attributes that a function names, and the functions inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _depends(other: ClassDefinition, definition: ClassDefinition, names: set[str]) -> bool:
    """Whether the attributes of a class may follow from what is undetermined of another one."""
    init = other.methods.get("__init__")
    return init is not None and any(_reads(init, definition, names))


def _reads(function: Function, definition: ClassDefinition, names: set[str]) -> Iterator[bool]:
    for node in (inner for outer in function.graph.body for inner in nodes_within(outer)):
        takes = any(
            isinstance(v.static_type, ClassType) and v.static_type.definition is definition for v in node.operands
        )
        if node.op == "prim::GetAttr":
            yield takes and node.attribute("name") in names
        elif node.op in ("prim::CallMethod", "prim::CallFunction", "prim::CallFunctionValue"):
            yield takes
