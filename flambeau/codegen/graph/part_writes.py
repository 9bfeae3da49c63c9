"""Copies of tensors with other elements in a part: what the derivatives of views are."""

from __future__ import annotations

from flambeau.codegen.graph import arrays, hoisted_bounds_checks, memory
from flambeau.codegen.graph.arrays import array, axis_of, new
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError
from flambeau.ir.graph import Node


def slice_scatter(fn: EmittedFunction, node: Node) -> None:
    """`slice_scatter`: a slice is replaced."""
    x, source = _operands(fn, node, 0)
    part = arrays.sliced(fn, node, x, node.operands[2:6])
    _check_sizes(fn, node, part, source)
    whole = _copied(fn, node, x)
    arrays.copy_elements(fn, arrays.sliced(fn, node, whole, node.operands[2:6]), source)
    fn.values.set_new(node.result(), whole)


def select_scatter(fn: EmittedFunction, node: Node) -> None:
    """`select_scatter`: what one index of an axis shows is replaced."""
    x, source = _operands(fn, node, 1)
    dim = axis_of(fn, node.operand(2), x.rep.rank)
    index = hoisted_bounds_checks.checked_index(fn, fn.values.scalar(node.operand(3)), x.sizes[dim], node)
    _check_sizes(fn, node, arrays.selected(fn, x, dim, index), source)
    whole = _copied(fn, node, x)
    arrays.copy_elements(fn, arrays.selected(fn, whole, dim, index), source)
    fn.values.set_new(node.result(), whole)


def _operands(fn: EmittedFunction, node: Node, fewer: int) -> tuple[ArrayValue, ArrayValue]:
    """The tensor, and what goes into it, which has so many axes less."""
    x, source = array(fn, node.operand(0)), array(fn, node.operand(1))
    if x.rep.dtype != source.rep.dtype or x.rep.rank != source.rep.rank + fewer:
        raise CannotCompileError("a part of another rank or dtype")
    if x.rep.dense != x.rep.rank:
        raise CannotCompileError("a tensor whose order in memory is not known")
    return x, source


def _check_sizes(fn: EmittedFunction, node: Node, part: ArrayValue, source: ArrayValue) -> None:
    for own, other in zip(part.sizes, source.sizes, strict=True):
        if memory.literal(own) is None or memory.literal(own) != memory.literal(other):
            fn.exits.fail_if(fn.e.icmp("ne", own, other), node)


def _copied(fn: EmittedFunction, node: Node, x: ArrayValue) -> ArrayValue:
    whole = new(fn, x.rep.dtype, x.sizes, node)
    arrays.copy_elements(fn, whole, x)
    return whole
