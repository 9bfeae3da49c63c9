"""Nodes that Python runs for native code: always, or where native code cannot tell that it may do it itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flambeau.codegen.graph import memory, native_values, result_types
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError, Native, words_of
from flambeau.codegen.graph.random.draw_slots import give_back
from flambeau.codegen.graph.representation import Array, Element, Representation, holds_objects, llvm_words, word_count
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node, Value
from flambeau.schema.dtype import DType


def rep_of_result(fn: EmittedFunction, value: Value, dtype_and_rank: tuple[DType, int] | None) -> Representation:
    """How the result of something run elsewhere looks."""
    if dtype_and_rank is None:
        rep = result_types.of_type(value.static_type)
        if rep is None:
            raise CannotCompileError(f"the dtype or rank of %{value.name} is not known ({value.static_type})")
        return rep
    dtype, count = dtype_and_rank
    memory.itemsize(dtype)
    if count == 0 and dtype not in memory.MOVED and not fn.slots.needs_memory(value):
        return Element(dtype)
    return Array(dtype, count, 1 if count == 1 and not _may_be_view(value) else 0)


def _may_be_view(value: Value) -> bool:
    """Whether a result may lie in the memory of an argument, and so with gaps even where it has one axis."""
    definition = None if value.defining_node is None else value.defining_node.definition
    return definition is not None and definition.schema.returns[value.index].alias is not None


def call_python(
    fn: EmittedFunction, node: Node, reps: Sequence[Representation], changed: Sequence[int] = (),
    *, is_rare: bool = False,
) -> list[list[Register]]:  # fmt: skip
    """Have Python run a node; the words of its results, which are held.

    ``changed``: operands that are lists, and that the node changes. ``is_rare``: only in cases hardly ever met.
    """
    e = fn.e
    if any(holds_objects(rep) for rep in (*reps, *(fn.values.get(v).rep for v in node.operands))):
        raise CannotCompileError("Python would run it, on copies of objects")
    exit_point = fn.exits.point((node,), node.operands)
    exit_point.outputs, exit_point.output_reps = tuple(node.results[: len(reps)]), tuple(reps)
    exit_point.changed = tuple(exit_point.inputs.index(node.operand(k)) for k in changed)
    exit_point.is_called = not is_rare
    if not (is_rare or _leads_to_warning(node)) and (fn.scope.loop_depth or not fn.scope.has_loops):
        fn.parts.operators.append(exit_point)
    fn.parts.asks = True
    give_back(fn)
    inputs = memory.spilled(fn.e, [w for v in exit_point.inputs for w in words_of(fn.values.get(v))])
    outputs = e.slot(f"[{max(1, sum(map(word_count, reps)))} x i64]", 16)
    call = f"call i64 @ask(ptr {fn.exits.context}, i64 {exit_point.number}, ptr {inputs}, ptr {outputs})"
    fn.exits.leave_unless_zero(e.define(call, "i64", 1))
    results, at = [], 0
    for rep in reps:
        words = []
        for kind in llvm_words(rep):
            words.append(memory.load_word(e, outputs, at, kind))
            at += 1
        results.append(words)
    return results


def _leads_to_warning(node: Node) -> bool:
    """Whether a node is on a way that warns, such as what makes the text: few calls go that way."""
    block = node.owner_block
    return block.owner_node is not None and any(other.op == "aten::warn" for other in block.own_nodes())


def is_dense_now(fn: EmittedFunction, x: ArrayValue) -> Register:
    """Whether a tensor lies row-major in one piece, found out at run time; false for one without elements."""
    e = fn.e
    answer = Register("true", "i1", 1)
    step = number(memory.itemsize(x.rep.dtype))
    for size, stride in zip(reversed(x.sizes), reversed(x.strides), strict=True):
        fits = e.binary("or", e.icmp("eq", stride, step), e.icmp("eq", size, number(1)))
        answer = e.binary("and", e.binary("and", answer, fits), e.icmp("ne", size, number(0)))
        step = memory.multiply(e, step, size)
    return answer


def either(fn: EmittedFunction, node: Node, condition: Register, rep: Array, native: Callable[[], ArrayValue]) -> None:
    """The node's first result by native code where a condition holds, else by Python; it holds its block either way."""
    either_of(fn, node, condition, [rep], lambda: (native(),))


def either_of(
    fn: EmittedFunction, node: Node, condition: Register, reps: Sequence[Array],
    native: Callable[[], Sequence[ArrayValue]],
) -> None:  # fmt: skip
    """The node's results by native code where a condition holds, else by Python; they hold their blocks either way."""
    attempt(fn, node, condition, reps, lambda: (native(), None))


def attempt(
    fn: EmittedFunction, node: Node, condition: Register, reps: Sequence[Array],
    native: Callable[[], tuple[Sequence[ArrayValue], Register | None]],
) -> None:  # fmt: skip
    """The same of native code that may fail, of which its second result tells: Python then runs the node."""
    e = fn.e
    slots = [fn.slots.new(rep) for rep in reps]
    here, there, after = e.label("here"), e.label("there"), e.label("after")
    e.branch_if(condition, here, there)
    e.start(here)
    values, is_done = native()
    if is_done is not None:
        _drop_unless(fn, is_done, values, there)
    for slot, value in zip(slots, values, strict=True):
        fn.slots.store(slot, value)
    e.branch(after)
    e.start(there)
    for slot, rep, words in zip(slots, reps, call_python(fn, node, reps, is_rare=True), strict=True):
        fn.slots.store(slot, native_values.from_words(rep, words))
    e.branch(after)
    e.start(after)
    for k, (slot, rep) in enumerate(zip(slots, reps, strict=True)):
        fn.values.set_new(node.result(k), fn.slots.load(slot, rep))


def _drop_unless(fn: EmittedFunction, is_done: Register, values: Sequence[ArrayValue], there: str) -> None:
    """Go elsewhere unless a condition holds, without the tensors that were made."""
    e = fn.e
    done, failed = e.label("done"), e.label("failed")
    e.branch_if(is_done, done, failed)
    e.start(failed)
    for value in values:
        e.raw(f"call void @drop_block(ptr {value.owner})")
    e.branch(there)
    e.start(done)


def either_number(
    fn: EmittedFunction, node: Node, usual: Register, compute: Callable[[], Native], rep: Representation
) -> None:
    """The same of a result in registers, where the condition usually holds."""
    e = fn.e
    slots = fn.slots.new(rep)
    here, there, after = e.label("usual"), e.label("rare"), e.label("after")
    e.raw(f"br i1 {usual}, label %{here}, label %{there}, !prof !21")
    e.start(there)
    fn.slots.store(slots, native_values.from_words(rep, call_python(fn, node, [rep], is_rare=True)[0]))
    e.branch(after)
    e.start(here)
    fn.slots.store(slots, compute())
    e.branch(after)
    e.start(after)
    fn.values.set(node.result(), fn.slots.load(slots, rep))
