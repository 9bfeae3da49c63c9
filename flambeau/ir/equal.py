"""Whether two graphs are the same program, up to the names of their values.

>>> from flambeau.ir import parse_ir
>>> a = parse_ir("graph(%x):\\n  %y = aten::relu(%x)\\n  return (%y)")
>>> b = parse_ir("graph(%a):\\n  %b = aten::tanh(%a)\\n  return (%b)")
>>> is_isomorphic(a, a), first_difference(a, b)
(True, 'node 0 of the graph: %y is aten::relu on the left and aten::tanh on the right')
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.ir.constant_text import literal_text, type_text
from flambeau.ir.constants import same_constant
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.ir.literals import Opaque, TensorLiteral, is_tensor
from flambeau.schema.types import Type

_Pairs = dict[Value, Value]


def is_isomorphic(a: Graph, b: Graph, *, types: bool = True) -> bool:
    """Whether the graphs have the same nodes in the same order, wired alike, with the same attributes and `types`."""
    return first_difference(a, b, types=types) is None


def first_difference(a: Graph, b: Graph, *, types: bool = True) -> str | None:
    """Where two graphs differ first, in words; None if they do not. Tensors and objects are compared as printed."""
    return _Comparison(types).block(a.body, b.body, "the graph", {})


class _Comparison:
    def __init__(self, types: bool) -> None:
        self._types = types
        self._functions: set[tuple[int, int]] = set()
        """The pairs of functions whose graphs were come to."""

    def block(self, a: Block, b: Block, where: str, pairs: _Pairs) -> str | None:
        difference = self._values(a.parameters, b.parameters, f"parameters of {where}", pairs)
        if difference is not None:
            return difference
        left, right = list(a), list(b)
        for index, (x, y) in enumerate(zip(left, right, strict=False)):
            difference = self._node(x, y, f"node {index} of {where}", pairs)
            if difference is not None:
                return difference
        if len(left) != len(right):
            more = (left if len(left) > len(right) else right)[min(len(left), len(right))]
            side = "left" if len(left) > len(right) else "right"
            return f"{where}: only the {side} has {more.op} as node {min(len(left), len(right))}"
        return self._operands(a.returns, b.returns, f"return {{}} of {where}", pairs)

    def _node(self, a: Node, b: Node, where: str, pairs: _Pairs) -> str | None:
        if a.op != b.op:
            name = f"%{a.result(0).name} is " if a.results else ""
            return f"{where}: {name}{a.op} on the left and {b.op} on the right"
        where = f"{where} ({a.op})"
        difference = (
            self._operands(a.operands, b.operands, f"operand {{}} of {where}", pairs)
            or self._attributes(a, b, where)
            or self._values(a.results, b.results, f"results of {where}", pairs)
        )
        if difference is None and len(a.nested_blocks) != len(b.nested_blocks):
            return f"{where}: {len(a.nested_blocks)} blocks on the left and {len(b.nested_blocks)} on the right"
        if difference is not None:
            return difference
        for index, (x, y) in enumerate(zip(a.nested_blocks, b.nested_blocks, strict=True)):
            difference = difference or self.block(x, y, f"block {index} of {where}", pairs)
        return difference

    def _values(self, a: Sequence[Value], b: Sequence[Value], where: str, pairs: _Pairs) -> str | None:
        if len(a) != len(b):
            return f"{where}: {len(a)} on the left and {len(b)} on the right"
        for x, y in zip(a, b, strict=True):
            if self._types and x.static_type != y.static_type:
                left, right = type_text(x.static_type), type_text(y.static_type)
                return f"{where}: %{x.name} has type {left} on the left and {right} on the right"
            pairs[x] = y
        return None

    def _same_function(self, a: Any, b: Any) -> bool:
        """Whether two functions of programs have the same graph."""
        pair, graphs = (id(a), id(b)), (getattr(a, "graph", None), getattr(b, "graph", None))
        if type(a) is not type(b) or not all(isinstance(graph, Graph) for graph in graphs):
            return False
        if pair in self._functions:
            return True
        self._functions.add(pair)
        return self.block(graphs[0].body, graphs[1].body, "the function", {}) is None  # type: ignore[union-attr]

    @staticmethod
    def _operands(a: Sequence[Value], b: Sequence[Value], where: str, pairs: _Pairs) -> str | None:
        for index, (x, y) in enumerate(zip(a, b, strict=False)):
            if pairs.get(x, x) is not y:
                return (
                    f"{where.format(index)}: %{x.name} on the left and %{y.name} on the right, which are not the same"
                )
        if len(a) != len(b):
            return f"{where.format(min(len(a), len(b)))} is missing on the {'left' if len(a) < len(b) else 'right'}"
        return None

    def _attributes(self, a: Node, b: Node, where: str) -> str | None:
        for name in a.attributes.keys() | b.attributes.keys():
            if name not in a.attributes or name not in b.attributes:
                return f"{where}: only the {'left' if name in a.attributes else 'right'} has the attribute '{name}'"
            x, y = a.attributes[name], b.attributes[name]
            if isinstance(x, Graph) and isinstance(y, Graph):
                difference = self.block(x.body, y.body, f"the subgraph of {where}", {})
                if difference is not None:
                    return difference
            elif not (_same(x, y) or self._same_function(x, y)):
                return f"{where}: '{name}' is {literal_text(x)} on the left and {literal_text(y)} on the right"
        return None


def _same(a: Any, b: Any) -> bool:
    if same_constant(a, b) or ((isinstance(a, Type | Opaque | TensorLiteral) or callable(a)) and bool(a == b)):
        return True
    if is_tensor(a) and is_tensor(b):
        return a.dtype == b.dtype and a.shape == b.shape and literal_text(a) == literal_text(b)
    if isinstance(a, list | tuple) and type(a) is type(b):
        return len(a) == len(b) and all(map(_same, a, b))
    return False
