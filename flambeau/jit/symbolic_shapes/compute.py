"""The sizes of all tensors of a graph as a program of the sizes of its inputs.

>>> from flambeau.jit.torch_names.torch_passes import parse_ir
>>> graph = parse_ir('''graph(%x : Tensor(*, 3), %y : Tensor(*, 3)):
...   %0 : int = prim::Constant[value=0]()
...   %l : Tensor[] = prim::ListConstruct(%x, %y)
...   %z = aten::cat(%l, %0)
...   return (%z)''')
>>> mapping = build_compute(graph)
>>> [node.op for node in mapping.partial_eval_shape_graph().nodes()]
['prim::Constant', 'aten::__getitem__', 'aten::__getitem__', 'aten::add']
>>> graph.returns[0].static_type.sizes, sorted(mapping.graph_output_to_symbolic_shape_dim().values())
((-4, 3), [-4, -3, -2])
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Final

from flambeau.analysis import shapes
from flambeau.analysis.effects import has_effect, writes_memory
from flambeau.ir import constants
from flambeau.ir.clone import Copies, clone_graph, clone_node, insert_graph
from flambeau.ir.constants import CONSTANT, insert_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.jit.symbolic_shapes.registry import SIZES, is_registered, shape_graph, type_of_sizes
from flambeau.jit.symbolic_shapes.shape_functions import SHAPE_FUNCTIONS
from flambeau.jit.symbolic_shapes.simplify import simplify
from flambeau.passes import canonicalize
from flambeau.schema.rule_tables import RuleTable
from flambeau.schema.types import INT, TensorType
from flambeau.tensor.tensor import Tensor
from flambeau.util.record import dataclass

FIRST: Final = -2
"""The symbol of the first size that is not known; those that follow count on."""
_LIST: Final = "prim::ListConstruct"


@dataclass(frozen=True, slots=True)
class ShapeComputeGraphMapping:
    """A graph of sizes, and which symbol each of its results is in the types of the graph that it is about."""

    graph: Graph
    symbols: tuple[int, ...]

    def partial_eval_shape_graph(self) -> Graph:
        """Takes the sizes of each tensor that the other graph takes, as lists; gives those that were not known."""
        return self.graph

    def graph_output_to_symbolic_shape_dim(self) -> dict[Value, int]:
        """The symbol of each result; equal symbols in types stand for equal sizes."""
        return dict(zip(self.graph.returns, self.symbols, strict=True))


def build_compute(graph: Graph) -> ShapeComputeGraphMapping | None:
    """Say in the types of a graph which sizes are equal, and how they follow from those of its inputs. None where
    an operator has no shape function, and for graphs whose control flow decides sizes."""
    builder = _Builder(graph)
    if not all(map(builder.take, graph.nodes())):
        return None
    tensors = [v for v in builder.sizes if isinstance(v.static_type, TensorType)]
    computed = builder.computed
    for value in tensors:
        computed.add_return(builder.sizes[value])
    simplify(computed)
    return _named(computed, tensors)


def propagate(graph: Graph) -> bool:
    """Find out the types of all tensors from those of the inputs; where somebody has registered shape functions, or the
    house has one for what no rule says the sizes of, sizes from these. Whether any type changed."""
    changed = shapes.propagate(graph)
    if not any(is_registered(node) or _lacks_sizes(node) for node in graph.nodes()):
        return changed
    copies: Copies = {}
    build_compute(clone_graph(graph, copies))
    for value, copy in copies.items():
        computed, type_ = copy.static_type, value.static_type
        if isinstance(computed, TensorType) and isinstance(type_, TensorType) and computed.sizes is not None:
            own = type_.sizes or ()
            pairs = zip(own if len(own) == len(computed.sizes) else repeat(None), computed.sizes, strict=False)
            known = tuple(before if size is None or size < 0 else size for before, size in pairs)
            changed |= known != type_.sizes
            value.set_type(type_.refine(sizes=known))
    return changed


def _lacks_sizes(node: Node) -> bool:
    """Whether nothing has said the sizes that a shape function of the house computes."""
    if node.definition is None or node.definition.schema.full_name not in SHAPE_FUNCTIONS:
        return False
    types = [v.static_type for v in node.results]
    return any(isinstance(t, TensorType) and (t.sizes is None or None in t.sizes) for t in types)


class _Builder:
    """Writes the graph of sizes."""

    def __init__(self, graph: Graph) -> None:
        self.computed = Graph()
        self.sizes: dict[Value, Value] = {}
        """Of each tensor the list of its sizes; of lists of tensors, and numbers, what stands for them."""
        symbols: dict[int, Value] = {}
        taken = [(v, self.computed.add_parameter(type_of_sizes(v.static_type), v.name)) for v in graph.parameters]
        for value, parameter in taken:
            type_ = value.static_type
            known = isinstance(type_, TensorType) and type_.sizes is not None
            self.sizes[value] = self._listed(type_, parameter, symbols) if known else parameter  # type: ignore[arg-type]

    def _listed(self, type_: TensorType, parameter: Value, symbols: dict[int, Value]) -> Value:
        """A list of the sizes that are known, and of what the parameter says of the others."""
        items = []
        for axis, size in enumerate(type_.sizes or ()):
            if size is not None and size >= 0:
                items.append(insert_constant(self.computed, size))
                continue
            if size is None or size not in symbols:
                index = insert_constant(self.computed, axis)
                item = self.computed.insert("aten::__getitem__", [parameter, index], [INT]).result()
                symbols[-1 - len(symbols) - 10**6 if size is None else size] = item
            else:
                item = symbols[size]
            items.append(item)
        return self.computed.insert(_LIST, items, [SIZES]).result()

    def take(self, node: Node) -> bool:
        """Write what a node does to sizes; whether that is known."""
        if node.op == CONSTANT:
            return self._constant(node)
        if node.nested_blocks or any(v not in self.sizes for v in node.operands):
            return False
        operands = [self.sizes[v] for v in node.operands]
        if node.op in (_LIST, "prim::TupleConstruct"):
            self._cloned(node)
            return True
        if node.op == "aten::size" and len(operands) == 1:
            self.sizes[node.result()] = operands[0]
            return True
        if not any(map(_holds_tensor, (*node.operands, *node.results))):
            return self._of_numbers(node)
        function = shape_graph(node)
        if function is None:
            return self._about(node, operands)
        results = insert_graph(self.computed, function, operands[: len(function.parameters)])
        if len(results) != len(node.results):
            results = list(self.computed.insert("prim::TupleUnpack", results, [SIZES] * len(node.results)).results)
        self.sizes.update(zip(node.results, results, strict=True))
        return True

    def _constant(self, node: Node) -> bool:
        value = constants.constant_value(node.result())
        if isinstance(value, Tensor):
            self.sizes[node.result()] = insert_constant(self.computed, list(value.shape), SIZES)
        elif _holds_tensor(node.result()) and value is not None:
            return False
        else:
            self._cloned(node)
        return True

    def _cloned(self, node: Node) -> None:
        copies: Copies = dict(self.sizes)
        self.computed.insert_node(clone_node(node, self.computed, copies))
        for value in node.results:
            copies[value].set_type(type_of_sizes(value.static_type))
            self.sizes[value] = copies[value]

    def _of_numbers(self, node: Node) -> bool:
        if has_effect(node) or writes_memory(node):
            return False
        self._cloned(node)
        return True

    def _about(self, node: Node, operands: list[Value]) -> bool:
        """A question about one size, or the number of dimensions."""
        kind = _questions.get(node.op)
        if kind is None or not isinstance(node.operand(0).static_type, TensorType):
            return False
        asked = self.computed.insert(kind(operands), operands, [INT])
        self.sizes[node.result()] = asked.result()
        return True


_questions: Final[RuleTable[Callable[[list[Value]], str]]] = RuleTable("what answers it, of a list of sizes")


@_questions("aten::size")
def _one_size(operands: list[Value]) -> str:
    return "aten::__getitem__"


@_questions("aten::dim", "aten::len")
def _how_many(operands: list[Value]) -> str:
    return "aten::len"


def _holds_tensor(value: Value) -> bool:
    return any(isinstance(part, TensorType) for part in value.static_type.walk())


def _named(computed: Graph, tensors: list[Value]) -> ShapeComputeGraphMapping:
    """Give the tensors types with symbols, and the graph of sizes a result for each."""
    symbols: dict[Value, int] = {}
    for value, sizes in zip(tensors, list(computed.returns), strict=True):
        items = _items(sizes)
        assert isinstance(value.static_type, TensorType)
        if items is not None:
            mapping_of_symbols = tuple(
                item if isinstance(item, int) else symbols.setdefault(item, FIRST - len(symbols)) for item in items
            )
            value.set_type(value.static_type.refine(sizes=mapping_of_symbols, strides=None))
    computed.body.return_node.set_operands(list(symbols))
    simplify(computed)
    canonicalize.do(computed, keep_names=True)
    return ShapeComputeGraphMapping(computed, tuple(symbols.values()))


def _items(sizes: Value) -> list[int | Value] | None:
    """The sizes in a list: numbers, and values that stand for some; None for a list of which not even that is known."""
    if constants.is_constant(sizes):
        return list(constants.constant_value(sizes))
    maker = sizes.defining_node
    if maker is None or maker.op != _LIST:
        return None
    return [constants.constant_value(v) if constants.is_constant(v) else v for v in maker.operands]


