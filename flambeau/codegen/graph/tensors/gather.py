"""Elements at other indexes, chosen ones, and counts of elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from flambeau.codegen.graph import memory, native_values
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.loops.control import each
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import (
    ArrayValue,
    CannotCompileError,
    FixedValue,
    Scalar,
    TupleValue,
)
from flambeau.codegen.graph.numbers.scalars import constant
from flambeau.codegen.graph.representation import Array, Bool, Fixed
from flambeau.codegen.graph.tensors import picks
from flambeau.codegen.graph.tensors.arrays import (
    array,
    copy_elements,
    each_element,
    fill,
    flattened,
    new,
    product,
    view_on,
)
from flambeau.codegen.graph.tensors.picks import INTEGERS
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node
from flambeau.schema import dtype as dtypes

_WIDENED = {"i": "sext", "u": "zext"}
"""How integers are widened, by how the names of their dtypes begin."""


def _itemsize(x: ArrayValue) -> int:
    return memory.itemsize(x.rep.dtype)


def _at(fn: EmittedFunction, x: ArrayValue, axis: int, index: Register) -> Register:
    """The address of the slice at an index of an axis."""
    return memory.offset_address(fn.e, x.data, index, x.strides[axis], _itemsize(x))


def roll(fn: EmittedFunction, node: Node) -> None:
    """`roll` along dimensions: each element moves by the shift of its axis, and comes in again at the other end.

    Without dimensions all elements are in a row.
    """
    x = array(fn, node.operand(0))
    shifts, dims = (fn.values.get(v) for v in node.operands[1:3])
    if not isinstance(shifts, TupleValue) or not isinstance(dims, TupleValue):
        raise CannotCompileError("how many axes are rolled is not known")
    is_row = not dims.items
    if is_row and (not x.rep.rank or x.rep.dense != x.rep.rank):
        raise CannotCompileError("all elements of a tensor with gaps in a row")
    shift_by_axis = _shifts(shifts, TupleValue((native_values.integer(0),)) if is_row else dims, x.rep.rank)
    rolled = new(fn, x.rep.dtype, x.sizes, node)
    source, target = (_in_a_row(fn, t) if is_row else t for t in (x, rolled))
    _roll(fn, source, target, shift_by_axis)
    fn.values.set_new(node.result(), rolled)


def _shifts(shifts: TupleValue, dims: TupleValue, rank: int) -> dict[int, Register]:
    """By how much each axis is rolled."""
    if len(shifts.items) != len(dims.items) or not rank:
        raise CannotCompileError("shifts and dimensions that do not align")
    by_axis: dict[int, Register] = {}
    for shift, value in zip(shifts.items, dims.items, strict=True):
        if not isinstance(shift, Scalar) or not isinstance(value, Scalar):
            raise CannotCompileError("shifts that are not ints")
        dim = memory.literal(value.register)
        if dim is None or not -rank <= dim < rank or dim % rank in by_axis:
            raise CannotCompileError("dimensions that are not known, not there or there twice")
        by_axis[dim % rank] = shift.register
    return by_axis


def _in_a_row(fn: EmittedFunction, x: ArrayValue) -> ArrayValue:
    """A tensor without gaps as one axis."""
    return view_on(x, x.data, [product(fn, x.sizes)], [number(_itemsize(x))], 1)


def _roll(fn: EmittedFunction, x: ArrayValue, rolled: ArrayValue, shifts: Mapping[int, Register]) -> None:
    """Fill a new tensor with the elements of another, moved along some axes."""
    e = fn.e
    amounts = {axis: _remainder(fn, shift, x.sizes[axis]) for axis, shift in shifts.items()}

    def nest(axis: int, source: Register, target: Register) -> None:
        if axis == x.rep.rank:
            memory.move_element(e, target, source, x.rep.dtype)
            return

        def run(start: Register, count: Register, to: Register) -> None:
            def iteration(k: Register) -> None:
                here = memory.offset_address(e, source, memory.add(e, start, k), x.strides[axis], _itemsize(x))
                there = memory.offset_address(e, target, memory.add(e, to, k), rolled.strides[axis], _itemsize(x))
                nest(axis + 1, here, there)

            each(fn, count, iteration)

        amount = amounts.get(axis)
        if amount is None:
            run(number(0), x.sizes[axis], number(0))
            return
        rest = e.binary("sub", x.sizes[axis], amount)
        run(number(0), rest, amount)
        run(rest, amount, number(0))

    nest(0, x.data, rolled.data)


def _remainder(fn: EmittedFunction, a: Register, size: Register) -> Register:
    """``a`` modulo a size, from 0 up; 0 for a size of 0."""
    e = fn.e
    divisor = e.select(e.icmp("eq", size, number(0)), number(1), size)
    rest = e.binary("srem", a, divisor)
    return e.select(e.icmp("slt", rest, number(0)), e.binary("add", rest, divisor), rest)


def index(fn: EmittedFunction, node: Node) -> None:
    """`x[mask]` and `x[rows]` along the first axes; by other tensors of integers as `picks` has it."""
    x, indices = array(fn, node.operand(0)), fn.values.get(node.operand(1))
    if not isinstance(indices, TupleValue) or not indices.items:
        raise CannotCompileError("an index by other things than tensors")
    by, *others = indices.items
    is_first = isinstance(by, ArrayValue) and all(isinstance(i, FixedValue) and i.rep == Fixed(None) for i in others)
    if is_first and isinstance(by, ArrayValue) and _is_mask_of(by, x):
        _by_mask(fn, node, x, by)
    elif is_first and isinstance(by, ArrayValue) and _is_list_of_rows(by, x) and fn.scope.has_loops:
        _by_vector(fn, node, x, by)
    else:
        picks.pick(fn, node, x, indices.items)


def _is_mask_of(by: ArrayValue, x: ArrayValue) -> bool:
    return by.rep.dtype.name == "bool" and 0 < by.rep.rank <= x.rep.rank


def _is_list_of_rows(by: ArrayValue, x: ArrayValue) -> bool:
    return by.rep.dtype.name in INTEGERS and by.rep.rank == 1 and x.rep.rank > 0


def _row(fn: EmittedFunction, x: ArrayValue, at: Register) -> ArrayValue:
    dense = min(x.rep.dense, x.rep.rank - 1)
    return ArrayValue(Array(x.rep.dtype, x.rep.rank - 1, dense), x.owner, _at(fn, x, 0, at), x.sizes[1:], x.strides[1:])


def _by_mask(fn: EmittedFunction, node: Node, x: ArrayValue, mask: ArrayValue) -> None:
    """What a mask of the first axes shows, one after another.

    Single elements are all written, each over the last that the mask does not show: no branch depends on the mask.
    """
    e = fn.e
    for own, size in zip(mask.sizes, x.sizes, strict=False):
        fn.exits.fail_if(e.icmp("ne", own, size), node)
    counter = e.slot("i64", 8)

    def counted() -> Register:
        return e.define(f"load i64, ptr {counter}", "i64", 1)

    def look(element: ArrayValue) -> Register:
        return memory.load_element(e, element.data, dtypes.bool_)

    def over(body: Callable[[ArrayValue, ArrayValue], None], shown: ArrayValue, part: ArrayValue) -> None:
        """The body of each place of the mask, and of what lies there."""
        if shown.rep.rank == 0:
            body(shown, part)
        else:
            each(fn, shown.sizes[0], lambda k: over(body, _row(fn, shown, k), _row(fn, part, k)))

    e.raw(f"store i64 0, ptr {counter}")
    over(lambda shown, _: _add_to(fn, counter, e.convert("zext", look(shown), "i64")), mask, x)
    gathered = new(fn, x.rep.dtype, (counted(), *x.sizes[mask.rep.rank :]), node)
    e.raw(f"store i64 0, ptr {counter}")

    def take(shown: ArrayValue, part: ArrayValue) -> None:
        chosen, passed = e.label("chosen"), e.label("passed")
        e.branch_if(look(shown), chosen, passed)
        e.start(chosen)
        copy_elements(fn, _row(fn, gathered, counted()), part)
        _add_to(fn, counter, number(1))
        e.branch(passed)
        e.start(passed)

    itemsize = _itemsize(x)
    spare = e.slot(f"[{itemsize} x i8]", 16)

    def take_one(shown: ArrayValue, part: ArrayValue) -> None:
        at = counted()
        to = e.select(e.icmp("slt", at, gathered.sizes[0]), _at(fn, gathered, 0, at), spare)
        e.raw(f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {part.data}, i64 {itemsize}, i1 false)")
        _add_to(fn, counter, e.convert("zext", look(shown), "i64"))

    over(take_one if mask.rep.rank == x.rep.rank else take, mask, x)
    fn.values.set_new(node.result(), gathered)


def _add_to(fn: EmittedFunction, slot: Register, amount: Register) -> None:
    e = fn.e
    total = e.binary("add", e.define(f"load i64, ptr {slot}", "i64", 1), amount)
    e.raw(f"store i64 {total}, ptr {slot}")


def _by_vector(fn: EmittedFunction, node: Node, x: ArrayValue, rows: ArrayValue) -> None:
    e = fn.e
    gathered = new(fn, x.rep.dtype, (rows.sizes[0], *x.sizes[1:]), node)

    def take(k: Register) -> None:
        at = memory.load_element(e, _at(fn, rows, 0, k), rows.rep.dtype)
        at = at if at.type == "i64" else e.convert("sext", at, "i64")
        at = e.select(e.icmp("slt", at, number(0)), e.binary("add", at, x.sizes[0]), at)
        fn.exits.fail_if(e.icmp("uge", at, x.sizes[0]), node)
        copy_elements(fn, _row(fn, gathered, k), _row(fn, x, at))

    each(fn, rows.sizes[0], take)
    fn.values.set_new(node.result(), gathered)


def bincount(fn: EmittedFunction, node: Node) -> None:
    """`bincount` of ints: how often each comes, or the sums of what each weighs."""
    e, x = fn.e, array(fn, node.operand(0))
    least = fn.values.index(node.operand(2))
    weights = _weights(fn, node, x)
    fn.exits.fail_if(e.icmp("slt", least, number(0)), node)
    most = e.slot("i64", 8)
    e.raw(f"store i64 -1, ptr {most}")

    def load(k: Register) -> Register:
        value = memory.load_element(e, _at(fn, x, 0, k), x.rep.dtype)
        return value if value.type == "i64" else e.convert(_WIDENED[x.rep.dtype.name[0]], value, "i64")

    def largest(k: Register) -> None:
        value = load(k)
        fn.exits.fail_if(e.icmp("slt", value, number(0)), node)
        before = e.define(f"load i64, ptr {most}", "i64", 1)
        e.raw(f"store i64 {e.intrinsic('smax', before, value)}, ptr {most}")

    each(fn, x.sizes[0], largest)
    size = e.binary("add", e.define(f"load i64, ptr {most}", "i64", 1), number(1))
    dtype = dtypes.int64 if weights is None else weights.rep.dtype
    counts = new(fn, dtype, (e.intrinsic("smax", size, least),), node)
    fill(fn, counts, constant(0, dtype))

    def count(k: Register) -> None:
        address = _at(fn, counts, 0, load(k))
        before = memory.load_element(e, address, dtype)
        if weights is None:
            more = e.binary("add", before, number(1))
        else:
            more = e.binary("fadd", before, memory.load_element(e, _at(fn, weights, 0, k), dtype))
        memory.store_element(e, address, more, dtype)

    each(fn, x.sizes[0], count)
    fn.values.set_new(node.result(), counts)


def _weights(fn: EmittedFunction, node: Node, x: ArrayValue) -> ArrayValue | None:
    """The weights of a `bincount`, None where there are none; leaves the function where they are more or fewer."""
    weights = fn.values.get(node.operand(1))
    if x.rep.rank != 1 or x.rep.dtype.is_floating_point or x.rep.dtype.name[0] not in _WIDENED:
        raise CannotCompileError("a bincount of other tensors than vectors of integers")
    if isinstance(weights, FixedValue):
        return None
    if not isinstance(weights, ArrayValue) or weights.rep.rank != 1 or weights.rep.dtype is not dtypes.float64:
        raise CannotCompileError("a bincount with other weights than a vector of float64")
    fn.exits.fail_if(fn.e.icmp("ne", weights.sizes[0], x.sizes[0]), node)
    return weights


def equal(fn: EmittedFunction, node: Node) -> None:
    """`equal`: whether sizes and all elements are equal."""
    e, x, y = fn.e, array(fn, node.operand(0)), array(fn, node.operand(1))
    if x.rep.dtype is not y.rep.dtype:
        raise CannotCompileError("tensors of different dtypes are compared")
    if x.rep.rank != y.rep.rank:
        fn.values.set(node.result(), Scalar(Bool(), Register("false", "i1", 1)))
        return
    result = e.slot("i1", 1)
    same, done = e.label("same_sizes"), e.label("compared")
    fits = Register("true", "i1", 1)
    for a, b in zip(x.sizes, y.sizes, strict=True):
        fits = e.binary("and", fits, e.icmp("eq", a, b))
    e.raw(f"store i1 {fits}, ptr {result}")
    e.branch_if(fits, same, done)
    e.start(same)

    def compare(addresses: Sequence[Register]) -> None:
        a, b = (memory.load_element(e, address, x.rep.dtype) for address in addresses)
        alike = e.fcmp("oeq", a, b) if x.rep.dtype.is_floating_point else e.icmp("eq", a, b)
        so_far = e.binary("and", e.define(f"load i1, ptr {result}", "i1", 1), alike)
        e.raw(f"store i1 {so_far}, ptr {result}")

    flat = flattened(fn, [x, y])
    each_element(fn, flat[0].sizes, flat, compare)
    e.branch(done)
    e.start(done)
    fn.values.set(node.result(), Scalar(Bool(), e.define(f"load i1, ptr {result}", "i1", 1)))
