"""Operands of products as entries look at them, and the product itself, as functions of a module.

An operand is a stack of matrices: how many there are, two sizes, the distances along these axes in bytes, where the
first element lies, and how many such stacks there are, how far apart. A vector is one column.

Products that BLAS would give several threads have one here too, by what sets its number (`util.blas`): whoever calls
holds the interpreter's lock, so that the number is what it was before anybody else sees it.
"""

from __future__ import annotations

from typing import Final

from flambeau.codegen.layouts import ObjectLayouts
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.c_interface import ALIGNED
from flambeau.codegen.llvm.checked_emitter import FALSE, NULL, TRUE, word
from flambeau.codegen.llvm.emitter import Value
from flambeau.util.record import dataclass

COUNT, FIRST, SECOND, COUNT_STEP, FIRST_STEP, SECOND_STEP, DATA, STACKS, STACK_STEP = range(9)
"""The words of an operand: matrices of a stack, the sizes of one, distances in bytes, the address, stacks."""
OPERAND: Final = 9
GET, PUT = range(2)
"""The words of ``blas_control``: what gives the number of threads and what sets it, 0 where there is nothing."""
MOST_RANK: Final = 8
"""Axes of an operand that native code looks at."""
DTYPES: Final = ("float32", "float64")
_LOOP: Final = "void (ptr, ptr, ptr, ptr)"


@dataclass(frozen=True, slots=True)
class Bounds:
    """Which products are made here."""

    most: int
    """Elements of an operand."""
    most_work: int
    """Multiplications."""
    alone: int
    """Elements of a matrix up to which BLAS multiplies it with a vector by one thread of its own accord."""
    alone_work: int
    """Multiplications up to which it multiplies two matrices so."""


def add_operands(m: ModuleBuilder, layouts: ObjectLayouts, bounds: Bounds) -> None:
    """Add ``look``, ``transpose``, ``multiply`` and ``add_row``. ``make_array`` is there already."""
    _add_look(m, layouts, bounds.most)
    _add_transpose(m)
    _add_is_alone(m, bounds)
    _add_run_stacks(m)
    _add_multiply(m, layouts, bounds.most_work)
    _add_row(m, layouts)


def _add_look(m: ModuleBuilder, layouts: ObjectLayouts, most: int) -> None:
    """``look(array, operand)``: the rank of an array, of which the operand's words are written; 0 for one that is
    large, empty or reversed, or lies on no whole elements. Axes before the last four count as long as they lie
    row-major: see `C_CONTIGUOUS`."""
    f = m.function("i64 look", "ptr array", "ptr operand")
    array, operand = f.parameters
    is_array = f.compare("eq", f.get(array, layouts.object, "type"), m.symbol("ndarray"))
    f.require(is_array, "no")
    is_aligned = f.compare("ne", f.op("and", f.get(array, layouts.array, "flags"), ALIGNED), 0)
    rank = f.convert("sext", f.get(array, layouts.array, "rank"), "i64")
    f.require(f.op("and", is_aligned, f.compare("ult", f.op("sub", rank, 1), MOST_RANK)), "no")
    dims, strides = (f.get(array, layouts.array, name) for name in ("dims", "strides"))
    for at, value in ((COUNT, 1), (SECOND, 1), (COUNT_STEP, 0), (SECOND_STEP, 0), (STACKS, 1), (STACK_STEP, 0)):
        f.set_word(operand, at, value)
    is_vector = f.compare("eq", rank, 1)
    first = f.pick(is_vector, 0, f.op("sub", rank, 2))
    _take(f, dims, strides, first, operand, FIRST)
    with f.when(f.negated(is_vector)):
        _take(f, dims, strides, f.op("sub", rank, 1), operand, SECOND)
    with f.when(f.compare("ugt", rank, 2)):
        _take(f, dims, strides, f.op("sub", rank, 3), operand, COUNT)
        rest = f.loop(f.op("sub", rank, 3), word(1))
        with rest as k:
            size = f.word_of(dims, k)
            f.require(f.compare("ult", f.op("sub", size, 1), most), "no")
            rest.carry(f.op("mul", rest.values[0], size))
        f.set_word(operand, STACKS, rest.values[0])
        with f.when(f.compare("ugt", rest.values[0], 1)):
            f.set_word(operand, STACK_STEP, f.word_of(strides, f.op("sub", rank, 4)))
    elements: Value | None = None
    for size in [f.word_of(operand, k) for k in (STACKS, COUNT, FIRST, SECOND)]:
        f.require(f.compare("ult", f.op("sub", size, 1), most), "no")
        elements = size if elements is None else f.op("mul", elements, size)
        f.require(f.compare("ule", elements, most), "no")
    steps = [f.word_of(operand, k) for k in (STACK_STEP, COUNT_STEP, FIRST_STEP, SECOND_STEP)]
    f.require(f.compare("sge", f.op("or", f.op("or", *steps[:2]), f.op("or", *steps[2:])), 0), "no")
    f.set_word(operand, DATA, f.get(array, layouts.array, "data", "i64"))
    f.ret(rank)
    f.start("no", falls_through=False)
    f.ret(0)


