"""What follows from the order of the lines along an axis, in native code: long sorts, `topk`, `kthvalue`, `median`,
`mode`.

A routine gives each line's places in order (`routines.ordered`); values are then read where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.interpreter_calls import either
from flambeau.codegen.graph.literals import literal_of
from flambeau.codegen.graph.loops.control import each
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.named_operands import operands_by_name
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError, Native, Scalar
from flambeau.codegen.graph.representation import Array
from flambeau.codegen.graph.routines.library import call_routine
from flambeau.codegen.graph.routines.ordered import FIRST, KINDS, NAN, ORDER
from flambeau.codegen.graph.tensors import arrays
from flambeau.codegen.graph.tensors.arrays import array, copy_elements, product, view_on
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node
from flambeau.schema import dtype as dtypes
from flambeau.schema.dtype import DType

WORDS_PER_ELEMENT = 4
"""Of the memory that a line's order is made in."""
Pick = Callable[[Register, Register], Register]
"""Of the pairs of a line in order, and how many elements it has, the number of the pair that is wanted."""


def axis_of_lines(fn: EmittedFunction, x: ArrayValue, dim: object) -> int:
    """The axis, counted from the front. Raises `CannotCompileError` for what is not ordered here."""
    if not isinstance(dim, int) or not x.rep.rank or not -x.rep.rank <= dim < x.rep.rank:
        raise CannotCompileError("a tensor without axes, or an axis that is not known")
    if fn.e.lanes > 1 or x.rep.dtype.name not in KINDS:
        raise CannotCompileError(f"a tensor of {x.rep.dtype.name}, or one in each iteration of a loop")
    return dim % x.rep.rank


def each_line(fn: EmittedFunction, dim: int, tensors: list[ArrayValue], body: Callable[[list[Register]], None]) -> None:
    """``body`` of where each line along an axis begins in several tensors."""
    without = [
        view_on(t, t.data, [*t.sizes[:dim], *t.sizes[dim + 1 :]], [*t.strides[:dim], *t.strides[dim + 1 :]], 0)
        for t in tensors
    ]
    arrays.each_element(fn, without[0].sizes, without, body)


def all_in_order(
    fn: EmittedFunction, x: ArrayValue, dim: int, values: ArrayValue | None, indices: ArrayValue, *,
    descending: bool, wanted: Register | None = None,
) -> None:  # fmt: skip
    """Write the indices of each line in order, and the values there; of `wanted` that come first, or of all."""
    count = x.sizes[dim] if wanted is None else wanted
    kept = [indices] if values is None else [indices, values]

    def line(at: list[Register], scratch: Register) -> None:
        pairs = _order(fn, x, dim, at[0], scratch, descending=descending, wanted=wanted)

        def put(k: Register) -> None:
            index = place_of(fn, pairs, k)
            memory.store_element(fn.e, _element(fn, indices, dim, at[1], k), index, dtypes.int64)
            if values is not None:
                memory.move_element(
                    fn.e, _element(fn, values, dim, at[2], k), _element(fn, x, dim, at[0], index), x.rep.dtype
                )

        each(fn, count, put)

    with_scratch(fn, x.sizes[dim], lambda scratch: each_line(fn, dim, [x, *kept], lambda at: line(at, scratch)))


def with_scratch(fn: EmittedFunction, count: Register, body: Callable[[Register], None]) -> None:
    """``body`` of memory in which a line of so many elements is ordered."""
    block = fn.exits.new_block(memory.multiply(fn.e, count, number(WORDS_PER_ELEMENT * 8)))
    body(arrays.first_byte(fn, block))
    fn.e.raw(f"call void @drop_block(ptr {block})")


def _order(
    fn: EmittedFunction, x: ArrayValue, dim: int, line: Register, scratch: Register, *, descending: bool,
    wanted: Register | None = None,
) -> Register:  # fmt: skip
    arguments = [
        line, x.strides[dim], x.sizes[dim], number(KINDS[x.rep.dtype.name]), number(-int(descending)), scratch,
    ]  # fmt: skip
    if wanted is None:
        return call_routine(fn, ORDER, *arguments)
    return call_routine(fn, FIRST, *arguments, wanted)


def key_of(fn: EmittedFunction, pairs: Register, k: Register) -> Register:
    """The key of a pair."""
    address = memory.offset_address(fn.e, pairs, k, number(16), 16)
    return memory.load_element(fn.e, address, dtypes.int64)


def place_of(fn: EmittedFunction, pairs: Register, k: Register) -> Register:
    """The place of a pair."""
    e = fn.e
    address = memory.offset_address(e, pairs, e.binary("add", e.binary("shl", k, number(1)), number(1)), number(8), 8)
    return memory.load_element(e, address, dtypes.int64)


def _element(fn: EmittedFunction, x: ArrayValue, dim: int, line: Register, k: Register) -> Register:
    return memory.offset_address(fn.e, line, k, x.strides[dim], memory.itemsize(x.rep.dtype))


# -- operators --------------------------------------------------------------------------------------------------------


