"""Order along an axis in native code: insertion into what is sorted already, for short axes, and search by halves.

Longer axes than `SHORT` are sorted by a routine (`ordered_lines`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.interpreter_calls import either_of, is_dense_now
from flambeau.codegen.graph.literals import literal_of
from flambeau.codegen.graph.loops.control import each
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.named_operands import operands_by_name
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError, Native, Scalar
from flambeau.codegen.graph.numbers.scalars import Operand, Registers, as_operand
from flambeau.codegen.graph.representation import Array
from flambeau.codegen.graph.tensors import arrays
from flambeau.codegen.graph.tensors.arrays import array
from flambeau.codegen.graph.tensors.ordered_lines import all_in_order, axis_of_lines, each_line
from flambeau.codegen.graph.tensors.pointwise import set_element
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node
from flambeau.schema import dtype as dtypes
from flambeau.schema.dtype import DType

SHORT: Final = 64
"""Elements of an axis that are sorted by insertion: at most 2,000 moves."""
Before = Callable[[Register, Register], Register]


def sort(fn: EmittedFunction, node: Node) -> None:
    """`sort`: values and indices. Equal elements keep their order, nan is larger than all others."""
    x, dim, descending = _sorted_axis(fn, node)
    before = _before(fn, x, descending=descending)

    def native() -> tuple[ArrayValue, ...]:
        values, indices = (arrays.new(fn, dtype, x.sizes, node) for dtype in (x.rep.dtype, dtypes.int64))

        def short() -> None:
            each_line(fn, dim, [x, values, indices], lambda at: _insert_all(
                fn, x, dim, at[0], (values, at[1]), (indices, at[2]), before
            ))  # fmt: skip

        _by_length(fn, x, dim, short, lambda: all_in_order(fn, x, dim, values, indices, descending=descending))
        return values, indices

    _results(fn, node, x, (x.rep.dtype, dtypes.int64), native)


def argsort(fn: EmittedFunction, node: Node) -> None:
    """`argsort`: the indices that sort."""
    x, dim, descending = _sorted_axis(fn, node)
    before = _before(fn, x, descending=descending)

    def native() -> tuple[ArrayValue, ...]:
        indices = arrays.new(fn, dtypes.int64, x.sizes, node)

        def short() -> None:
            each_line(fn, dim, [x, indices], lambda at: _insert_all(
                fn, x, dim, at[0], None, (indices, at[1]), before
            ))  # fmt: skip

        _by_length(fn, x, dim, short, lambda: all_in_order(fn, x, dim, None, indices, descending=descending))
        return (indices,)

    _results(fn, node, x, (dtypes.int64,), native)


def _by_length(
    fn: EmittedFunction, x: ArrayValue, dim: int, short: Callable[[], None], long: Callable[[], None]
) -> None:
    """One of two ways to sort all lines."""
    e = fn.e
    labels, after = [e.label("short"), e.label("long")], e.label("sorted")
    e.branch_if(e.icmp("sle", x.sizes[dim], number(SHORT)), *labels)
    for label, way in zip(labels, (short, long), strict=True):
        e.start(label)
        way()
        e.branch(after)
    e.start(after)


def _results(
    fn: EmittedFunction, node: Node, x: ArrayValue, dtypes: Sequence[DType],
    native: Callable[[], Sequence[ArrayValue]],
) -> None:  # fmt: skip
    """The results of a node; by Python for a tensor that lies with gaps or turned, whose order in memory they keep."""
    if x.rep.rank == 1 or x.rep.dense == x.rep.rank:
        for k, value in enumerate(native()):
            fn.values.set_new(node.result(k), value)
        return
    either_of(fn, node, is_dense_now(fn, x), [Array(t, x.rep.rank, 0) for t in dtypes], native)


def _sorted_axis(fn: EmittedFunction, node: Node) -> tuple[ArrayValue, int, bool]:
    """The tensor, its axis, and whether the largest come first."""
    x, operands = array(fn, node.operand(0)), operands_by_name(fn, node)
    descending = literal_of(operands["descending"])
    if not isinstance(descending, bool):
        raise CannotCompileError("an order that is not known")
    return x, axis_of_lines(fn, x, literal_of(operands["dim"])), descending


def _before(fn: EmittedFunction, x: ArrayValue, *, descending: bool) -> Before:
    """Which of two elements comes first."""
    less = _less(fn, x.rep.dtype)
    return (lambda a, b: less(b, a)) if descending else less


def _less(fn: EmittedFunction, dtype: DType) -> Before:
    """Whether an element is less than another; nan is less than nothing, and all else is less than nan."""
    e, t = fn.e, memory.element(dtype)

    def less(a: Register, b: Register) -> Register:
        if not t.is_float:
            return e.icmp("slt" if t.kind == "int" else "ult", a, b)
        is_last = e.binary("and", e.fcmp("uno", b, b), e.fcmp("ord", a, a))
        return e.binary("or", e.fcmp("olt", a, b), is_last)

    return less


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
        for pair in (values, indices):
            if pair is not None:
                kind = pair[0].rep.dtype
                one = memory.load_element(e, element_of(*pair, source), kind)
                memory.store_element(e, element_of(*pair, target), one, kind)

    def insert(k: Register) -> None:
        key = memory.load_element(e, element_of(x, line, k), dtype)
        start, head, test, shift, insertion = (e.label(stem) for stem in ("start", "down", "test", "shift", "found"))
        j, lower = Register(e.name("j"), "i64", 1), Register(e.name("lower"), "i64", 1)
        e.branch(start)
        e.start(start)
        e.branch(head)
        e.start(head)
        e.raw(f"{j} = phi i64 [{k}, %{start}], [{lower}, %{shift}]")
        e.raw(f"{lower} = sub i64 {j}, 1")
        e.branch_if(e.icmp("sgt", j, number(0)), test, insertion)
        e.start(test)
        e.branch_if(before(key, value_at(lower)), shift, insertion)
        e.start(shift)
        move(lower, j)
        e.branch(head)
        e.start(insertion)
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
        position = _search(fn, line, s.cast(as_operand(sought), dtype).register, is_right)
        set_element(fn, node.result(), Operand(position, dtypes.int64))
        return
    assert isinstance(sought, ArrayValue)
    result = arrays.new(fn, dtypes.int64, sought.sizes, node)

    def one(at: list[Register]) -> None:
        position = _search(fn, line, memory.load_element(e, at[1], dtype), is_right)
        memory.store_element(e, at[0], position, dtypes.int64)

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
