"""Calls of functions of the program: of those that call themselves, as others stand where they were called.

    fib(n - 1)    →    %r = call {i64, i64} @flambeau_callee_0(ptr %context, i64 %n1)

A call that fails notes itself on the way out (`@note_call`), so that the error can say by which calls it came about.
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.codegen.graph import memory, native_values
from flambeau.codegen.graph.containers.lists import list_of
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.exit_points import RARE, ExitPoint
from flambeau.codegen.graph.module import MOST_CALLEES, Callee, NewCalleeError, UnknownResultError
from flambeau.codegen.graph.native_values import CannotCompileError, Native, Scalar, TupleValue, words_of
from flambeau.codegen.graph.representation import Array, Element, Listed, Representation, Tupled, Unknown, llvm_words
from flambeau.codegen.graph.results import declared_rep, type_of
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node, Value
from flambeau.passes.inline import callee_of
from flambeau.schema.types import ListType, Type


def call(fn: EmittedFunction, node: Node) -> None:
    """`prim::CallFunction`."""
    if fn.e.lanes > 1:
        raise CannotCompileError("it is called for one iteration of a loop at a time")
    function = callee_of(node)
    if function is None or fn.module.prepare is None:
        raise CannotCompileError("a call of a function that is chosen at run time")
    arguments = [fn.values.get(v) for v in node.operands[len(node.operands) - len(function.graph.parameters) :]]
    types = [v.static_type for v in function.graph.parameters]
    reps = tuple(_parameter(n.rep, t) for n, t in zip(arguments, types, strict=True))
    callee = fn.module.callees.get((function, reps))
    if callee is None:
        if len(fn.module.callees) >= MOST_CALLEES:
            raise CannotCompileError(f"{function.short_name}() is called with arguments of too many kinds")
        graph = fn.module.prepare(function, [type_of(r, t) for r, t in zip(reps, types, strict=True)])
        key = (function, reps)
        callee = Callee(key, f"flambeau_callee_{len(fn.module.callees)}", graph, reps, _declared(graph.returns))
        fn.module.callees[key] = callee
    if not callee.is_begun:
        raise NewCalleeError(callee)
    if callee.results is None:
        fn.has_unknown = True
        raise UnknownResultError
    _emit(fn, node, callee, arguments)


def _declared(outputs: Sequence[Value]) -> tuple[Representation, ...] | None:
    reps = [declared_rep(v.static_type) for v in outputs]
    return tuple([r for r in reps if r is not None]) if None not in reps else None


def _parameter(rep: Representation, type_: Type) -> Representation:
    """How an argument goes into a function: lists in memory, and elements too, which it may write to."""
    declared = declared_rep(type_)
    if declared is not None:
        return declared
    match rep:
        case Element():
            return Array(rep.dtype, 0)
        case Listed() if isinstance(rep.item, Unknown):
            raise CannotCompileError("an empty list: nothing tells what its items would be")
        case Tupled() if isinstance(type_, ListType):
            raise CannotCompileError("a list of which it is known what is in it")
        case Tupled():
            return Tupled(tuple(map(_parameter, rep.items, type_.contained)))
        case _:
            return rep


def _emit(fn: EmittedFunction, node: Node, callee: Callee, arguments: Sequence[Native]) -> None:
    e = fn.e
    words: list[Register] = [fn.exits.context]
    ends: list[Native] = []
    for native, rep in zip(arguments, callee.parameters, strict=True):
        argument = native
        if isinstance(native, TupleValue) and isinstance(rep, Listed):
            argument = list_of(fn, [fn.slots.converted(i, rep.item) for i in native.items], rep.item)
            ends.append(argument)
        elif native.rep != rep:
            argument = fn.slots.converted(native, rep)
            if isinstance(native, Scalar):
                fn.values.retain(argument)
                ends.append(argument)
        words += words_of(argument)
    assert callee.results is not None
    kinds = ["i64", *(k for rep in callee.results for k in llvm_words(rep))]
    result = ", ".join(f"{w.type} {w}" for w in words)
    packed = e.define(f"call {{{', '.join(kinds)}}} @{callee.symbol}({result})", "i64", 1)
    parts = [e.define(f"extractvalue {{{', '.join(kinds)}}} {packed}, {k}", kind, 1) for k, kind in enumerate(kinds)]
    _leave_if_failed(fn, node, parts[0])
    for native in ends:
        fn.values.drop(native)
    start = 1
    for value, rep in zip(node.results, callee.results, strict=True):
        count = len(llvm_words(rep))
        fn.values.set_new(
            value, fn.values.densified(native_values.from_words(rep, parts[start : start + count]), value.static_type)
        )
        start += count


def _leave_if_failed(fn: EmittedFunction, node: Node, code: Register) -> None:
    e = fn.e
    exit_point = ExitPoint(len(fn.parts.exit_points), (node,), (), ())
    fn.parts.exit_points.append(exit_point)
    failed, fine = e.label("failed"), e.label("fine")
    e.raw(f"br i1 {e.icmp('ne', code, memory.number(0))}, label %{failed}, label %{fine}, {RARE}")
    e.start(failed)
    e.raw(f"call void @note_call(ptr {fn.exits.context}, i64 {exit_point.number})")
    fn.exits.leave_with(code)
    e.start(fine)
