"""Operators that work element by element, by their Scalar meaning: in registers, and over tensors written in place."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.codegen.whole import arrays, facts, memory, values
from flambeau.codegen.whole.arrays import array, load
from flambeau.codegen.whole.control import each
from flambeau.codegen.whole.memory import number
from flambeau.codegen.whole.overlap import overlaps, repeats
from flambeau.codegen.whole.representation import Array, Element
from flambeau.codegen.whole.scalars import Operand, Registers, as_element, as_operand, constant, scalar_of
from flambeau.codegen.whole.sites import call_python, either, is_dense_now
from flambeau.codegen.whole.values import ArrayValue, CannotCompileError, FixedValue, Native, Scalar, TupleValue
from flambeau.ir.node import Node
from flambeau.ir.value import Value
from flambeau.schema import dtype as dtypes
from flambeau.schema import registry
from flambeau.schema.dtype import DType
from flambeau.schema.opdef import UNKNOWN, OpDef
from flambeau.schema.types import FloatType, NumberType, OptionalType, TensorType, Type

if TYPE_CHECKING:
    from flambeau.codegen.whole.function import FunctionEmitter

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
        return facts.told(native.rep)
    return facts.told(native.rep, literal_of(native))


def is_numbers(fn: FunctionEmitter, node: Node) -> bool:
    """Whether all operands are numbers of the program's, or known."""
    natives = [fn.get(v) for v in node.inputs]
    return all(
        isinstance(n, FixedValue) or (isinstance(n, Scalar) and not isinstance(n.rep, Element)) for n in natives
    )


def numbers(fn: FunctionEmitter, node: Node, definition: OpDef) -> None:
    """An operator of the language on numbers."""
    assert definition.scalar is not None
    s = Registers(fn, node, is_exact=True)
    operands = []
    for value in node.inputs:
        native = fn.get(value)
        operands.append(as_operand(native) if isinstance(native, Scalar) else literal_of(native))
    _refuse_power_of_zero(fn, node, operands)
    result = definition.scalar(s, *operands)
    fn.set(node.output(), scalar_of(result, node.output().type))


def _refuse_power_of_zero(fn: FunctionEmitter, node: Node, operands: list[Any]) -> None:
    """Powers of an exact zero to a negative exponent fail."""
    if node.kind != "aten::pow" or not all(isinstance(o, Operand) for o in operands):
        return
    e, conditions = fn.e, []
    for operand, predicate in zip(operands, ("eq", "lt"), strict=True):
        zero = e.like(operand.register, 0)
        if operand.dtype.is_floating_point:
            conditions.append(e.fcmp("o" + predicate, operand.register, zero))
        else:
            conditions.append(e.icmp({"eq": "eq", "lt": "slt"}[predicate], operand.register, zero))
    fn.fail_if(e.binary("and", *conditions), node)


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


def _given(native: Native) -> Any:
    """An operand of `element`: tensors without axes and numbers that are not literals as registers."""
    if isinstance(native, Scalar):
        known = literal_of(native) if not isinstance(native.rep, Element) else UNKNOWN
        return as_operand(native) if known is UNKNOWN else known
    return literal_of(native)


def is_pointwise_on_elements(fn: FunctionEmitter, node: Node) -> bool:
    """Whether it is a pointwise operator all of whose tensors have no axes."""
    definition = node.definition
    if definition is None or definition.scalar is None or len(node.outputs) != 1:
        return False
    natives = [fn.get(v) for v in node.inputs]
    tensors = [n for n in natives if arrays.is_tensor(n)]
    return bool(tensors) and all(arrays.rank(n) == 0 for n in tensors)


def on_elements(fn: FunctionEmitter, node: Node) -> None:
    """Such an operator."""
    definition = node.definition
    assert definition is not None
    s = Registers(fn, node, is_exact=False)
    natives = [fn.get(v) for v in node.inputs]
    given = [load(fn, n) if arrays.is_tensor(n) else _given(n) for n in natives]
    set_element(fn, node.output(), element(definition, s, given, [told(n) for n in natives]))


def set_element(fn: FunctionEmitter, value: Value, operand: Operand) -> None:
    """Note a new tensor without axes: its element, or memory if something will write to it."""
    if not fn.is_written(value):
        fn.set(value, as_element(operand))
        return
    fn.set_new(value, in_memory(fn, operand))


