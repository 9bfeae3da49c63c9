"""Fused groups inside loops as code of the function itself: loop nests over sizes and strides that are in registers.

A kernel chosen at run time costs a look at sizes, strides and tables. Where a loop calls a group with little work in
each iteration, as in `x[i] = (b[i] - a[i, :i] @ x[:i]) / a[i, i]`, the group's kernel becomes a function beside the
native function instead, for any sizes and for the strides that are known when code is made: elements of an axis lie
side by side, or anywhere. What does not fit at run time goes by the launches of kernels: sizes that broadcast, empty
folds without an answer, results in another order than row-major, and so much work that a kernel with registers laid
out for its sizes and strides is done earlier, the look at them included.
"""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

from flambeau.codegen.choose_schedule import choose
from flambeau.codegen.costs import NANOSECONDS
from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import ArrayValue, Native, Scalar
from flambeau.codegen.graph.representation import Array, Bool, Element, Float, Int, Representation
from flambeau.codegen.graph.tensors import arrays
from flambeau.codegen.hoist import hoist
from flambeau.codegen.kernel.dtypes import KernelError, element_type
from flambeau.codegen.kernel.nest import ONE, Buffer, Kernel, Let, Loop, index_axes, main_loops, scatters, walk
from flambeau.codegen.kernel.opset import NO_IDENTITY
from flambeau.codegen.llvm.abi import BlockLayout, block_layout
from flambeau.codegen.llvm.emitter import Target
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.codegen.llvm.native_text import FunctionParts
from flambeau.codegen.llvm.nest import emit_function
from flambeau.codegen.lower import Lowered, LoweringError, lower_graph
from flambeau.codegen.schedule import Schedule
from flambeau.codegen.specialize import Specialized, Strides, parallel_group, specialize
from flambeau.ir.graph import Graph, Node
from flambeau.schema.types import BoolType, FloatType, IntType, TensorType, Type
from flambeau.util.record import dataclass, replace

MOST_WORK, MOST_IN_A_ROW = 1 << 8, 1 << 11
"""Iterations of all loops of a group together from which its kernel is chosen, and so where the nest is much like it: a
single axis, or elements that are known to lie side by side and go by vectors here, too. A look at sizes and strides
takes 30 ns. A product of 32x32 elements and a vector takes 490 ns by numbers and 80 by its kernel, sums of the columns
of 64x64 750 and 180, of 4x4 10 and 20.
"""
EXAMPLE = 64
"""The size of every axis of the call that code is made for."""
APART_FROM = 1 << 7
"""Iterations from which floats that lie apart are summed in eight lanes."""
LANES_APART = 8
REST = 4
"""Elements at a time of what a fold has beyond whole vectors."""
MOST_VECTORS = 4
"""Machine vectors in an iteration: slices in loops are often short."""
_COSTLY = frozenset(NANOSECONDS) - {"div", "sqrt", "rsqrt"}
"""Operations that are long code, which the passes over a function's code would take long for."""
_NUMBERS: tuple[tuple[type, Type], ...] = ((Int, IntType()), (Float, FloatType()), (Bool, BoolType()))


@dataclass(frozen=True, slots=True)
class Nest:
    """A group's loop nest as a function `parts` over a block of words, and what its block is filled with."""

    lowered: Lowered
    special: Specialized
    layout: BlockLayout
    parts: FunctionParts
    first: str | None
    """The axis that its outermost loop runs over."""
    never_empty: frozenset[str]
    """Axes along which a fold has no answer for no elements, or that one result has and another has not."""
    most_work: int
    """Iterations of all loops from which its kernel is chosen."""
    in_lanes: FunctionParts | None = None
    """The same for many iterations, where `parts` sums floats that lie apart one after the other."""


_nests: WeakKeyDictionary[Graph, dict[object, Nest | None]] = WeakKeyDictionary()
"""What was made for a group's operands: a function's text is made more than once until its assumptions hold."""


