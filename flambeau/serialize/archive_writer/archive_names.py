"""What types and functions are called in an archive: each name once, and the same names in every process.

>>> legal("__torch__.my.model.Net"), legal("__torch__.lambda"), legal("__torch__.m.Größe")
('__torch__.my.model.Net', '__torch__.lambda_', '__torch__.m.Gr__e')
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable
from typing import Any

from flambeau.ir.clone import clone_graph
from flambeau.ir.constants import CONSTANT
from flambeau.ir.graph import Graph, Node
from flambeau.ir.walk import blocks, subgraphs
from flambeau.program.batches import INSTEAD
from flambeau.program.function import Function
from flambeau.program.gradients import GRADIENT
from flambeau.program.unit import demangle, mangle
from flambeau.schema.function import NO_DEFAULT, Argument, FunctionSchema
from flambeau.schema.types import FUNCTION, ClassType, EnumType, NamedType, SimpleType, TensorType, TupleType, Type
from flambeau.serialize.archive_writer.contents import called, canonical, function_key, hook_owner, is_hook
from flambeau.util.names import ROOT
from flambeau.util.record import replace

_FOREIGN = re.compile(r"[^A-Za-z0-9_]")


def legal(name: str) -> str:
    """A qualified name whose parts are identifiers to every reader."""
    parts = [_FOREIGN.sub("_", part) or "_" for part in name.split(".")]
    if parts[0] != ROOT:
        parts.insert(0, ROOT)
    return ".".join(p + "_" if keyword.iskeyword(p) or p[0].isdigit() else p for p in parts)


class ArchiveNames:
    """The names of types and functions. Who comes second by a name gets it with a numbered part before its last."""

    def __init__(self, types: Iterable[Type], functions: Iterable[Function]) -> None:
        self._taken: set[str] = set()
        self._spaces: set[str] = set()
        """What names begin with: something of that name would hide them."""
        self._next = 0
        self._types: dict[Type, str] = {type_: self._free(getattr(type_, "name", "")) for type_ in types}
        self._functions: dict[object, str] = {function_key(f): self._free(f.name) for f in functions}
        self._renamed: dict[Type, Type] = {}

    def _free(self, name: str) -> str:
        wanted = self._out_of_the_way(legal(demangle(name)))
        free = wanted
        while free in self._taken or free in self._spaces:
            free = mangle(wanted, self._next)
            self._next += 1
        self._taken.add(free)
        parts = free.split(".")
        self._spaces.update(".".join(parts[:count]) for count in range(1, len(parts)))
        return free

    def _out_of_the_way(self, name: str) -> str:
        """The name in another space if something has the name of its own space: a function in a class."""
        space, _, last = name.rpartition(".")
        if not space:
            return name
        space = self._out_of_the_way(space)
        while space in self._taken:
            space += "_"
        return f"{space}.{last}"

    def of_function(self, function: Function) -> str:
        """The name of a function."""
        return self._functions[function_key(function)]

    # -- what has names in it ------------------------------------------------------------------------------------------

    def renamed(self, type_: Type) -> Type:
        """A type with the archive's names for what is named in it."""
        if isinstance(type_, SimpleType | TensorType):
            return type_
        renamed = self._renamed.get(type_)
        if renamed is None:
            renamed = self._renamed[type_] = self._rename(type_)
        return renamed

    def _rename(self, type_: Type) -> Type:
        named = canonical(type_)
        inner = type_.contained
        renamed = type_.with_contained(tuple(map(self.renamed, inner))) if inner else type_
        if isinstance(renamed, NamedType | EnumType | TupleType) and named is not None:
            return replace(renamed, name=self._types[named])
        return renamed

    def schema(self, schema: FunctionSchema) -> FunctionSchema:
        """A schema with the archive's names. Defaults before a parameter without one are left out."""

        def changed(arguments: tuple[Argument, ...]) -> list[Argument]:
            return [replace(a, type=self.renamed(a.type)) for a in arguments]

        arguments = changed(schema.arguments)
        needed = max((k for k, a in enumerate(arguments) if not a.has_default), default=0)
        arguments[:needed] = [replace(a, default=NO_DEFAULT) for a in arguments[:needed]]
        return replace(schema, arguments=tuple(arguments), returns=tuple(changed(schema.returns)))

    def graph(self, graph: Graph) -> Graph:
        """A copy of a graph with the archive's names."""
        copy = clone_graph(graph)
        for part in subgraphs(copy):
            for block in blocks(part.body):
                for value in block.parameters:
                    value.set_type(self.renamed(value.static_type))
                for node in list(block):
                    for value in node.results:
                        value.set_type(self.renamed(value.static_type))
                    for name, attribute in node.attributes.items():
                        node.attributes[name] = self._attribute(attribute)
                    self._callee(part, node)
        return copy

    def _callee(self, graph: Graph, node: Node) -> None:
        """Let a constant that is a function have the archive's name, and hooks be called as readers look them up."""
        callee = called(node) if node.op == CONSTANT else None
        if callee is not None:
            owner = hook_owner(node, callee)
            name = self.of_function(callee) if owner is None else self._of_hook(owner, callee)
            node.attributes["function"] = replace_name(callee, name)
        if node.op == GRADIENT:
            function = node.attribute("function")
            node.attributes["function"] = replace_name(function, self.of_function(function))
        if node.op in INSTEAD:
            instead = node.attribute(INSTEAD[node.op])
            node.attributes[INSTEAD[node.op]] = replace_name(instead, self.of_function(instead))
        owner_type = node.operand(0).static_type if node.op == "prim::CallMethod" else None
        if isinstance(owner_type, ClassType) and is_hook(owner_type, node.attribute("name")):
            hook: Function = owner_type.definition.methods[node.attribute("name")]
            _call_hook(graph, node, replace_name(hook, self._of_hook(owner_type, hook)))

    def _of_hook(self, owner: ClassType, hook: Function) -> str:
        return f"{self._types[owner.definition.type]}.{hook.short_name}"

    def _attribute(self, value: Any) -> Any:
        if isinstance(value, Type):
            return self.renamed(value)
        if isinstance(value, list | tuple) and value and all(isinstance(v, Type) for v in value):
            return type(value)(map(self.renamed, value))
        return value


def _call_hook(graph: Graph, node: Node, hook: Function) -> None:
    """Call it as a function of the class: readers do not count hooks among the methods."""
    with graph.inserting(node), graph.at_range(node.range):
        callee = graph.insert(CONSTANT, (), (FUNCTION,), function=hook).result()
        call = graph.insert("prim::CallFunction", (callee, *node.operands), (node.result().static_type,))
    old = node.result()
    name = old.name if old.has_name else None
    old.replace_uses_with(call.result())
    node.erase()
    if name is not None:
        call.result().set_name(name)


def replace_name(function: Function, name: str) -> Function:
    """The function under another name, for its name alone."""
    return Function(name, function.graph, function.schema)