def in_memory(fn: FunctionEmitter, operand: Operand) -> ArrayValue:
    """A new tensor without axes in memory."""
    block = fn.new_block(number(memory.element(operand.dtype).itemsize))
    data = fn.e.define(f"getelementptr inbounds i8, ptr {block}, i64 64", "ptr", 1)
    memory.store_element(fn.e, data, operand.register, operand.dtype)
    return ArrayValue(Array(operand.dtype, 0, 0), block, data, (), ())


def small_group(fn: FunctionEmitter, node: Node) -> bool:
    """A fused group whose tensors have no axes, as scalar code; whether it was one."""
    graph = node.attribute("Subgraph")
    natives = [fn.get(v) for v in node.inputs]
    if any(arrays.rank(n) for n in natives):
        return False
    nodes = [n for n in graph.nodes() if n.kind not in ("prim::Constant", "prim::ListConstruct")]
    definitions = [n.definition for n in nodes]
    if any(d is None or d.scalar is None or len(n.outputs) != 1 for n, d in zip(nodes, definitions, strict=True)):
        return False
    s = Registers(fn, node, is_exact=False)
    known: dict[Value, Any] = {}
    types: dict[Value, Any] = {}
    for value, native in zip(graph.inputs, natives, strict=True):
        known[value] = load(fn, native) if arrays.is_tensor(native) else _given(native)
        types[value] = told(native)
    for inner, definition in zip(nodes, definitions, strict=True):
        assert definition is not None
        given = [_inner(known, v) for v in inner.inputs]
        said = [types.get(v, g) for v, g in zip(inner.inputs, given, strict=True)]
        operand = element(definition, s, given, said)
        known[inner.output()] = operand
        types[inner.output()] = facts.told(Element(operand.dtype))
    for value, result in zip(node.outputs, graph.outputs, strict=True):
        set_element(fn, value, known[result])
    return True


def _inner(known: Mapping[Value, Any], value: Value) -> Any:
    if value in known:
        return known[value]
    node = value.node
    if node is not None and node.kind == "prim::Constant":
        return node.attributes.get("value")
    if node is not None and node.kind == "prim::ListConstruct":
        return [_inner(known, v) for v in node.inputs]
    raise CannotCompileError("a group uses a value of its surroundings")


# -- in place ---------------------------------------------------------------------------------------------------------


def copy_(fn: FunctionEmitter, node: Node) -> None:
    """`copy_`: every element converted, broadcast where needed."""
    target, given = array(fn, node.input(0)), fn.get(node.input(1))
    s = Registers(fn, node, is_exact=False)
    dtype = target.rep.dtype

    def meaning(_: Operand, source: Operand) -> Register:
        return s.cast(source, dtype).register

    _write(fn, node, target, [given], meaning, reads_target=False)


def fill_(fn: FunctionEmitter, node: Node) -> None:
    """`fill_`, `zero_`."""
    target = array(fn, node.input(0))
    s = Registers(fn, node, is_exact=False)
    if len(node.inputs) == 1:
        operand = s.const(0, target.rep.dtype)
    else:
        given = fn.get(node.input(1))
        operand = load(fn, given) if arrays.is_tensor(given) else as_operand(fn.scalar(node.input(1)))
        if not arrays.is_tensor(given):
            _refuse_what_is_too_large(fn, node, operand, target.rep.dtype)
    if operand.dtype.is_floating_point and not target.rep.dtype.is_floating_point:
        raise CannotCompileError(FLOAT_AMONG_INTS)
    arrays.fill(fn, target, s.cast(operand, target.rep.dtype).register)
    fn.set_view(node.output(), target)


def in_place(fn: FunctionEmitter, node: Node, definition: OpDef) -> bool:
    """`add_` and its like, by the meaning of `add`; whether it is one of them."""
    schema = definition.schema
    if definition.family != "in_place" or not isinstance(fn.get(node.input(0)).rep, Array):
        return False
    plain = registry.find(schema.name[:-1] + (f".{schema.overload}" if schema.overload else ""))
    if plain is None or plain.scalar is None:
        return False
    natives = [fn.get(v) for v in node.inputs]
    target = array(fn, node.input(0))
    said = [told(n) for n in natives]
    result = plain.dtype(*said) if plain.dtype is not None else None
    if not isinstance(result, DType) or not _can_hold(target.rep.dtype, result):
        return False
    s = Registers(fn, node, is_exact=False)
    places = [k for k, n in enumerate(natives) if k and arrays.is_tensor(n)]
    rest = [_given(n) if not arrays.is_tensor(n) else None for n in natives]

    def meaning(own: Operand, *sources: Operand) -> Register:
        given = list(rest)
        given[0] = own
        for place, source in zip(places, sources, strict=True):
            given[place] = source
        return s.cast(element(plain, s, given, said), target.rep.dtype).register

    _write(fn, node, target, [natives[k] for k in places], meaning, reads_target=True)
    return True


