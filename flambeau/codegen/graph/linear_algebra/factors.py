"""Factors of small matrices in native code, by NumPy's loops: `linalg.svd` and `linalg.qr`."""

from __future__ import annotations

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.interpreter_calls import attempt
from flambeau.codegen.graph.linear_algebra.matrices import (
    by_columns,
    convert,
    is_finite,
    is_small,
    matrix_operand,
    run_loop,
)
from flambeau.codegen.graph.literals import literal_of
from flambeau.codegen.graph.loops.control import each
from flambeau.codegen.graph.named_operands import operands_by_name
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError
from flambeau.codegen.graph.representation import Array
from flambeau.codegen.graph.tensors import arrays
from flambeau.codegen.graph.tensors.arrays import copy_elements, view_on
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node
from flambeau.schema.dtype import float64


def singular_vectors(fn: EmittedFunction, node: Node) -> None:
    """`linalg.svd`; what is not finite is refused by Python."""
    x, e, named = matrix_operand(fn, node), fn.e, operands_by_name(fn, node)
    is_full = literal_of(named["full_matrices"])
    if literal_of(named["driver"]) is not None or not isinstance(is_full, bool):
        raise CannotCompileError("a driver is named, or it is not known whether all vectors are wanted")
    rows, columns = x.sizes[-2:]
    count = e.intrinsic("smin", rows, columns)

    def native() -> tuple[list[ArrayValue], Register]:
        left = by_columns(fn, node, x, [*x.sizes[:-1], rows if is_full else count])
        values = arrays.new(fn, x.rep.dtype, [*x.sizes[:-2], count], node)
        right = by_columns(fn, node, x, [*x.sizes[:-2], columns if is_full else count, columns])
        name = "svd_f" if is_full else "svd_s"
        is_good = run_loop(fn, node, name, [rows, columns, count], [(x, 2)], [(left, 2), (values, 1), (right, 2)])
        return [left, values, right], is_good

    reps = [Array(x.rep.dtype, rank, 0) for rank in (x.rep.rank, x.rep.rank - 1, x.rep.rank)]
    attempt(fn, node, e.binary("and", is_small(fn, x), is_finite(fn, x)), reps, native)


def orthonormal_and_triangle(fn: EmittedFunction, node: Node) -> None:
    """`linalg.qr` of the reduced kind; NumPy has loops over float64 only."""
    x, e = matrix_operand(fn, node), fn.e
    if literal_of(operands_by_name(fn, node)["mode"]) != "reduced":
        raise CannotCompileError("another mode than 'reduced'")
    rows, columns = x.sizes[-2:]
    count = e.intrinsic("smin", rows, columns)

    def native() -> tuple[list[ArrayValue], Register]:
        packed = arrays.new(fn, float64, x.sizes, node)  # the loop leaves R there, above what Q is made of
        _copy(fn, packed, x)
        scales = arrays.new(fn, float64, [*x.sizes[:-2], count], node)
        is_good = run_loop(fn, node, "qr_r_raw", [rows, columns, count], [(packed, 2)], [(scales, 1)])
        wide_r = arrays.new(fn, float64, [*x.sizes[:-2], count, columns], node)
        _copy_triangle(fn, wide_r, packed)
        wide_q = arrays.new(fn, float64, [*x.sizes[:-1], count], node)
        sizes = [rows, columns, count]
        is_whole = run_loop(fn, node, "qr_reduced", sizes, [(packed, 2), (scales, 1)], [(wide_q, 2)])
        results = [by_columns(fn, node, x, wide.sizes) for wide in (wide_q, wide_r)]
        for result, wide in zip(results, (wide_q, wide_r), strict=True):
            _copy(fn, result, wide)
        for block in (packed, scales, wide_q, wide_r):
            e.raw(f"call void @drop_block(ptr {block.owner})")
        return results, e.binary("and", is_good, is_whole)

    attempt(fn, node, is_small(fn, x), [Array(x.rep.dtype, x.rep.rank, 0)] * 2, native)


def _copy(fn: EmittedFunction, target: ArrayValue, source: ArrayValue) -> None:
    """Copy between arrays of float32 and float64."""
    (copy_elements if target.rep.dtype is source.rep.dtype else convert)(fn, target, source)


def _copy_triangle(fn: EmittedFunction, target: ArrayValue, source: ArrayValue) -> None:
    """What is on and above the diagonal of each matrix, and zeros below."""
    e = fn.e
    batches = [view_on(t, t.data, t.sizes[:-2], t.strides[:-2], 0) for t in (target, source)]

    def element(matrix: Register, like: ArrayValue, row: Register, column: Register) -> Register:
        line = memory.offset_address(e, matrix, row, like.strides[-2], 8)
        return memory.offset_address(e, line, column, like.strides[-1], 8)

    def one(at: list[Register]) -> None:
        def put(row: Register, column: Register) -> None:
            value = memory.load_element(e, element(at[1], source, row, column), float64)
            zero = Register("0.0", "double", 1)
            kept = e.select(e.icmp("ule", row, column), value, zero)
            memory.store_element(e, element(at[0], target, row, column), kept, float64)

        each(fn, target.sizes[-2], lambda row: each(fn, target.sizes[-1], lambda column: put(row, column)))

    arrays.each_element(fn, batches[0].sizes, batches, one)
