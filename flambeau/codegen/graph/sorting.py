"""Order along an axis in native code: insertion into what is sorted already, for short axes, and search by halves.

Longer axes than `SHORT` are sorted by Python, whose way there is then a small part of the time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from flambeau.codegen.graph import arrays, memory
from flambeau.codegen.graph.arrays import array, view_on
from flambeau.codegen.graph.control import each
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.interpreter_calls import either_of, is_dense_now
from flambeau.codegen.graph.literals import literal_of
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.named_operands import operands_by_name
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError, Native, Scalar
from flambeau.codegen.graph.pointwise import set_element
from flambeau.codegen.graph.representation import Array
from flambeau.codegen.graph.scalars import Operand, Registers, as_operand
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node
from flambeau.schema import dtype as dtypes
from flambeau.schema.dtype import DType

SHORT: Final = 64
"""Elements of an axis that are sorted by insertion: at most 2,000 moves."""
Before = Callable[[Register, Register], Register]


def sort(fn: EmittedFunction, node: Node) -> None:
    """`sort`: values and indices. Equal elements keep their order, nan is larger than all others."""
    x, dim, before = _sorted_axis(fn, node)

    def native() -> tuple[ArrayValue, ...]:
        values, indices = (arrays.new(fn, dtype, x.sizes, node) for dtype in (x.rep.dtype, dtypes.int64))

        def row(at: list[Register]) -> None:
            _insert_all(fn, x, dim, at[0], (values, at[1]), (indices, at[2]), before)

        _each_row(fn, dim, [x, values, indices], row)
        return values, indices

    either_of(fn, node, _is_short(fn, x, dim), [Array(t, x.rep.rank, 0) for t in (x.rep.dtype, dtypes.int64)], native)


def argsort(fn: EmittedFunction, node: Node) -> None:
    """`argsort`: the indices that sort."""
    x, dim, before = _sorted_axis(fn, node)

    def native() -> tuple[ArrayValue, ...]:
        indices = arrays.new(fn, dtypes.int64, x.sizes, node)
        _each_row(fn, dim, [x, indices], lambda at: _insert_all(fn, x, dim, at[0], None, (indices, at[1]), before))
        return (indices,)

    either_of(fn, node, _is_short(fn, x, dim), [Array(dtypes.int64, x.rep.rank, 0)], native)


def _sorted_axis(fn: EmittedFunction, node: Node) -> tuple[ArrayValue, int, Before]:
    """The tensor, its axis, and which of two elements comes first."""
    x, operands = array(fn, node.operand(0)), operands_by_name(fn, node)
    dim, descending = literal_of(operands["dim"]), literal_of(operands["descending"])
    rank = x.rep.rank
    if not isinstance(dim, int) or not rank or not -rank <= dim < rank or not isinstance(descending, bool):
        raise CannotCompileError("a tensor without axes, or an axis or order that is not known")
    if fn.e.lanes > 1 or x.rep.dtype.is_complex:
        raise CannotCompileError("a tensor of complex numbers, or one in each iteration of a loop")
    less = _less(fn, x.rep.dtype)
    return x, dim % rank, (lambda a, b: less(b, a)) if descending else less


def _less(fn: EmittedFunction, dtype: DType) -> Before:
    """Whether an element is less than another; nan is less than nothing, and all else is less than nan."""
    e, t = fn.e, memory.element(dtype)

    def less(a: Register, b: Register) -> Register:
        if not t.is_float:
            return e.icmp("slt" if t.kind == "int" else "ult", a, b)
        is_last = e.binary("and", e.fcmp("uno", b, b), e.fcmp("ord", a, a))
        return e.binary("or", e.fcmp("olt", a, b), is_last)

    return less


def _is_short(fn: EmittedFunction, x: ArrayValue, dim: int) -> Register:
    """Whether lines are sorted here: short ones, of a tensor whose copy lies in memory as Python's does."""
    short = fn.e.icmp("sle", x.sizes[dim], number(SHORT))
    return short if x.rep.rank == 1 else fn.e.binary("and", short, is_dense_now(fn, x))


def _each_row(fn: EmittedFunction, dim: int, tensors: list[ArrayValue], body: Callable[[list[Register]], None]) -> None:
    """``body`` of where each line along an axis begins in several tensors."""
    without = [
        view_on(t, t.data, [*t.sizes[:dim], *t.sizes[dim + 1 :]], [*t.strides[:dim], *t.strides[dim + 1 :]], 0)
        for t in tensors
    ]
    arrays.each_element(fn, without[0].sizes, without, body)