def _write(
    fn: FunctionEmitter, node: Node, target: ArrayValue, sources: Sequence[Native],
    meaning: Callable[..., Register], *, reads_target: bool,
) -> None:  # fmt: skip
    """Every element of ``target`` from itself and the sources; by Python where their memory overlaps."""
    e = fn.e
    fixed: dict[int, Operand] = {}
    moving: list[ArrayValue] = []
    for k, source in enumerate(sources):
        if isinstance(source, Scalar) or (isinstance(source, ArrayValue) and source.rep.rank == 0):
            fixed[k] = load(fn, source)
        else:
            assert isinstance(source, ArrayValue)
            moving.append(arrays.broadcast_to(fn, source, target.sizes, node))

    def at(places: list[Register]) -> None:
        operands, rest = [], list(zip(places[1:], moving, strict=True))
        for k in range(len(sources)):
            if k in fixed:
                operands.append(fixed[k])
            else:
                place, source = rest.pop(0)
                operands.append(Operand(memory.load_element(e, place, source.rep.dtype), source.rep.dtype))
        dtype = target.rep.dtype
        own = Operand(memory.load_element(e, places[0], dtype), dtype) if reads_target else Operand(places[0], dtype)
        memory.store_element(e, places[0], meaning(own, *operands), dtype)

    plain = [source for source in sources if isinstance(source, ArrayValue) and source.rep.rank]

    def everywhere() -> None:
        fits = _are_plain(fn, target, plain)
        if fits is None:
            flat = arrays.flattened(fn, [target, *moving])
            arrays.each_element(fn, flat[0].sizes, flat, at)
            return
        alike, spread, done = e.label("alike"), e.label("spread"), e.label("done")
        e.branch_if(fits, alike, spread)
        for label, all_ in (
            (alike, [arrays.in_steps(x, target.sizes) for x in (target, *plain)]), (spread, [target, *moving])
        ):  # fmt: skip
            e.start(label)
            flat = arrays.flattened(fn, all_)
            arrays.each_element(fn, flat[0].sizes, flat, at)
            e.branch(done)
        e.start(done)

    in_the_way = repeats(fn, target)
    if moving:
        in_the_way.append(overlaps(fn, target, moving))
    if not in_the_way:
        everywhere()
    else:
        shares, apart, after = e.label("shares"), e.label("apart"), e.label("after")
        met = functools.reduce(lambda a, b: e.binary("or", a, b), in_the_way)
        e.raw(f"br i1 {met}, label %{shares}, label %{apart}, !prof !20")
        e.start(shares)
        call_python(fn, node, (), is_rare=True)
        e.branch(after)
        e.start(apart)
        everywhere()
        e.branch(after)
        e.start(after)
    fn.set_view(node.output(), target)


def _are_plain(fn: FunctionEmitter, target: ArrayValue, sources: Sequence[ArrayValue]) -> Register | None:
    """Whether nothing is broadcast and the last axes have no gaps, so that vectors can be loaded and stored; None if
    that is clear.
    """
    e, unclear = fn.e, []
    for x in sources:
        own = target.sizes[target.rep.rank - x.rep.rank :]
        unclear += [e.icmp("eq", a, b) for a, b in zip(x.sizes, own, strict=True) if a != b]
    for x in (target, *sources):
        step = number(memory.element(x.rep.dtype).itemsize)
        if x.rep.rank and x.strides[-1] != step:
            unclear.append(e.icmp("eq", x.strides[-1], step))
    return functools.reduce(lambda a, b: e.binary("and", a, b), unclear) if unclear else None


# -- new tensors ------------------------------------------------------------------------------------------------------

FILLS: Mapping[str, float | None] = {
    "zeros": 0, "ones": 1, "full": None, "zeros_like": 0, "ones_like": 1, "full_like": None, "new_zeros": 0,
    "new_ones": 1, "new_full": None, "empty": 0, "empty_like": 0, "new_empty": 0,
}  # fmt: skip
"""What new tensors hold; None: what an argument says. Uninitialised ones hold zeros, which costs little and leaks
nothing.
"""


