"""Copies of tensors with other elements in a part: what the derivatives of views are.

Where the tensor was made for this alone, as the zeros that a gradient is put into, it is written itself.
"""

from __future__ import annotations

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.linear_algebra.diagonals import diagonal_of
from flambeau.codegen.graph.loops import hoisted_bounds_checks
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError, Native, Scalar
from flambeau.codegen.graph.numbers import complex_numbers
from flambeau.codegen.graph.representation import Array, Element
from flambeau.codegen.graph.tensors import arrays
from flambeau.codegen.graph.tensors.arrays import array, axis_of, known_int, new
from flambeau.ir.graph import Node, Value


def slice_scatter(fn: EmittedFunction, node: Node) -> None:
    """`slice_scatter`: a slice is replaced."""
    x, source = _operands(fn, node, 0)
    _check_sizes(fn, node, arrays.sliced(fn, node, x, node.operands[2:6]), source)
    _write(fn, node, arrays.sliced(fn, node, _result(fn, node, x), node.operands[2:6]), source)


def select_scatter(fn: EmittedFunction, node: Node) -> None:
    """`select_scatter`: what one index of an axis shows is replaced."""
    x, source = _operands(fn, node, 1)
    dim = axis_of(fn, node.operand(2), x.rep.rank)
    index = hoisted_bounds_checks.checked_index(fn, fn.values.scalar(node.operand(3)), x.sizes[dim], node)
    _check_sizes(fn, node, arrays.selected(fn, x, dim, index), source)
    _write(fn, node, arrays.selected(fn, _result(fn, node, x), dim, index), source)


def diagonal_scatter(fn: EmittedFunction, node: Node) -> None:
    """`diagonal_scatter`: a diagonal is replaced."""
    x, source = _operands(fn, node, 1)
    rows, columns = (axis_of(fn, node.operand(k), x.rep.rank) for k in (3, 4))
    if rows == columns:
        raise CannotCompileError("a diagonal of one axis")
    offset = known_int(fn, node.operand(2))
    _check_sizes(fn, node, diagonal_of(fn, x, offset, rows, columns), source)
    _write(fn, node, diagonal_of(fn, _result(fn, node, x), offset, rows, columns), source)


def _operands(fn: EmittedFunction, node: Node, fewer: int) -> tuple[ArrayValue, Native]:
    """The tensor, and what goes into it, which has so many axes less: without axes it may be a number in registers."""
    x, source = array(fn, node.operand(0)), fn.values.get(node.operand(1))
    if not isinstance(source.rep, Array | Element) or x.rep.dtype != source.rep.dtype:
        raise CannotCompileError("a part of another dtype")
    if x.rep.rank != arrays.rank(source) + fewer:
        raise CannotCompileError("a part of another rank")
    if not _copies_row_major(fn, node.operand(0), x):
        raise CannotCompileError("a tensor whose order in memory is not known")
    return x, source


def _copies_row_major(fn: EmittedFunction, value: Value, x: ArrayValue) -> bool:
    """Whether a copy surely has its elements in the order of the axes: of what is repeated, too, as for a batch."""
    maker = value.defining_node
    if maker is not None and maker.op == "aten::expand" and isinstance(fn.values.get(maker.operand(0)), ArrayValue):
        x = array(fn, maker.operand(0))
    return x.rep.dense == x.rep.rank


def _check_sizes(fn: EmittedFunction, node: Node, part: ArrayValue, source: Native) -> None:
    for own, other in zip(part.sizes, source.sizes if isinstance(source, ArrayValue) else (), strict=True):
        if memory.literal(own) is None or memory.literal(own) != memory.literal(other):
            fn.exits.fail_if(fn.e.icmp("ne", own, other), node)


def _write(fn: EmittedFunction, node: Node, part: ArrayValue, source: Native) -> None:
    if isinstance(source, ArrayValue):
        arrays.copy_elements(fn, part, source)
    elif part.rep.dtype.is_complex:
        complex_numbers.put(fn, part, source, node)
    else:
        assert isinstance(source, Scalar)
        memory.store_element(fn.e, part.data, source.register, part.rep.dtype)


def _result(fn: EmittedFunction, node: Node, x: ArrayValue) -> ArrayValue:
    """The tensor that is written: a copy, or the operand itself where nobody else sees it."""
    if _is_for_this(node):
        fn.values.set_view(node.result(), x)
        return x
    whole = new(fn, x.rep.dtype, x.sizes, node)
    arrays.copy_elements(fn, whole, x)
    fn.values.set_new(node.result(), whole)
    return whole


def _is_for_this(node: Node) -> bool:
    """Whether nobody else sees the tensor: it is new, and this is its only use, in the block that made it."""
    whole = node.operand(0)
    maker = whole.defining_node
    definition = None if maker is None else maker.definition
    is_new = definition is not None and definition.family == "creation" and not definition.schema.says_aliases
    return is_new and whole.owner_block is node.owner_block and len(whole.uses()) == 1
