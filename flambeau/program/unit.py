"""A compilation unit: the functions and classes compiled together, each under a qualified name of its own.

>>> CompilationUnit().unique_name("__torch__.m.f")
'__torch__.m.f'
>>> mangle("__torch__.m.f", 0)
'__torch__.m.___torch_mangle_0.f'
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from flambeau.ir.graph import Graph
from flambeau.program.classes import ClassDefinition, InterfaceDefinition
from flambeau.program.function import Function
from flambeau.program.signature import schema_of
from flambeau.schema.function import FunctionSchema
from flambeau.schema.types import NamedType, TupleType, Type

MANGLE = "___torch_mangle_"
_MANGLED = re.compile(rf"(^|\.){MANGLE}\d+(?=\.|$)")


def mangle(name: str, number: int) -> str:
    """The name with a numbered part before its last: what tells a second `f` from the first."""
    prefix, _, last = demangle(name).rpartition(".")
    return f"{prefix}.{MANGLE}{number}.{last}" if prefix else f"{MANGLE}{number}.{last}"


def demangle(name: str) -> str:
    """The name as the user knows it.

    >>> demangle("__torch__.___torch_mangle_12.f")
    '__torch__.f'
    """
    return _MANGLED.sub("", name).lstrip(".")


class CompilationUnit:
    """Functions and named types by qualified name."""

    def __init__(self, types: MutableMapping[str, Type] | None = None) -> None:
        """`types` is where types are kept: in a dict of the unit's own unless it is given."""
        self.functions: dict[str, Function] = {}
        self.types: MutableMapping[str, Type] = {} if types is None else types
        """Classes, interfaces, enums and named tuples."""
        self._next_mangle = 0

    # -- names --------------------------------------------------------------------------------------------------------

    def is_taken(self, name: str) -> bool:
        """Whether something has this qualified name."""
        return name in self.functions or name in self.types

    def unique_name(self, name: str) -> str:
        """`name` if it is free, else a mangled one that is."""
        while self.is_taken(name):
            name = mangle(name, self._next_mangle)
            self._next_mangle += 1
        return name

    # -- functions ----------------------------------------------------------------------------------------------------

    def create_function(
        self,
        name: str,
        graph: Graph,
        schema: FunctionSchema | None = None,
        *,
        defaults: Mapping[str, Any] | None = None,
        should_mangle: bool = False,
    ) -> Function:
        """Make a function of a graph; its schema is the graph's unless given.

        Raises RuntimeError if the name is taken.
        """
        if should_mangle:
            name = self.unique_name(name)
        short = name.rpartition(".")[2]
        return self.define(Function(name, graph, schema or schema_of(short, graph, defaults)))

    def define(self, function: Function) -> Function:
        """Add a function under its name. Raises RuntimeError if it is taken."""
        if self.is_taken(function.name):
            raise RuntimeError(f"method '{function.name}' already defined")
        self.functions[function.name] = function
        return function

    def find_function(self, name: str) -> Function | None:
        """The function of that qualified name, or None."""
        return self.functions.get(name)

    def get_function(self, name: str) -> Function:
        """The function of that qualified name. Raises KeyError."""
        function = self.functions.get(name)
        if function is None:
            raise KeyError(f"no function '{name}' in this unit; it has {', '.join(self.functions) or 'none'}")
        return function

    # -- types --------------------------------------------------------------------------------------------------------

    def create_class(
        self, name: str, *, is_module: bool = False, should_mangle: bool = False, python: Any = None
    ) -> ClassDefinition:
        """A new class without contents. Raises RuntimeError if the name is taken."""
        if should_mangle:
            name = self.unique_name(name)
        definition = ClassDefinition(name, is_module=is_module, python=python)
        self.register_type(definition.type)
        return definition

    def register_type(self, type_: NamedType | TupleType | Type, name: str | None = None) -> None:
        """Keep a type under its own name or another. Raises RuntimeError if that belongs to another type."""
        own = name or getattr(type_, "name", None)
        if not isinstance(own, str):
            raise RuntimeError(f"type {type_} has no name to be kept under")
        if self.is_taken(own) and self.types.get(own) != type_:
            raise RuntimeError(f"class '{own}' already defined: redefine it under another name")
        self.types[own] = type_

    def find_type(self, name: str) -> Type | None:
        """The type of that qualified name, or None: the lookup that type text is read with."""
        return self.types.get(name)

    def classes(self) -> Iterator[ClassDefinition | InterfaceDefinition]:
        """The definitions of its classes and interfaces, in the order in which they came."""
        for type_ in self.types.values():
            if isinstance(type_, NamedType) and type_.definition is not None:
                yield type_.definition

    def clear(self) -> None:
        """Forget all functions and types."""
        self.functions.clear()
        self.types.clear()
