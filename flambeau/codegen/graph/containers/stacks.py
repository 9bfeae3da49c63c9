"""Lists that only grow and shrink at their end, as ways back through loops keep what they need: small tensors lie there
as copies, side by side.

A block of its own for each of a thousand small tensors is mostly header, and what walks over them waits for memory. So
their elements are copied to chunks that many share; each item holds its chunk. A list is one of this kind where nobody
can tell: no tensor in it is written, leaves the function, or is compared as an object.
"""

from __future__ import annotations

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.loops.control import each
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import ArrayValue, ListValue, Native, join
from flambeau.codegen.graph.representation import Listed, Representation, Unknown
from flambeau.codegen.graph.tensors.arrays import product
from flambeau.codegen.layouts import BLOCK_DATA, BLOCK_PADDING, STACK
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.codegen.llvm.memory import iota
from flambeau.ir.constants import constant_value, is_constant
from flambeau.ir.graph import Node, Value
from flambeau.schema.types import TensorType

SMALL = 1024
"""Bytes of the largest tensors that are copied: of larger ones, copying takes longer than a block does."""
CHUNK = (1 << 14) - BLOCK_PADDING
"""Bytes of a chunk: with its header one of the sizes of `BIN`."""
LINE = 64
"""Where a copy begins is a multiple of this."""


def is_stack(fn: EmittedFunction, value: Value) -> bool:
    """Whether a list that begins empty is only appended to and popped from, and its tensors may be copies."""
    return all(_is_of_stack(fn, user, offset) for user, offset in value.uses())


def _is_of_stack(fn: EmittedFunction, user: Node, offset: int) -> bool:
    if offset:
        return False
    if user.op == "aten::append":
        return not any(r.is_used for r in user.results) and _may_be_copied(fn, user.operand(1))
    if user.op != "aten::pop" or not is_constant(user.operand(1)) or constant_value(user.operand(1)) != -1:
        return False
    return all(_may_be_copied(fn, r) and not fn.values.lifetimes.may_leave(r) for r in user.results)


def _may_be_copied(fn: EmittedFunction, value: Value) -> bool:
    if not isinstance(value.static_type, TensorType) or fn.values.is_written(value):
        return False
    users = [user for user, _ in value.uses() if user.op != "aten::append"]
    return not any(user.definition is not None and user.definition.family == "language" for user in users)


def begin(fn: EmittedFunction, block: Register) -> None:
    """A new stack has no chunk."""
    memory.store_word(fn.e, block, STACK.word("chunk"), Register("null", "ptr", 1))
    memory.store_word(fn.e, block, STACK.word("room"), number(0))


def settle(fn: EmittedFunction, value: Value, rep: Listed, new: Representation) -> bool:
    """Learn what a stack holds: unlike in other lists, tensors without axes are their elements, and those without gaps
    are known to be. Whether it was known.
    """
    wider = new if isinstance(rep.item, Unknown) else join(rep.item, new)
    if wider == rep.item:
        return True
    if isinstance(rep.item, Unknown):
        fn.slots.note(value, wider)
    else:
        fn.slots.learn(value, wider)
    return False


def kept(fn: EmittedFunction, stack: ListValue, tensor: Native) -> Native:
    """What a stack keeps of a tensor, with a reference of its own: a copy of a small one without gaps, else itself."""
    if not isinstance(tensor, ArrayValue) or tensor.rep.dense < tensor.rep.rank or tensor.rep.dtype.is_complex:
        fn.values.retain(tensor)
        return tensor
    e = fn.e
    itemsize = memory.itemsize(tensor.rep.dtype)
    count = product(fn, tensor.sizes)
    size = memory.multiply(e, count, number(itemsize))
    small, large, after = e.label("small"), e.label("large"), e.label("kept")
    owner, data = e.slot("ptr", 8), e.slot("ptr", 8)
    e.branch_if(e.icmp("ule", size, number(SMALL)), small, large)
    e.start(large)
    fn.values.retain(tensor)
    e.raw(f"store ptr {tensor.owner}, ptr {owner}")
    e.raw(f"store ptr {tensor.data}, ptr {data}")
    e.branch(after)
    e.start(small)
    chunk, address = _place(fn, stack.block, size)
    e.raw(f"call void @retain(ptr {chunk})")
    _copy(fn, address, tensor, count)
    e.raw(f"store ptr {chunk}, ptr {owner}")
    e.raw(f"store ptr {address}, ptr {data}")
    e.branch(after)
    e.start(after)
    owner, data = (e.define(f"load ptr, ptr {slot}", "ptr", 1) for slot in (owner, data))
    return ArrayValue(tensor.rep, owner, data, tensor.sizes, tensor.strides)


