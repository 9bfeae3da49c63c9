"""New tensors of no other: filled with a value, counted."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flambeau.analysis.int_bounds import bounds_of
from flambeau.codegen.graph import memory, native_values
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.interpreter_calls import either
from flambeau.codegen.graph.literals import literal_of
from flambeau.codegen.graph.loops.control import each
from flambeau.codegen.graph.lowering_tables import lowers
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.named_operands import operands_by_name, refuse_options, result_type
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError, FixedValue, Native, Scalar, TupleValue
from flambeau.codegen.graph.numbers import complex_elements
from flambeau.codegen.graph.numbers.complex_elements import ComplexRegisters
from flambeau.codegen.graph.numbers.scalars import Operand, Registers, as_operand
from flambeau.codegen.graph.representation import Array, Element, Float
from flambeau.codegen.graph.tensors import arrays
from flambeau.codegen.graph.tensors.memory_order import in_order_of, is_from_outermost_in, is_packed
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.codegen.llvm.emitter import float_constant
from flambeau.ir.graph import Node, Value
from flambeau.schema import dtype as dtypes
from flambeau.schema.dtype import DType
from flambeau.schema.types import IntType

FLOAT_AMONG_INTS = "a float in a tensor of integers"
MOST_STEPS = 2.0**53
"""Steps that a float counts one by one."""


@lowers("aten::zeros", "aten::zeros_like", "aten::new_zeros", "aten::empty", "aten::empty_like", "aten::new_empty")
def zeros(fn: EmittedFunction, node: Node) -> None:
    """`zeros`, `empty` and their like: uninitialised ones hold zeros, which costs little and leaks nothing."""
    _filled(fn, node, lambda s, _, dtype: s.const(0, dtype.to_real()))


@lowers("aten::ones", "aten::ones_like", "aten::new_ones")
def ones(fn: EmittedFunction, node: Node) -> None:
    """`ones` and its like."""
    _filled(fn, node, lambda s, _, dtype: s.const(1, dtype))


@lowers("aten::full", "aten::full_like", "aten::new_full")
def full(fn: EmittedFunction, node: Node) -> None:
    """`full` and its like, with the value that an argument says."""

    def value(s: Any, operands: Mapping[str, Native], dtype: DType) -> Any:
        if dtype.is_complex:
            if literal_of(operands["fill_value"]) == 0:
                return s.real_part.const(0, dtype.to_real())
            return s.cast(complex_elements.number(fn, operands["fill_value"], s), dtype)
        operand = _fill_value(operands["fill_value"])
        if operand.dtype.is_floating_point and not dtype.is_floating_point:
            raise CannotCompileError(FLOAT_AMONG_INTS)
        refuse_what_is_too_large(fn, node, operand, dtype)
        return s.cast(operand, dtype)

    _filled(fn, node, value)


def _filled(
    fn: EmittedFunction, node: Node, value: Callable[[Any, Mapping[str, Native], DType], Any]
) -> None:
    """A new tensor of one value, which is emitted for a dtype."""
    operands = operands_by_name(fn, node)
    tensor_type = result_type(node, operands.values())
    if tensor_type is None:
        raise CannotCompileError("its dtype or rank is not known")
    for key in ("layout", "memory_format", "requires_grad"):
        refuse_options(operands, [key], f"{key} is given")
    if "device" in operands and not isinstance(operands["device"], FixedValue):
        raise CannotCompileError("the device is not known")
    dtype, rank = tensor_type
    sizes = _sizes(operands)
    s = ComplexRegisters(fn, node) if dtype.is_complex else Registers(fn, node, is_exact=False)
    fill = value(s, operands, dtype)

    def make() -> ArrayValue:
        tensor = arrays.new(fn, dtype, sizes, node)
        complex_elements.fill(fn, tensor, fill)
        return tensor

    like = operands["self"] if "size" not in operands else None
    if isinstance(like, ArrayValue) and like.rep.dense != like.rep.rank and like.rep.rank > 1:
        packed = is_packed(fn, like)
        is_native = fn.e.binary("or", packed, is_from_outermost_in(fn, like))
        either(fn, node, is_native, Array(dtype, rank, 0), lambda: in_order_of(fn, make(), like, packed))
    else:
        fn.values.set_new(node.result(), make())


def _sizes(operands: Mapping[str, Native]) -> tuple[Register, ...]:
    """The sizes that an argument says, or those of the tensor that the new one is like."""
    sizes = operands.get("size")
    if sizes is None:
        like = operands["self"]
        return like.sizes if isinstance(like, ArrayValue) else ()
    if not isinstance(sizes, TupleValue):
        raise CannotCompileError("the number of sizes is not known")
    return tuple(i.register for i in sizes.items if isinstance(i, Scalar))


def _fill_value(native: Native) -> Operand:
    if not isinstance(native, Scalar):
        raise CannotCompileError("the value of the elements is no number")
    return as_operand(native)


@lowers("aten::arange")
def arange(fn: EmittedFunction, node: Node) -> None:
    """`arange` of ints, in any dtype, or with floats among them."""
    operands = operands_by_name(fn, node)
    tensor_type = result_type(node, operands.values())
    default = {"start": native_values.integer(0), "step": native_values.integer(1), **operands}
    bounds = [default["start"], operands["end"], default["step"]]
    step = literal_of(bounds[2])
    if tensor_type is not None and any(isinstance(b.rep, Float) for b in bounds):
        refuse_options(operands, ("layout", "pin_memory"), "a layout is given")
        _arange_of_floats(fn, node, bounds, tensor_type[0])
        return
    if tensor_type is None or not isinstance(step, int) or step == 0:
        raise CannotCompileError("the dtype or the step of arange is not known")
    if not all(isinstance(b, Scalar) and b.register.type == "i64" for b in bounds):
        raise CannotCompileError("arange of other numbers than ints")
    refuse_options(operands, ("layout", "pin_memory"), "a layout is given")
    e = fn.e
    start, end = (b.register for b in bounds[:2] if isinstance(b, Scalar))
    low, high = (start, end) if step > 0 else (end, start)
    fn.exits.fail_if(e.icmp("slt", high, low), node)
    distance = memory.subtract(e, high, low)
    if abs(step) != 1:
        distance = e.binary("udiv", e.binary("add", distance, number(abs(step) - 1)), number(abs(step)))
    tensor = arrays.new(fn, tensor_type[0], (distance,), node)
    s = Registers(fn, node, is_exact=False)
    size = memory.itemsize(tensor_type[0])

    def one(k: Register) -> None:
        value = memory.add(e, start, memory.multiply(e, k, number(step)))
        element = s.cast(Operand(value, dtypes.int64), tensor_type[0])
        address = memory.offset_address(e, tensor.data, k, number(size), size)
        memory.store_element(e, address, element.register, tensor_type[0])

    each(fn, tensor.sizes[0], one)
    fn.values.set_new(node.result(), tensor)


def _arange_of_floats(fn: EmittedFunction, node: Node, bounds: Sequence[Native], dtype: DType) -> None:
    """Each from the start on, as the operator computes it: in doubles, rounded once at the end."""
    if not dtype.is_floating_point:
        raise CannotCompileError("arange of floats in a tensor of integers")
    s, e = Registers(fn, node, is_exact=False), fn.e
    if not all(isinstance(b, Scalar) and not isinstance(b.rep, Element) for b in bounds):
        raise CannotCompileError("arange between tensors")
    start, end, step = (s.cast(as_operand(b), dtypes.float64) for b in bounds if isinstance(b, Scalar))
    steps = e.binary("fdiv", e.binary("fsub", end.register, start.register), step.register)
    limits = [float_constant(limit, "double", 1) for limit in (0.0, MOST_STEPS)]
    is_counted = e.binary("and", e.fcmp("oge", steps, limits[0]), e.fcmp("olt", steps, limits[1]))
    fn.exits.fail_if(e.binary("xor", is_counted, e.like(is_counted, 1)), node)
    for way, sign in (("olt", "ogt"), ("ogt", "olt")):  # the quotient of a small way and a large step is no sign
        is_away = e.fcmp(way, end.register, start.register)
        fn.exits.fail_if(e.binary("and", is_away, e.fcmp(sign, step.register, limits[0])), node)
    tensor = arrays.new(fn, dtype, (e.convert("fptosi", e.intrinsic("ceil", steps), "i64"),), node)
    size = memory.itemsize(dtype)

    def one(k: Register) -> None:
        away = e.binary("fmul", step.register, e.convert("sitofp", k, "double"))
        element = s.cast(Operand(e.binary("fadd", start.register, away), dtypes.float64), dtype)
        address = memory.offset_address(e, tensor.data, k, number(size), size)
        memory.store_element(e, address, element.register, dtype)

    each(fn, tensor.sizes[0], one)
    fn.values.set_new(node.result(), tensor)


@lowers("aten::linspace")
def linspace(fn: EmittedFunction, node: Node) -> None:
    """`linspace` of numbers: each from the end that is nearer, as the operator computes it."""
    operands = operands_by_name(fn, node)
    tensor_type = result_type(node, operands.values())
    ends, steps = [operands["start"], operands["end"]], operands["steps"]
    if tensor_type is None or tensor_type[0].name not in ("float32", "float64") or not isinstance(steps, Scalar):
        raise CannotCompileError("linspace of other numbers than float32 and float64")
    if not all(isinstance(n, Scalar) and not isinstance(n.rep, Element) for n in ends):
        raise CannotCompileError("linspace between tensors")
    refuse_options(operands, ("layout", "pin_memory"), "a layout is given")
    e, dtype, count = fn.e, tensor_type[0], steps.register
    s = Registers(fn, node, is_exact=False)
    first, last = (s.cast(as_operand(n), dtype) for n in ends if isinstance(n, Scalar))
    tensor = arrays.new(fn, dtype, (count,), node)

    def counted(register: Register) -> Operand:
        return s.cast(Operand(register, dtypes.int64), dtype)

    before = e.binary("sub", count, number(1))
    gaps = counted(e.intrinsic("smax", before, number(1)))
    step = s.div(s.sub(last, first), gaps)
    half = e.binary("sdiv", count, number(2))
    alone = e.icmp("eq", count, number(1))
    size = memory.itemsize(dtype)

    def one(k: Register) -> None:
        low = s.add(first, s.mul(step, counted(k)))
        high = s.sub(last, s.mul(step, counted(e.binary("sub", before, k))))
        value = e.select(e.icmp("slt", k, half), low.register, high.register)
        address = memory.offset_address(e, tensor.data, k, number(size), size)
        memory.store_element(e, address, e.select(alone, first.register, value), dtype)

    each(fn, count, one)
    fn.values.set_new(node.result(), tensor)


def refuse_what_does_not_fit(fn: EmittedFunction, node: Node, source: Operand, dtype: DType) -> None:
    """Ints that a narrower dtype cannot hold fail; those without a sign take negative ones, counted from their end."""
    bits = 8 * dtype.itemsize
    if not dtype.is_integral or bits == 64 or source.dtype != dtypes.int64:
        return
    high = (1 << (bits - dtype.is_signed)) - 1
    low = -high - dtype.is_signed
    literal = memory.literal(source.register)
    if literal is None or not low <= literal <= high:
        if any(bounds_of(v).is_within(dtype) for v in node.operands if _holds(fn, v, source)):
            return
        e = fn.e
        above = e.icmp("sgt", source.register, number(high))
        fn.exits.fail_if(e.binary("or", above, e.icmp("slt", source.register, number(low))), node)


def _holds(fn: EmittedFunction, value: Value, source: Operand) -> bool:
    """Whether a value is the number of an operand."""
    native = fn.values.get(value) if isinstance(value.static_type, IntType) else None
    return isinstance(native, Scalar) and native.register is source.register


def truncated(fn: EmittedFunction, node: Node, source: Operand, dtype: DType) -> Operand:
    """A float as an element of a dtype of integers: without its fraction, as `int` gives it; nan, and what the dtype
    cannot hold then, fails.
    """
    e, x, bits = fn.e, source.register, 8 * dtype.itemsize
    high = 2.0 ** (bits - dtype.is_signed)
    low = -high if dtype.is_signed else 0.0
    is_below = e.fcmp("ult", x, e.like(x, low)) if bits == 64 and low else e.fcmp("ule", x, e.like(x, low - 1))
    fn.exits.fail_if(e.binary("or", is_below, e.fcmp("uge", x, e.like(x, high))), node)
    wide = "i32" if bits < 32 else "i64"
    whole = e.convert("fptosi" if dtype.is_signed or bits < 64 else "fptoui", x, wide)
    kind = memory.element(dtype).llvm
    return Operand(whole if kind == wide else e.convert("trunc", whole, kind), dtype)


def refuse_what_is_too_large(fn: EmittedFunction, node: Node, source: Operand, dtype: DType) -> None:
    """What does not fit fails, and so do finite floats that float32 has no room for."""
    if dtype != dtypes.float32 or source.dtype != dtypes.float64:
        refuse_what_does_not_fit(fn, node, source, dtype)
        return
    e, s = fn.e, Registers(fn, node, is_exact=False)
    rounded = s.cast(s.cast(source, dtypes.float32), dtypes.float64).register
    was_finite = e.fcmp("one", e.fabs(source.register), e.like(source.register, math.inf))
    fn.exits.fail_if(e.binary("and", was_finite, e.fcmp("oeq", e.fabs(rounded), e.like(rounded, math.inf))), node)
