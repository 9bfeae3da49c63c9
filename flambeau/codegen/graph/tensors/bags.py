"""`embedding_bag`: rows of a table added up by bags."""

from __future__ import annotations

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.interpreter_calls import either
from flambeau.codegen.graph.literals import literal_of
from flambeau.codegen.graph.loops.control import each
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.named_operands import operands_by_name
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError
from flambeau.codegen.graph.representation import Array
from flambeau.codegen.graph.routines.bags import sum_of_bags
from flambeau.codegen.graph.routines.library import call_routine
from flambeau.codegen.graph.tensors import arrays
from flambeau.codegen.graph.tensors.arrays import array, new
from flambeau.codegen.graph.tensors.picks import INTEGERS
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node

SUM = 0


def embedding_bag(fn: EmittedFunction, node: Node) -> None:
    """Sums whose bags are all that is asked for. Bags that end before they begin are Python's."""
    e = fn.e
    _refuse(fn, node)
    table, rows, starts = _operands(fn, node)

    def summed() -> ArrayValue:
        dtype, index = table.rep.dtype, rows.rep.dtype
        bags = new(fn, dtype, (starts.sizes[0], table.sizes[1]), node)
        symbol = sum_of_bags("float" if dtype.itemsize == 4 else "double", f"i{8 * index.itemsize}")
        are_rows = call_routine(
            fn, symbol, table.data, *table.strides, *table.sizes, rows.data, rows.strides[0], rows.sizes[0],
            starts.data, starts.strides[0], number(starts.rep.dtype.itemsize), starts.sizes[0], bags.data,
        )  # fmt: skip
        fn.exits.fail_if(e.binary("xor", are_rows, Register("true", "i1", 1)), node)
        return bags

    either(fn, node, _are_in_order(fn, starts, rows), Array(table.rep.dtype, 2, 2), summed)


def _refuse(fn: EmittedFunction, node: Node) -> None:
    """Raise `CannotCompileError` for what these loops do not do."""
    operands = operands_by_name(fn, node)
    if any(v.uses() for v in node.results[1:]) or literal_of(operands["mode"]) != SUM or fn.e.lanes > 1:
        raise CannotCompileError("more than the sums of bags")
    has_end = literal_of(operands["include_last_offset"]) is not False
    if has_end or literal_of(operands["per_sample_weights"]) is not None:
        raise CannotCompileError("bags with weights, or with the end of the last one")
    padding = literal_of(operands["padding_idx"]) if "padding_idx" in operands else None
    if padding is not None and (padding != -1 or node.op == "aten::embedding_bag"):
        raise CannotCompileError("a row that does not count")


def _operands(fn: EmittedFunction, node: Node) -> tuple[ArrayValue, ArrayValue, ArrayValue]:
    """The table, the rows of all bags, and where each bag starts."""
    table, rows, starts = (array(fn, v) for v in node.operands[:3])
    if table.rep.rank != 2 or table.rep.dtype.name not in ("float32", "float64"):
        raise CannotCompileError("a table of other numbers than float32 and float64")
    if (rows.rep.rank, starts.rep.rank) != (1, 1) or not {rows.rep.dtype.name, starts.rep.dtype.name} <= INTEGERS:
        raise CannotCompileError("bags of another rank or dtype")
    return table, rows, starts


def _number(fn: EmittedFunction, element: ArrayValue) -> Register:
    value = memory.load_element(fn.e, element.data, element.rep.dtype)
    return value if value.type == "i64" else fn.e.convert("sext", value, "i64")


def _start(fn: EmittedFunction, starts: ArrayValue, bag: Register) -> Register:
    return _number(fn, arrays.selected(fn, starts, 0, bag))


def _end(fn: EmittedFunction, starts: ArrayValue, rows: ArrayValue, bag: Register) -> Register:
    """Where the next bag starts; the last one ends with the rows."""
    e = fn.e
    following = memory.add(e, bag, number(1))
    is_last = e.icmp("eq", following, starts.sizes[0])
    start = _start(fn, starts, e.select(is_last, bag, following))
    return e.select(is_last, rows.sizes[0], start)


def _are_in_order(fn: EmittedFunction, starts: ArrayValue, rows: ArrayValue) -> Register:
    """Whether the first bag starts at 0, and each ends where it starts or later, within the rows."""
    e, answer = fn.e, fn.e.slot("i1", 1)
    e.raw(f"store i1 true, ptr {answer}")

    def look(bag: Register) -> None:
        start, end = _start(fn, starts, bag), _end(fn, starts, rows, bag)
        is_first = e.icmp("eq", bag, number(0))
        fits = e.select(is_first, e.icmp("eq", start, number(0)), Register("true", "i1", 1))
        fits = e.binary("and", fits, e.icmp("sle", start, end))
        fits = e.binary("and", fits, e.icmp("sle", end, rows.sizes[0]))
        so_far = e.define(f"load i1, ptr {answer}", "i1", 1)
        e.raw(f"store i1 {e.binary('and', so_far, fits)}, ptr {answer}")

    each(fn, starts.sizes[0], look)
    return e.define(f"load i1, ptr {answer}", "i1", 1)
