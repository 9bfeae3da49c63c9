"""Diagonals as views, matrices that have one, and matrices of zeros but for it: `diagonal`, `diag`, `eye`."""

from __future__ import annotations

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.named_operands import operands_by_name, refuse_options, result_type
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError, Scalar
from flambeau.codegen.graph.numbers import complex_elements
from flambeau.codegen.graph.numbers.complex_elements import ComplexRegisters
from flambeau.codegen.graph.numbers.scalars import Registers
from flambeau.codegen.graph.representation import Int
from flambeau.codegen.graph.tensors import arrays
from flambeau.codegen.graph.tensors.arrays import array, axis_of, known_int, view_on
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node
from flambeau.schema.dtype import DType


def diagonal(fn: EmittedFunction, node: Node) -> None:
    """`diagonal`: a view whose last axis steps along two axes at once."""
    x = array(fn, node.operand(0))
    rows, columns = (axis_of(fn, node.operand(k), x.rep.rank) for k in (2, 3))
    if rows == columns:
        raise CannotCompileError("a diagonal of one axis")
    fn.values.set_view(node.result(), diagonal_of(fn, x, known_int(fn, node.operand(1)), rows, columns))


def diagonal_of(fn: EmittedFunction, x: ArrayValue, offset: int, rows: int, columns: int) -> ArrayValue:
    """The elements (i, i + offset) of two axes."""
    e = fn.e
    down, right = x.sizes[rows], x.sizes[columns]
    along = columns if offset >= 0 else rows
    shorter = memory.subtract(e, x.sizes[along], number(abs(offset)))
    size = e.intrinsic("smin", shorter, down if offset >= 0 else right)
    size = e.intrinsic("smax", size, number(0))
    data = x.data
    if offset:
        itemsize = memory.itemsize(x.rep.dtype)
        start = e.select(e.icmp("eq", size, number(0)), number(0), number(abs(offset)))
        data = memory.offset_address(e, data, start, x.strides[along], itemsize)
    kept = [k for k in range(x.rep.rank) if k not in (rows, columns)]
    step = memory.add(e, x.strides[rows], x.strides[columns])
    return view_on(x, data, [*(x.sizes[k] for k in kept), size], [*(x.strides[k] for k in kept), step], 0)


def diag(fn: EmittedFunction, node: Node) -> None:
    """`diag`: of a matrix the diagonal, in memory of its own; of a vector the matrix that has it."""
    x, offset = array(fn, node.operand(0)), known_int(fn, node.operand(1))
    if x.rep.rank == 2:
        seen = diagonal_of(fn, x, offset, 0, 1)
        result = arrays.new(fn, x.rep.dtype, seen.sizes, node)
        arrays.copy_elements(fn, result, seen)
    elif x.rep.rank == 1:
        size = memory.add(fn.e, x.sizes[0], number(abs(offset)))
        result = _zeros(fn, node, x.rep.dtype, (size, size))
        arrays.copy_elements(fn, diagonal_of(fn, result, offset, 0, 1), x)
    else:
        raise CannotCompileError("of a tensor of neither one nor two axes")
    fn.values.set_new(node.result(), result)


def diag_embed(fn: EmittedFunction, node: Node) -> None:
    """`diag_embed` behind all other axes: vectors as the diagonals of matrices."""
    x, offset = array(fn, node.operand(0)), known_int(fn, node.operand(1))
    rank = x.rep.rank + 1
    if not x.rep.rank or [axis_of(fn, node.operand(k), rank) for k in (2, 3)] != [rank - 2, rank - 1]:
        raise CannotCompileError("matrices along other axes than the last two")
    size = memory.add(fn.e, x.sizes[-1], number(abs(offset)))
    result = _zeros(fn, node, x.rep.dtype, (*x.sizes[:-1], size, size))
    arrays.copy_elements(fn, diagonal_of(fn, result, offset, rank - 2, rank - 1), x)
    fn.values.set_new(node.result(), result)


def eye(fn: EmittedFunction, node: Node) -> None:
    """`eye(n)`, `eye(n, m)`."""
    operands = operands_by_name(fn, node)
    tensor_type = result_type(node, operands.values())
    if tensor_type is None:
        raise CannotCompileError("its dtype is not known")
    refuse_options(operands, ("layout", "pin_memory", "requires_grad"), "a layout is given")
    sizes = [operands[name] for name in ("n", "m") if name in operands]
    registers = [s.register for s in sizes if isinstance(s, Scalar) and s.rep == Int()]
    if len(registers) != len(sizes):
        raise CannotCompileError("a size that is no int")
    result = _zeros(fn, node, tensor_type[0], (registers[0], registers[-1]))
    complex_elements.fill(fn, diagonal_of(fn, result, 0, 0, 1), ComplexRegisters(fn, node).const(1, tensor_type[0]))
    fn.values.set_new(node.result(), result)


def _zeros(fn: EmittedFunction, node: Node, dtype: DType, sizes: tuple[Register, ...]) -> ArrayValue:
    result = arrays.new(fn, dtype, sizes, node)
    arrays.fill(fn, result, Registers(fn, node, is_exact=False).const(0, dtype.to_real()).register)
    return result
