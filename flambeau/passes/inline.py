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

from flambeau.ir.clone import insert_graph
from flambeau.ir.constants import CONSTANT
from flambeau.ir.graph import Graph
from flambeau.ir.node import Node
from flambeau.ir.printer import SUBGRAPH
from flambeau.ir.value import Value
from flambeau.ir.walk import nodes_within
from flambeau.passes.recursion import Recursion
from flambeau.program.function import Function
from flambeau.schema.types import ClassType

CALLS = frozenset({"prim::CallFunction", "prim::CallMethod"})


def do(graph: Graph) -> bool:
    """Inline every call at every depth; subgraphs of forks and the like included."""
    return _inline(graph, Recursion(callee_of))


def _inline(graph: Graph, known: Recursion) -> bool:
    changed = False
    for node in list(graph.all_nodes()):
        inner = node.attributes.get(SUBGRAPH)
        if isinstance(inner, Graph):
            changed |= _inline(inner, known)
        callee = callee_of(node)
        if callee is not None and not known.is_recursive(callee):
            changed = _expand(node, callee, known) or changed
    return changed


def callee_of(node: Node) -> Function | None:
    """The function that a call certainly calls; None for other nodes and for calls decided at run time."""
    if node.op not in CALLS or not node.operands:
        return None
    owner = node.operand(0)
    if node.op == "prim::CallFunction":
        found = owner.defining_node.attributes.get("function") if owner.defining_node is not None else None
    elif isinstance(owner.static_type, ClassType) and owner.static_type.definition is not None and is_exact(owner):
        found = owner.static_type.definition.methods.get(node.attribute("name"))
    else:
        found = None
    return found if isinstance(found, Function) else None


def is_exact(owner: Value) -> bool:
    """Whether an object is surely of the class that its type says, and of no subclass."""
    assert isinstance(owner.static_type, ClassType)
    if not owner.static_type.definition.is_open:
        return True
    return owner.defining_node is not None and owner.defining_node.op in (CONSTANT, "prim::CreateObject")


def _expand(call: Node, callee: Function, known: Recursion) -> bool:
    given: Sequence[Value] = call.operands[1:] if call.op == "prim::CallFunction" else call.operands
    body = callee.graph
    if len(body.parameters) != len(given) or len(body.returns) != len(call.results):
        return False
    before = call.previous
    graph, block = call.graph, call.owner_block
    with graph.inserting(call):
        results = insert_graph(graph, body, given)
    first = block.first if before is None else before.next
    added: list[Node] = []
    while first is not None and first is not call:
        added.append(first)
        first = first.next
    for node in added:
        for inner in nodes_within(node):
            inner.call_chain = (*call.call_chain, (callee.short_name, call.range), *inner.call_chain)
    for old, new in zip(call.results, results, strict=True):
        old.replace_uses_with(new)
    function = call.operand(0)
    call.erase()
    if function.defining_node is not None and function.defining_node.op == CONSTANT and not function.is_used:
        function.defining_node.erase()
    for inner in [n for node in added for n in nodes_within(node)]:
        again = callee_of(inner)
        if again is not None and not known.is_recursive(again):
            _expand(inner, again, known)
        subgraph = inner.attributes.get(SUBGRAPH)
        if isinstance(subgraph, Graph):
            _inline(subgraph, known)
    return True
