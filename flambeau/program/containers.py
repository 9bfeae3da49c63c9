"""Functions of what lies in lists, dicts and tuples, in the place of functions of these.

```
graph(%p : Dict(str, Tensor), %x : Tensor)    →    graph(%p_0 : Tensor, %p_1 : Tensor, %x : Tensor):
                                                    %p : Dict(str, Tensor) = prim::DictConstruct(%w, %p_0, %b, %p_1)
```
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from flambeau.ir.clone import insert_graph
from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Graph, Value
from flambeau.program.function import Function
from flambeau.program.signature import schema_of
from flambeau.schema.function import FunctionSchema
from flambeau.schema.types import DictType, ListType, TensorType, TupleType, Type
from flambeau.util.inversions import LATE_RUNNER
from flambeau.util.record import dataclass

LIST: Final = "prim::ListConstruct"
DICT: Final = "prim::DictConstruct"
TUPLE: Final = "prim::TupleConstruct"


@dataclass(frozen=True, slots=True)
class Leaf:
    """What lies in a container and is none that is looked into."""

    value: Any
    type_: Type


@dataclass(frozen=True, slots=True)
class Tree:
    """A container of a structure that is known.

    >>> from flambeau.schema.types import TENSOR, ListType
    >>> tree = Tree(LIST, ListType(TENSOR), (), (Leaf("a", TENSOR), Leaf("b", TENSOR)))
    >>> [leaf.value for leaf in tree.leaves()]
    ['a', 'b']
    """

    op: str
    """What builds it in a graph."""
    type_: Type
    keys: tuple[Any, ...]
    """The keys of a dict."""
    parts: tuple[Tree | Leaf, ...]

    def leaves(self) -> Iterator[Leaf]:
        """What lies in it, in order."""
        for part in self.parts:
            if isinstance(part, Tree):
                yield from part.leaves()
            else:
                yield part

    def built(self, graph: Graph, leaves: Iterator[Value]) -> Value:
        """Such a container of other leaves, at the insertion point."""
        parts = [part.built(graph, leaves) if isinstance(part, Tree) else next(leaves) for part in self.parts]
        if self.op == DICT:
            assert isinstance(self.type_, DictType)
            keys = [insert_constant(graph, key, self.type_.key) for key in self.keys]
            parts = [value for pair in zip(keys, parts, strict=True) for value in pair]
        result: Value = graph.insert(self.op, parts, [self.type_]).result()
        return result


def tree_of(type_: Type, value: Any) -> Tree | Leaf:
    """A value of Python as a tree, where its type says that it holds tensors; empty containers are leaves.

    >>> from flambeau.schema.types import INT, TENSOR, DictType
    >>> tree_of(DictType(INT, TENSOR), {3: "a", 1: "b"}).keys
    (3, 1)
    """
    if not holds_tensors(type_) or not value:
        return Leaf(value, type_)
    match type_:
        case DictType():
            return Tree(DICT, type_, tuple(value), tuple([tree_of(type_.value, one) for one in value.values()]))
        case ListType():
            return Tree(LIST, type_, (), tuple([tree_of(type_.element, one) for one in value]))
    assert isinstance(type_, TupleType)
    return Tree(TUPLE, type_, (), tuple([tree_of(t, one) for t, one in zip(type_.elements, value, strict=True)]))


def holds_tensors(type_: Type) -> bool:
    """Whether a type is a list, dict or tuple of tensors, or of such containers.

    >>> from flambeau.schema.types import INT, TENSOR, ListType
    >>> holds_tensors(ListType(ListType(TENSOR))), holds_tensors(ListType(INT))
    (True, False)
    """
    match type_:
        case DictType():
            return _is_part(type_.value)
        case ListType():
            return _is_part(type_.element)
        case TupleType():
            return any(map(_is_part, type_.elements))
    return False


def _is_part(type_: Type) -> bool:
    return isinstance(type_, TensorType) or holds_tensors(type_)


def opened(function: Function, trees: Sequence[Tree | None]) -> Function:
    """The function of the leaves of the arguments that have a tree, and of the other arguments."""
    graph = Graph(function.name)
    arguments: list[Value] = []
    for argument, tree in zip(function.schema.arguments, trees, strict=False):
        types = [argument.type] if tree is None else [leaf.type_ for leaf in tree.leaves()]
        names = [argument.name if tree is None else f"{argument.name}_{n}" for n in range(len(types))]
        own = [graph.add_parameter(type_, name) for type_, name in zip(types, names, strict=True)]
        arguments.append(own[0] if tree is None else tree.built(graph, iter(own)))
    for value in insert_graph(graph, function.frozen_graph, arguments):
        graph.add_return(value)
    plain = schema_of(function.name, graph, {})
    schema = FunctionSchema(function.name, "", plain.arguments, function.schema.returns)
    result = Function(function.name, graph, schema)
    LATE_RUNNER.implementation(result)
    return result