def topk(fn: EmittedFunction, node: Node) -> None:
    """`topk`: in order, whether that is asked for or not."""
    x, operands = array(fn, node.operand(0)), operands_by_name(fn, node)
    dim, largest, k = axis_of_lines(fn, x, literal_of(operands["dim"])), literal_of(operands["largest"]), operands["k"]
    if not isinstance(largest, bool) or x.rep.dtype is dtypes.bool_:
        raise CannotCompileError("an order that is not known, or bools")
    wanted = _int(k)
    fn.exits.fail_if(fn.e.icmp("ugt", wanted, x.sizes[dim]), node)
    sizes = [*x.sizes[:dim], wanted, *x.sizes[dim + 1 :]]
    values, indices = (arrays.new(fn, dtype, sizes, node) for dtype in (x.rep.dtype, dtypes.int64))
    all_in_order(fn, x, dim, values, indices, descending=largest, wanted=wanted)
    fn.values.set_new(node.result(0), values)
    fn.values.set_new(node.result(1), indices)


def kthvalue(fn: EmittedFunction, node: Node) -> None:
    """`kthvalue`: the k-th smallest of each line."""
    x, operands = array(fn, node.operand(0)), operands_by_name(fn, node)
    dim = axis_of_lines(fn, x, literal_of(operands["dim"]))
    if x.rep.dtype is dtypes.bool_:
        raise CannotCompileError("bools")
    keeps, wanted = _keeps(operands), _int(operands["k"])
    before = fn.e.binary("sub", wanted, number(1))
    fn.exits.fail_if(fn.e.icmp("uge", before, x.sizes[dim]), node)
    _one_of_each_line(fn, node, x, dim, lambda pairs, count: before, wanted=wanted, keeps=keeps)


def median(fn: EmittedFunction, node: Node) -> None:
    """`median`: the lower one of two middle elements; nan where there is one."""
    _median(fn, node, ignores_nan=False)


def nanmedian(fn: EmittedFunction, node: Node) -> None:
    """`nanmedian`: the same of the elements that are not nan."""
    _median(fn, node, ignores_nan=True)


def _median(fn: EmittedFunction, node: Node, *, ignores_nan: bool) -> None:
    x = array(fn, node.operand(0))
    if x.rep.dtype is dtypes.bool_:
        raise CannotCompileError("bools")

    def middle(pairs: Register, count: Register) -> Register:
        return _middle(fn, x.rep.dtype, pairs, count, ignores_nan=ignores_nan)

    if len(node.results) == 2:
        operands = operands_by_name(fn, node)
        dim, keeps = axis_of_lines(fn, x, literal_of(operands["dim"])), _keeps(operands)
        fn.exits.fail_if(fn.e.icmp("eq", x.sizes[dim], number(0)), node)
        _one_of_each_line(fn, node, x, dim, middle, keeps=keeps)
        return
    axis_of_lines(fn, x, 0)

    def whole() -> ArrayValue:
        value = arrays.new(fn, x.rep.dtype, (), node)
        with_flat(fn, node, x, lambda line, pairs: memory.move_element(
            fn.e, value.data, _element(fn, line, 0, line.data, place_of(fn, pairs, middle(pairs, line.sizes[0]))),
            x.rep.dtype,
        ))  # fmt: skip
        return value

    some = fn.e.icmp("ne", product(fn, x.sizes), number(0))
    either(fn, node, some, Array(x.rep.dtype, 0, 0), whole)


def _middle(
    fn: EmittedFunction, dtype: DType, pairs: Register, count: Register, *, ignores_nan: bool
) -> Register:
    e = fn.e
    half = e.binary("lshr", e.binary("sub", count, number(1)), number(1))
    if not dtype.is_floating_point:
        return half
    first_nan = _first_nan(fn, dtype, pairs, count)
    below = e.binary("lshr", e.intrinsic("smax", e.binary("sub", first_nan, number(1)), number(0)), number(1))
    return below if ignores_nan else e.select(e.icmp("ne", first_nan, count), first_nan, below)


def _first_nan(fn: EmittedFunction, dtype: DType, pairs: Register, count: Register) -> Register:
    """How many pairs come before the first whose key is that of nan: those are the last."""
    e = fn.e
    first_nan = e.slot("i64", 8)
    e.raw(f"store i64 {count}, ptr {first_nan}")
    head, look, back, done = (e.label(n) for n in ("nan", "look", "back", "done"))
    e.branch(head)
    e.start(head)
    at = e.define(f"load i64, ptr {first_nan}", "i64", 1)
    e.branch_if(e.icmp("sgt", at, number(0)), look, done)
    e.start(look)
    before = e.binary("sub", at, number(1))
    e.branch_if(e.icmp("eq", key_of(fn, pairs, before), number(NAN[dtype.name])), back, done)
    e.start(back)
    e.raw(f"store i64 {before}, ptr {first_nan}")
    e.branch(head)
    e.start(done)
    return e.define(f"load i64, ptr {first_nan}", "i64", 1)