def _take(f: FunctionBuilder, dims: Value, strides: Value, axis: Value, operand: Value, at: int) -> None:
    """Write a size, and the distance along its axis as NumPy's loops get it: none along one of size 1."""
    size = f.word_of(dims, axis)
    f.set_word(operand, at, size)
    f.set_word(operand, at + COUNT_STEP, f.pick(f.compare("eq", size, 1), 0, f.word_of(strides, axis)))


def _add_transpose(m: ModuleBuilder) -> None:
    """``transpose(operand)``: its matrices as their transposes."""
    f = m.function("void transpose", "ptr operand")
    (operand,) = f.parameters
    for a, b in ((FIRST, SECOND), (FIRST_STEP, SECOND_STEP)):
        one, other = f.word_of(operand, a), f.word_of(operand, b)
        f.set_word(operand, a, other)
        f.set_word(operand, b, one)
    f.ret()


def _add_is_alone(m: ModuleBuilder, bounds: Bounds) -> None:
    """``is_alone(left, right)``: whether BLAS takes one thread for each pair of matrices of its own accord; not where
    both are the same memory, for whose products it has another routine."""
    f = m.function("i1 is_alone", "ptr left", "ptr right")
    left, right = f.parameters
    rows, inner, columns = f.word_of(left, FIRST), f.word_of(left, SECOND), f.word_of(right, SECOND)
    first, second = f.op("mul", rows, inner), f.op("mul", inner, columns)
    f.return_unless(f.compare("ne", f.word_of(left, DATA), f.word_of(right, DATA)), FALSE)
    is_vector = f.op("or", f.compare("eq", rows, 1), f.compare("eq", columns, 1))
    is_vector = f.op("or", is_vector, f.compare("eq", inner, 1))
    are_few = f.op("and", f.compare("ule", first, bounds.alone), f.compare("ule", second, bounds.alone))
    f.return_unless(f.op("or", are_few, f.negated(is_vector)), FALSE)
    f.ret(f.compare("ule", f.op("mul", first, columns), bounds.alone_work))


def _add_run_stacks(m: ModuleBuilder) -> None:
    """``run_stacks(left, right, loop, data, item)``: the products of all pairs, row-major from an address on, by a loop
    of NumPy's, of elements of so many bytes."""
    f = m.function("void run_stacks", "ptr left", "ptr right", "ptr loop", "i64 data", "i64 item")
    left, right, loop, data, item = f.parameters
    count, rows, inner = (f.word_of(left, k) for k in (COUNT, FIRST, SECOND))
    columns = f.word_of(right, SECOND)
    row = f.op("mul", columns, item)
    matrix = f.op("mul", row, rows)
    steps: list[Value | int] = [f.word_of(left, COUNT_STEP), f.word_of(right, COUNT_STEP), matrix]
    for operand in (left, right):
        steps += [f.word_of(operand, FIRST_STEP), f.word_of(operand, SECOND_STEP)]
    steps += [f.pick(f.compare("eq", rows, 1), 0, row), f.pick(f.compare("eq", columns, 1), 0, item)]
    stack = f.op("mul", matrix, count)
    with f.loop(f.word_of(left, STACKS)) as k:
        addresses: list[Value | int] = [
            f.op("add", f.word_of(operand, DATA), f.op("mul", k, f.word_of(operand, STACK_STEP)))
            for operand in (left, right)
        ]
        addresses.append(f.op("add", data, f.op("mul", k, stack)))
        _run(f, loop, addresses, [count, rows, inner, columns], steps)
    f.ret()


