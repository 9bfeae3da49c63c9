"""New tensors around or beside the elements of others: `repeat`, `pad`."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.interpreter_calls import either
from flambeau.codegen.graph.literals import literal_of
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError, Native, Scalar, TupleValue
from flambeau.codegen.graph.numbers.scalars import Operand, Registers, as_operand
from flambeau.codegen.graph.representation import Array, Element
from flambeau.codegen.graph.tensors import arrays
from flambeau.codegen.graph.tensors.arrays import array, new
from flambeau.codegen.graph.tensors.copies import is_channels_last_now
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node
from flambeau.schema import dtype as dtypes


def repeat(fn: EmittedFunction, node: Node) -> None:
    """`repeat`: copies side by side, new axes in front."""
    e, x = fn.e, array(fn, node.operand(0))
    counts = _ints(fn.values.get(node.operand(1)))
    missing = len(counts) - x.rep.rank
    if missing < 0 or e.lanes > 1:
        raise CannotCompileError("fewer counts than axes")
    for count in counts:
        fn.exits.fail_if(e.icmp("slt", count, number(0)), node)
    own = [*[number(1)] * missing, *x.sizes]
    target = new(fn, x.rep.dtype, [memory.multiply(e, c, s) for c, s in zip(counts, own, strict=True)], node)
    source_strides = [*[number(0)] * missing, *x.strides]
    sizes, to, from_ = [], [], []
    for count, size, there, here in zip(counts, own, target.strides, source_strides, strict=True):
        sizes += [count, size]
        to += [memory.multiply(e, size, there), there]
        from_ += [number(0), here]
    rep = Array(x.rep.dtype, len(sizes), 0)
    arrays.copy_elements(
        fn, ArrayValue(rep, target.owner, target.data, tuple(sizes), tuple(to)),
        ArrayValue(rep, x.owner, x.data, tuple(sizes), tuple(from_)),
    )  # fmt: skip
    fn.values.set_new(node.result(), target)


def pad(fn: EmittedFunction, node: Node) -> None:
    """`pad` with a constant: the last axes get longer, or shorter where an amount is negative."""
    x = array(fn, node.operand(0))
    amounts = _ints(fn.values.get(node.operand(1)))
    is_any = node.op == "aten::pad"
    if is_any and literal_of(fn.values.get(node.operand(2))) != "constant":
        raise CannotCompileError("another mode than constant")
    if len(amounts) % 2 or len(amounts) > 2 * x.rep.rank or fn.e.lanes > 1:
        raise CannotCompileError("amounts that do not fit the axes")
    fill = _fill(fn, node, x, fn.values.get(node.operand(3 if is_any else 2)))
    if x.rep.rank == 4 and x.rep.dense != 4:
        usual = fn.e.binary("xor", is_channels_last_now(fn, x), Register("true", "i1", 1))
        either(fn, node, usual, Array(x.rep.dtype, 4, 0), lambda: _padded(fn, node, x, amounts, fill))
    else:
        fn.values.set_new(node.result(), _padded(fn, node, x, amounts, fill))


def _ints(native: Native) -> list[Register]:
    if not isinstance(native, TupleValue):
        raise CannotCompileError("how many numbers there are is not known")
    registers = [i.register for i in native.items if isinstance(i, Scalar) and i.register.type == "i64"]
    if len(registers) != len(native.items):
        raise CannotCompileError("other numbers than ints")
    return registers


def _fill(fn: EmittedFunction, node: Node, x: ArrayValue, value: Native) -> Register:
    """What stands around the elements."""
    s = Registers(fn, node, is_exact=False)
    if literal_of(value) is None:
        return s.const(0, x.rep.dtype).register
    is_number = isinstance(value, Scalar) and not isinstance(value.rep, Element)
    if not is_number or not x.rep.dtype.is_floating_point or not isinstance(value, Scalar):
        raise CannotCompileError("a constant that is not a float among floats")
    operand: Operand = as_operand(value)
    return s.cast(s.cast(operand, dtypes.float64), x.rep.dtype).register


def _padded(fn: EmittedFunction, node: Node, x: ArrayValue, amounts: Sequence[Register], fill: Register) -> ArrayValue:
    e, sizes, source, target = fn.e, list(x.sizes), list(x.sizes), [number(0)] * x.rep.rank
    data, zero = x.data, number(0)
    for k in range(0, len(amounts), 2):
        axis, before, after = x.rep.rank - 1 - k // 2, amounts[k], amounts[k + 1]
        sizes[axis] = memory.add(e, memory.add(e, x.sizes[axis], before), after)
        cut, cut_after = (e.intrinsic("smin", a, zero) for a in (before, after))
        source[axis] = memory.add(e, memory.add(e, x.sizes[axis], cut), cut_after)
        fn.exits.fail_if(e.icmp("slt", sizes[axis], zero), node)
        fn.exits.fail_if(e.icmp("slt", source[axis], zero), node)
        target[axis] = e.intrinsic("smax", before, zero)
        start = e.binary("sub", zero, cut)
        data = memory.offset_address(e, data, start, x.strides[axis], memory.itemsize(x.rep.dtype))
    padded = new(fn, x.rep.dtype, sizes, node)
    arrays.fill(fn, padded, fill)
    address = padded.data
    for axis, start in enumerate(target):
        address = memory.offset_address(e, address, start, padded.strides[axis], memory.itemsize(x.rep.dtype))
    rep = Array(x.rep.dtype, x.rep.rank, 0)
    arrays.copy_elements(
        fn, ArrayValue(rep, padded.owner, address, tuple(source), padded.strides),
        ArrayValue(rep, x.owner, data, tuple(source), x.strides),
    )  # fmt: skip
    return padded