def nest_of(fn: EmittedFunction, node: Node) -> Nest | None:
    """The loop nest of a group inside a loop; None where its kernels serve it better, or alone."""
    if not fn.scope.loop_depth:
        return None
    natives = [fn.values.get(v) for v in node.operands]
    types = [_type_of(n) for n in natives]
    if None in types:
        return None
    reps = tuple(n.rep for n in natives)
    key = (reps, tuple(map(str, types)), fn.e.target.user_flags, fn.e.target.vector_bits)
    nests = _nests.setdefault(node.attribute("Subgraph"), {})
    if key not in nests:
        nests[key] = _new_nest(node.attribute("Subgraph"), [t for t in types if t is not None], reps, fn.e.target)
    return nests[key]


def _type_of(native: Native) -> Type | None:
    """What a kernel is told of an operand."""
    if isinstance(native, ArrayValue):
        sizes = tuple(1 if memory.literal(s) == 1 else None for s in native.sizes)
        return TensorType(dtype=native.rep.dtype, sizes=sizes)
    if not isinstance(native, Scalar):
        return None
    if isinstance(native.rep, Element):
        return TensorType(dtype=native.rep.dtype, sizes=())
    return next(type_ for kind, type_ in _NUMBERS if isinstance(native.rep, kind))


def _new_nest(graph: Graph, types: Sequence[Type], reps: Sequence[Representation], target: Target) -> Nest | None:
    try:
        lowered = lower_graph(graph, types, name="nest")
    except LoweringError:
        return None
    kernel = lowered.kernel
    if not kernel.axes or index_axes(kernel) or scatters(kernel) or not _are_plain(lowered):
        return None
    if any(isinstance(s, Let) and s.op in _COSTLY for s in walk(kernel.body)):
        return None
    sizes = dict.fromkeys(kernel.axes, EXAMPLE)
    special = specialize(kernel, sizes, _example_strides(kernel, reps), parallel_group(kernel))
    if special.kernel.scratch:
        return None
    schedule = _schedule(special, target)
    first = next(iter(main_loops(special.kernel)), None)
    apart = _in_lanes(special, schedule, target)
    try:
        parts = emit_function(hoist(special.kernel), schedule, target)
        in_lanes = None if apart is None else emit_function(hoist(special.kernel), apart, target)
    except KernelError:
        return None
    axis = first.axes[0] if first is not None and first.axes else None
    layout, most_work = block_layout(special.kernel), _most_work(kernel, schedule)
    return Nest(lowered, special, layout, parts, axis, _never_empty(kernel), most_work, in_lanes)


def _most_work(kernel: Kernel, schedule: Schedule) -> int:
    return MOST_IN_A_ROW if schedule.lanes > 1 or len(kernel.axes) == 1 else MOST_WORK


def _never_empty(kernel: Kernel) -> frozenset[str]:
    loops = [s for s in walk(kernel.body) if isinstance(s, Loop)]
    folds: set[str] = {a for s in loops if any(c.reducer in NO_IDENTITY for c in s.carries) for a in s.axes}
    results = [set(b.moving_axes) for b in kernel.outputs]
    shared = [a for a in kernel.axes if all(a in axes for axes in results)]
    return frozenset(folds.union(*results).difference(shared) | folds)


def _are_plain(lowered: Lowered) -> bool:
    """Whether all that a call's shapes must fulfil is that sizes along an axis are one size."""
    by_name = {b.name: b for b in lowered.kernel.inputs}
    return all(
        s.size is None and any(s.axis in by_name[name].axes for name in s.inputs if name in by_name)
        for s in lowered.spans
    )


def _example_strides(kernel: Kernel, reps: Sequence[Representation]) -> Strides:
    """Strides in which just that holds of which is known when code is made that it always does."""
    strides: Strides = {}
    for b, rep in zip(kernel.inputs, reps, strict=True):
        dense = rep.dense if isinstance(rep, Array) else 0
        _lay_out(b, dense, strides)
    for b in kernel.outputs:
        _lay_out(b, len(b.axes), strides)
    return strides


def _lay_out(b: Buffer, dense: int, strides: Strides) -> None:
    step, itemsize = element_type(b.dtype).itemsize, element_type(b.dtype).itemsize
    for axis in reversed(range(len(b.axes))):
        if len(b.axes) - axis > dense:
            step += 3 * itemsize
        if b.axes[axis] != ONE:
            strides[b.name, b.axes[axis]] = step
            step *= EXAMPLE


