"""What is known of every tensor: dtype, sizes, device and need of gradients, carried from the parameters on.

>>> import flambeau.ops
>>> from flambeau.ir import literals, parse_ir
>>> graph = parse_ir('''graph(%x : Float(*, 3), %y : Float(3)):
...   %2 : int = prim::Constant[value=1]()
...   %z : Tensor = aten::add(%x, %y, %2)
...   return (%z)''')
>>> propagate(graph)
True
>>> str(graph.returns[0].static_type)
'Float(*, 3)'

The dtype and shape rules of the operators do the work; a rule that fails says nothing, because the operator will say
it better when it runs. Where control flow meets, what both ways agree on stays, or what the only way gives where the
condition follows from what is known; loops are followed until nothing changes, and so are lists that tensors are put
into. A walk takes for granted that nothing comes by but what it has seen (`lattice.NEVER`), and is repeated until that
is so. Types of values that something may resize keep no sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from flambeau.analysis import lattice
from flambeau.analysis.alias import AliasAnalysis
from flambeau.analysis.constant_evaluation import Knowledge
from flambeau.analysis.lattice import NEVER, fit, holds_tensors, join
from flambeau.analysis.list_contents import ListContents, is_tensor_list
from flambeau.analysis.manager import alias_analysis
from flambeau.analysis.modes import is_about_mode
from flambeau.analysis.operator_rules import result_types
from flambeau.ir import constants, kinds, literals
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.ir.printer import SUBGRAPH
from flambeau.schema.opdef import OpDef
from flambeau.schema.types import (
    NONE,
    DictType,
    ListType,
    OptionalType,
    TensorType,
    TupleType,
    Type,
    without_refinement,
)
from flambeau.util.inversions import TANGENT_TYPES, VALUE_TYPE, VMAP_TYPES


def propagate(graph: Graph) -> bool:
    """Refine the types of all tensors but the parameters from theirs; whether any type changed.

    What the types of other values said before is forgotten: it may stem from an example. Parameters that the graph
    resizes keep no sizes.
    """
    nodes = graph.listed_nodes()
    tensors = _tensors(nodes)
    refined = [*graph.parameters, *tensors]
    before = [v.static_type for v in refined]
    _erase(tensors)
    _Propagation(graph, nodes, tensors).run()
    return before != [v.static_type for v in refined]


def erase(graph: Graph) -> None:
    """Forget everything about the tensors in a graph, parameters and constants excepted."""
    _erase(_tensors(graph.listed_nodes()))


def _erase(tensors: Sequence[Value]) -> None:
    for value in tensors:
        if value.defining_node is None or value.defining_node.op != constants.CONSTANT:
            value.set_type(without_refinement(value.static_type))


def _tensors(nodes: Sequence[Node]) -> list[Value]:
    """The values among those that nodes define which are, or hold, tensors."""
    tensors = []
    for node in nodes:
        tensors += [v for v in node.results if holds_tensors(v.static_type)]
        for block in node.nested_blocks:
            tensors += [v for v in block.parameters if holds_tensors(v.static_type)]
    return tensors


class _Propagation:
    def __init__(self, graph: Graph, nodes: Sequence[Node], tensors: Sequence[Value]) -> None:
        self._graph = graph
        self._nodes = nodes
        self._tensors = tensors
        self._alias: AliasAnalysis | None = None
        self._unstable = self._written_by(may_resize)
        self._asked = self._written_by(lambda node: node.op == "aten::requires_grad_")
        self._lists = ListContents(graph, nodes, self._aliases)
        self._known = Knowledge()

    def run(self) -> None:
        self._lists.changed = True
        while self._lists.changed:
            self._lists.changed = False
            self._known.forget()
            for value in self._graph.parameters:
                value.set_type(self._lasting(value, self._lists.type_of_parameter(value)))
            self._block(self._graph.body)
        for value in self._tensors:
            value.set_type(lattice.settled(value.static_type))

    def _aliases(self) -> AliasAnalysis:
        if self._alias is None:
            self._alias = alias_analysis(self._graph)
        return self._alias

    def _written_by(self, condition: Callable[[Node], bool]) -> set[Value]:
        """The values that are, or hold, tensors which such nodes may write to."""
        writers = [n for n in self._nodes if condition(n)]
        if not writers:
            return set()
        aliases = self._aliases()
        tensors = [*(v for v in self._graph.parameters if holds_tensors(v.static_type)), *self._tensors]
        return {v for v in tensors if any(aliases.writes_to(n, v) for n in writers)}

    def _block(self, block: Block) -> None:
        for node in block.own_nodes():
            rule = _RULES.get(node.op)
            if rule is not None:
                rule(self, node)
            elif node.op in kinds.PASS:
                self._passed(node)
            elif node.op in kinds.GROUPS:
                self._group(node)
            elif (definition := node.definition) is not None:
                self._operator(node, definition)

    def _set(self, value: Value, type_: Type) -> None:
        """Give a value a refinement of its declared type; other types stay as they are."""
        declared = value.static_type
        if declared.__class__ is TensorType and type_.__class__ is TensorType:
            value.set_type(self._lasting(value, type_))
        elif holds_tensors(declared):
            value.set_type(self._lasting(value, fit(without_refinement(declared), type_)))

    def _lasting(self, value: Value, type_: Type) -> Type:
        """What holds of a value at every time: not its sizes if something changes them."""
        if value in self._unstable:
            type_ = lattice.without(type_, "sizes", "strides")
        return lattice.without(type_, "requires_grad") if value in self._asked else type_

    def _join(self, value: Value, *types: Type) -> None:
        """Give a value what holds of all these types."""
        if holds_tensors(value.static_type):
            declared = without_refinement(value.static_type)
            joined = fit(declared, types[0])
            for type_ in types[1:]:
                joined = join(joined, fit(declared, type_))
            self._set(value, joined)

    # -- structure ----------------------------------------------------------------------------------------------------

    def _if(self, node: Node) -> None:
        for block in node.nested_blocks:
            self._block(block)
        way = self._known(node.operand(0))
        if isinstance(way, bool):
            for result, returned in zip(node.results, node.nested_blocks[0 if way else 1].returns, strict=True):
                self._set(result, returned.static_type)
            return
        for result, a, b in zip(
            node.results, node.nested_blocks[0].returns, node.nested_blocks[1].returns, strict=True
        ):
            self._join(result, _given_type(a), _given_type(b))

    def _loop(self, node: Node) -> None:
        (body,) = node.nested_blocks
        parameters = body.parameters[1:]
        for parameter, start in zip(parameters, node.operands[2:], strict=True):
            self._set(parameter, _given_type(start))
        while True:
            self._known.forget()
            self._block(body)
            before = [p.static_type for p in parameters]
            for parameter, returned in zip(parameters, body.returns[1:], strict=True):
                self._join(parameter, parameter.static_type, _given_type(returned))
            if before == [p.static_type for p in parameters]:
                break
        for result, parameter in zip(node.results, parameters, strict=True):
            self._set(result, parameter.static_type)

    def _passed(self, node: Node) -> None:
        for value, operand in zip(node.results, node.operands, strict=False):
            type_ = operand.static_type
            self._set(value, type_.element if isinstance(type_, OptionalType) else type_)

    def _group(self, node: Node) -> None:
        """A group of operators: what is known goes in, and what follows comes out."""
        inner: Graph = node.attribute(SUBGRAPH)
        for parameter, operand in zip(inner.parameters, node.operands, strict=True):
            parameter.set_type(operand.static_type)
        self._block(inner.body)
        for value, result in zip(node.results, inner.returns, strict=True):
            self._set(value, result.static_type)

    def _nothing(self, node: Node) -> None:
        """A value that is never looked at."""
        self._set(node.result(), lattice.never(node.result().static_type))

    def _tuple(self, node: Node) -> None:
        self._set(node.result(), TupleType(tuple(v.static_type for v in node.operands)))

    def _unpack(self, node: Node) -> None:
        type_ = node.operand(0).static_type
        for index, value in enumerate(node.results):
            if isinstance(type_, TupleType):
                self._set(value, type_.elements[index])
            elif isinstance(type_, ListType):
                self._set(value, type_.element)

    def _index(self, node: Node) -> None:
        type_ = node.operand(0).static_type
        index = constants.constant_value(node.operand(1)) if constants.is_constant(node.operand(1)) else None
        if isinstance(type_, TupleType):
            is_known = isinstance(index, int) and -len(type_.elements) <= index < len(type_.elements)
            self._set(
                node.result(), type_.elements[index or 0] if is_known else without_refinement(node.result().static_type)
            )

    def _slice(self, node: Node) -> None:
        type_ = node.operand(0).static_type
        if isinstance(type_, TupleType) and "beg" in node.attributes:
            part = type_.elements[node.attribute("beg") : node.attribute("end")]
            self._set(node.result(), TupleType(part))

    def _list(self, node: Node) -> None:
        value = node.result()
        assert isinstance(value.static_type, ListType)
        if is_tensor_list(value.static_type):
            declared = without_refinement(value.static_type.element)
            element = lattice.never(declared)
            for operand in node.operands:
                element = join(element, fit(declared, operand.static_type))
            self._set(value, self._lists.type_of_new(value, element))

    def _item(self, node: Node) -> None:
        """What comes out of a literal dict is what went in."""
        definition = node.definition
        items = self._known(node.operand(0)) if isinstance(node.operand(0).static_type, DictType) else None
        key = self._known(node.operand(1)) if isinstance(items, dict) else None
        if isinstance(items, dict) and isinstance(key, str | int) and isinstance(items.get(key), TensorType):
            self._set(node.result(), items[key])
        elif definition is not None:
            self._operator(node, definition)

    def _gradient(self, node: Node) -> None:
        """Gradients are like what is differentiated by; the value is what the function gives."""
        numbers = node.attribute("argnums")
        if node.attribute("with_value"):
            self._value(node)
        for value, number in zip(node.results[-len(numbers) :], numbers, strict=True):
            type_ = node.operand(number).static_type
            if isinstance(type_, TensorType):
                self._set(value, type_.refine(strides=None, requires_grad=None))
            elif type_ is NEVER:
                self._set(value, lattice.never(value.static_type))

    def _value(self, node: Node) -> None:
        value = node.result(0)
        if any(v.static_type is NEVER for v in node.operands):
            self._set(value, lattice.never(value.static_type))
        elif (type_ := VALUE_TYPE.implementation(node)) is not None:
            self._set(value, type_)

    def _expanded(self, node: Node) -> None:
        """Results for each example, and tangents, are like those of the operators that will stand there."""
        if any(v.static_type is NEVER for v in node.operands):
            for value in node.results:
                self._set(value, lattice.never(value.static_type))
            return
        types = (TANGENT_TYPES if node.op == "prim::Tangents" else VMAP_TYPES).implementation(node)
        for value, type_ in zip(node.results, types or (), strict=False):
            self._set(value, type_)

    def _constant(self, node: Node) -> None:
        contents = node.attributes.get("value")
        if literals.is_tensor(contents) and not isinstance(contents, literals.TensorLiteral):
            self._set(node.result(), constants.type_of(contents))

    # -- operators ----------------------------------------------------------------------------------------------------

    def _operator(self, node: Node, definition: OpDef) -> None:
        self._lists.store(node)
        results = [v for v in node.results if holds_tensors(v.static_type)]
        if not results:
            return
        if any(v.static_type is NEVER for v in node.operands):
            for value in results:
                self._set(value, lattice.never(value.static_type))
            return
        for value, type_ in zip(results, result_types(node, definition, results), strict=True):
            alias = definition.schema.returns[value.index].alias
            if isinstance(type_, ListType) and (alias is None or not alias.sets):
                self._set(value, self._lists.type_of_new(value, type_.element))
            else:
                self._set(value, type_)


def _given_type(value: Value) -> Type:
    """What is known of a value that a block gives: of None written as `Tensor?`, that it is no tensor."""
    is_none = constants.is_constant(value) and constants.constant_value(value) is None
    return NONE if is_none else value.static_type


def may_resize(node: Node) -> bool:
    """Whether the node may change the sizes of a tensor that exists."""
    if is_about_mode(node):
        return False
    if node.op.startswith("^"):
        return not getattr(node.attributes.get("callable"), "keeps_sizes", False)
    if node.op in kinds.STRUCTURAL and node.op not in kinds.OPAQUE:
        return False
    called = _called_graph(node)
    if called is not None:
        return any(_resizes_here(n) for graph in _reached(called) for n in graph.listed_nodes())
    return _resizes_here(node)


def _called_graph(node: Node) -> Graph | None:
    """The graph of the function that a node certainly calls."""
    named = node.operand(0).defining_node if node.op == "prim::CallFunction" and node.operands else None
    graph = getattr(named.attributes.get("function"), "graph", None) if named is not None else None
    return graph if isinstance(graph, Graph) else None


def _reached(graph: Graph) -> Iterable[Graph]:
    """A graph and those of all functions that it calls, and that these call."""
    reached = {graph: None}
    waiting = [graph]
    while waiting:
        for node in waiting.pop().listed_nodes():
            called = _called_graph(node)
            if called is not None and called not in reached:
                reached[called] = None
                waiting.append(called)
    return reached


def _resizes_here(node: Node) -> bool:
    """Whether the node itself may, what it calls left aside if it is known what that is."""
    if _called_graph(node) is not None:
        return False
    if node.op in kinds.OPAQUE:
        return True
    definition = node.definition
    return not kinds.is_known(node.op) if definition is None else definition.changes_layout


_RULES: Mapping[str, Callable[[_Propagation, Node], None]] = {
    "prim::If": _Propagation._if,
    "prim::Loop": _Propagation._loop,
    "prim::Constant": _Propagation._constant,
    "prim::Uninitialized": _Propagation._nothing,
    "prim::TupleConstruct": _Propagation._tuple,
    "prim::TupleUnpack": _Propagation._unpack,
    "prim::ListUnpack": _Propagation._unpack,
    "prim::TupleIndex": _Propagation._index,
    "prim::TupleSlice": _Propagation._slice,
    "prim::ListConstruct": _Propagation._list,
    "aten::__getitem__": _Propagation._item,
    "prim::Gradient": _Propagation._gradient,
    "prim::Vmap": _Propagation._expanded,
    "prim::Tangents": _Propagation._expanded,
}
