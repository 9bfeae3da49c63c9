"""Operators that work element by element, by their Scalar meaning: in registers, and as new tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from flambeau.codegen.graph import result_types
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.literals import as_rules_take, literal_of
from flambeau.codegen.graph.native_values import CannotCompileError, FixedValue, Native, Scalar
from flambeau.codegen.graph.numbers.compared_squares import compared_squares
from flambeau.codegen.graph.numbers.refusals import refuse
from flambeau.codegen.graph.numbers.scalars import Operand, Registers, as_element, as_operand, scalar_of
from flambeau.codegen.graph.representation import Bool, Element
from flambeau.codegen.graph.tensors import arrays
from flambeau.codegen.graph.tensors.arrays import load
from flambeau.ir.graph import Node, Value
from flambeau.ops.families.elementwise import takes_value
from flambeau.schema.dtype import DType
from flambeau.schema.opdef import UNKNOWN, OpDef
from flambeau.schema.types import TensorType

Reader = Callable[[Value], Any]


class Meaning(Protocol):
    """Who runs the meaning of an operator: `Registers`, and `complex_elements.ComplexRegisters`."""

    def const(self, value: complex, dtype: DType) -> Operand:
        """A literal."""

    def cast(self, x: Operand, dtype: DType) -> Operand:
        """Conversion."""


def is_numbers(fn: EmittedFunction, node: Node) -> bool:
    """Whether all operands are numbers of the program's, or known."""
    natives = [fn.values.get(v) for v in node.operands]
    return all(isinstance(n, FixedValue) or (isinstance(n, Scalar) and not isinstance(n.rep, Element)) for n in natives)


def numbers(fn: EmittedFunction, node: Node, definition: OpDef) -> None:
    """An operator of the language on numbers."""
    assert definition.scalar is not None
    s = Registers(fn, node, is_exact=True)
    operands = []
    for value in node.operands:
        native = fn.values.get(value)
        operands.append(as_operand(native) if isinstance(native, Scalar) else literal_of(native))
    if any(isinstance(o, complex) for o in operands):
        raise CannotCompileError("complex numbers have no native form")
    refuse(fn, node, operands)
    truth = compared_squares(fn, node)
    if truth is not None:
        fn.values.set(node.result(), Scalar(Bool(), truth))
        return
    result = definition.scalar(s, *operands)
    fn.values.set(node.result(), scalar_of(result, node.result().static_type))


def element(definition: OpDef, s: Meaning, arguments: Sequence[Any], types: Sequence[Any]) -> Operand:
    """The value of a pointwise operator on elements: operands cast to the dtype computed in, meaning, result cast.

    ``arguments``: an `Operand` for what is a tensor or a number in a register, else the Python value; ``types``: what
    the operator's rules take for it.
    """
    result = definition.dtype(*types) if definition.dtype is not None else None
    compute = definition.compute(*types) if definition.compute is not None else None
    if definition.scalar is None or not isinstance(result, DType) or not isinstance(compute, DType):
        raise CannotCompileError(f"{definition.name} has no meaning per element")
    converted: list[Any] = []
    for argument, value in zip(definition.schema.arguments, arguments, strict=True):
        if isinstance(value, Operand):
            if not takes_value(argument.type):
                raise CannotCompileError(f"{definition.name}: argument {argument.name} is not a constant")
            converted.append(s.cast(value, compute))
        elif value is not None and value is not UNKNOWN and takes_value(argument.type):
            converted.append(s.const(value, compute))
        elif value is None and isinstance(argument.type, TensorType):  # an item of a list into which nothing ever goes
            raise CannotCompileError(f"{definition.name}: nothing is known of argument {argument.name}")
        else:
            converted.append(value)
    value = definition.scalar(s, *converted)
    if not isinstance(value, Operand):
        raise CannotCompileError(f"{definition.name}: its meaning gives several values")
    return s.cast(value, result)


def as_argument(fn: EmittedFunction, native: Native) -> Any:
    """An argument of `element`: tensors without axes and numbers that are not literals as registers."""
    return load(fn, native) if arrays.is_tensor(native) else number_argument(native)


def number_argument(native: Native) -> Any:
    """An argument of `element` that is no tensor."""
    literal = literal_of(native)
    return as_operand(native) if literal is UNKNOWN and isinstance(native, Scalar) else literal


def is_pointwise_on_elements(fn: EmittedFunction, node: Node) -> bool:
    """Whether it is a pointwise operator all of whose tensors have no axes."""
    definition = node.definition
    if definition is None or definition.scalar is None or len(node.results) != 1:
        return False
    natives = [fn.values.get(v) for v in node.operands]
    tensors = [n for n in natives if arrays.is_tensor(n)]
    return bool(tensors) and all(arrays.rank(n) == 0 for n in tensors)


def on_elements(fn: EmittedFunction, node: Node) -> None:
    """A pointwise operator, by its Scalar meaning: on numbers in registers, or as a new tensor."""
    definition = node.definition
    assert definition is not None
    s = Registers(fn, node, is_exact=False)
    natives = [fn.values.get(v) for v in node.operands]
    arguments, types = [as_argument(fn, n) for n in natives], [as_rules_take(n) for n in natives]
    set_element(fn, node.result(), element(definition, s, arguments, types))


def set_element(fn: EmittedFunction, value: Value, operand: Operand) -> None:
    """Note a new tensor without axes: its element, or memory if something will write to it."""
    if not fn.values.is_written(value):
        fn.values.set(value, as_element(operand))
        return
    fn.values.set_new(value, arrays.in_memory(fn, operand))


def small_group(fn: EmittedFunction, node: Node) -> bool:
    """A fused group whose tensors have no axes, as scalar code; whether it was one."""
    graph = node.attribute("Subgraph")
    natives = [fn.values.get(v) for v in node.operands]
    nodes = [n for n in graph.nodes() if n.op not in ("prim::Constant", "prim::ListConstruct")]
    if any(arrays.rank(n) for n in natives) or not all(map(_has_one_meaning, nodes)):
        return False
    s = Registers(fn, node, is_exact=False)
    inner_values = dict(zip(graph.parameters, [as_argument(fn, n) for n in natives], strict=True))
    types = dict(zip(graph.parameters, map(as_rules_take, natives), strict=True))
    for inner in nodes:
        assert inner.definition is not None
        arguments = [inner_value(inner_values, v) for v in inner.operands]
        operand_types = [types.get(v, a) for v, a in zip(inner.operands, arguments, strict=True)]
        operand = element(inner.definition, s, arguments, operand_types)
        inner_values[inner.result()] = operand
        types[inner.result()] = result_types.rule_argument(Element(operand.dtype))
    for value, result in zip(node.results, graph.returns, strict=True):
        set_element(fn, value, inner_values[result])
    return True


def _has_one_meaning(node: Node) -> bool:
    """Whether a node is a pointwise operator with one result."""
    return node.definition is not None and node.definition.scalar is not None and len(node.results) == 1


def inner_value(values: Mapping[Value, Any], value: Value) -> Any:
    """A value of a group: what it has become, or a constant."""
    if value in values:
        return values[value]
    node = value.defining_node
    if node is not None and node.op == "prim::Constant":
        return node.attributes.get("value")
    if node is not None and node.op == "prim::ListConstruct":
        return [inner_value(values, v) for v in node.operands]
    raise CannotCompileError("a group uses a value of its surroundings")
