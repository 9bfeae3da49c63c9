"""Running a plan for its kernels alone, which are compiled when sizes are known: which plans, and on what.

>>> from flambeau.ir import parse_ir
>>> said = parse_ir("graph(%x : Tensor):\\n   = prim::Print(%x)\\n  return (%x)")
>>> squashed = parse_ir("graph(%x : Tensor):\\n  %y : Tensor = aten::tanh(%x)\\n  return (%y)")
>>> is_unseen(said, [1.0]), is_unseen(squashed, [1.0]), is_unseen(squashed, [object()])
(False, True, False)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from flambeau.analysis.alias import AliasAnalysis
from flambeau.analysis.effects import own_effect, own_writes
from flambeau.ir.constants import CONSTANT, constant_value, is_constant
from flambeau.ir.graph import Graph, Node
from flambeau.passes.inline import callee_of
from flambeau.schema.opdef import Effect
from flambeau.tensor.tensor import Tensor

MOST_BYTES: Final = 1 << 26
"""Of numbers in arguments that are copied."""
_PLAIN: Final = (bool, int, float, complex, str, type(None))


def is_unseen(graph: Graph, arguments: Sequence[Any]) -> bool:
    """Whether nobody can tell that a graph ran on copies of arguments: it draws no random numbers, writes to nothing
    that is there before, and says nothing.
    """
    if not _are_values(arguments) or sum(t._array.nbytes for t in _tensors(arguments)) > MOST_BYTES:
        return False
    return all(map(_is_quiet, graph.listed_nodes())) and not _writes_to_others(graph)


def leaves_no_trace(graph: Graph) -> bool:
    """Whether nobody can tell, but by its results, how often a graph ran, whatever its arguments are."""
    pending, seen = [graph], {graph}
    while pending:
        for node in pending.pop().all_nodes():
            callee = callee_of(node)
            if callee is None and not _is_quiet(node):
                return False
            if callee is not None and callee.graph not in seen:
                seen.add(callee.graph)
                pending.append(callee.graph)
    return not any(map(_writes_to_others, seen))


def _is_quiet(node: Node) -> bool:
    """Whether a node does nothing but compute, or raise what nobody hears."""
    effect = own_effect(node)
    return effect is Effect.NONE or node.op == "prim::RaiseException" or (effect is Effect.RANDOM and _is_off(node))


def _is_off(node: Node) -> bool:
    """Whether a node that draws random numbers in training is told that there is none."""
    index = None if node.definition is None else node.definition.schema.index.get("train")
    return index is not None and is_constant(node.operand(index)) and not constant_value(node.operand(index))


def _writes_to_others(graph: Graph) -> bool:
    """Whether a graph writes to anything that it did not make."""
    if not any(map(own_writes, graph.listed_nodes())):
        return False
    aliases = AliasAnalysis(graph, apart=True)
    constants = [v for node in graph.listed_nodes() if node.op == CONSTANT for v in node.results]
    return any(aliases.has_writers(v) for v in (*graph.parameters, *constants))


def copies(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """The arguments with copies of integers: indices that were found to be in bounds stay so, whoever writes to theirs.

    Floats are read where they are.
    """
    return tuple([_copy(value) for value in arguments])


def _copy(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value if value.is_floating_point() else value.clone()
    if isinstance(value, list | tuple):
        items = [_copy(item) for item in value]
        return items if isinstance(value, list) else tuple(items)
    return value


def _are_values(values: Iterable[Any]) -> bool:
    """Whether they are tensors, numbers and texts, alone or in lists and tuples."""
    for value in values:
        if type(value) in (list, tuple):
            if not _are_values(value):
                return False
        elif type(value) not in _PLAIN and type(value) is not Tensor:
            return False
    return True


def _tensors(values: Iterable[Any]) -> Iterable[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from _tensors(value)