def _schedule(special: Specialized, target: Target) -> Schedule:
    chosen = choose(special, target, False)
    axis = chosen.vector_axis
    if any(axis in b.axes and b.name not in chosen.unit for b in special.kernel.inputs):
        # To gather lanes took two to three times as long as to load elements one by one.
        return Schedule(fastmath=bool(target.user_flags))
    per_vector = target.vector_bits // max(element_type(b.dtype).bits for b in special.kernel.buffers)
    folds = [s for s in walk(special.kernel.body) if isinstance(s, Loop) and s.carries]
    is_plain = axis not in parallel_group(special.kernel) and all(
        c.reducer in ("sum", "prod", "min", "max") for s in folds for c in s.carries
    )
    lanes = min(chosen.lanes, max(1, per_vector * MOST_VECTORS))
    rest = REST if is_plain else per_vector if not folds and lanes > per_vector else 0
    return replace(
        chosen, packs=(), unit=chosen.unit - {p.buffer for p in chosen.packs}, fixed=(), jam=1, prefetch=0,
        next_row=False, narrow=False, lanes=lanes, rest_lanes=rest, fastmath=bool(target.user_flags),
    )  # fmt: skip


def _in_lanes(special: Specialized, schedule: Schedule, target: Target) -> Schedule | None:
    """How floats that lie apart are summed where they are many: eight sums at once, each an eighth as long."""
    folded = [c for s in walk(special.kernel.body) if isinstance(s, Loop) for c in s.carries]
    if schedule.vector_axis is not None or not any(element_type(c.dtype).is_float for c in folded):
        return None
    chosen = choose(special, target, False)
    if chosen.vector_axis in parallel_group(special.kernel):
        return None
    unit = chosen.unit - {p.buffer for p in chosen.packs}
    return Schedule(chosen.vector_axis, LANES_APART, unit, fastmath=bool(target.user_flags))


# -- at one place of a function ---------------------------------------------------------------------------------------


def sizes_of_axes(fn: EmittedFunction, nest: Nest, natives: Sequence[Native]) -> tuple[dict[str, Register], Register]:
    """The size of every axis of a nest, and whether a call may run it."""
    e, kernel = fn.e, nest.lowered.kernel
    conditions: list[Register] = []
    sizes: dict[str, Register] = {}
    for b, native in zip(kernel.inputs, natives, strict=True):
        if not isinstance(native, ArrayValue):
            continue
        for axis, size in zip(b.axes, native.sizes, strict=True):
            if axis == ONE:
                continue
            so_far = sizes.setdefault(axis, size)
            if so_far.text != size.text:
                conditions.append(e.icmp("eq", so_far, size))
    conditions += [e.icmp("ne", sizes[a], number(0)) for a in kernel.axes if a in nest.never_empty]
    conditions.append(e.icmp("ult", _work(fn, nest, sizes), number(nest.most_work)))
    if any(len(b.moving_axes) > 1 and b.like != () for b in kernel.outputs):
        conditions += _in_order(fn, [n for n in natives if isinstance(n, ArrayValue)])
    answer = conditions[0]
    for condition in conditions[1:]:
        answer = e.binary("and", answer, condition)
    return sizes, answer


def _work(fn: EmittedFunction, nest: Nest, sizes: dict[str, Register]) -> Register:
    """Iterations of all loops together."""
    work = number(1)
    for axis in nest.lowered.kernel.axes:
        work = memory.multiply(fn.e, work, sizes[axis])
    return work


def _in_order(fn: EmittedFunction, inputs: Sequence[ArrayValue]) -> list[Register]:
    """Whether no input's axes lie in memory in another order than row-major, in which results then are."""
    conditions: list[Register] = []
    for x in inputs:
        for outer, inner in zip(x.strides[:-1], x.strides[1:], strict=True):
            if x.rep.dense != x.rep.rank:
                conditions.append(fn.e.icmp("sge", outer, inner))
        if x.rep.rank > 1 and not x.rep.dense:
            conditions.append(fn.e.icmp("sge", x.strides[-1], number(0)))
    return conditions


