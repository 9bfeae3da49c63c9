"""Which sizes in a graph are surely equal, and which are surely 1, or surely not: what broadcast operands need to be
summed to follows.

A plan is made for which sizes of its tensors are 1. Every other size of a parameter is a symbol that is not 1, and
symbols travel along with the elements.

>>> import flambeau.ops
>>> from flambeau.ir import parse_ir
>>> graph = parse_ir('''graph(%x : Float(*, *), %b : Float(*)):
...   %one : int = prim::Constant[value=1]()
...   %y : Float(*, *) = aten::add(%x, %b, %one)
...   return (%y)''')
>>> sizes = SymbolicSizes(graph)
>>> sizes.of(graph.returns[0]) == sizes.of(graph.parameters[0])
True
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Final

from flambeau.analysis.constant_evaluation import known
from flambeau.analysis.effects import is_only_read
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.schema.rule_tables import RuleTable
from flambeau.schema.types import IntType, ListType, TensorType


class Size:
    """One size; the same object is the same number."""

    __slots__ = ("_base", "_less", "_parts", "is_one")

    def __init__(self, *, is_one: bool | None = None) -> None:
        self.is_one = is_one
        """None where it may be 1 and may be another."""
        self._base, self._less = self, 0
        """What it is so many less than, at least 0."""
        self._parts: dict[Hashable, Size] = {}

    def sliced(self, start: int, end: int | None, step: int) -> Size:
        """How many items `[start:end:step]` of so many are.

        >>> n = Size(is_one=False)
        >>> n.sliced(1, None, 1) is n.sliced(0, -1, 1), n.sliced(2, None, 1) is n.sliced(1, -1, 1)
        (True, True)
        >>> n.sliced(0, 5, 1) is n.sliced(0, 4, 1), n.sliced(0, 5, 1) is n.sliced(-5, None, 1)
        (False, True)
        """
        if step != 1 or (end is not None and start < 0):
            return self._part(("slice", start, end, step))
        if start < 0:
            return self._at_most(-start)
        if end is None or end < 0:
            return self._less_than(start - (end or 0))
        return self._less_than(start)._at_most(max(end - start, 0))

    def _less_than(self, count: int) -> Size:
        """This size less `count`, but not below 0."""
        if count == 0:
            return self
        less = self._less + count
        part = self._base._part(("less", less))
        part._base, part._less = self._base, less
        return part

    def _at_most(self, count: int) -> Size:
        """The smaller of two."""
        if self.is_one and count > 0:
            return self
        part = self._part(("at most", count))
        if self.is_one is False and count != 1:
            part.is_one = False
        return part

    def _part(self, key: Hashable) -> Size:
        return Size() if self.is_one else self._parts.setdefault(key, Size())


ONE: Final = Size(is_one=True)
Sizes = tuple[Size, ...] | None
"""Of a tensor of known rank."""

size_rules: Final = RuleTable[Callable[[Node, Sequence[Sizes]], Sizes]]("which sizes of operands the result has")
cut_axes: Final = RuleTable[Callable[[Node], Value]]("along which axis a list of equal parts is cut, but for the last")
named_sizes: Final = RuleTable[Callable[[Node], Value]]("which operand lists the sizes of the result")
listed_rules: Final = RuleTable[Callable[[Node, Sequence[tuple[Size, ...]]], Sequence[Sizes]]](
    "which sizes of the tensors in the first operand that is a list each result has"
)


@cut_axes("aten::chunk", "aten::split")
def _last_operand(node: Node) -> Value:
    return node.operand(2)


class SymbolicSizes:
    """The sizes of the values of a graph; of new nodes, as they are asked for."""

    def __init__(self, graph: Graph) -> None:
        self._known: dict[Value, Sizes] = {}
        self._numbers: dict[int, Size] = {}
        """Sizes that the graph names as constants."""
        for value in graph.parameters:
            self._known[value] = _of_parameter(value)
        self._block(graph.body)

    def of(self, value: Value) -> Sizes:
        """The sizes of a tensor; None if its rank is not known."""
        if value not in self._known:
            node = value.defining_node
            if node is None or node.nested_blocks:
                self._known[value] = _fresh(value)
            else:
                self._node(node)
        return self._known[value]

    def set(self, value: Value, sizes: Sizes) -> None:
        """Say which sizes a value has: those of what it is the gradient of."""
        if sizes is not None and (_rank(value) in (None, len(sizes))):
            self._known[value] = sizes

    def _block(self, block: Block) -> None:
        for node in block:
            if node.op == "prim::Loop":
                self._loop(node)
            elif node.op == "prim::If":
                for inner in node.nested_blocks:
                    self._block(inner)
                for result, *ways in zip(node.results, *(b.returns for b in node.nested_blocks), strict=True):
                    self._known[result] = _met(result, [self.of(way) for way in ways])
            else:
                self._node(node)

    def _loop(self, node: Node) -> None:
        """What is carried keeps its sizes, unless a round gives it others."""
        (body,) = node.nested_blocks
        carried = body.parameters[1:]
        changing: set[Value] = set()
        while True:
            for value, start in zip(carried, node.operands[2:], strict=True):
                self._known[value] = _fresh(value) if value in changing else _fitting(value, self.of(start))
            self._block(body)
            others = {
                value
                for value, returned in zip(carried, body.returns[1:], strict=True)
                if value not in changing and self._known[value] != self.of(returned)
            }
            if not others:
                break
            changing |= others
        for result, value in zip(node.results, carried, strict=True):
            self._known[result] = _fresh(result) if value in changing else self._known[value]

    def _node(self, node: Node) -> None:
        if node.op == "prim::ListUnpack" and self._parts(node):
            return
        if node.op in listed_rules and self._of_listed(node):
            return
        definition = node.definition
        rule = size_rules.get(node.op)
        sizes: Sizes = None
        if rule is not None and node.operands:
            sizes = rule(node, [self._operand(v) for v in node.operands])
        elif node.op in named_sizes and definition is not None:
            sizes = self._listed(named_sizes[node.op](node))
        elif definition is not None and definition.family == "pointwise":
            operands = [self.of(v) for v in node.operands if isinstance(v.static_type, TensorType)]
            sizes = broadcast(operands)
        for value in node.results:
            self._known[value] = _fitting(value, sizes)

    def _parts(self, node: Node) -> bool:
        """The sizes of what a tensor is cut into along an axis: all but the last are of one size. Whether it is."""
        maker = _made(node.operand(0))
        rule = None if maker is None else cut_axes.get(maker.op)
        if rule is None or maker is None:
            return False
        whole, axis = self._operand(maker.operand(0)), known(rule(maker))
        if not whole or not isinstance(axis, int) or not isinstance(maker.operand(1).static_type, IntType):
            return False
        own_axis, most, rest = axis % len(whole), Size(), Size()
        for value in node.results:
            along = rest if value is node.results[-1] else most
            self._known[value] = _fitting(value, (*whole[:own_axis], along, *whole[own_axis + 1 :]))
        return True

    def _of_listed(self, node: Node) -> bool:
        """The sizes of results, from those of the tensors of a list. Whether these are known."""
        lists = [v for v in node.operands if isinstance(v.static_type, ListType)]
        maker = _made(lists[0]) if lists else None
        if maker is None or maker.op != "prim::ListConstruct":
            return False
        items = [sizes for sizes in map(self.of, maker.operands) if sizes is not None]
        if not items or len(items) != len(maker.operands):
            return False
        for value, sizes in zip(node.results, listed_rules[node.op](node, items), strict=True):
            self._known[value] = _fitting(value, sizes)
        return True

    def _listed(self, value: Value) -> Sizes:
        """The sizes that a list names."""
        node = _made(value)
        if node is None or node.op != "prim::ListConstruct":
            return None
        return tuple(map(self._named, node.operands))

    def _named(self, value: Value) -> Size:
        """The size that a number is."""
        number, node = known(value), value.defining_node
        if isinstance(number, int):
            if number < 0:
                return Size()
            return ONE if number == 1 else self._numbers.setdefault(number, Size(is_one=False))
        if node is not None and node.op == "aten::size" and len(node.operands) == 2:
            sizes, axis = self.of(node.operand(0)), known(node.operand(1))
            if sizes is not None and isinstance(axis, int) and -len(sizes) <= axis < len(sizes):
                return sizes[axis]
        return self._unpacked(value) or Size()

    def _unpacked(self, value: Value) -> Size | None:
        """The size that a number is which was taken out of all sizes of a tensor."""
        node = value.defining_node
        maker = _made(node.operand(0)) if node is not None and node.op == "prim::ListUnpack" else None
        if node is None or maker is None or maker.op != "aten::size" or len(maker.operands) != 1:
            return None
        sizes = self.of(maker.operand(0))
        return None if sizes is None or len(sizes) != len(node.results) else sizes[node.results.index(value)]

    def _operand(self, value: Value) -> Sizes:
        return self.of(value) if isinstance(value.static_type, TensorType) else None


def _made(value: Value) -> Node | None:
    """The node that makes a list, where it holds for good what that node puts into it."""
    return value.defining_node if is_only_read(value) else None


def _rank(value: Value) -> int | None:
    type_ = value.static_type
    return type_.rank if isinstance(type_, TensorType) else None


def _of_parameter(value: Value) -> Sizes:
    type_ = value.static_type
    if not isinstance(type_, TensorType) or type_.sizes is None:
        return None
    return tuple(ONE if size == 1 else Size(is_one=False) for size in type_.sizes)


def _fresh(value: Value) -> Sizes:
    """Sizes of which only is known what the type says."""
    type_ = value.static_type
    if not isinstance(type_, TensorType) or type_.sizes is None:
        return None
    return tuple(ONE if size == 1 else Size() for size in type_.sizes)


def _fitting(value: Value, sizes: Sizes) -> Sizes:
    """What a rule says, where it is of the rank that the type says."""
    rank = _rank(value)
    return _fresh(value) if sizes is None or (rank is not None and len(sizes) != rank) else sizes


def _met(value: Value, ways: list[Sizes]) -> Sizes:
    first = ways[0]
    return first if first is not None and all(way == first for way in ways) else _fresh(value)


def broadcast(operands: Sequence[Sizes]) -> Sizes:
    """The sizes of what operands are broadcast to; None if a rank is not known."""
    if not operands or any(sizes is None for sizes in operands):
        return None
    known_sizes = [sizes for sizes in operands if sizes is not None]
    rank = max(map(len, known_sizes))
    result = []
    for axis in range(-rank, 0):
        size = ONE
        for sizes in known_sizes:
            if -axis <= len(sizes):
                size = met(size, sizes[axis])
        result.append(size)
    return tuple(result)


def met(a: Size, b: Size) -> Size:
    """The size of what two are broadcast to."""
    if a is b or b is ONE:
        return a
    if a is ONE or b.is_one is False:
        return b if a.is_one is not False else a
    return a if a.is_one is False else Size()
