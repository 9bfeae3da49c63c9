"""Loops over `prange` in native code: the body becomes a function of the module, which threads run in pieces.

    for i in prange(n):          piece(first, end, x, y) = { total = 0.0; for i in first..end: ...; return total }
        y[i] = 2 * x[i]     →    totals = run piece on 0..step, step..2*step, ... of n
        total += x[i]            total = total + totals[0] + totals[1] + ...

How many pieces there are follows from the number of iterations alone, so that results do not depend on the number of
threads. Blocks of operands are counted by all threads at once meanwhile, without seeing each other: their counts are
put aside before and back afterwards, which is right because a piece gives nothing but numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flambeau.analysis import parallel_loops as analysis
from flambeau.analysis.effects import own_effect
from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.loops import control
from flambeau.codegen.graph.loops.teams import RUN_ALONE, RUN_PIECES, ParallelLoop
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.module import Callee, NewCalleeError, Outlined, UnknownResultError
from flambeau.codegen.graph.native_values import Native, Scalar, words_of
from flambeau.codegen.graph.representation import (
    Array,
    Bool,
    Element,
    Fixed,
    Float,
    Int,
    Listed,
    Representation,
    Tupled,
    holds_blocks,
    llvm_words,
)  # fmt: skip
from flambeau.codegen.graph.runtime import PREFIX
from flambeau.codegen.layouts import CONTEXT, MOST_PIECES, PIECE, TEAM
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.codegen.llvm.pool import APART
from flambeau.ir.clone import clone_node
from flambeau.ir.constants import CONSTANT
from flambeau.ir.graph import Graph, Node, Value
from flambeau.ir.walk import outer_values
from flambeau.passes.inline import callee_of
from flambeau.program.function import Function
from flambeau.schema.function import Argument, FunctionSchema
from flambeau.schema.opdef import Effect
from flambeau.schema.types import BOOL, FLOAT, INT, BoolType, FloatType, IntType, Type

SHORT: Final = 4096
"""Iterations, without loops or groups in them, below which other threads would come too late."""
_WORK: Final = frozenset({"prim::Loop", "prim::FusionGroup", "prim::CallFunction"})
LARGEST, SMALLEST = (1 << 63) - 1, -(1 << 63)
NEUTRAL: Final[dict[tuple[str, Type], int | float | bool]] = {
    (analysis.SUM, INT): 0, (analysis.SUM, FLOAT): -0.0, (analysis.PRODUCT, INT): 1, (analysis.PRODUCT, FLOAT): 1.0,
    (analysis.LEAST, INT): LARGEST, (analysis.LEAST, FLOAT): float("inf"), (analysis.GREATEST, INT): SMALLEST,
    (analysis.GREATEST, FLOAT): float("-inf"), (analysis.ALL_BITS, INT): -1, (analysis.ALL_BITS, BOOL): True,
    (analysis.ANY_BIT, INT): 0, (analysis.ANY_BIT, BOOL): False, (analysis.ODD_BITS, INT): 0,
    (analysis.ODD_BITS, BOOL): False,
}  # fmt: skip
"""What pieces begin with, which changes nothing when it is combined."""


def emit_parallel(fn: EmittedFunction, node: Node) -> bool:
    """A loop over `prange`, in pieces; whether that could be: an order of iterations is as good as any."""
    operands = _operands(node)
    natives = [fn.values.get(v) for v in operands]
    starts = [fn.values.get(v).rep for v in node.operands[2:]]
    if not all(_may_share(n.rep) for n in natives) or not all(isinstance(r, Int | Float | Bool) for r in starts):
        return False
    origins = _origins(fn, natives)
    outlined = _outlined(fn, node, operands, origins)
    if outlined is None:
        return False
    trip = fn.values.index(node.operand(0))
    reps = (Int(), Int(), *(n.rep for n in natives))
    callee = fn.module.callees.get((outlined.function, reps))
    if callee is None:
        graph = outlined.function.graph
        results = tuple([_number(v.static_type) for v in graph.returns])
        name = f"flambeau_callee_{len(fn.module.callees)}"
        callee = Callee((outlined.function, reps), name, graph, reps, results, origins)
        fn.module.callees[callee.key] = callee
    if not callee.is_begun:
        raise NewCalleeError(callee)
    if callee.results is None:
        fn.has_unknown = True
        raise UnknownResultError
    _emit(fn, node, outlined, callee, natives, trip)
    return True


def _may_share(rep: Representation) -> bool:
    """Whether threads may look at a value at the same time: what they count are the blocks that it names itself."""
    match rep:
        case Int() | Float() | Bool() | Element() | Fixed() | Array():
            return True
        case Listed():
            return not holds_blocks(rep.item)
        case Tupled():
            return all(map(_may_share, rep.items))
        case _:
            return False


def _number(type_: Type) -> Representation:
    return Float() if isinstance(type_, FloatType) else Bool() if isinstance(type_, BoolType) else Int()


def _operands(node: Node) -> list[Value]:
    """The values around a loop that its body uses, constants aside, and what its variables begin with."""
    values = dict.fromkeys((*outer_values(node), *node.operands[2:]))
    return [v for v in values if v.defining_node is None or v.defining_node.op != CONSTANT]


def _origins(fn: EmittedFunction, natives: Sequence[Native]) -> tuple[int, ...]:
    """Which addresses are of tensors made here, and of which: 1, 2, ... in the order in which they come."""
    numbers: dict[int, int] = {0: 0}
    addresses = (w for native in natives for w in words_of(native) if w.type == "ptr")
    return tuple([numbers.setdefault(fn.e.origins.get(w.text, 0), len(numbers)) for w in addresses])


def _outlined(
    fn: EmittedFunction, node: Node, operands: Sequence[Value], origins: tuple[int, ...]
) -> Outlined | None:
    """The body as a function, the same one each time it is asked for; None where iterations have to go in order."""
    known = fn.module.outlined
    if (node, origins) not in known:
        kinds = None if any(map(_has_order, node.nested_blocks[0].walk())) else analysis.reductions(node)
        are_numbers = kinds is not None and _are_numbers(node, kinds)
        known[node, origins] = _outline(node, kinds, operands) if kinds is not None and are_numbers else None
    return known[node, origins]


def _has_order(node: Node, callers: tuple[object, ...] = ()) -> bool:
    """Whether it would be seen in which order such nodes ran: prints, draws from a generator, calls of Python. Objects
    lie in the memory of one thread."""
    if node.op == "prim::CreateObject":
        return True
    if node.op == "prim::CallFunction":
        function = callee_of(node)
        if function is None:
            return True
        callers = (*callers, function)
        return function not in callers[:-1] and any(_has_order(n, callers) for n in function.graph.listed_nodes())
    return node.op != "prim::RaiseException" and own_effect(node) is not Effect.NONE


def _are_numbers(node: Node, kinds: Sequence[str]) -> bool:
    for parameter, kind in zip(node.nested_blocks[0].parameters[1:], kinds, strict=True):
        if not isinstance(parameter.static_type, IntType | FloatType | BoolType):
            return False
        if kind not in (analysis.LAST, analysis.SAME) and (kind, parameter.static_type) not in NEUTRAL:
            return False
    return True


def _outline(node: Node, kinds: list[str], operands: Sequence[Value]) -> Outlined:
    """The function of a loop: its own loop goes over the iterations of a piece."""
    graph = Graph("prange")
    first, end = graph.body.add_parameter(INT, "first"), graph.body.add_parameter(INT, "end")
    copies: dict[Value, Value] = {}
    for value in dict.fromkeys((*outer_values(node), *node.operands[2:])):
        if value in operands:
            copies[value] = graph.body.add_parameter(value.static_type, value.name if value.has_name else "")
        elif value.defining_node is not None:
            graph.body.append(clone_node(value.defining_node, graph, copies))
    with graph.at_range(node.range):
        count = graph.insert("aten::sub", (end, first), (INT,)).result()
        again = graph.insert("prim::Constant", (), (BOOL,), value=True).result()
        carried = []
        for value, kind in zip(node.operands[2:], kinds, strict=True):
            if kind in (analysis.LAST, analysis.SAME):
                carried.append(copies[value])
            else:
                neutral = NEUTRAL[kind, value.static_type]
                carried.append(graph.insert("prim::Constant", (), (value.static_type,), value=neutral).result())
        loop = clone_node(node, graph, copies)
        loop.set_operands([count, again, *carried])
        graph.body.append(loop)
        _count_from(loop, first)
    for inner in graph.body.walk():
        inner.attributes.pop(analysis.PARALLEL, None)
    kept = [k for k, kind in enumerate(kinds) if kind != analysis.SAME]
    for k in kept:
        graph.body.add_return(loop.results[k])
    arguments = tuple([Argument(f"a{k}", v.static_type) for k, v in enumerate(graph.parameters)])
    returns = tuple([Argument("", v.static_type) for v in graph.returns])
    return Outlined(Function("prange", graph, FunctionSchema("prange", "", arguments, returns)), kept, kinds)


def _count_from(loop: Node, first: Value) -> None:
    """Have the body of a loop see the numbers from a first one on."""
    (body,) = loop.nested_blocks
    index = body.parameters[0]
    insertion_point = body.first or body.return_node
    with loop.graph.inserting(insertion_point):
        shifted = loop.graph.insert("aten::add", (index, first), (INT,))
    index.replace_uses_with(shifted.result())
    shifted.replace_operand(0, index)


def _emit(
    fn: EmittedFunction, node: Node, outlined: Outlined, callee: Callee, natives: Sequence[Native], trip: Register
) -> None:
    e = fn.e
    operands = [w for native in natives for w in words_of(native)]
    assert callee.results is not None
    results = tuple(k for rep in callee.results for k in llvm_words(rep))
    loop = ParallelLoop(len(fn.parts.parallel), callee.symbol, tuple(w.type for w in operands), results)
    fn.parts.parallel.append(loop)
    slots = [fn.slots.new(fn.values.get(v).rep) for v in node.operands[2:]]
    for value, own in zip(node.operands[2:], slots, strict=True):
        fn.slots.store(own, fn.values.get(value))
    run, after = e.label("run"), e.label("after")
    e.branch_if(e.icmp("sgt", trip, number(0)), run, after)
    e.start(run)
    pieces, count = _run(fn, node, loop, operands, natives, trip)
    _combine(fn, node, outlined, slots, pieces, count, loop)
    e.branch(after)
    e.start(after)
    for value, before, own in zip(node.results, node.operands[2:], slots, strict=True):
        fn.values.set_new(value, fn.slots.load(own, fn.values.get(before).rep))


def _run(
    fn: EmittedFunction, node: Node, loop: ParallelLoop, operands: Sequence[Register], natives: Sequence[Native],
    trip: Register,
) -> tuple[Register, Register]:  # fmt: skip
    """The pieces: where they are, and how many."""
    e, context = fn.e, fn.exits.context
    fn.exits.current = node
    team = e.slot(f"[{TEAM.words + len(operands)} x i64]", 16)
    pieces = e.slot(f"[{MOST_PIECES * loop.piece_words} x i64]", 16)
    step = e.binary("udiv", e.binary("add", trip, number(MOST_PIECES - 1)), number(MOST_PIECES))
    count = e.binary("udiv", e.binary("add", trip, e.binary("sub", step, number(1))), step)
    size = MOST_PIECES * loop.piece_words * 8
    e.raw(f"call void @llvm.memset.p0.i64(ptr align 16 {pieces}, i8 0, i64 {size}, i1 false)")
    fields = {"context": context, "leader": e.define(f"call i64 @{PREFIX}this_thread()", "i64", 1), "step": step,
              "failed": number(MOST_PIECES), "pieces": pieces}  # fmt: skip
    for name, value in fields.items():
        memory.store_word(e, team, TEAM.word(name), value)
    for index, value in enumerate(operands):
        memory.store_word(e, team, TEAM.words + index, value)
    _give_up_gil(fn)
    blocks = [block for native in natives for block, _ in fn.values.blocks(native)]
    counts = [e.define(f"call i64 @share(ptr {block})", "i64", 1) for block in blocks]
    many = e.binary("or", e.convert("trunc", count, "i32"), Register(str(APART), "i32", 1))
    run = f"@{RUN_PIECES}"
    if not any(n.op in _WORK for n in node.nested_blocks[0].walk()):
        is_short = e.icmp("slt", trip, number(SHORT))
        run = str(e.select(is_short, Register(f"@{RUN_ALONE}", "ptr", 1), Register(run, "ptr", 1)))
    e.raw(f"call void {run}(ptr @{loop.symbol}, ptr {team}, i64 {trip}, i64 {step}, i32 {many})")
    for block, references in reversed(list(zip(blocks, counts, strict=True))):
        e.raw(f"call void @unshare(ptr {block}, i64 {references})")
    failed = memory.load_word(e, team, TEAM.word("failed"), "i64")
    stop, fine = e.label("stop"), e.label("fine")
    e.raw(f"br i1 {e.icmp('ne', failed, number(MOST_PIECES))}, label %{stop}, label %{fine}, !prof !20")
    e.start(stop)
    bytes_ = e.define("load i64, ptr @flambeau_record_bytes", "i64", 1)
    code = f"call i64 @gather_failure(ptr {team}, i64 {loop.piece_words}, i64 {bytes_})"
    fn.exits.leave_with(e.define(code, "i64", 1))
    e.start(fine)
    return pieces, count


def _give_up_gil(fn: EmittedFunction) -> None:
    """Pieces may need Python, on whichever thread they are."""
    e, context = fn.e, fn.exits.context
    thread = memory.load_word(e, context, CONTEXT.word("thread"), "ptr")
    waiting, on = e.label("waiting"), e.label("on")
    e.branch_if(e.icmp("eq", thread, Register("null", "ptr", 1)), waiting, on)
    e.start(waiting)
    saved = e.define(f"call ptr @{PREFIX}save_thread()", "ptr", 1)
    memory.store_word(e, context, CONTEXT.word("thread"), saved)
    e.branch(on)
    e.start(on)


def _combine(
    fn: EmittedFunction, node: Node, outlined: Outlined, slots: Sequence[list[Register]], pieces: Register,
    count: Register, loop: ParallelLoop,
) -> None:  # fmt: skip
    """What the loop carries, from the results of the pieces in their order."""
    kept = [(k, fn.values.get(node.operand(2 + k)).rep) for k in outlined.kept]
    if not kept:
        return

    def add(k: Register) -> None:
        offset = fn.e.binary("mul", k, number(8 * loop.piece_words))
        piece = fn.e.define(f"getelementptr i8, ptr {pieces}, i64 {offset}", "ptr", 1)
        for position, (index, rep) in enumerate(kept):
            assert isinstance(rep, Int | Float | Bool)
            (kind,) = llvm_words(rep)
            value = Scalar(rep, memory.load_word(fn.e, piece, PIECE.words + position, kind))
            if outlined.kinds[index] == analysis.LAST:
                fn.slots.store(slots[index], value)
            else:
                before = fn.slots.load(slots[index], rep)
                type_ = node.results[index].static_type
                fn.slots.store(slots[index], _combined(fn, outlined.kinds[index], type_, before, value))

    control.each(fn, count, add)


def _combined(fn: EmittedFunction, kind: str, type_: Type, a: Native, b: Native) -> Native:
    """A total and that of the next piece as one, as the operator does it where the total so far comes second."""
    graph = Graph()
    values = [graph.body.add_parameter(type_) for _ in range(2)]
    for value, native in zip(values, (a, b), strict=True):
        fn.values.set(value, native)
    node = graph.insert(kind, values[::-1], (type_,))
    fn.lower(node)
    return fn.values.get(node.result())
