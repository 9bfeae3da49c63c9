"""What is not done in registers: fused groups by their launches, and operators that only Python can run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flambeau.codegen.graph import memory, native_values, result_types
from flambeau.codegen.graph.containers import lists
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.entry.abi import NO_MEMORY
from flambeau.codegen.graph.groups import embedded
from flambeau.codegen.graph.interpreter_calls import call_python, rep_of_result
from flambeau.codegen.graph.literals import as_rules_take
from flambeau.codegen.graph.native_values import (
    ArrayValue,
    CannotCompileError,
    ComplexValue,
    DictValue,
    ListValue,
    Native,
    Scalar,
    TupleValue,
    words_of,
)
from flambeau.codegen.graph.numbers import complex_arrays
from flambeau.codegen.graph.representation import (
    Array,
    Element,
    Float,
    Int,
    Representation,
    has_text,
    holds_blocks,
    llvm_words,
)
from flambeau.codegen.graph.tensors.pointwise import small_group
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node, Value
from flambeau.schema.dtype import DType
from flambeau.schema.opdef import OpDef
from flambeau.schema.types import ListType, TensorType


def group(fn: EmittedFunction, node: Node) -> None:
    """A fused group: scalar code if its tensors have no axes, loops in a loop, else its kernel."""
    is_small = complex_arrays.group if complex_arrays.computes_complex(fn, node) else small_group
    if is_small(fn, node):
        return
    reps = _group_results(fn, node)
    nest = embedded.nest_of(fn, node)
    results = _by_launches(fn, node, reps) if nest is None else _by_nest(fn, node, nest, reps)
    for value, native in zip(node.results, results, strict=True):
        fn.values.set_new(value, native)


def _by_nest(fn: EmittedFunction, node: Node, nest: embedded.Nest, reps: Sequence[Representation]) -> list[Native]:
    """Its results by loops of the function's own where they fit the call, else by its kernel."""
    e = fn.e
    slots = [fn.slots.new(rep) for rep in reps]
    sizes, fits = embedded.sizes_of_axes(fn, nest, [fn.values.get(v) for v in node.operands])
    here, there, after = e.label("nest"), e.label("launches"), e.label("after")
    e.branch_if(fits, here, there)
    for label in (here, there):
        e.start(label)
        if label == here:
            results = embedded.run_nest(fn, nest, node, sizes, reps)
        else:
            results = _by_launches(fn, node, reps, is_embedded=True)
        for result_slots, native in zip(slots, results, strict=True):
            fn.slots.store(result_slots, native)
        e.branch(after)
    e.start(after)
    return [fn.slots.load(result_slots, rep) for result_slots, rep in zip(slots, reps, strict=True)]


def _by_launches(
    fn: EmittedFunction, node: Node, reps: Sequence[Representation], *, is_embedded: bool = False
) -> list[Native]:
    """Its results by the launch for the sizes and strides. `is_embedded`: where code of its own does not fit."""
    e = fn.e
    exit_point = fn.exits.point((node,), node.operands, repeats=True)
    exit_point.outputs, exit_point.output_reps = tuple(node.results), tuple(reps)
    exit_point.cell, exit_point.is_embedded = f"flambeau_cell_{exit_point.number}", is_embedded
    fn.parts.groups.append(exit_point)
    inputs = memory.spilled(fn.e, [_input_words(fn, fn.values.get(v)) for v in exit_point.inputs])
    room = [_output_room(fn, rep) for rep in reps]
    outputs = memory.spilled(fn.e, room)
    code = e.define(
        f"call i64 @run_group(ptr {fn.exits.context}, i64 {exit_point.number}, ptr @{exit_point.cell}, ptr {inputs}, "
        f"i64 {len(exit_point.inputs)}, ptr {outputs})", "i64", 1,
    )  # fmt: skip
    with fn.exits.leaving_unless_zero(code):
        fn.exits.fail_if(e.icmp("eq", code, memory.number(1)), node)
        fn.exits.leave_without_memory_if(e.icmp("eq", code, memory.number(NO_MEMORY)))
    return [_result_of(fn, rep, words) for rep, words in zip(reps, room, strict=True)]