def _add_multiply(m: ModuleBuilder, layouts: ObjectLayouts, most_work: int) -> None:
    """``multiply(a, b, left, right, rank, dims)``: a new array of these sizes, the product of two arrays as the
    operands say; null, with no exception, where they do not fit."""
    f = m.function("ptr multiply", "ptr a", "ptr b", "ptr left", "ptr right", "i64 rank", "ptr dims")
    a, b, left, right, rank, dims = f.parameters
    descr = f.get(a, layouts.array, "descr")
    f.require(f.compare("eq", f.get(b, layouts.array, "descr"), descr), "no")
    is_single = f.compare("eq", descr, m.symbol("float32_descr"))
    f.require(f.op("or", is_single, f.compare("eq", descr, m.symbol("float64_descr"))), "no")
    work = f.op("mul", f.word_of(left, FIRST), f.word_of(right, SECOND))
    for one, other in ((SECOND, FIRST), (COUNT, COUNT), (STACKS, STACKS)):
        size = f.word_of(left, one)
        f.require(f.compare("eq", size, f.word_of(right, other)), "no")
        work = f.op("mul", work, size)
        f.require(f.compare("ule", work, most_work), "no")
    array = f.call("make_array", descr, rank, dims, NULL, NULL, 0)
    f.require(f.compare("ne", array, NULL), "failed")
    loop = f.pick(is_single, m.symbol("float32_loop"), m.symbol("float64_loop"), "ptr")
    product = left, right, loop, f.get(array, layouts.array, "data", "i64"), f.pick(is_single, 4, 8)
    control = m.symbol("blas_control")
    is_left_alone = f.op("or", f.call("is_alone", left, right), f.is_null(f.word_of(control, GET, "ptr")))
    f.require(f.negated(is_left_alone), "alone")
    before = f.call_address(f.word_of(control, GET, "ptr"), "i32 ()")
    f.require(f.compare("ugt", f.convert("sext", before, "i64"), 1), "alone")
    put = f.word_of(control, PUT, "ptr")
    f.call_address(put, "void (i32)", f.convert("trunc", word(1), "i32"))
    f.call("run_stacks", *product)
    f.call_address(put, "void (i32)", before)
    f.ret(array)
    f.start("alone", falls_through=False)
    f.call("run_stacks", *product)
    f.ret(array)
    f.start("failed", falls_through=False)
    f.call("PyErr_Clear")
    f.start("no")
    f.ret(NULL)


def _add_row(m: ModuleBuilder, layouts: ObjectLayouts) -> None:
    """``add_row(array, rows, columns, row)``: add a vector to each row of a new array, row-major, unless it is null;
    whether it fits."""
    f = m.function("i1 add_row", "ptr array", "i64 rows", "i64 columns", "ptr row")
    array, rows, columns, row = f.parameters
    f.return_if(f.is_null(row), TRUE)
    f.require(f.compare("eq", f.get(row, layouts.object, "type"), m.symbol("ndarray")), "no")
    descr = f.get(array, layouts.array, "descr")
    is_alike = f.compare("eq", f.get(row, layouts.array, "descr"), descr)
    is_vector = f.compare("eq", f.get(row, layouts.array, "rank"), 1)
    is_aligned = f.compare("ne", f.op("and", f.get(row, layouts.array, "flags"), ALIGNED), 0)
    f.require(f.all_of(is_alike, is_vector, is_aligned), "no")
    f.require(f.compare("eq", f.word_of(f.get(row, layouts.array, "dims"), 0), columns), "no")
    is_single = f.compare("eq", descr, m.symbol("float32_descr"))
    loop = f.pick(is_single, m.symbol("float32_add"), m.symbol("float64_add"), "ptr")
    item = f.pick(is_single, 4, 8)
    step = f.word_of(f.get(row, layouts.array, "strides"), 0)
    added = f.get(row, layouts.array, "data", "i64")
    first = f.get(array, layouts.array, "data", "i64")
    with f.loop(rows) as k:
        address = f.op("add", first, f.op("mul", k, f.op("mul", columns, item)))
        _run(f, loop, [address, added, address], [columns], [item, step, item])
    f.ret(TRUE)
    f.start("no", falls_through=False)
    f.ret(FALSE)


def _run(f: FunctionBuilder, loop: Value, *lists: list[Value] | list[Value | int]) -> None:
    """Run a loop of NumPy's: where its operands lie, sizes, distances."""
    memories = []
    for values in lists:
        words = f.slot(f"[{len(values)} x i64]", 8)
        for k, value in enumerate(values):
            f.set_word(words, k, word(value) if isinstance(value, int) else value)
        memories.append(words)
    f.call_address(loop, _LOOP, *memories, NULL)
