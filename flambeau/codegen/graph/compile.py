"""From a graph to a module of native functions: the graph's own, and those of functions that call themselves.

These take and give values in registers:
``{i64, words} @flambeau_callee_k(ptr context, words...)`` gives 0 and the words of its results, or what stopped it, as
`abi` says. What a function gives is what its declaration says; where that is not enough, of tensors, it is what the
ways give that do not come to a call of itself: others are left out at first (`UnknownResultError`), and emitted once
that is known. If they give something wider, the function is emitted again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

from flambeau.analysis.alias import AliasAnalysis
from flambeau.codegen.graph import memory, native_values
from flambeau.codegen.graph.containers import lists
from flambeau.codegen.graph.function import FunctionEmitter, FunctionText, Observer
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.module import (
    Callee,
    Module,
    NewCalleeError,
    NewFieldError,
    Prepare,
    UnknownResultError,
)
from flambeau.codegen.graph.native_values import CannotCompileError, TupleValue, words_of
from flambeau.codegen.graph.objects.class_fields import has_learned
from flambeau.codegen.graph.parts import Parts
from flambeau.codegen.graph.representation import (
    Array,
    Element,
    Fixed,
    Listed,
    OneOf,
    Representation,
    Tupled,
    llvm_words,
)
from flambeau.codegen.graph.results import declared_rep
from flambeau.codegen.graph.runtime import POLL_INTERVAL
from flambeau.codegen.graph.slots import Assumptions, WidenError
from flambeau.codegen.graph.tensors.tensor_constants import refuse_shared
from flambeau.codegen.layouts import CONTEXT
from flambeau.codegen.llvm.emitter import Target
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Graph
from flambeau.schema.types import Type

MOST_WALKS = 64
UNKNOWN = "what {}() gives is not known before it calls itself"


def compile_function(
    graph: Graph,
    parameters: Sequence[Representation],
    target: Target,
    observe: Callable[[], Observer] | None = None,
    prepare: Prepare | None = None,
) -> FunctionText:
    """The text of a graph whose inputs look like this. Raises `CannotCompileError` with the reason if there is none.

    `prepare` makes graphs of functions that call themselves ready; without it such functions have no native form.
    `observe` gives an observer for each attempt to emit the function.
    """
    assumed: Assumptions = {}
    alias = AliasAnalysis(graph)
    module = Module(prepare)
    for _ in range(MOST_WALKS):
        try:
            observer = None if observe is None else observe()
            text = FunctionEmitter(graph, alias, assumed, target, module, observer=observer).run(parameters)
            if has_learned(text.results, module.learned):
                raise CannotCompileError("an object with a tensor in it leaves the function")
            return text
        except WidenError:
            continue
        except NewFieldError:
            module = Module(prepare, learned=module.learned)
        except NewCalleeError as new:
            try:
                compile_callee(new.callee, module, target)
            except NewFieldError:
                module = Module(prepare, learned=module.learned)
            except UnknownResultError as error:
                raise CannotCompileError(str(error) or UNKNOWN.format(new.callee.function.short_name)) from None
    raise CannotCompileError("the types of values that loops carry do not settle")


def compile_callee(callee: Callee, module: Module, target: Target, around: tuple[Callee, ...] = ()) -> None:
    """Add a function to a module. Raises `CannotCompileError` with the reason where it has no native form.

    `around` are the functions that are being emitted when it is met.
    """
    around = (*around, callee)
    callee.is_begun = True
    assumed: Assumptions = {}
    alias = AliasAnalysis(callee.graph)
    before = module.copied()
    for _ in range(MOST_WALKS):
        callee_text = _CalleeText(callee, alias, assumed, target, module)
        try:
            with callee_text.fn.walking():
                text, results = callee_text.emit()
        except WidenError:
            continue
        except NewCalleeError as new:
            _compile_another(new.callee, module, target, around)
            continue
        if results != callee.results:
            module.restore(before)
            module.callees[callee.key] = callee
            callee.results = results
        elif callee_text.fn.has_unknown:
            raise UnknownResultError(UNKNOWN.format(callee.function.short_name))
        elif not _forget_postponed(module, around):
            callee.is_open = False
            module.parts = callee_text.completed()
            module.texts.append(text)
            return
    raise CannotCompileError("the types of values that loops carry do not settle")


def _compile_another(callee: Callee, module: Module, target: Target, around: tuple[Callee, ...]) -> None:
    """A function that is met in others. One that cannot be without knowing what these give is postponed."""
    with contextlib.suppress(UnknownResultError):
        compile_callee(callee, module, target, around)


def _forget_postponed(module: Module, around: tuple[Callee, ...]) -> bool:
    """Have functions that were postponed be asked for again; whether there were any."""
    postponed = [c for c in module.callees.values() if c.is_open and c not in around]
    for callee in postponed:
        del module.callees[callee.key]
    return bool(postponed)


class _CalleeText:
    """The text of one such function: what is emitted of its graph, between what it takes and what it gives."""

    def __init__(
        self, callee: Callee, alias: AliasAnalysis, assumed: Assumptions, target: Target, module: Module
    ) -> None:
        self.fn = FunctionEmitter(callee.graph, alias, assumed, target, module)
        self._callee = callee

    def emit(self) -> tuple[str, tuple[Representation, ...]]:
        """The text, and what the function gives."""
        e = self.fn.e
        refuse_shared(self.fn.graph, self.fn.alias)
        e.entry.append(f"  store i64 {POLL_INTERVAL}, ptr {self.fn.poll_counter}")
        parameters = self._parameter_words()
        self._enter()
        results = self._result_words()
        kinds = ", ".join(("i64", *(k for rep in results for k in llvm_words(rep))))
        e.start(self.fn.exits.exit)
        code = e.define(f"load i64, ptr {self.fn.exits.code_slot}", "i64", 1)
        e.raw(f"ret {{{kinds}}} {self._packed(kinds, [code])}")
        head = f"define internal {{{kinds}}} @{self._callee.symbol}({', '.join(['ptr %context', *parameters])}) #0 {{"
        return "\n".join([head, "entry:", *e.entry, *e.lines, "}"]), results

    def completed(self) -> Parts:
        """What the function adds to its module."""
        self.fn.parts.fresh = max(self.fn.parts.fresh, self.fn.e.fresh)
        return self.fn.parts

    def _parameter_words(self) -> list[str]:
        """The parameters as registers."""
        texts = []
        addresses = []
        for value, rep in zip(self.fn.graph.parameters, self._callee.parameters, strict=True):
            words = [Register(self.fn.e.name("a"), kind, 1) for kind in llvm_words(rep)]
            texts += [f"{w.type} {w}" for w in words]
            addresses += [w for w in words if w.type == "ptr"]
            self._note_origins(addresses)
            native = native_values.from_words(rep, words)
            self.fn.values.native[value] = self.fn.values.densified(native, value.static_type)
        return texts

    def _note_origins(self, addresses: Sequence[Register]) -> None:
        """Say of the newest addresses what the caller knows of them."""
        e, origins = self.fn.e, self._callee.origins
        for index, word in enumerate(addresses):
            if word.text in e.origins:
                continue
            origin = origins[index] if origins else 0
            same = origins[:index].index(origin) if origin and origin in origins[:index] else None
            e.origins[word.text] = 0
            if same is not None:
                e.origins[word.text] = e.origins[addresses[same].text]
            elif origin:
                e.make_fresh(word)

    def _enter(self) -> None:
        """Refuse calls for which the stack has no room, and look at the clock when there have been many."""
        e = self.fn.e
        frame = e.define("call ptr @llvm.frameaddress.p0(i32 0)", "ptr", 1)
        floor = memory.load_word(e, self.fn.exits.context, CONTEXT.word("floor"), "ptr")
        low, room, fine = e.label("low"), e.label("room"), e.label("fine")
        e.raw(f"br i1 {e.icmp('ult', frame, floor)}, label %{low}, label %{room}, !prof !20")
        e.start(low)
        self.fn.exits.leave_unless_zero(
            e.define(f"call i64 @look_at_stack(ptr {self.fn.exits.context}, ptr {frame})", "i64", 1)
        )
        e.branch(room)
        e.start(room)
        left = memory.load_word(e, self.fn.exits.context, CONTEXT.word("calls"), "i64")
        less = e.binary("sub", left, number(1))
        memory.store_word(e, self.fn.exits.context, CONTEXT.word("calls"), less)
        many = e.label("many")
        e.raw(f"br i1 {e.icmp('slt', less, number(0))}, label %{many}, label %{fine}, !prof !20")
        e.start(many)
        memory.store_word(e, self.fn.exits.context, CONTEXT.word("calls"), number(POLL_INTERVAL))
        self.fn.exits.leave_unless_zero(e.define(f"call i64 @look_at_clock(ptr {self.fn.exits.context})", "i64", 1))
        e.branch(fine)
        e.start(fine)

    def _result_words(self) -> tuple[Representation, ...]:
        """The graph's block, and what follows from it."""
        at_return = self.fn.block(self.fn.graph.body, ())
        natives = [self.fn.values.get(v) for v in self.fn.graph.returns]
        wanted = self._wanted(
            [_lasting(n.rep, v.static_type) for v, n in zip(self.fn.graph.returns, natives, strict=True)]
        )
        words: list[Register] = []
        for value, native, rep in zip(self.fn.graph.returns, natives, wanted, strict=True):
            if isinstance(native, TupleValue) and isinstance(rep, Listed):
                as_list = lists.list_of(self.fn, [self.fn.slots.converted(i, rep.item) for i in native.items], rep.item)
                words += words_of(as_list)
                continue
            result = self.fn.slots.converted(native, rep)
            self.fn.values.keep(result, value, at_return, self.fn.graph.returns)
            words += words_of(result)
        for value in at_return:
            self.fn.values.release(value)
        kinds = ", ".join(("i64", *(k for rep in wanted for k in llvm_words(rep))))
        self.fn.e.raw(f"ret {{{kinds}}} {self._packed(kinds, [number(0), *words])}")
        return wanted

    def _wanted(self, mine: Sequence[Representation]) -> tuple[Representation, ...]:
        """What results must look like: as on this way, and as they did in an earlier walk."""
        known = self._callee.results
        return tuple(mine if known is None else [native_values.join(a, b) for a, b in zip(known, mine, strict=True)])

    def _packed(self, kinds: str, words: Sequence[Register]) -> str:
        packed = "poison"
        for index, word in enumerate(words):
            packed = self.fn.e.define(f"insertvalue {{{kinds}}} {packed}, {word.type} {word}, {index}", "i64", 1).text
        return packed


def _lasting(rep: Representation, type_: Type) -> Representation:
    """How a result looks to callers, who may be handed one of another way."""
    declared = declared_rep(type_)
    if declared is not None:
        return declared
    match rep:
        case Element():
            return Array(rep.dtype, 0)
        case Tupled():
            if rep.is_list or rep.keys is not None:
                raise CannotCompileError("it gives a dict, or a list of tensors that differ")
            return Tupled(tuple([_lasting(item, t) for item, t in zip(rep.items, type_.contained, strict=True)]))
        case Fixed() | OneOf() if rep != Fixed(None):
            raise CannotCompileError(f"it gives {native_values.describe(rep)}")
        case _:
            return rep
