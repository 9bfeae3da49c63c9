"""The pieces that a tensor is split into, which are views of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.containers import lists
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.loops.control import each
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError, Scalar, TupleValue
from flambeau.codegen.graph.representation import Array, Int, Listed
from flambeau.codegen.graph.tensors import arrays
from flambeau.codegen.graph.tensors.arrays import array, axis_of
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node, Value

UNKNOWN = "how many pieces there are is not known"


def chunk(fn: EmittedFunction, node: Node) -> None:
    """`chunk`: as many views where its pieces are unpacked, else a list."""
    e, is_constant = fn.e, node.op == "prim::ConstantChunk"
    if not is_constant and _unpacked(node) is None:
        _chunk_into_list(fn, node)
        return
    x = _cut(fn, node)
    count = node.attribute("chunks") if is_constant else arrays.known_int(fn, node.operand(1))
    dim = node.attribute("dim") % x.rep.rank if is_constant else axis_of(fn, node.operand(2), x.rep.rank)
    size = x.sizes[dim]
    step = e.binary("sdiv", memory.add(e, size, number(count - 1)), number(count))
    targets = _unpacked(node)
    if targets is None or len(targets) != count:
        raise CannotCompileError(UNKNOWN)
    # With fewer pieces than asked for, Python says what is wrong, or finds that nothing is.
    last = memory.multiply(e, step, number(count - 1))
    fn.exits.fail_if(e.icmp("sge", last, size), _unpacking(node))
    pieces = []
    for k in range(count):
        start = memory.multiply(e, step, number(k))
        own = step if k + 1 < count else e.binary("sub", size, start)
        pieces.append(_piece(fn, x, dim, start, own))
    if is_constant:
        for value, piece in zip(node.results, pieces, strict=True):
            fn.values.set_view(value, piece)
    else:
        _set(fn, node, pieces)
        _let_go(fn, node, x)


def split(fn: EmittedFunction, node: Node) -> None:
    """`split` by the size of each piece, the last one excepted, whose pieces are unpacked: as many views."""
    step = fn.values.get(node.operand(1))
    if not isinstance(step, Scalar):
        split_by_sizes(fn, node)
        return
    targets = _unpacked(node)
    if targets is None:
        _split_into_list(fn, node, step.register)
        return
    e, x = fn.e, _cut(fn, node)
    dim = axis_of(fn, node.operand(2), x.rep.rank)
    count, size, width = len(targets), x.sizes[dim], step.register
    last = memory.multiply(e, width, number(count - 1))
    # With another number of pieces than there are names for, Python says what is wrong.
    is_short = e.icmp("sge", last, size)
    is_long = e.icmp("slt", memory.multiply(e, width, number(count)), size)
    is_wrong = e.binary("or", e.icmp("slt", width, number(1)), e.binary("or", is_short, is_long))
    fn.exits.fail_if(is_wrong, _unpacking(node))
    starts = [memory.multiply(e, width, number(k)) for k in range(count)]
    sizes = [*[width] * (count - 1), e.binary("sub", size, last)]
    pieces = [_piece(fn, x, dim, start, own) for start, own in zip(starts, sizes, strict=True)]
    _set(fn, node, pieces)
    _let_go(fn, node, x)


def _split_into_list(fn: EmittedFunction, node: Node, width: Register) -> None:
    """`split` whose pieces are a list, as long as it turns out."""
    e, x = fn.e, array(fn, node.operand(0))
    if e.lanes > 1 or node.definition is None or node.definition.schema.arguments[0].alias is None:
        raise CannotCompileError(UNKNOWN)
    dim = axis_of(fn, node.operand(2), x.rep.rank)
    size = x.sizes[dim]
    fn.exits.fail_if(e.icmp("slt", width, number(1)), node)
    count = e.binary("udiv", memory.add(e, size, e.binary("sub", width, number(1))), width)

    def piece(k: Register) -> ArrayValue:
        start = memory.multiply(e, k, width)
        return _piece(fn, x, dim, start, e.intrinsic("smin", width, e.binary("sub", size, start)))

    _list(fn, node, e.intrinsic("smax", count, number(1)), piece)


def _chunk_into_list(fn: EmittedFunction, node: Node) -> None:
    """`chunk` whose pieces are a list: as many of one size as there are, or so many without elements."""
    e, x, chunks = fn.e, array(fn, node.operand(0)), fn.values.index(node.operand(1))
    if e.lanes > 1 or node.definition is None or node.definition.schema.arguments[0].alias is None:
        raise CannotCompileError(UNKNOWN)
    dim = axis_of(fn, node.operand(2), x.rep.rank)
    size = x.sizes[dim]
    fn.exits.fail_if(e.icmp("slt", chunks, number(1)), node)
    width = e.binary("udiv", memory.add(e, size, e.binary("sub", chunks, number(1))), chunks)
    whole = e.intrinsic("smax", width, number(1))
    several = e.binary("udiv", memory.add(e, size, e.binary("sub", whole, number(1))), whole)

    def piece(k: Register) -> ArrayValue:
        start = memory.multiply(e, k, width)
        return _piece(fn, x, dim, start, e.intrinsic("smin", width, e.binary("sub", size, start)))

    _list(fn, node, e.select(e.icmp("eq", size, number(0)), chunks, several), piece)


def _list(fn: EmittedFunction, node: Node, count: Register, piece: Callable[[Register], ArrayValue]) -> None:
    """A list of pieces, each of which holds the memory that it shows."""
    x = array(fn, node.operand(0))
    rank = x.rep.rank - (node.op == "aten::unbind")
    rep = lists.item_rep(fn, node.result(), [Array(x.rep.dtype, rank)])
    pieces = lists.new_list(fn, Listed(rep), count)

    def one(k: Register) -> None:
        item = fn.slots.converted(piece(k), rep)
        fn.values.retain(item)
        lists.put(fn, pieces, k, item)

    each(fn, count, one)
    lists.set_length(fn, pieces, count)
    fn.values.set_new(node.result(), pieces)


def _list_of(fn: EmittedFunction, node: Node, x: ArrayValue, pieces: Sequence[ArrayValue]) -> None:
    """A list of pieces, as many as are known."""
    rep = lists.item_rep(fn, node.result(), [Array(x.rep.dtype, x.rep.rank)])
    items, count = lists.new_list(fn, Listed(rep), number(len(pieces))), number(len(pieces))
    for k, piece in enumerate(pieces):
        item = fn.slots.converted(piece, rep)
        fn.values.retain(item)
        lists.put(fn, items, number(k), item)
    lists.set_length(fn, items, count)
    fn.values.set_new(node.result(), items)


def split_by_sizes(fn: EmittedFunction, node: Node) -> None:
    """`split` by the sizes of all pieces: as many views where these are unpacked, else a list."""
    targets, widths = _unpacked(node), fn.values.get(node.operand(1))
    if not isinstance(widths, TupleValue) or (targets is not None and len(widths.items) != len(targets)):
        raise CannotCompileError(UNKNOWN)
    is_copied = node.definition is None or node.definition.schema.arguments[0].alias is None
    if targets is None and (is_copied or fn.e.lanes > 1):
        raise CannotCompileError(UNKNOWN)
    e, x = fn.e, array(fn, node.operand(0)) if targets is None else _cut(fn, node)
    dim = axis_of(fn, node.operand(2), x.rep.rank)
    start, pieces = number(0), []
    is_wrong = Register("false", "i1", 1)
    for item in widths.items:
        if not isinstance(item, Scalar) or item.rep != Int():
            raise CannotCompileError(UNKNOWN)
        is_wrong = e.binary("or", is_wrong, e.icmp("slt", item.register, number(0)))
        pieces.append((start, item.register))
        start = memory.add(e, start, item.register)
    is_wrong = e.binary("or", is_wrong, e.icmp("ne", start, x.sizes[dim]))
    fn.exits.fail_if(is_wrong, node if targets is None else _unpacking(node))
    views = [_piece(fn, x, dim, at, own) for at, own in pieces]
    if targets is None:
        _list_of(fn, node, x, views)
        return
    _set(fn, node, views)
    _let_go(fn, node, x)


def unbind(fn: EmittedFunction, node: Node) -> None:
    """`unbind`: a view for each place of an axis, in as many names or in a list."""
    x = array(fn, node.operand(0))
    dim = axis_of(fn, node.operand(1), x.rep.rank)
    targets = _unpacked(node)
    if fn.e.lanes > 1:
        raise CannotCompileError(UNKNOWN)
    if targets is None:
        _list(fn, node, x.sizes[dim], lambda k: arrays.selected(fn, x, dim, k))
        return
    fn.exits.fail_if(fn.e.icmp("ne", x.sizes[dim], number(len(targets))), _unpacking(node))
    _set(fn, node, [arrays.selected(fn, x, dim, number(k)) for k in range(len(targets))])


def _set(fn: EmittedFunction, node: Node, pieces: Sequence[ArrayValue]) -> None:
    fn.values.set_view(node.result(), TupleValue(tuple(pieces)))


def _cut(fn: EmittedFunction, node: Node) -> ArrayValue:
    """What pieces are views of: a copy for operators whose pieces share nothing with what is cut, unless nobody could
    tell.
    """
    x = array(fn, node.operand(0))
    if node.definition is None or node.definition.schema.arguments[0].alias is not None:
        return x
    pieces = [v for v in _unpacked(node) or () if isinstance(v, Value)]
    if any(map(fn.values.lifetimes.may_leave, pieces)):
        raise CannotCompileError("pieces of their own that leave")
    if not any(map(fn.values.is_written, (node.operand(0), *pieces))):
        return x
    if x.rep.dense != x.rep.rank:
        raise CannotCompileError("pieces of their own that somebody writes to")
    copied = arrays.new(fn, x.rep.dtype, x.sizes, node)
    arrays.copy_elements(fn, copied, x)
    return copied


def _let_go(fn: EmittedFunction, node: Node, cut: ArrayValue) -> None:
    """Leave a copy to its pieces."""
    if cut is not fn.values.get(node.operand(0)):
        fn.values.drop(cut)


def _piece(fn: EmittedFunction, x: ArrayValue, dim: int, start: Register, size: Register) -> ArrayValue:
    data = memory.offset_address(fn.e, x.data, start, x.strides[dim], memory.itemsize(x.rep.dtype))
    sizes = (*x.sizes[:dim], size, *x.sizes[dim + 1 :])
    return ArrayValue(
        Array(x.rep.dtype, x.rep.rank, min(x.rep.dense, x.rep.rank - dim)), x.owner, data, sizes, x.strides
    )


def _unpacked(node: Node) -> Sequence[object] | None:
    if node.op == "prim::ConstantChunk":
        return node.results
    uses = node.result().uses()
    return uses[0].user.results if len(uses) == 1 and uses[0].user.op == "prim::ListUnpack" else None


def _unpacking(node: Node) -> tuple[Node, ...]:
    return (node,) if node.op == "prim::ConstantChunk" else (node, node.result().uses()[0].user)
