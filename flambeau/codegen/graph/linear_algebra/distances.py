"""Distances between the rows of two matrices in native code: `cdist`.

Many of them are left to Python, whose loop has several columns at once and whose way there is then a small part of the
time.
"""

from __future__ import annotations

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.interpreter_calls import either
from flambeau.codegen.graph.linear_algebra.matrices import matrix_operand
from flambeau.codegen.graph.literals import literal_of
from flambeau.codegen.graph.loops.control import each
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.named_operands import operands_by_name
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError
from flambeau.codegen.graph.representation import Array
from flambeau.codegen.graph.tensors import arrays
from flambeau.codegen.graph.tensors.arrays import view_on
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node
from flambeau.schema.dtype import float32

MANY = 1 << 12
"""Differences from which Python's loop is the quicker one."""


def cdist(fn: EmittedFunction, node: Node) -> None:
    """`cdist` of order 1 and 2: differences are added up in double precision."""
    left, right, e = matrix_operand(fn, node), matrix_operand(fn, node, 1), fn.e
    order = literal_of(operands_by_name(fn, node)["p"])
    if order not in (1.0, 2.0) or left.rep.dtype is not right.rep.dtype or not left.rep.rank == right.rep.rank == 2:
        raise CannotCompileError("of another order, of two dtypes, or of batches")
    usable = e.icmp("eq", left.sizes[1], right.sizes[1])
    for size in (*left.sizes, right.sizes[0]):
        usable = e.binary("and", usable, e.icmp("ule", size, number(MANY)))
    differences = memory.multiply(e, memory.multiply(e, *left.sizes), right.sizes[0])
    usable = e.binary("and", usable, e.icmp("ule", differences, number(MANY)))

    def native() -> ArrayValue:
        result = arrays.new(fn, left.rep.dtype, (left.sizes[0], right.sizes[0]), node)
        zero = number(0)
        tall = view_on(left, left.data, result.sizes, (left.strides[0], zero), 0)
        wide = view_on(right, right.data, result.sizes, (zero, right.strides[0]), 0)
        total = e.slot("double", 8)
        arrays.each_element(fn, result.sizes, [result, tall, wide], lambda at: _distance(
            fn, at, (left, right), total, is_square=order == 2.0
        ))  # fmt: skip
        return result

    either(fn, node, usable, Array(left.rep.dtype, 2, 0), native)


def _distance(
    fn: EmittedFunction, at: list[Register], rows: tuple[ArrayValue, ArrayValue], total: Register, *, is_square: bool
) -> None:
    """Write the distance of two rows."""
    e, dtype = fn.e, rows[0].rep.dtype
    e.raw(f"store double 0.0, ptr {total}")

    def add(k: Register) -> None:
        numbers = []
        for begin, row in zip(at[1:], rows, strict=True):
            address = memory.offset_address(e, begin, k, row.strides[1], memory.itemsize(dtype))
            loaded = memory.load_element(e, address, dtype)
            numbers.append(e.convert("fpext", loaded, "double") if dtype is float32 else loaded)
        difference = e.define(f"fsub double {numbers[0]}, {numbers[1]}", "double", 1)
        if is_square:
            size = e.define(f"fmul double {difference}, {difference}", "double", 1)
        else:
            size = e.intrinsic("fabs", difference)
        before = e.define(f"load double, ptr {total}", "double", 1)
        e.raw(f"store double {e.define(f'fadd double {before}, {size}', 'double', 1)}, ptr {total}")

    each(fn, rows[0].sizes[1], add)
    distance = e.define(f"load double, ptr {total}", "double", 1)
    if is_square:
        distance = e.intrinsic("sqrt", distance)
    if dtype is float32:
        distance = e.convert("fptrunc", distance, "float")
    memory.store_element(e, at[0], distance, dtype)