def _group_results(fn: EmittedFunction, node: Node) -> tuple[Representation, ...]:
    """What a group gives, by the rules of its operators."""
    types = _tensor_types(fn, node)
    # Kernels write their results in the order of their inputs; where all of these are row-major, so are the results.
    inputs = [fn.values.get(v).rep for v in node.operands]
    operators = [n.definition for n in node.attribute("Subgraph").nodes() if n.definition is not None]
    swaps_axes = any(definition.traits.swaps_axes_of_results for definition in operators)
    is_row_major = not swaps_axes and all(r.dense == r.rank for r in inputs if isinstance(r, Array))
    reps = []
    for value, result in zip(node.results, node.attribute("Subgraph").returns, strict=True):
        if result not in types:
            raise CannotCompileError("a group that gives back what it is given")
        rep = rep_of_result(fn, value, types[result])
        reps.append(Array(rep.dtype, rep.rank, rep.rank) if isinstance(rep, Array) and is_row_major else rep)
    return tuple(reps)


def _tensor_types(fn: EmittedFunction, node: Node) -> dict[Value, tuple[DType, int]]:
    """(dtype, rank) of each tensor that a group computes."""
    graph = node.attribute("Subgraph")
    arguments = {v: as_rules_take(fn.values.get(o)) for v, o in zip(graph.parameters, node.operands, strict=True)}
    types: dict[Value, tuple[DType, int]] = {}
    for inner in graph.nodes():
        if inner.op == "prim::Constant":
            arguments[inner.result()] = inner.attributes.get("value")
        elif inner.op == "prim::ListConstruct":
            arguments[inner.result()] = [arguments[v] for v in inner.operands]
        elif inner.op == "aten::size":
            arguments[inner.result()] = inner.result().static_type
        else:
            results = _results_by_rules(inner, arguments)
            types.update(results)
            arguments.update({v: result_types.rule_argument(Array(*answer)) for v, answer in results.items()})
    return types


def _results_by_rules(node: Node, arguments: Mapping[Value, Any]) -> dict[Value, tuple[DType, int]]:
    """(dtype, rank) of the tensors that an operator gives. Raises `CannotCompileError` if its rules cannot tell."""
    if node.definition is None:
        raise CannotCompileError(f"{node.op} in a group")
    tensors = result_types.tensors_of(node)
    answers = result_types.result_types(node.definition, [arguments[v] for v in node.operands], len(tensors))
    known = [answer or _declared(value) for value, answer in zip(tensors, answers, strict=True)]
    if any(answer is None for answer in known):
        raise CannotCompileError(f"{node.op}: the dtype or rank of its result is not known")
    return {value: answer for value, answer in zip(tensors, known, strict=True) if answer is not None}


def _declared(value: Value) -> tuple[DType, int] | None:
    """What the passes found out of a tensor."""
    type_ = value.static_type
    if not isinstance(type_, TensorType) or type_.dtype is None or type_.sizes is None:
        return None
    return type_.dtype, len(type_.sizes)


def _input_words(fn: EmittedFunction, native: Native) -> Register:
    """The address of an input's words from ``data`` on."""
    if isinstance(native, ArrayValue):
        return memory.spilled(fn.e, [native.data, *native.sizes, *native.strides])
    if isinstance(native, TupleValue | ListValue):
        return _static_words(fn, native)
    if isinstance(native, ComplexValue):
        return memory.spilled(fn.e, [memory.spilled(fn.e, [*words_of(native)]), memory.number(1)])
    if not isinstance(native, Scalar):
        raise CannotCompileError(f"a group takes tensors and numbers, not {native_values.describe(native.rep)}")
    element = fn.e.slot("i64", 8)
    if isinstance(native.rep, Element):
        memory.store_element(fn.e, element, native.register, native.rep.dtype)
    else:
        memory.store_word(fn.e, element, 0, native.register)
    return memory.spilled(fn.e, [element, memory.number(1)])


