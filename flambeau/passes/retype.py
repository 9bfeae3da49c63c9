"""Passes that change what types say, and nothing else of importance.

```
%t : (Tensor, int) = prim::TupleConstruct(%x, %n)     →     %t : (Float(*, 3), int) = prim::TupleConstruct(%x, %n)
```
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flambeau.analysis import shapes
from flambeau.ir import constants
from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Graph, Value
from flambeau.schema import dtype as dtypes
from flambeau.schema import registry
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.schema.traits import Role
from flambeau.schema.types import (
    TENSOR,
    BoolType,
    ComplexType,
    FloatType,
    IntType,
    TensorType,
    TupleType,
    Type,
    is_number,
    without_refinement,
)
from flambeau.tensor.create import tensor
from flambeau.util.record import replace

_DTYPES: Mapping[type[Type], DType] = {
    BoolType: dtypes.bool_, IntType: dtypes.int64, FloatType: dtypes.float64, ComplexType: dtypes.complex128,
}  # fmt: skip


def refine_tuples(graph: Graph) -> bool:
    """Let the types of new tuples say what is known of their elements."""
    changed = False
    for node in graph.find_all("prim::TupleConstruct"):
        old = node.result().static_type
        if isinstance(old, TupleType):
            new = replace(old, elements=tuple(v.static_type for v in node.operands))
            changed |= new != old
            node.result().set_type(new)
    return changed


def erase_numbers(graph: Graph) -> bool:
    """Make tensors of all numbers, as for systems that have nothing else."""
    changed = False
    for value in graph.parameters:
        changed |= _as_tensor(value)
    for node in graph.listed_nodes():
        if constants.is_constant(node.result()) if len(node.results) == 1 else False:
            constant = constants.constant_value(node.result())
            if isinstance(constant, bool | int | float | complex):
                with graph.inserting(node):
                    as_tensor = insert_constant(graph, tensor(constant))
                as_tensor.set_type(_as_type(node.result().static_type))
                node.result().replace_uses_with(as_tensor)
                node.erase()
                changed = True
            continue
        if any(d.traits.role is Role.NUMBER_CAST for d in registry.overloads(node.op)):
            node.result().replace_uses_with(node.operand(0))
            node.erase()
            changed = True
            continue
        for value in (*node.results, *(p for block in node.nested_blocks for p in block.parameters)):
            changed |= _as_tensor(value)
    return changed


def _as_tensor(value: Value) -> bool:
    if not is_number(value.static_type):
        return False
    value.set_type(_as_type(value.static_type))
    return True


def _as_type(type_: Type) -> TensorType:
    """A tensor of one number of a type."""
    dtype = _DTYPES.get(type(type_))
    return TENSOR if dtype is None else TensorType(dtype=dtype, sizes=(), strides=(), device=Device("cpu"))


def complete_shapes(graph: Graph, examples: Sequence[Any], with_grad: bool = False) -> bool:
    """Give the parameters the types of example tensors, and all else what follows.

    Raises ValueError unless there is an example for each parameter.
    """
    if len(examples) != len(graph.parameters):
        raise ValueError(f"the graph takes {len(graph.parameters)} inputs, but there are {len(examples)} examples")
    for value, example in zip(graph.parameters, examples, strict=True):
        if isinstance(value.static_type, TensorType) and hasattr(example, "dtype"):
            value.set_type(constants.type_of(example))
            value.set_type(replace(value.static_type, requires_grad=bool(with_grad and example.requires_grad)))
    shapes.propagate(graph)
    return True


def erase_shapes_inside(graph: Graph) -> bool:
    """Forget what is known of tensors, parameters excepted."""
    before = _types(graph)
    shapes.erase(graph)
    return before != _types(graph)


def erase_shapes(graph: Graph) -> bool:
    """Forget what is known of tensors, of parameters and constants too."""
    before = _types(graph)
    shapes.erase(graph)
    for value in (*graph.parameters, *(n.result() for n in graph.find_all(constants.CONSTANT))):
        value.set_type(without_refinement(value.static_type))
    return before != _types(graph)


def propagate_dtypes(graph: Graph) -> bool:
    """Find out dtypes from those of the parameters, and nothing else."""
    return _propagate(graph, "dtype")


def propagate_devices(graph: Graph) -> bool:
    """Find out devices from those of the parameters, and nothing else."""
    return _propagate(graph, "device")


def _propagate(graph: Graph, field: str) -> bool:
    before = _types(graph)
    shapes.propagate(graph)
    changed = False
    for value, old in before:
        old_type = value.static_type
        if isinstance(old_type, TensorType) and isinstance(old, TensorType):
            known = getattr(old_type, field)
            new = replace(old, **{field: known}) if known is not None else old
            changed |= new != old
            value.set_type(new)
        else:
            value.set_type(old)
    return changed


def _types(graph: Graph) -> list[tuple[Value, Type]]:
    nodes = graph.all_nodes()
    return [
        (v, v.static_type) for n in nodes for v in (*n.results, *(p for b in n.nested_blocks for p in b.parameters))
    ]
