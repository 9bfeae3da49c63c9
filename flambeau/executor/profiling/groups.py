"""Groups of operators on tensors whose types were recorded, each behind a guard on these types.

```
                                    %1 : Float(3), %2 : bool = prim::TypeCheck[types=[Float(3)]](%x)
%a = aten::mul(%x, %x)              %b : Tensor = prim::If(%2)
%b = aten::tanh(%a)            →      block0():
                                        %3 : Float(3) = prim::TensorExprGroup_0(%1)
                                        -> (%3)
                                      block1():
                                        %4 : Function = prim::Constant[name="fallback_function", fallback=1]()
                                        %5 : (Tensor) = prim::CallFunction(%4, %x)
                                        %6 : Tensor = prim::TupleUnpack(%5)
                                        -> (%6)
```

A group may take anything without effects that gives tensors: views and lists of tensors within, matrix products, random
numbers. It is a function with plans of its own, and so is what runs where the guard fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from flambeau.analysis import shapes
from flambeau.analysis.alias import AliasAnalysis
from flambeau.analysis.effects import is_random, own_effect, writes_memory
from flambeau.executor.profiling.settings import STATIC, Settings
from flambeau.interpreter.guards import RequiresGradCheck, TypeCheck
from flambeau.interpreter.liveness import KERNEL
from flambeau.ir import constants
from flambeau.ir.clone import clone_graph
from flambeau.ir.graph import Graph, Node, Value
from flambeau.ir.printer import SUBGRAPH
from flambeau.ir.walk import blocks, operands_within
from flambeau.passes.grow_groups import WITHIN, grown_groups
from flambeau.passes.outline import outline
from flambeau.program.function import Function
from flambeau.program.signature import schema_of
from flambeau.schema.opdef import Effect
from flambeau.schema.types import (
    BOOL,
    FUNCTION,
    BoolType,
    FloatType,
    IntType,
    ListType,
    TensorType,
    TupleType,
    Type,
    without_refinement,
)

GROUP: Final = "prim::TensorExprGroup"
FALLBACK: Final = "fallback_function"
SMALLEST: Final = 2
"""Operators in a group: a guard takes as long as one."""
_CHUNK: Final = "prim::ConstantChunk"
_NUMBERS: Final = (IntType, FloatType, BoolType)


class Guarded(NamedTuple):
    """A group in a graph, what is before it, and what runs where that fails."""

    node: Node
    guard: TypeCheck
    callee: Node
    """The constant that stands for what runs elsewhere."""
    fallback: Node
    """The call of it."""


def as_guarded(type_: TensorType | None, kind: str) -> TensorType | None:
    """What a guard of a kind asks of a tensor of which this was seen; None where that is not enough."""
    if type_ is None or type_.dtype is None or type_.device is None or type_.sizes is None:
        return None
    if type_.requires_grad is not False:
        return None
    if kind == STATIC and type_.is_complete:
        return type_
    return type_.refine(sizes=(None,) * len(type_.sizes), strides=None)


def make_groups(graph: Graph, settings: Settings) -> list[Node]:
    """Gather operators on tensors of known types; the groups, without guards."""
    aliases = AliasAnalysis(graph)

    def is_candidate(node: Node, aliases: AliasAnalysis) -> bool:
        return _is_candidate(node, aliases, folds=settings.folds)

    groups = [g for block in list(blocks(graph.body)) for g in grown_groups(block, aliases, is_candidate)]
    return [outline(group, GROUP) for group in groups if _size(group) >= SMALLEST]


def _size(group: Sequence[Node]) -> int:
    return sum(node.op not in WITHIN for node in group)


def _is_candidate(node: Node, aliases: AliasAnalysis, *, folds: bool) -> bool:
    if node.nested_blocks or not all(_is_tensor_or_list(v.static_type) for v in node.results):
        return False
    if node.op not in WITHIN and node.op != _CHUNK and not _is_operator(node, folds=folds):
        return False
    operands = operands_within(node)
    if not any(_is_tensor_or_list(v.static_type) for v in operands) or not all(map(_is_taken, operands)):
        return False
    return not any(map(aliases.has_writers, (*operands, *node.results)))


def _is_operator(node: Node, *, folds: bool) -> bool:
    """Whether a node is an operator without effects; one that draws random numbers only if it goes by a tensor."""
    definition = node.definition
    if definition is None or own_effect(node) not in (Effect.NONE, Effect.RANDOM) or writes_memory(node):
        return False
    if definition.accumulator and not folds:
        return False
    return not is_random(node) or any(isinstance(v.static_type, TensorType) for v in node.operands)


def _is_taken(value: Value) -> bool:
    """Whether a group may take a value: a tensor that is known, a list or tuple of such, a number or a constant."""
    type_ = value.static_type
    if isinstance(type_, TensorType):
        return type_.dtype is not None and type_.sizes is not None and type_.requires_grad is False
    return isinstance(type_, (*_NUMBERS, ListType, TupleType)) or constants.is_constant(value)


def _is_tensor_or_list(type_: Type) -> bool:
    if isinstance(type_, TupleType):
        return bool(type_.elements) and all(map(_is_tensor_or_list, type_.elements))
    return isinstance(type_.element if isinstance(type_, ListType) else type_, TensorType)


def guard(node: Node, types: Sequence[TensorType]) -> Guarded:
    """Put a guard on the tensors that a group takes before it, and a call of the same operators beside it."""
    graph = node.graph
    kind, check = ("prim::TypeCheck", TypeCheck) if node.op == GROUP else ("prim::RequiresGradCheck", RequiresGradCheck)
    tensors = [v for v in node.operands if isinstance(v.static_type, TensorType)]
    result_types: list[Type] = [*types, BOOL]
    type_check = graph.create(kind, tensors, result_types).insert_before(node)
    type_check.attributes["types"] = list(types)
    holds = type_check.attributes[KERNEL] = check(types)
    declared = [without_refinement(v.static_type) for v in node.results]
    branch = graph.create("prim::If", [type_check.results[-1]], declared).insert_before(node)
    for old, new in zip(node.results, branch.results, strict=True):
        old.replace_uses_with(new)
    first, second = branch.add_block(), branch.add_block()
    operands = list(node.operands)
    with graph.inserting(second):
        callee = graph.insert("prim::Constant", [], [FUNCTION], name=FALLBACK, fallback=1)
        call = graph.insert("prim::CallFunction", [callee.result(), *operands], [TupleType(tuple(declared))])
        for value in graph.insert("prim::TupleUnpack", [call.result()], declared).results:
            second.add_return(value)
    checked = dict(zip(tensors, type_check.results, strict=False))
    for index, value in enumerate(operands):
        if value in checked:
            node.replace_operand(index, checked[value])
    node.move_before(first.return_node)
    for value in node.results:
        first.add_return(value)
    for each in (type_check, branch, call):
        each.copy_metadata(node)
    return Guarded(node, holds, callee, call)


def fallback_of(node: Node, name: str) -> Function:
    """The operators of a group as a function that takes anything, and gives a tuple."""
    graph = clone_graph(node.attribute(SUBGRAPH))
    forget_types(graph)
    results = list(graph.returns)
    with graph.inserting(graph.body):
        packed = graph.insert("prim::TupleConstruct", results, [TupleType(tuple(v.static_type for v in results))])
    graph.body.return_node.set_operands([packed.result()])
    return function_of(graph, name)


def function_of(graph: Graph, name: str) -> Function:
    """A group's graph as a function."""
    return Function(name, graph, schema_of(name, graph))


def settle_types(node: Node) -> None:
    """Leave, within a group, what follows from the types of what it takes: not the sizes of what elements decide."""
    graph: Graph = node.attribute(SUBGRAPH)
    seen = {v: v.static_type for v in values_of(graph)}
    shapes.propagate(graph)
    for value, type_ in seen.items():
        actual = value.static_type
        if isinstance(type_, TensorType) and isinstance(actual, TensorType) and actual.sizes == type_.sizes:
            value.set_type(type_)
    for value, inner in zip(node.results, graph.returns, strict=True):
        value.set_type(inner.static_type)


def values_of(graph: Graph) -> list[Value]:
    """All values of a graph but constants."""
    nodes = [n for n in graph.listed_nodes() if n.op != constants.CONSTANT]
    inner = [v for n in nodes for v in (*n.results, *(p for block in n.nested_blocks for p in block.parameters))]
    return [*graph.parameters, *inner]


def forget_types(graph: Graph) -> None:
    """Leave what was recorded to groups, whose guards make sure of it."""
    for value in values_of(graph):
        value.set_type(without_refinement(value.static_type))
