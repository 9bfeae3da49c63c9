"""What a method asks of its object's tensors, of the mode, and of its numbers, as answers that functions are made for.

```
%b : bool = prim::requires_grad(%layer_weight)        graph(..., %layer_weight_requires_grad : bool,
%c : bool = aten::is_grad_enabled()             →             %is_grad_enabled : bool):
```

Calls get plain tensors in the place of what asks for gradients, and so need the answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flambeau.analysis.alias import AliasAnalysis
from flambeau.analysis.effects import own_effect, own_writes
from flambeau.analysis.gradients import is_about_tensor
from flambeau.analysis.modes import may_record
from flambeau.ir import constants, kinds
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.schema.opdef import Effect
from flambeau.schema.types import BOOL, BoolType, FloatType, IntType

Path = tuple[str, ...]
"""Names of attributes, from the object on: submodules, then the attribute that is read."""
ASKS: Final = "requires_grad"
"""The last name of a path that ends at what is known of a tensor."""
GRAD_MODE: Final = "is_grad_enabled()"
"""The path of what holds on the thread: no attribute has such a name."""
_NUMBERS: Final = (IntType, FloatType, BoolType)
_ASKING: Final = "prim::requires_grad"
_MODE: Final = "aten::is_grad_enabled"
_DATA: Final = "prim::data"
"""The same memory without gradients: of a plain tensor that is what it is anyway."""


def answer_about(graph: Graph, origins: dict[Value, Path], aliases: list[AliasAnalysis]) -> list[Path] | None:
    """Parameters in the place of questions whether what was read of the object asks for gradients; their paths.

    Calls get plain tensors in the place of what asks, and so need the answers. What is computed answers by itself. None
    where one value may be either. What had to be found out of shared memory goes into `aliases`: it still holds.
    """
    flags: dict[Path, Value] = {}
    for node in [n for n in graph.listed_nodes() if n.op == _ASKING]:
        tensor = node.operand(0)
        path = origins.get(_uncast(tensor))
        if path is None:
            if not aliases:
                aliases.append(AliasAnalysis(graph, apart=True))
            if aliases[0].may_contain_alias(tensor, origins):
                return None
        else:
            if path not in flags:
                flags[path] = graph.add_parameter(BOOL, "_".join((*path, ASKS)))
            node.result().replace_uses_with(flags[path])
            node.erase()
    return [(*path, ASKS) for path in flags]


def tells_apart(node: Node) -> bool:
    """Whether a node may do something else where plain tensors stand in the place of parameters: it looks at more than
    whether they ask for gradients, or from it on gradients are recorded although they were not.
    """
    if node.op != "prim::Enter":
        return is_about_tensor(node) and node.op not in (_ASKING, _DATA)
    return may_record(node)


def _uncast(value: Value) -> Value:
    """The value whose type was refined to this one's."""
    while value.defining_node is not None and value.defining_node.op == "prim::unchecked_cast":
        value = value.defining_node.operand(0)
    return value


def asks_of_computed(graph: Graph) -> bool:
    """Whether a graph asks of what it computes, or is given, whether it asks for gradients."""
    return graph.find(_ASKING) is not None


def answer_mode(graph: Graph) -> list[Path]:
    """A parameter in the place of questions whether gradients are recorded, if there are any and the graph itself does
    not change it; its path.
    """
    questions = graph.find_all(_MODE)
    if not questions or any(map(_may_change_mode, graph.listed_nodes())):
        return []
    answer = graph.add_parameter(BOOL, _MODE.partition("::")[2])
    for node in questions:
        node.result().replace_uses_with(answer)
        node.erase()
    return [(GRAD_MODE,)]


def _may_change_mode(node: Node) -> bool:
    return node.op in ("prim::Enter", "aten::set_grad_enabled") or node.op in kinds.OPAQUE or node.op.startswith("^")


def deciding(graph: Graph, hidden: Sequence[Value]) -> tuple[int, ...]:
    """Which of the values are numbers that decide which way the graph takes: by themselves, or with other such and
    bools.

    A number of heads that must be even is one, and a probability that may be 0; one that is compared with a size
    decides nothing that could be known.
    """
    sources = {v: frozenset((k,)) for k, v in enumerate(hidden) if isinstance(v.static_type, IntType | FloatType)}
    if not sources:
        return ()
    sources |= {v: frozenset() for v in hidden if isinstance(v.static_type, BoolType)}
    decide: set[int] = set()
    _follow(graph.body, sources, decide)
    return tuple(sorted(decide))


def _follow(block: Block, sources: dict[Value, frozenset[int]], decide: set[int]) -> None:
    """Find out of which numbers alone each value of a block is made, and which of them decide."""
    for node in block:
        for inner in node.nested_blocks:
            _follow(inner, sources, decide)
        if node.op == "prim::If":
            numbers = _sources(node.operands, sources)
            decide.update(numbers or ())
            for value in node.results:
                ways = [b.returns[value.index] for b in node.nested_blocks]
                chosen = None if numbers is None else _sources(ways, sources)
                if numbers is not None and chosen is not None and isinstance(value.static_type, _NUMBERS):
                    sources[value] = numbers | chosen
        elif node.operands and _is_about_numbers(node):
            numbers = _sources(node.operands, sources)
            if numbers is not None:
                sources.update(dict.fromkeys(node.results, numbers))


def _is_about_numbers(node: Node) -> bool:
    """Whether a node computes numbers, and does nothing else."""
    if node.nested_blocks or own_effect(node) is not Effect.NONE or own_writes(node):
        return False
    return all(isinstance(v.static_type, _NUMBERS) for v in node.results)


def _sources(values: Sequence[Value], sources: dict[Value, frozenset[int]]) -> frozenset[int] | None:
    """The numbers of which values are made; None where they depend on something else."""
    if not all(v in sources or constants.is_constant(v) for v in values):
        return None
    return frozenset().union(*[sources.get(v, ()) for v in values])
