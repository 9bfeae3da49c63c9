"""What is done to a graph of an archive's code, so that it is what the code was printed from.

Tasks hold what they run instead of calling a function for it; numbers that code can only write as sums (`1.+2.j`,
`-inf`) are constants; each constant is there once.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Final

from flambeau.ir.clone import insert_graph
from flambeau.ir.constants import constant_value, insert_constant, is_constant
from flambeau.ir.graph import Graph, Node
from flambeau.ir.printer import SUBGRAPH
from flambeau.ir.walk import subgraphs
from flambeau.passes import constant_pooling
from flambeau.passes.inline import callee_of
from flambeau.schema.rule_tables import RuleTable
from flambeau.serialize.archive_reader.contexts import restore_contexts
from flambeau.serialize.python_print_resolver import forget_temporaries
from flambeau.util.errors import CompileError

_TASKS: Final = frozenset(("prim::fork", "prim::awaitable"))
_folds: Final = RuleTable[Callable[..., complex]]("folding of the numbers that archives spell as operators")
_folds("aten::neg")(operator.neg)
_folds("aten::add")(operator.add)


def finish(graph: Graph) -> None:
    """Change the graph in place."""
    forget_temporaries(graph)
    restore_contexts(graph)
    for node in graph.listed_nodes():
        if node.op in _TASKS:
            _hold(node.attributes[SUBGRAPH])
        elif node.op in _folds and all(is_constant(v) for v in node.operands):
            _fold(node)
    constant_pooling.do(graph)


def _hold(body: Graph) -> None:
    """Put the body of the only function that a task calls in place of the call."""
    calls = [node for node in body.body if node.op == "prim::CallFunction"]
    callee = callee_of(calls[0]) if len(calls) == 1 else None
    if callee is None or "." in callee.name:  # one that has a name of its own, which the program gave it
        return
    (call,) = calls
    function = call.operand(0)
    with body.inserting(call):
        results = insert_graph(body, callee.graph, call.operands[1:])
    for old, new in zip(call.results, results, strict=True):
        old.replace_uses_with(new)
    call.erase()
    if function.defining_node is not None and not function.is_used:
        function.defining_node.erase()


def _fold(node: Node) -> None:
    """Replace the negative or the sum of numbers by the number."""
    values = [constant_value(v) for v in node.operands]
    if not all(isinstance(v, float | complex) for v in values):
        return
    graph = node.graph
    with graph.inserting(node), graph.at_range(node.range):
        number = insert_constant(graph, _folds[node.op](*values))
    if node.result().has_name:
        graph.rename(number, node.result().name)
    node.result().replace_uses_with(number)
    node.erase()


def compile_callees(graph: Graph, name: str) -> None:
    """Compile what a graph calls, so that what is wrong there is told before anything runs."""
    for one in subgraphs(graph):
        for node in one.all_nodes():
            callee = callee_of(node)
            if callee is not None and not callee.is_compiled:
                try:
                    callee.graph  # noqa: B018  (compiles it)
                except CompileError as error:
                    where = node.range
                    raise (error if where is None else error.with_caller(callee.name, name, where)) from None