def _static_words(fn: EmittedFunction, native: TupleValue | ListValue) -> Register:
    """The address of a list's numbers, and how many there are."""
    if isinstance(native, ListValue):
        first = lists.item_address(fn, native, memory.number(0))
        return memory.spilled(fn.e, [first, lists.length(fn, native)])
    if not all(isinstance(i.rep, Int | Float) for i in native.items):
        raise CannotCompileError(f"a group takes lists of numbers, not {native_values.describe(native.rep)}")
    numbers = memory.spilled(fn.e, [w for i in native.items for w in words_of(i)])
    return memory.spilled(fn.e, [numbers, memory.number(len(native.items))])


def _output_room(fn: EmittedFunction, rep: Representation) -> Register:
    """Room for an output's words, with the size of an element in front."""
    dtype, rank = (rep.dtype, rep.rank) if isinstance(rep, Array) else (_element(rep).dtype, 0)
    size = memory.itemsize(dtype)
    start = fn.e.slot(f"[{3 + 2 * rank} x i64]", 16)
    memory.store_word(fn.e, start, 0, memory.number(size))
    return memory.word_address(fn.e, start, 1)


def _element(rep: Representation) -> Element:
    assert isinstance(rep, Element)
    return rep


def _result_of(fn: EmittedFunction, rep: Representation, room: Register) -> Native:
    """A result of a kernel; one that is an element leaves its memory at once."""
    e = fn.e
    if isinstance(rep, Element):
        owner = memory.load_word(e, room, 0, "ptr")
        data = memory.load_word(e, room, 1, "ptr")
        element = memory.load_element(e, data, rep.dtype)
        e.raw(f"call void @release(ptr {owner})")
        return Scalar(rep, element)
    words = [memory.load_word(e, room, k, kind) for k, kind in enumerate(llvm_words(rep))]
    return fn.values.densified(native_values.from_words(rep, words))


def _changed_lists(definition: OpDef, natives: Sequence[Native]) -> list[int]:
    """Which operands are lists that the operator changes. Raises `CannotCompileError` for what it cannot get."""
    changed = []
    for number, (argument, native) in enumerate(zip(definition.schema.arguments, natives, strict=False)):
        if isinstance(native, ComplexValue) and isinstance(argument.type, TensorType):
            raise CannotCompileError("a complex number in a register stands for a tensor")
        if argument.alias is not None and argument.alias.is_write and isinstance(native, DictValue):
            raise CannotCompileError("it changes a dict or a set, and has no native form")
        if argument.alias is not None and argument.alias.is_write and isinstance(native, ListValue):
            if holds_blocks(native.rep.item):
                raise CannotCompileError("it changes a list of tensors or lists, and has no native form")
            changed.append(number)
    return changed


def operator(fn: EmittedFunction, node: Node) -> None:
    """An operator without native form: Python runs it on the same memory."""
    definition = node.definition
    if definition is None:
        raise CannotCompileError("it has no native form")
    natives = [fn.values.get(v) for v in node.operands]
    if fn.scope.loop_depth and any(has_text(n.rep) for n in natives):
        raise CannotCompileError("a text in a loop that Python would be asked for, an iteration at a time")
    changed = _changed_lists(definition, natives)
    if changed and any(isinstance(v.static_type, ListType) for v in node.results):
        call_python(fn, node, (), changed)
        fn.values.set_view(node.result(0), natives[changed[0]])
        return
    tensors = result_types.tensors_of(node)
    answers = iter(result_types.result_types(definition, [as_rules_take(n) for n in natives], len(tensors)))
    reps = tuple(rep_of_result(fn, v, next(answers) if v in tensors else None) for v in node.results)
    results = call_python(fn, node, reps, changed)
    for value, rep, words in zip(node.results, reps, results, strict=True):
        fn.values.set_new(value, native_values.from_words(rep, words))
