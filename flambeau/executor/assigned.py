"""Attributes that a method assigns, as variables: they come in as parameters and go out as further results.

```
%n : int = prim::GetAttr[name="n"](%self)        graph(%x, %n : int):
%m : int = aten::add(%n, %one)                     %m : int = aten::add(%n, %one)
 = prim::SetAttr[name="n"](%self, %m)       →      %y : Tensor = aten::mul(%x, %m)
%y : Tensor = aten::mul(%x, %m)                    %r : (Tensor, int) = prim::TupleConstruct(%y, %m)
return (%y)                                        return (%r)
```

Only for methods that change nothing else: one that fails on its way is run once more with its object, which then has
what was assigned before the failure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flambeau.analysis.alias import AliasAnalysis
from flambeau.analysis.effects import own_effect, own_writes
from flambeau.frontend.ssa.cleanup import clean
from flambeau.frontend.ssa.to_ssa import LOAD, STORE, to_ssa
from flambeau.ir import constants
from flambeau.ir.graph import Graph, Node
from flambeau.schema.opdef import Effect
from flambeau.schema.traits import Role
from flambeau.schema.types import NONE, BoolType, FloatType, IntType, OptionalType, TensorType, TupleType, Type

Path = tuple[str, ...]
READ, WRITE = "prim::GetAttr", "prim::SetAttr"


def may_be_variable(type_: Type) -> bool:
    """Whether an attribute of this type may be assigned by a method that has no object."""
    if isinstance(type_, OptionalType):
        return isinstance(type_.element, TensorType)
    return isinstance(type_, TensorType | IntType | FloatType | BoolType)


def changes_nothing_else(graph: Graph, *, dropouts_too: bool = False) -> bool:
    """Whether a method may be run twice, as far as the world and memory are concerned, assignments left aside; with
    `dropouts_too` if none of its dropouts is in training.
    """
    return all(
        n.op in (WRITE, "prim::RaiseException")
        or (own_effect(n) is Effect.NONE and not own_writes(n))
        or (dropouts_too and _is_dropout(n))
        for n in graph.all_nodes()
    )


def _is_dropout(node: Node) -> bool:
    """Whether a node is a dropout that gives a new tensor, and may not be in training."""
    definition = node.definition
    if definition is None or definition.traits.role is not Role.DROPOUT or own_writes(node):
        return False
    return not constants.is_constant(node.operand(2)) or not constants.constant_value(node.operand(2))


def make_variables(graph: Graph, accesses: Mapping[Path, Sequence[Node]], types: Mapping[Path, Type]) -> bool:
    """Put variables in the place of attributes that are assigned; False where one is assigned what others know.

    `accesses` are all reads and writes of those attributes. New parameters come last, in the order of `types`; the
    graph returns a tuple of its result, if that is not None, and of what the attributes are in the end.
    """
    for path, type_ in types.items():
        name = ".".join(path)
        value = graph.add_parameter(type_, "_".join(path))
        with graph.inserting(graph.body.first or graph.body):
            graph.insert(STORE, (value,), name=name, type=type_)
        for node in accesses[path]:
            with graph.inserting(node), graph.at_range(node.range):
                if node.op == READ:
                    loaded = graph.insert(LOAD, (), (type_,), name=name).result()
                    node.result().replace_uses_with(loaded)
                else:
                    graph.insert(STORE, (node.operand(1),), name=name, type=type_)
            node.erase()
        graph.body.add_return(graph.insert(LOAD, (), (type_,), name=name).result())
    to_ssa(graph)
    clean(graph)
    result, *assigned = graph.returns
    aliases = AliasAnalysis(graph, apart=True)
    own = graph.parameters[-len(assigned) :]
    for value, before in zip(assigned, own, strict=True):
        if any(aliases.may_alias(value, parameter) for parameter in graph.parameters[1:] if parameter is not before):
            return False
    parts = [*([] if result.static_type == NONE else [result]), *assigned]
    for number in reversed(range(len(graph.returns))):
        graph.body.remove_return(number)
    tuple_type = TupleType(tuple(v.static_type for v in parts))
    graph.body.add_return(graph.insert("prim::TupleConstruct", parts, (tuple_type,)).result())
    return True