def mode(fn: EmittedFunction, node: Node) -> None:
    """`mode`: of the elements that are there most often the smallest, and where it is last."""
    e, x, operands = fn.e, array(fn, node.operand(0)), operands_by_name(fn, node)
    dim, keeps = axis_of_lines(fn, x, literal_of(operands["dim"])), _keeps(operands)
    fn.exits.fail_if(e.icmp("eq", x.sizes[dim], number(0)), node)
    run, longest, end = (e.slot("i64", 8) for _ in range(3))

    def last_of_longest(pairs: Register, count: Register) -> Register:
        for slot in (run, longest, end):
            e.raw(f"store i64 0, ptr {slot}")

        def look(k: Register) -> None:
            length = e.define(f"load i64, ptr {run}", "i64", 1)
            begins = begins_run(fn, x.rep.dtype, pairs, k)
            length = e.select(begins, number(1), e.binary("add", length, number(1)))
            e.raw(f"store i64 {length}, ptr {run}")
            most, at = (e.define(f"load i64, ptr {slot}", "i64", 1) for slot in (longest, end))
            is_longer = e.icmp("sgt", length, most)
            e.raw(f"store i64 {e.select(is_longer, length, most)}, ptr {longest}")
            e.raw(f"store i64 {e.select(is_longer, k, at)}, ptr {end}")

        each(fn, count, look)
        return e.define(f"load i64, ptr {end}", "i64", 1)

    _one_of_each_line(fn, node, x, dim, last_of_longest, keeps=keeps)


def begins_run(fn: EmittedFunction, dtype: DType, pairs: Register, k: Register) -> Register:
    """Whether the element of a pair is unlike the one before it; nan is unlike nan."""
    e = fn.e
    is_first = e.icmp("eq", k, number(0))
    before = e.select(is_first, number(0), e.binary("sub", k, number(1)))
    key = key_of(fn, pairs, k)
    begins = e.binary("or", is_first, e.icmp("ne", key, key_of(fn, pairs, before)))
    if dtype.is_floating_point:
        begins = e.binary("or", begins, e.icmp("eq", key, number(NAN[dtype.name])))
    return begins


def with_flat(fn: EmittedFunction, node: Node, x: ArrayValue, body: Callable[[ArrayValue, Register], None]) -> None:
    """``body`` of a tensor of one axis with all elements, row-major, and of its pairs in order."""
    with_row_major(fn, node, x, lambda flat: with_scratch(
        fn, flat.sizes[0], lambda scratch: body(flat, _order(fn, flat, 0, flat.data, scratch, descending=False))
    ))  # fmt: skip


def with_row_major(fn: EmittedFunction, node: Node, x: ArrayValue, body: Callable[[ArrayValue], None]) -> None:
    """``body`` of a tensor of one axis with all elements, row-major: of a copy where they do not lie so."""
    flat, copied = x, None
    if x.rep.rank > 1:
        if x.rep.dense != x.rep.rank:
            copied = flat = arrays.new(fn, x.rep.dtype, x.sizes, node)
            copy_elements(fn, flat, x)
        step = number(memory.itemsize(x.rep.dtype))
        flat = view_on(flat, flat.data, [product(fn, x.sizes)], [step], 1)
    body(flat)
    if copied is not None:
        fn.e.raw(f"call void @drop_block(ptr {copied.owner})")


def _keeps(operands: Mapping[str, Native]) -> bool:
    keeps = literal_of(operands["keepdim"])
    if not isinstance(keeps, bool):
        raise CannotCompileError("an axis that may be kept or not")
    return keeps


def _one_of_each_line(
    fn: EmittedFunction, node: Node, x: ArrayValue, dim: int, pick: Pick, *, keeps: bool,
    wanted: Register | None = None,
) -> None:  # fmt: skip
    """The results of a node, values and indices of one element of each line; `wanted`: how many have to be in order."""
    sizes = [*x.sizes[:dim], number(1), *x.sizes[dim + 1 :]]
    results = [arrays.new(fn, dtype, sizes, node) for dtype in (x.rep.dtype, dtypes.int64)]

    def line(at: list[Register], scratch: Register) -> None:
        pairs = _order(fn, x, dim, at[0], scratch, descending=False, wanted=wanted)
        index = place_of(fn, pairs, pick(pairs, x.sizes[dim]))
        memory.move_element(fn.e, at[1], _element(fn, x, dim, at[0], index), x.rep.dtype)
        memory.store_element(fn.e, at[2], index, dtypes.int64)

    with_scratch(fn, x.sizes[dim], lambda scratch: each_line(fn, dim, [x, *results], lambda at: line(at, scratch)))
    for k, value in enumerate(results):
        fn.values.set_new(node.result(k), value if keeps else _without(fn, value, dim))


def _without(fn: EmittedFunction, x: ArrayValue, dim: int) -> ArrayValue:
    """A row-major tensor without an axis of size 1."""
    sizes = [*x.sizes[:dim], *x.sizes[dim + 1 :]]
    strides = memory.empty_strides(fn.e, sizes, memory.itemsize(x.rep.dtype))
    return ArrayValue(Array(x.rep.dtype, len(sizes), len(sizes)), x.owner, x.data, tuple(sizes), strides)


def _int(native: Native) -> Register:
    if not isinstance(native, Scalar) or native.register.type != "i64":
        raise CannotCompileError("a number of elements that is no int")
    return native.register
