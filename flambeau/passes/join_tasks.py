"""Tasks as calls: what a task computes, where it is forked, and its result in the place of its future.

%f : Future(int) = prim::fork(%x)  with graph(%x): … return (%y)        …
%r : int = aten::wait(%f)                                          →    %r : int = %y

No pass of a plan: whoever asks for it knows that the tasks are short, and that nobody can tell when they run.
"""

from __future__ import annotations

from typing import Final

from flambeau.ir.clone import clone_graph, insert_graph
from flambeau.ir.graph import Graph, Node
from flambeau.ir.printer import SUBGRAPH
from flambeau.passes import inline
from flambeau.passes.inline import callee_of
from flambeau.program.function import Function
from flambeau.schema.types import FutureType, Type, VarType

FORK: Final = "prim::fork"
_HOLDING: Final = frozenset(
    {
        FORK, "prim::ListConstruct", "prim::If", "prim::Loop", "prim::TupleConstruct", "prim::TupleUnpack",
        "prim::TupleIndex", "prim::Uninitialized",
    }
)  # fmt: skip
"""Nodes that treat a future as any other value, and what makes one; so do operators that take values of any type."""


class _CannotJoinError(Exception):
    """Somebody could tell a future from its value."""


def joined(graph: Graph) -> Graph | None:
    """A copy in which every task is a call; None where futures are more than waited for.

    >>> from flambeau.ir import parse_ir
    >>> joined(parse_ir("graph(%f : Future(int)):\\n  %y : int = aten::wait(%f)\\n  return (%y)")) is None
    True
    """
    try:
        return _Joiner().copy_of(graph)
    except _CannotJoinError:
        return None


class _Joiner:
    def __init__(self) -> None:
        self._copies: dict[Function, Function] = {}
        """By function that forks, itself or in what it calls: the one without tasks."""

    def copy_of(self, graph: Graph) -> Graph:
        """The graph without tasks."""
        if any(_holds_future(v.static_type) for v in (*graph.parameters, *graph.returns)):
            raise _CannotJoinError
        copy = clone_graph(graph)
        inline.do(copy)
        _check(copy)
        while forks := copy.find_all(FORK):
            for fork in forks:
                _check(fork.attributes[SUBGRAPH])
                _put_in_place(fork)
        for node in copy.listed_nodes():
            if node.op == "prim::CallFunction":
                self._call_copy(node)
        for wait in copy.find_all("aten::wait"):
            wait.result().replace_uses_with(wait.operand(0))
            wait.erase()
        for node in copy.all_nodes():
            inner = [v for block in node.nested_blocks for v in block.parameters]
            for value in (*node.results, *inner):
                value.set_type(_without_futures(value.static_type))
        return copy

    def _call_copy(self, call: Node) -> None:
        callee = callee_of(call)
        if callee is None or not _forks(callee):
            return
        named = call.operand(0).defining_node
        assert named is not None
        if any(use.user.op != "prim::CallFunction" for use in named.result().uses()):
            raise _CannotJoinError
        named.attributes["function"] = self._copy(callee)

    def _copy(self, function: Function) -> Function:
        copy = self._copies.get(function)
        if copy is None:
            copy = self._copies[function] = Function(function.name, Graph(), function.schema)
            copy.graph = self.copy_of(function.graph)
        return copy


def _put_in_place(fork: Node) -> None:
    graph, body = fork.graph, fork.attributes[SUBGRAPH]
    if len(body.returns) != 1:
        raise _CannotJoinError
    with graph.inserting(fork):
        (value,) = insert_graph(graph, body, fork.operands)
    fork.result().replace_uses_with(value)
    fork.erase()


def _check(graph: Graph) -> None:
    """Raises _CannotJoinError if a node does with a future what cannot be done with its value."""
    for node in graph.all_nodes():
        if node.op in _HOLDING or node.op == "aten::wait":
            continue
        if isinstance(node.attributes.get(SUBGRAPH), Graph) or not _takes_any(node):
            raise _CannotJoinError


def _takes_any(node: Node) -> bool:
    """Whether an operator only hands on the futures that it is given: it stores or gives elements, compares none."""
    indices = [index for index, value in enumerate(node.operands) if _holds_future(value.static_type)]
    if not indices:
        return not any(_holds_future(v.static_type) for v in node.results)
    arguments = () if node.definition is None else node.definition.schema.arguments
    if any(index >= len(arguments) for index in indices):
        return False
    formal = [arguments[index] for index in indices]
    return all(a.type.contained or (isinstance(a.type, VarType) and a.alias is not None) for a in formal)


def _forks(function: Function) -> bool:
    """Whether a function forks tasks, itself or in what it calls."""
    pending, seen = [function], {function}
    while pending:
        for node in pending.pop().graph.all_nodes():
            if node.op == FORK:
                return True
            callee = callee_of(node)
            if callee is not None and callee not in seen:
                seen.add(callee)
                pending.append(callee)
    return False


def _holds_future(type_: Type) -> bool:
    return any(isinstance(part, FutureType) for part in type_.walk())


def _without_futures(type_: Type) -> Type:
    if isinstance(type_, FutureType):
        return _without_futures(type_.element)
    inner = type_.contained
    return type_.with_contained(tuple(map(_without_futures, inner))) if inner else type_
