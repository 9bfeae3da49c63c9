"""Routines of half precision run in float32, between conversions that go into the kernels around them.

```
                                                     %1 : Float = prims::convert_element_type(%x, 6)
                                                     %2 : Float = prims::convert_element_type(%w, 6)
%y : Half = aten::conv2d(%x, %w, ...)          →     %3 : Float = aten::conv2d(%1, %2, ...)
                                                     %y : Half = prims::convert_element_type(%3, 5)
```

This is what their kernels over arrays do. Kernels of the host keep elements in half precision and need no such help;
routines (convolutions, attention, recurrent layers, windows) there are of float32 and float64 only.
"""

from __future__ import annotations

from flambeau.ir import constants
from flambeau.ir.graph import Graph, Node, Value
from flambeau.passes.fusible import HALVES, Fusible, leaves_all, lists_tensors
from flambeau.schema.dtype import DType, float32
from flambeau.schema.types import ListType, TensorType


def do(graph: Graph) -> bool:
    """Widen every routine of half precision; whether there was any."""
    if any(isinstance(v.static_type, TensorType) and v.static_type.requires_grad for v in graph.parameters):
        return False
    fusible = Fusible(graph)
    routines = [node for node in graph.listed_nodes() if _is_of_halves(node) and not fusible.is_fusible(node)]
    for node in routines:
        with graph.inserting(node), graph.at_range(node.range):
            node.set_operands([_widened(graph, v) for v in node.operands])
        after = node.next
        with graph.inserting(node.owner_block if after is None else after), graph.at_range(node.range):
            for result in node.results:
                _narrow(graph, result)
    return bool(routines)


def _is_of_halves(node: Node) -> bool:
    """Whether a node is a routine that reads and gives halves, changes nothing, and whose dtypes are known."""
    definition = node.definition
    if definition is None or not definition.traits.has_routine or not leaves_all(node, definition):
        return False
    tensors = [t for v in node.operands for t in _types(v)]
    dtypes = {t.dtype for t in tensors}
    if None in dtypes or any(t.requires_grad for t in tensors) or not all(map(_is_known, node.results)):
        return False
    floats = {d for d in dtypes if d is not None and d.is_floating_point}
    return bool(floats & HALVES) and len(floats & HALVES) == 1 and floats <= HALVES | {float32}


def _types(value: Value) -> list[TensorType]:
    """The types of the tensors that an operand is or lists."""
    if isinstance(value.static_type, TensorType):
        return [value.static_type]
    if lists_tensors(value):
        assert value.defining_node is not None
        return [t for v in value.defining_node.operands for t in _types(v)]
    type_ = value.static_type
    return [TensorType()] if isinstance(type_, ListType) and isinstance(type_.element, TensorType) else []


def _is_known(value: Value) -> bool:
    return isinstance(value.static_type, TensorType) and value.static_type.dtype is not None


def _widened(graph: Graph, value: Value) -> Value:
    """An operand in float32, if it is of half precision or lists what is."""
    type_ = value.static_type
    if isinstance(type_, TensorType):
        return _converted(graph, value, float32) if type_.dtype in HALVES else value
    if not lists_tensors(value):
        return value
    assert value.defining_node is not None
    members = [_widened(graph, v) for v in value.defining_node.operands]
    return graph.insert("prim::ListConstruct", members, [type_]).result()


def _narrow(graph: Graph, result: Value) -> None:
    """Have a result of half precision computed in float32, and rounded behind the node."""
    type_ = result.static_type
    assert isinstance(type_, TensorType)
    if type_.dtype not in HALVES:
        return
    assert type_.dtype is not None
    result.set_type(type_.refine(dtype=float32))
    rounded = _converted(graph, result, type_.dtype)
    maker = rounded.defining_node
    result.replace_uses_with(rounded)
    assert maker is not None
    maker.replace_operand(0, result)


def _converted(graph: Graph, value: Value, dtype: DType) -> Value:
    assert isinstance(value.static_type, TensorType)
    code = constants.insert_constant(graph, dtype.code)
    type_ = value.static_type.refine(dtype=dtype)
    return graph.insert("prims::convert_element_type", [value, code], [type_]).result()
