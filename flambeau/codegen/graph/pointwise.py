"""Operators that work element by element, by their Scalar meaning: in registers, and as new tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flambeau.codegen.graph import arrays, memory, native_values, result_types
from flambeau.codegen.graph.arrays import load
from flambeau.codegen.graph.control import each
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.interpreter_calls import either, is_dense_now
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError, FixedValue, Native, Scalar, TupleValue
from flambeau.codegen.graph.refusals import refuse
from flambeau.codegen.graph.representation import Array, Element
from flambeau.codegen.graph.scalars import Operand, Registers, as_element, as_operand, constant, scalar_of
from flambeau.codegen.layouts import BLOCK_DATA
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.node import Node
from flambeau.ir.value import Value
from flambeau.schema import dtype as dtypes
from flambeau.schema.dtype import DType
from flambeau.schema.opdef import UNKNOWN, OpDef
from flambeau.schema.types import FloatType, NumberType, OptionalType, TensorType, Type

FLOAT_AMONG_INTS = "a float in a tensor of integers"
Reader = Callable[[Value], Any]


def literal_of(native: Native) -> Any:
    """The Python value of what is known now, else UNKNOWN."""
    if isinstance(native, FixedValue):
        return native.rep.value
    if isinstance(native, Scalar):
        text = native.register.text
        if text in ("true", "false"):
            return text == "true"
        found = memory.literal(native.register) if native.register.type == "i64" else None
        if found is not None:
            return found
        if text.startswith("0x"):
            import struct

            return struct.unpack("<d", struct.pack("<Q", int(text, 16)))[0]
    if isinstance(native, TupleValue):
        return [literal_of(i) for i in native.items]
    return UNKNOWN


def told(native: Native) -> Any:
    """What a rule is told of an operand."""
    if isinstance(native, TupleValue):
        return [told(i) for i in native.items]
    if isinstance(native.rep, Array | Element):
        return result_types.told(native.rep)
    return result_types.told(native.rep, literal_of(native))


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
    result = definition.scalar(s, *operands)
    fn.values.set(node.result(), scalar_of(result, node.result().static_type))


def element(definition: OpDef, s: Registers, given: Sequence[Any], said: Sequence[Any]) -> Operand:
    """The value of a pointwise operator on elements: operands cast to the dtype computed in, meaning, result cast.

    ``given``: an `Operand` for what is a tensor or a number in a register, else the Python value.
    """
    result = definition.dtype(*said) if definition.dtype is not None else None
    compute = definition.compute(*said) if definition.compute is not None else None
    if definition.scalar is None or not isinstance(result, DType) or not isinstance(compute, DType):
        raise CannotCompileError(f"{definition.name} has no meaning per element")
    converted: list[Any] = []
    for argument, value in zip(definition.schema.arguments, given, strict=True):
        if isinstance(value, Operand):
            if not _takes_value(argument.type):
                raise CannotCompileError(f"{definition.name}: argument {argument.name} is not a constant")
            converted.append(s.cast(value, compute))
        elif value is not None and value is not UNKNOWN and _takes_value(argument.type):
            converted.append(Operand(constant(value, compute), compute))
        else:
            converted.append(value)
    found = definition.scalar(s, *converted)
    if not isinstance(found, Operand):
        raise CannotCompileError(f"{definition.name}: its meaning gives several values")
    return s.cast(found, result)


def _takes_value(type_: Type) -> bool:
    inner = type_.element if isinstance(type_, OptionalType) else type_
    return isinstance(inner, TensorType | NumberType | FloatType)


def given_of(native: Native) -> Any:
    """An operand of `element`: tensors without axes and numbers that are not literals as registers."""
    if isinstance(native, Scalar):
        known = literal_of(native) if not isinstance(native.rep, Element) else UNKNOWN
        return as_operand(native) if known is UNKNOWN else known
    return literal_of(native)


def is_pointwise_on_elements(fn: EmittedFunction, node: Node) -> bool:
    """Whether it is a pointwise operator all of whose tensors have no axes."""
    definition = node.definition
    if definition is None or definition.scalar is None or len(node.results) != 1:
        return False
    natives = [fn.values.get(v) for v in node.operands]
    tensors = [n for n in natives if arrays.is_tensor(n)]
    return bool(tensors) and all(arrays.rank(n) == 0 for n in tensors)


def on_elements(fn: EmittedFunction, node: Node) -> None:
    """Such an operator."""
    definition = node.definition
    assert definition is not None
    s = Registers(fn, node, is_exact=False)
    natives = [fn.values.get(v) for v in node.operands]
    given = [load(fn, n) if arrays.is_tensor(n) else given_of(n) for n in natives]
    set_element(fn, node.result(), element(definition, s, given, [told(n) for n in natives]))


def set_element(fn: EmittedFunction, value: Value, operand: Operand) -> None:
    """Note a new tensor without axes: its element, or memory if something will write to it."""
    if not fn.values.is_written(value):
        fn.values.set(value, as_element(operand))
        return
    fn.values.set_new(value, in_memory(fn, operand))


def in_memory(fn: EmittedFunction, operand: Operand) -> ArrayValue:
    """A new tensor without axes in memory."""
    block = fn.exits.new_block(number(memory.element(operand.dtype).itemsize))
    data = fn.e.define(f"getelementptr inbounds i8, ptr {block}, i64 {BLOCK_DATA}", "ptr", 1)
    memory.store_element(fn.e, data, operand.register, operand.dtype)
    return ArrayValue(Array(operand.dtype, 0, 0), block, data, (), ())


def small_group(fn: EmittedFunction, node: Node) -> bool:
    """A fused group whose tensors have no axes, as scalar code; whether it was one."""
    graph = node.attribute("Subgraph")
    natives = [fn.values.get(v) for v in node.operands]
    if any(arrays.rank(n) for n in natives):
        return False
    nodes = [n for n in graph.nodes() if n.op not in ("prim::Constant", "prim::ListConstruct")]
    definitions = [n.definition for n in nodes]
    if any(d is None or d.scalar is None or len(n.results) != 1 for n, d in zip(nodes, definitions, strict=True)):
        return False
    s = Registers(fn, node, is_exact=False)
    known: dict[Value, Any] = {}
    types: dict[Value, Any] = {}
    for value, native in zip(graph.parameters, natives, strict=True):
        known[value] = load(fn, native) if arrays.is_tensor(native) else given_of(native)
        types[value] = told(native)
    for inner, definition in zip(nodes, definitions, strict=True):
        assert definition is not None
        given = [_inner(known, v) for v in inner.operands]
        said = [types.get(v, g) for v, g in zip(inner.operands, given, strict=True)]
        operand = element(definition, s, given, said)
        known[inner.result()] = operand
        types[inner.result()] = result_types.told(Element(operand.dtype))
    for value, result in zip(node.results, graph.returns, strict=True):
        set_element(fn, value, known[result])
    return True


def _inner(known: Mapping[Value, Any], value: Value) -> Any:
    if value in known:
        return known[value]
    node = value.defining_node
    if node is not None and node.op == "prim::Constant":
        return node.attributes.get("value")
    if node is not None and node.op == "prim::ListConstruct":
        return [_inner(known, v) for v in node.operands]
    raise CannotCompileError("a group uses a value of its surroundings")


# -- new tensors ------------------------------------------------------------------------------------------------------

FILLS: Mapping[str, float | None] = {
    "zeros": 0, "ones": 1, "full": None, "zeros_like": 0, "ones_like": 1, "full_like": None, "new_zeros": 0,
    "new_ones": 1, "new_full": None, "empty": 0, "empty_like": 0, "new_empty": 0,
}  # fmt: skip
"""What new tensors hold; None: what an argument says. Uninitialised ones hold zeros, which costs little and leaks
nothing.
"""


def filled(fn: EmittedFunction, node: Node, definition: OpDef) -> None:
    """`zeros`, `ones`, `full` and their like."""
    name = definition.name.partition("::")[2]
    natives = dict(
        zip((a.name for a in definition.schema.arguments), (fn.values.get(v) for v in node.operands), strict=True)
    )
    found = result_types.result_types(definition, [told(n) for n in natives.values()], 1)[0]
    if found is None:
        raise CannotCompileError("its dtype or rank is not known")
    for key in ("layout", "memory_format", "requires_grad"):
        if key in natives and literal_of(natives[key]) not in (None, False):
            raise CannotCompileError(f"{key} is given")
    if "device" in natives and not isinstance(natives["device"], FixedValue):
        raise CannotCompileError("the device is not known")
    sizes = natives.get("size")
    if sizes is None:
        own = natives["self"]
        lengths = own.sizes if isinstance(own, ArrayValue) else ()
    elif isinstance(sizes, TupleValue):
        lengths = tuple(i.register for i in sizes.items if isinstance(i, Scalar))
    else:
        raise CannotCompileError("the number of sizes is not known")
    value = FILLS[name]
    s = Registers(fn, node, is_exact=False)
    if value is not None:
        operand = s.const(value, found[0])
    else:
        said = _fill_value(natives["fill_value"])
        if said.dtype.is_floating_point and not found[0].is_floating_point:
            raise CannotCompileError(FLOAT_AMONG_INTS)
        refuse_what_is_too_large(fn, node, said, found[0])
        operand = s.cast(said, found[0])

    def make() -> ArrayValue:
        made = arrays.new(fn, found[0], lengths, node)
        arrays.fill(fn, made, operand.register)
        return made

    like = natives.get("self") if sizes is None else None
    if isinstance(like, ArrayValue) and like.rep.dense != like.rep.rank and like.rep.rank > 1:
        either(fn, node, is_dense_now(fn, like), Array(found[0], found[1], 0), make)
    else:
        fn.values.set_new(node.result(), make())


def _fill_value(native: Native) -> Operand:
    if not isinstance(native, Scalar):
        raise CannotCompileError("the value of the elements is no number")
    return as_operand(native)


def arange(fn: EmittedFunction, node: Node, definition: OpDef) -> None:
    """`arange` of ints, in any dtype."""
    natives = dict(
        zip((a.name for a in definition.schema.arguments), (fn.values.get(v) for v in node.operands), strict=True)
    )
    found = result_types.result_types(definition, [told(n) for n in natives.values()], 1)[0]
    default = {"start": native_values.integer(0), "step": native_values.integer(1), **natives}
    bounds = [default["start"], natives["end"], default["step"]]
    step = literal_of(bounds[2])
    if found is None or not isinstance(step, int) or step == 0:
        raise CannotCompileError("the dtype or the step of arange is not known")
    if not all(isinstance(b, Scalar) and b.register.type == "i64" for b in bounds):
        raise CannotCompileError("arange of other numbers than ints")
    if any(literal_of(natives[k]) not in (None, False) for k in ("layout", "pin_memory") if k in natives):
        raise CannotCompileError("a layout is given")
    e = fn.e
    start, end = (b.register for b in bounds[:2] if isinstance(b, Scalar))
    low, high = (start, end) if step > 0 else (end, start)
    fn.exits.fail_if(e.icmp("slt", high, low), node)
    distance = memory.subtract(e, high, low)
    if abs(step) != 1:
        distance = e.binary("udiv", e.binary("add", distance, number(abs(step) - 1)), number(abs(step)))
    made = arrays.new(fn, found[0], (distance,), node)
    s = Registers(fn, node, is_exact=False)
    size = memory.element(found[0]).itemsize

    def one(k: Register) -> None:
        value = memory.add(e, start, memory.multiply(e, k, number(step)))
        element = s.cast(Operand(value, dtypes.int64), found[0])
        place = memory.offset_address(e, made.data, k, number(size), size)
        memory.store_element(e, place, element.register, found[0])

    each(fn, made.sizes[0], one)
    fn.values.set_new(node.result(), made)


def linspace(fn: EmittedFunction, node: Node, definition: OpDef) -> None:
    """`linspace` of numbers: each from the end that is nearer, as the operator computes it."""
    natives = dict(
        zip((a.name for a in definition.schema.arguments), (fn.values.get(v) for v in node.operands), strict=True)
    )
    found = result_types.result_types(definition, [told(n) for n in natives.values()], 1)[0]
    ends, steps = [natives["start"], natives["end"]], natives["steps"]
    if found is None or found[0].name not in ("float32", "float64") or not isinstance(steps, Scalar):
        raise CannotCompileError("linspace of other numbers than float32 and float64")
    if not all(isinstance(n, Scalar) and not isinstance(n.rep, Element) for n in ends):
        raise CannotCompileError("linspace between tensors")
    if any(literal_of(natives[k]) not in (None, False) for k in ("layout", "pin_memory") if k in natives):
        raise CannotCompileError("a layout is given")
    e, dtype, count = fn.e, found[0], steps.register
    s = Registers(fn, node, is_exact=False)
    first, last = (s.cast(as_operand(n), dtype) for n in ends if isinstance(n, Scalar))
    made = arrays.new(fn, dtype, (count,), node)

    def counted(register: Register) -> Operand:
        return s.cast(Operand(register, dtypes.int64), dtype)

    before = e.binary("sub", count, number(1))
    gaps = counted(e.intrinsic("smax", before, number(1)))
    step = s.div(s.sub(last, first), gaps)
    half = e.binary("sdiv", count, number(2))
    alone = e.icmp("eq", count, number(1))
    size = memory.element(dtype).itemsize

    def one(k: Register) -> None:
        low = s.add(first, s.mul(step, counted(k)))
        high = s.sub(last, s.mul(step, counted(e.binary("sub", before, k))))
        value = e.select(e.icmp("slt", k, half), low.register, high.register)
        place = memory.offset_address(e, made.data, k, number(size), size)
        memory.store_element(e, place, e.select(alone, first.register, value), dtype)

    each(fn, count, one)
    fn.values.set_new(node.result(), made)


def from_number(fn: EmittedFunction, node: Node, definition: OpDef) -> None:
    """`tensor(n)`, `scalar_tensor(n)`: an element."""
    natives = [fn.values.get(v) for v in node.operands]
    found = result_types.result_types(definition, [told(n) for n in natives], 1)[0]
    if not isinstance(natives[0], Scalar) or found is None or found[1] != 0:
        raise CannotCompileError("a tensor of other things than one number")
    if literal_of(natives[-1]) is True and definition.schema.arguments[-1].name == "requires_grad":
        raise CannotCompileError("a tensor that needs gradients")
    s = Registers(fn, node, is_exact=False)
    source = as_operand(natives[0])
    if source.dtype.is_floating_point and not found[0].is_floating_point:
        raise CannotCompileError(FLOAT_AMONG_INTS)
    _refuse_what_does_not_fit(fn, node, source, found[0])
    set_element(fn, node.result(), s.cast(source, found[0]))


def _refuse_what_does_not_fit(fn: EmittedFunction, node: Node, source: Operand, dtype: DType) -> None:
    """Ints that a narrower dtype cannot hold fail; those without a sign take negative ones, counted from their end."""
    bits = 8 * dtype.itemsize
    if not dtype.is_integral or bits == 64 or source.dtype != dtypes.int64:
        return
    high = (1 << (bits - dtype.is_signed)) - 1
    low = -high - dtype.is_signed
    known = memory.literal(source.register)
    if known is None or not low <= known <= high:
        e = fn.e
        above = e.icmp("sgt", source.register, number(high))
        fn.exits.fail_if(e.binary("or", above, e.icmp("slt", source.register, number(low))), node)


def refuse_what_is_too_large(fn: EmittedFunction, node: Node, source: Operand, dtype: DType) -> None:
    """What does not fit fails, and so do finite floats that float32 has no room for."""
    if dtype != dtypes.float32 or source.dtype != dtypes.float64:
        _refuse_what_does_not_fit(fn, node, source, dtype)
        return
    e, s = fn.e, Registers(fn, node, is_exact=False)
    rounded = s.cast(s.cast(source, dtypes.float32), dtypes.float64).register
    was_finite = e.fcmp("one", e.fabs(source.register), e.like(source.register, math.inf))
    fn.exits.fail_if(e.binary("and", was_finite, e.fcmp("oeq", e.fabs(rounded), e.like(rounded, math.inf))), node)