def run_nest(
    fn: EmittedFunction, nest: Nest, node: Node, sizes: dict[str, Register], reps: Sequence[Representation]
) -> list[Native]:
    """The results of a nest, arrays in new memory."""
    e, kernel = fn.e, nest.lowered.kernel
    block = e.slot(f"[{nest.layout.words} x i64]", 16)
    flag = e.slot("i32", 4)
    e.raw(f"store i32 0, ptr {flag}")
    e.raw(f"store ptr {flag}, ptr {block}")
    buffers: dict[str, Native] = {}
    for b, native in zip(kernel.inputs, (fn.values.get(v) for v in node.operands), strict=True):
        buffers[b.name] = native
        data = native.data if isinstance(native, ArrayValue) else _in_slot(fn, native)
        memory.store_word(e, block, nest.layout.data[b.name], data)
    results: list[tuple[Representation, Register | ArrayValue]] = []
    for b, rep in zip(kernel.outputs, reps, strict=True):
        if isinstance(rep, Element):
            element = e.slot("i64", 8)
            results.append((rep, element))
            memory.store_word(e, block, nest.layout.data[b.name], element)
            continue
        assert isinstance(rep, Array)
        new = arrays.new(fn, rep.dtype, [number(1) if a == ONE else sizes[a] for a in b.axes], node)
        buffers[b.name] = new
        results.append((rep, new))
        memory.store_word(e, block, nest.layout.data[b.name], new.data)
    _fill(fn, nest, block, sizes, buffers)
    high = number(1) if nest.first is None else _size(fn, nest, nest.first, sizes)
    run = f"(ptr {block}, i64 0, i64 {high})"
    if nest.in_lanes is None:
        e.raw(f"call void @{_function(fn, nest.parts)}{run}")
    else:
        few, many, after = e.label("few"), e.label("many"), e.label("after")
        e.branch_if(e.icmp("ult", _work(fn, nest, sizes), number(APART_FROM)), few, many)
        for label, parts in ((few, nest.parts), (many, nest.in_lanes)):
            e.start(label)
            e.raw(f"call void @{_function(fn, parts)}{run}")
            e.branch(after)
        e.start(after)
    if nest.parts.may_fail:
        failed = e.define(f"load i32, ptr {flag}", "i32", 1)
        fn.exits.fail_if(e.icmp("ne", failed, e.like(failed, 0)), node)
    return [_result(fn, rep, element) for rep, element in results]


def _result(fn: EmittedFunction, rep: Representation, result: Register | ArrayValue) -> Native:
    if isinstance(result, ArrayValue):
        assert isinstance(rep, Array)
        return ArrayValue(rep, result.owner, result.data, result.sizes, result.strides)
    assert isinstance(rep, Element)
    return Scalar(rep, memory.load_element(fn.e, result, rep.dtype))


def _in_slot(fn: EmittedFunction, native: Native) -> Register:
    """The address of a number."""
    assert isinstance(native, Scalar)
    slot = fn.e.slot("i64", 8)
    memory.store_element(fn.e, slot, native.register, native.dtype)
    return slot


def _size(fn: EmittedFunction, nest: Nest, axis: str, sizes: dict[str, Register]) -> Register:
    """The size of an axis of the specialised nest."""
    total = number(1)
    for part in nest.special.axes[axis]:
        total = memory.multiply(fn.e, total, sizes[part])
    return total


def _fill(
    fn: EmittedFunction, nest: Nest, block: Register, sizes: dict[str, Register], buffers: dict[str, Native]
) -> None:
    """Sizes and strides into the block."""
    for axis, at in nest.layout.sizes.items():
        memory.store_word(fn.e, block, at, _size(fn, nest, axis, sizes))
    for (name, axis), at in nest.layout.strides.items():
        native = buffers.get(name)
        assert isinstance(native, ArrayValue)
        own = nest.lowered.kernel.buffer(name).axes.index(nest.special.axes[axis][-1])
        memory.store_word(fn.e, block, at, native.strides[own])


def _function(fn: EmittedFunction, parts: FunctionParts) -> str:
    """The name of the function with a nest's text, which equal nests share."""
    for name, text in fn.parts.functions.items():
        if text == parts.text(name):
            return name
    name = f"nest_{len(fn.parts.functions)}"
    fn.parts.functions[name] = parts.text(name)
    for declaration in parts.declarations:
        fn.e.declare(declaration)
    fn.e.libm.update(dict.fromkeys(parts.libm))
    return name
