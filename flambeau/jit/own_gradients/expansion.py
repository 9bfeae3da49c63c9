"""Custom functions in plans: `^Clamp()` becomes what its `forward` computes, behind a node that knows its `backward`.

What programs do not mean stays a node that Python runs.
"""

from __future__ import annotations

from flambeau.executor.inlined_graph import inlined_graph
from flambeau.ir.clone import clone_graph, insert_graph
from flambeau.ir.graph import Graph, Node, Value
from flambeau.jit.own_gradients.rules import OwnGradient, custom_function, rule_of
from flambeau.program.function import Function
from flambeau.program.own_gradients import insert_own_gradient
from flambeau.schema.types import TensorType
from flambeau.util.inversions import CUSTOM_FUNCTION_EXPANSION


@CUSTOM_FUNCTION_EXPANSION.provide
def do(graph: Graph) -> bool:
    """Expand all custom functions that a graph calls; whether there were any."""
    changed = False
    waiting = graph.listed_nodes()
    while waiting:
        node = waiting.pop()
        cls = custom_function(node)
        rule = None if cls is None else rule_of(cls, [v.static_type for v in node.operands])
        if rule is None or rule.results != len(node.results):
            continue
        before = set(graph.listed_nodes())
        _expand(node, rule)
        waiting += [n for n in graph.listed_nodes() if n not in before]
        changed = True
    return changed


def expanded_graph(function: Function) -> Graph:
    """The graph of a function with all that it calls in it, custom functions among that; not to be changed."""
    graph = inlined_graph(function)
    if not any(custom_function(node) is not None for node in graph.listed_nodes()):
        return graph
    copy = clone_graph(graph)
    do(copy)
    return copy


def _expand(node: Node, rule: OwnGradient) -> None:
    graph, operands = node.graph, list(node.operands)
    with graph.inserting(node), graph.at_range(node.range):
        arguments = [_detached(graph, value) for value in operands]
        values = insert_graph(graph, rule.forward, arguments)
        results, kept = values[: rule.results], values[rule.results :]
        known = {value: n for n, value in enumerate(results)}
        known |= {value: rule.results + n for n, value in reversed(list(enumerate(arguments)))}
        others = list(dict.fromkeys(value for value in kept if value not in known))
        known |= {value: rule.results + len(operands) + n for n, value in enumerate(others)}
        numbers = [known[value] for value in kept]
        own = insert_own_gradient(graph, results, operands, numbers, others, rule.backward, rule.jvp)
    for old, new in zip(node.results, own.results, strict=True):
        old.replace_uses_with(new)
    node.erase()


def _detached(graph: Graph, value: Value) -> Value:
    """An argument as `forward` sees it, which records nothing."""
    if not isinstance(value.static_type, TensorType):
        return value
    return graph.insert("aten::detach", [value], [value.static_type]).result()