def filled(fn: FunctionEmitter, node: Node, definition: OpDef) -> None:
    """`zeros`, `ones`, `full` and their like."""
    name = definition.name.partition("::")[2]
    natives = dict(zip((a.name for a in definition.schema.arguments), (fn.get(v) for v in node.inputs), strict=True))
    found = facts.result_types(definition, [told(n) for n in natives.values()], 1)[0]
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
        _refuse_what_is_too_large(fn, node, said, found[0])
        operand = s.cast(said, found[0])

    def make() -> ArrayValue:
        made = arrays.new(fn, found[0], lengths, node)
        arrays.fill(fn, made, operand.register)
        return made

    like = natives.get("self") if sizes is None else None
    if isinstance(like, ArrayValue) and like.rep.dense != like.rep.rank and like.rep.rank > 1:
        either(fn, node, is_dense_now(fn, like), Array(found[0], found[1], 0), make)
    else:
        fn.set_new(node.output(), make())


def _fill_value(native: Native) -> Operand:
    if not isinstance(native, Scalar):
        raise CannotCompileError("the value of the elements is no number")
    return as_operand(native)


def arange(fn: FunctionEmitter, node: Node, definition: OpDef) -> None:
    """`arange` of ints, in any dtype."""
    natives = dict(zip((a.name for a in definition.schema.arguments), (fn.get(v) for v in node.inputs), strict=True))
    found = facts.result_types(definition, [told(n) for n in natives.values()], 1)[0]
    bounds = [natives.get("start", values.integer(0)), natives["end"], natives.get("step", values.integer(1))]
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
    fn.fail_if(e.icmp("slt", high, low), node)
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
    fn.set_new(node.output(), made)


def linspace(fn: FunctionEmitter, node: Node, definition: OpDef) -> None:
    """`linspace` of numbers: each from the end that is nearer, as the operator computes it."""
    natives = dict(zip((a.name for a in definition.schema.arguments), (fn.get(v) for v in node.inputs), strict=True))
    found = facts.result_types(definition, [told(n) for n in natives.values()], 1)[0]
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
    fn.set_new(node.output(), made)


def from_number(fn: FunctionEmitter, node: Node, definition: OpDef) -> None:
    """`tensor(n)`, `scalar_tensor(n)`: an element."""
    natives = [fn.get(v) for v in node.inputs]
    found = facts.result_types(definition, [told(n) for n in natives], 1)[0]
    if not isinstance(natives[0], Scalar) or found is None or found[1] != 0:
        raise CannotCompileError("a tensor of other things than one number")
    if literal_of(natives[-1]) is True and definition.schema.arguments[-1].name == "requires_grad":
        raise CannotCompileError("a tensor that needs gradients")
    s = Registers(fn, node, is_exact=False)
    source = as_operand(natives[0])
    if source.dtype.is_floating_point and not found[0].is_floating_point:
        raise CannotCompileError(FLOAT_AMONG_INTS)
    _refuse_what_does_not_fit(fn, node, source, found[0])
    set_element(fn, node.output(), s.cast(source, found[0]))


def _refuse_what_does_not_fit(fn: FunctionEmitter, node: Node, source: Operand, dtype: DType) -> None:
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
        fn.fail_if(e.binary("or", above, e.icmp("slt", source.register, number(low))), node)


def _refuse_what_is_too_large(fn: FunctionEmitter, node: Node, source: Operand, dtype: DType) -> None:
    """What does not fit fails, and so do finite floats that float32 has no room for."""
    if dtype != dtypes.float32 or source.dtype != dtypes.float64:
        _refuse_what_does_not_fit(fn, node, source, dtype)
        return
    e, s = fn.e, Registers(fn, node, is_exact=False)
    rounded = s.cast(s.cast(source, dtypes.float32), dtypes.float64).register
    was_finite = e.fcmp("one", e.fabs(source.register), e.like(source.register, math.inf))
    fn.fail_if(e.binary("and", was_finite, e.fcmp("oeq", e.fabs(rounded), e.like(rounded, math.inf))), node)


def _can_hold(dtype: DType, result: DType) -> bool:
    """Whether a tensor may be overwritten with numbers of another dtype: of its kind of number, or a lower one."""
    return result.category <= dtype.category