def _insert_all(
    fn: EmittedFunction, x: ArrayValue, dim: int, line: Register, values: tuple[ArrayValue, Register] | None,
    indices: tuple[ArrayValue, Register], before: Before,
) -> None:  # fmt: skip
    """Sort one line: each element goes down behind those that do not come after it. Without a place for values, the
    elements are read where the indices say.
    """
    e, dtype = fn.e, x.rep.dtype

    def element_of(tensor: ArrayValue, start: Register, k: Register) -> Register:
        return memory.offset_address(e, start, k, tensor.strides[dim], memory.itemsize(tensor.rep.dtype))

    def value_at(k: Register) -> Register:
        if values is not None:
            return memory.load_element(e, element_of(*values, k), dtype)
        index = memory.load_element(e, element_of(*indices, k), dtypes.int64)
        return memory.load_element(e, element_of(x, line, index), dtype)

    def move(source: Register, target: Register) -> None:
        for place in (values, indices):
            if place is not None:
                kind = place[0].rep.dtype
                one = memory.load_element(e, element_of(*place, source), kind)
                memory.store_element(e, element_of(*place, target), one, kind)

    def insert(k: Register) -> None:
        key = memory.load_element(e, element_of(x, line, k), dtype)
        start, head, test, shift, found = (e.label(stem) for stem in ("start", "down", "test", "shift", "found"))
        j, lower = Register(e.name("j"), "i64", 1), Register(e.name("lower"), "i64", 1)
        e.branch(start)
        e.start(start)
        e.branch(head)
        e.start(head)
        e.raw(f"{j} = phi i64 [{k}, %{start}], [{lower}, %{shift}]")
        e.raw(f"{lower} = sub i64 {j}, 1")
        e.branch_if(e.icmp("sgt", j, number(0)), test, found)
        e.start(test)
        e.branch_if(before(key, value_at(lower)), shift, found)
        e.start(shift)
        move(lower, j)
        e.branch(head)
        e.start(found)
        if values is not None:
            memory.store_element(e, element_of(*values, j), key, dtype)
        memory.store_element(e, element_of(*indices, j), k, dtypes.int64)

    each(fn, x.sizes[dim], insert)


def searchsorted(fn: EmittedFunction, node: Node) -> None:
    """`searchsorted` in one line of sorted elements: the first place at which a value can be put in."""
    operands = operands_by_name(fn, node)
    line, side = array(fn, node.operand(0)), literal_of(operands["side"])
    is_right = literal_of(operands["right"])
    if literal_of(operands["out_int32"]) is not False or literal_of(operands["sorter"]) is not None:
        raise CannotCompileError("narrow indices, or a sorter")
    if side not in (None, "left", "right") or is_right not in (True, False) or (side == "left" and is_right):
        raise CannotCompileError("a side that is not known")
    if line.rep.rank != 1 or fn.e.lanes > 1:
        raise CannotCompileError("several lines of sorted elements")
    _search_all(fn, node, line, operands["self"], is_right or side == "right")


def _search_all(fn: EmittedFunction, node: Node, line: ArrayValue, sought: Native, is_right: bool) -> None:
    """Search for one value, or for each element of a tensor."""
    e, dtype = fn.e, line.rep.dtype
    kind = sought.dtype if isinstance(sought, Scalar) else sought.rep.dtype if isinstance(sought, ArrayValue) else None
    is_wider = dtype == dtypes.float64 and kind in (dtypes.int64, dtypes.float32)
    if kind is None or not (kind == dtype or (is_wider and isinstance(sought, Scalar))):
        raise CannotCompileError("values of another dtype than what is sorted")
    if isinstance(sought, Scalar):
        s = Registers(fn, node, is_exact=False)
        found = _search(fn, line, s.cast(as_operand(sought), dtype).register, is_right)
        set_element(fn, node.result(), Operand(found, dtypes.int64))
        return
    assert isinstance(sought, ArrayValue)
    result = arrays.new(fn, dtypes.int64, sought.sizes, node)

    def one(at: list[Register]) -> None:
        found = _search(fn, line, memory.load_element(e, at[1], dtype), is_right)
        memory.store_element(e, at[0], found, dtypes.int64)

    arrays.each_element(fn, sought.sizes, [result, sought], one)
    fn.values.set_new(node.result(), result)


def _search(fn: EmittedFunction, line: ArrayValue, value: Register, is_right: bool) -> Register:
    """By halves, how many elements come before a value; with those that are equal to it if `is_right`."""
    e, dtype = fn.e, line.rep.dtype
    less = _less(fn, dtype)
    start, head, step, done = (e.label(stem) for stem in ("start", "halves", "half", "done"))
    low, high, lower, higher = (Register(e.name(stem), "i64", 1) for stem in ("low", "high", "lower", "higher"))
    e.branch(start)
    e.start(start)
    e.branch(head)
    e.start(head)
    e.raw(f"{low} = phi i64 [0, %{start}], [{lower}, %{step}]")
    e.raw(f"{high} = phi i64 [{line.sizes[0]}, %{start}], [{higher}, %{step}]")
    e.branch_if(e.icmp("slt", low, high), step, done)
    e.start(step)
    middle = e.binary("lshr", e.binary("add", low, high), number(1))
    address = memory.offset_address(e, line.data, middle, line.strides[0], memory.itemsize(dtype))
    one = memory.load_element(e, address, dtype)
    goes_up = less(one, value)
    if is_right:
        goes_up = e.binary("xor", less(value, one), e.like(goes_up, 1))
    above = memory.add(e, middle, number(1))
    e.raw(f"{lower} = select i1 {goes_up}, i64 {above}, i64 {low}")
    e.raw(f"{higher} = select i1 {goes_up}, i64 {high}, i64 {middle}")
    e.branch(head)
    e.start(done)
    return low