def _place(fn: EmittedFunction, stack: Register, size: Register) -> tuple[Register, Register]:
    """A chunk with so many bytes, and where they are."""
    e = fn.e
    rounded = e.binary("and", e.binary("add", size, number(LINE - 1)), number(-LINE))
    room = memory.load_word(e, stack, STACK.word("room"), "i64")
    full, ready = e.label("full"), e.label("ready")
    e.raw(f"br i1 {e.icmp('slt', room, rounded)}, label %{full}, label %{ready}, !prof !20")
    e.start(full)
    new = fn.exits.new_block(number(CHUNK))
    e.raw(f"call void @release(ptr {memory.load_word(e, stack, STACK.word('chunk'), 'ptr')})")
    memory.store_word(e, stack, STACK.word("chunk"), new)
    memory.store_word(e, stack, STACK.word("room"), number(CHUNK & -LINE))
    e.branch(ready)
    e.start(ready)
    chunk = memory.load_word(e, stack, STACK.word("chunk"), "ptr")
    room = memory.load_word(e, stack, STACK.word("room"), "i64")
    memory.store_word(e, stack, STACK.word("room"), e.binary("sub", room, rounded))
    used = e.binary("sub", number(BLOCK_DATA + (CHUNK & -LINE)), room)
    return chunk, e.define(f"getelementptr inbounds i8, ptr {chunk}, i64 {used}", "ptr", 1)


def _copy(fn: EmittedFunction, address: Register, tensor: ArrayValue, count: Register) -> None:
    """The elements, a vector at a time where the processor has masks for what is left; a place ends with its line."""
    e = fn.e
    itemsize = memory.itemsize(tensor.rep.dtype)
    if itemsize not in (4, 8) or e.target.vector_bits < 256:
        size = memory.multiply(e, count, number(itemsize))
        e.raw(f"call void @llvm.memcpy.p0.p0.i64(ptr {address}, ptr {tensor.data}, i64 {size}, i1 false)")
        return
    bits, lanes = 8 * itemsize, e.target.vector_bits // (8 * itemsize)
    vector, masks = f"<{lanes} x i{bits}>", f"<{lanes} x i1>"
    e.declare(f"declare {vector} @llvm.masked.load.v{lanes}i{bits}.p0(ptr, i32, {masks}, {vector})")
    steps = e.binary("udiv", e.binary("add", count, number(lanes - 1)), number(lanes))

    def step(k: Register) -> None:
        start = e.binary("mul", k, number(lanes))
        mask = e.icmp("slt", iota(lanes), e.splat(e.binary("sub", count, start), lanes))
        source, target = (
            e.define(f"getelementptr inbounds i{bits}, ptr {base}, i64 {start}", "ptr", 1)
            for base in (tensor.data, address)
        )
        passthrough = f"{masks} {mask}, {vector} zeroinitializer"
        text = f"call {vector} @llvm.masked.load.v{lanes}i{bits}.p0(ptr {source}, i32 {itemsize}, {passthrough})"
        e.raw(f"store {vector} {e.define(text, f'i{bits}', lanes)}, ptr {target}, align {e.target.vector_bits // 8}")

    each(fn, steps, step)
