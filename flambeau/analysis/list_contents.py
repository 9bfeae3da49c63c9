"""Which nodes may put tensors into which lists, so that a list's type can speak of the tensors in it.

A list is told by the value that is there first: the result of the node that makes it, or the parameter that it comes in
as, whose type says what it holds then. Lists that something of which nothing is known may write to are open: nothing is
said of what is in them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flambeau.analysis.alias import AliasAnalysis
from flambeau.analysis.effects import own_writes
from flambeau.analysis.lattice import fit, holds_tensors, join, open_lists
from flambeau.analysis.memory import any_overlap
from flambeau.ir import kinds
from flambeau.ir.graph import Graph, Node, Value
from flambeau.schema.alias import AliasInfo
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import ListType, TensorType, Type, is_number, without_refinement


class ListContents:
    """What the lists of a graph hold, as far as a walk over the graph has come."""

    def __init__(self, graph: Graph, nodes: Sequence[Node], aliases: Callable[[], AliasAnalysis]) -> None:
        """`aliases` is asked only for graphs that have lists of tensors and write to lists."""
        self._elements: dict[Value, Type] = {}
        self._stores: dict[Node, list[Value]] = {}
        self._open: set[Value] = set()
        self.changed = False
        """Set when less is known of a list than was; what was read from it before is not right any more."""
        new = [v for n in nodes for v in n.results if is_tensor_list(v.static_type)]
        lists = [v for v in graph.parameters if _holds_tensor_lists(v.static_type)] + new
        writers = [n for n in nodes if _may_write_lists(n)] if lists else []
        if writers:
            self._find_stores(lists, writers, aliases())

    def _find_stores(self, lists: list[Value], writers: list[Node], aliases: AliasAnalysis) -> None:
        written_by = list(map(aliases.writes, writers))
        for value in lists:
            is_flat = isinstance(value.static_type, ListType) and isinstance(value.static_type.element, TensorType)
            is_parameter = value.defining_node is None
            locations = aliases.locations(value)
            for node, written in zip(writers, written_by, strict=True):
                if is_parameter and not is_flat and aliases.may_reach(value, written):
                    self._open.add(value)
                if not any_overlap(written, locations):
                    continue
                if node.definition is None:
                    self._open.add(value)
                else:
                    self._stores.setdefault(node, []).append(value)

    def type_of_parameter(self, value: Value) -> Type:
        """The type of a parameter, as it will be for as long as the graph runs."""
        if not _holds_tensor_lists(value.static_type):
            return value.static_type
        if isinstance(value.static_type, ListType):
            return self.type_of_new(value, value.static_type.element)
        return open_lists(value.static_type) if value in self._open else value.static_type

    def type_of_new(self, value: Value, element: Type) -> ListType:
        """The type of a list that a node makes with such elements, as it will be for as long as there is the list."""
        declared = value.static_type
        assert isinstance(declared, ListType)
        if value in self._open:
            return ListType(without_refinement(declared.element))
        return ListType(self._add(value, fit(without_refinement(declared.element), element)))

    def store(self, node: Node) -> None:
        """Take note of what an operator puts into lists."""
        for value in self._stores.get(node, ()):
            declared = value.static_type
            assert isinstance(declared, ListType)
            for operand in node.operands:
                added = _as_element(operand.static_type, declared.element)
                if added is not None:
                    value.set_type(ListType(self._add(value, added)))

    def _add(self, value: Value, element: Type) -> Type:
        before = self._elements.get(value)
        after = element if before is None else join(before, element)
        if before is not None and before != after:
            self.changed = True
        self._elements[value] = after
        return after


def is_tensor_list(type_: Type) -> bool:
    """Whether it is a list that holds tensors, at whatever depth."""
    return isinstance(type_, ListType) and holds_tensors(type_.element)


def _holds_tensor_lists(type_: Type) -> bool:
    """Whether there are lists of tensors in it."""
    return is_tensor_list(type_) or any(map(_holds_tensor_lists, type_.contained))


def _as_element(type_: Type, element: Type) -> Type | None:
    """What an operand of an operator that writes to lists may put in; None for what is no element, such as an index."""
    plain = without_refinement(element)
    if is_subtype(type_, plain):
        return fit(plain, type_)
    if isinstance(type_, ListType) and is_subtype(type_.element, plain):
        return fit(plain, type_.element)
    return None if is_number(type_) else plain


def _may_write_lists(node: Node) -> bool:
    if node.nested_blocks or not own_writes(node):
        return False
    definition = node.definition
    if definition is None or node.op in kinds.OPAQUE:
        return True
    written = (
        v.static_type for v, a in zip(node.operands, definition.schema.arguments, strict=False) if _is_written(a.alias)
    )
    return not all(isinstance(t, TensorType) for t in written)


def _is_written(alias: AliasInfo | None) -> bool:
    return alias is not None and (alias.is_write or any(map(_is_written, alias.contained)))
