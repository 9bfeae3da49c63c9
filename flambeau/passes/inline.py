"""Put the bodies of called functions and methods in place of the calls.

```
%f : Function = prim::Constant[name="g"]()          %y : Tensor = aten::relu(%x)
%y : Tensor = prim::CallFunction(%f, %x)      →     return (%y)
return (%y)
```

Each inlined node keeps its own source range, and remembers the calls through which it came to be there. Calls whose
callee is not known (interfaces, Python functions, text that was parsed) and calls of functions that call themselves
stay.
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.analysis.constant_evaluation import decided
from flambeau.ir.clone import Copies, clone_node
from flambeau.ir.constants import CONSTANT
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.ir.printer import SUBGRAPH
from flambeau.passes.recursion import Recursion
from flambeau.program.function import Function
from flambeau.schema.types import ClassType
from flambeau.util.source import SourceRange

CALLS = frozenset({"prim::CallFunction", "prim::CallMethod"})


def do(graph: Graph, *, is_folding: bool = False) -> bool:
    """Inline every call at every depth; subgraphs of forks and the like included.

    With `is_folding`, of the branches in a callee only those are copied that its arguments do not rule out already.
    """
    return _Inliner(is_folding).inline(graph)


def expand_call(call: Node) -> None:
    """Inline one call of a function that is known, and what that calls."""
    callee = callee_of(call)
    assert callee is not None
    _Inliner(is_folding=False).expand(call, callee)


def callee_of(node: Node) -> Function | None:
    """The function that a call certainly calls; None for other nodes and for calls decided at run time."""
    if node.op not in CALLS or not node.operands:
        return None
    owner = node.operand(0)
    if node.op == "prim::CallFunction":
        function = owner.defining_node.attributes.get("function") if owner.defining_node is not None else None
    elif isinstance(owner.static_type, ClassType) and owner.static_type.definition is not None and is_exact(owner):
        function = owner.static_type.definition.methods.get(node.attribute("name"))
    else:
        function = None
    return function if isinstance(function, Function) else None


def is_exact(owner: Value) -> bool:
    """Whether an object is surely of the class that its type says, and of no subclass."""
    assert isinstance(owner.static_type, ClassType)
    if not owner.static_type.definition.is_open:
        return True
    return owner.defining_node is not None and owner.defining_node.op in (CONSTANT, "prim::CreateObject")


class _Inliner:
    def __init__(self, is_folding: bool) -> None:
        self._is_folding = is_folding
        self._recursion = Recursion(callee_of)

    def inline(self, graph: Graph) -> bool:
        """Inline every call of a graph."""
        changed = False
        for node in graph.listed_nodes():
            inner = node.attributes.get(SUBGRAPH)
            if isinstance(inner, Graph):
                changed |= self.inline(inner)
            callee = callee_of(node)
            if callee is not None and not self._recursion.is_recursive(callee):
                changed = self.expand(node, callee) or changed
        return changed

    def expand(self, call: Node, callee: Function) -> bool:
        """Put what a call calls in its place; whether that can be."""
        arguments: Sequence[Value] = call.operands[1:] if call.op == "prim::CallFunction" else call.operands
        body = callee.graph
        if len(body.parameters) != len(arguments) or len(body.returns) != len(call.results):
            return False
        copies = dict(zip(body.parameters, arguments, strict=True))
        copy = _Copy(call, callee.short_name, copies, self._is_folding)
        copy.nodes_of(body.body, call)
        for old, returned in zip(call.results, body.returns, strict=True):
            old.replace_uses_with(copies[returned])
        function = call.operand(0)
        call.erase()
        if function.defining_node is not None and function.defining_node.op == CONSTANT and not function.is_used:
            function.defining_node.erase()
        for inner in copy.unfinished:
            again = callee_of(inner)
            if again is not None and not self._recursion.is_recursive(again):
                self.expand(inner, again)
            subgraph = inner.attributes.get(SUBGRAPH)
            if isinstance(subgraph, Graph):
                self.inline(subgraph)
        return True


class _Copy:
    """A callee's nodes, copied to where it is called."""

    def __init__(self, call: Node, name: str, copies: Copies, is_folding: bool) -> None:
        self._graph = call.graph
        self._copies = copies
        self._is_folding = is_folding
        self._calls: tuple[tuple[str, SourceRange | None], ...] = (*call.call_chain, (name, call.range))
        """Through which the nodes come to be there."""
        self.unfinished: list[Node] = []
        """Copies that call something themselves, or have a subgraph."""

    def nodes_of(self, source: Block, following: Node) -> None:
        """Copy the nodes of a block to before a node."""
        copies, graph, block = self._copies, self._graph, following.owner_block
        for node in source:
            if node.nested_blocks:
                way = decided(copies[node.operand(0)]) if self._is_folding and node.op == "prim::If" else None
                if way is not None:
                    self._branch(node, node.nested_blocks[0 if way else 1], following)
                    continue
            new = clone_node(node, graph, copies, with_blocks=False)
            new.call_chain = (*self._calls, *new.call_chain) if new.call_chain else self._calls
            block._link(new, following)
            if new.op in CALLS or SUBGRAPH in new.attributes:
                self.unfinished.append(new)
            for inner in node.nested_blocks:
                self._block(inner, new.add_block())

    def _branch(self, node: Node, taken: Block, following: Node) -> None:
        """Copy what a `prim::If` does that always goes one way."""
        self.nodes_of(taken, following)
        for result, returned in zip(node.results, taken.returns, strict=True):
            self._copies[result] = self._copies.get(returned, returned)

    def _block(self, source: Block, target: Block) -> None:
        copies = self._copies
        for parameter in source.parameters:
            copies[parameter] = target.add_parameter(parameter.static_type, parameter._name)
        self.nodes_of(source, target.return_node)
        for value in source.returns:
            target.add_return(copies.get(value, value))
        target.return_node.call_chain = self._calls
