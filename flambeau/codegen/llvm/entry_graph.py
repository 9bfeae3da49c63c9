"""The native entry of a compiled graph, a stub made for its signature.

``entry`` takes each argument apart into words, calls the function and makes objects of the words of its results. What
does not look as the signature says goes to the slow callable; an error code goes to the error callable, which raises.
Both, and the function's address, are data of the callable (`layouts.GRAPH_CELL`), so that functions of one signature
share one text.
"""

from __future__ import annotations

from flambeau.codegen.graph.entry.signature import Signature
from flambeau.codegen.graph.representation import word_count
from flambeau.codegen.layouts import ENTRY_CONTEXT, GRAPH_CELL, LEAF, ObjectLayouts
from flambeau.codegen.llvm.builder import ModuleBuilder
from flambeau.codegen.llvm.c_interface import C_INTERFACE
from flambeau.codegen.llvm.checked_emitter import NULL, word
from flambeau.codegen.llvm.emitter import Value
from flambeau.codegen.llvm.entry import ARGUMENT_COUNT, call_slowly
from flambeau.codegen.llvm.entry_constants import StubConstants
from flambeau.codegen.llvm.entry_marshalling import Marshalling
from flambeau.codegen.llvm.entry_objects import EXPORTS
from flambeau.codegen.llvm.entry_unmarshalling import Unmarshalling, leaves_of


def graph_entry(signature: Signature, layouts: ObjectLayouts) -> StubConstants:
    """A module with ``entry`` for a signature, and what it refers to. Raises `CannotCompileError`."""
    m = ModuleBuilder(C_INTERFACE | EXPORTS)
    constants = StubConstants(m, layouts, signature)
    _Entry(signature, constants).build()
    return constants


class _Entry:
    """The building of ``entry``."""

    def __init__(self, signature: Signature, constants: StubConstants) -> None:
        self.signature, self.constants = signature, constants
        self.f = f = constants.m.function(
            "ptr entry", "ptr self", "ptr args", "i64 nargsf", "ptr names", exported=True
        )  # fmt: skip
        self.context = f.slot(f"[{ENTRY_CONTEXT.words} x i64]", 16)
        representations = [p.representation for p in signature.parameters]
        self.words = self.room(sum(map(word_count, representations)))
        self.results = self.room(sum(map(word_count, signature.results)))
        self.leaves = self.room(LEAF.words * max(1, sum(map(leaves_of, representations))))
        self.record = self.room(signature.record_words)

    def room(self, words: int) -> Value:
        """Words on the stack."""
        return self.f.slot(f"[{max(1, words)} x i64]", 16)

    def build(self) -> None:
        """Arguments, call, results."""
        f, context = self.f, self.context
        self_, _, nargsf, names = f.parameters
        count = f.op("and", nargsf, ARGUMENT_COUNT)
        f.require(
            f.op("and", f.is_null(names), f.compare("eq", count, len(self.signature.parameters))), "slow"
        )  # fmt: skip
        cell = f.get(self_, self.constants.layouts.callable, "cell")
        self.start_context(cell)
        self.unmarshal_arguments()
        for k, p in enumerate(self.signature.parameters):
            if p.is_written:
                f.require(f.call("may_bump", context, k + 1), "give_up")
        f.put(cell, GRAPH_CELL, served=f.op("add", f.get(cell, GRAPH_CELL, "served"), 1))
        with f.when(f.compare("ne", f.get(cell, GRAPH_CELL, "long"), 0)):  # the function takes the GIL back
            f.put(context, ENTRY_CONTEXT, thread=f.call("PyEval_SaveThread"))
        function = f.get(cell, GRAPH_CELL, "function")
        code = f.call_address(function, "i64 (ptr, ptr, ptr)", context, self.words, self.results)
        f.put(cell, GRAPH_CELL, long=f.get(context, ENTRY_CONTEXT, "long"))
        for k, p in enumerate(self.signature.parameters):
            if p.is_written:
                f.call("bump", context, k + 1)
        with f.when(f.compare("eq", code, 0)):
            answer = Marshalling(f, self.constants).marshal_all(self.signature.results, self.results)
            f.call("finish", context)
            f.ret(answer)
        error = f.call("fail", context, code, f.get(cell, GRAPH_CELL, "error"))
        f.call("finish", context)
        f.ret(error)
        f.start("give_up", falls_through=False)
        f.call("finish", context)
        f.start("slow")
        call_slowly(f, self.constants.layouts)

    def start_context(self, cell: Value) -> None:
        """A context without blocks and leaves."""
        f, context = self.f, self.context
        f.put(
            context, ENTRY_CONTEXT, previous=context, next=context, record=self.record, thread=NULL, polled=0, long=0,
            user=f.get(cell, GRAPH_CELL, "user"), leaves=NULL, team=NULL, pool=NULL,
        )  # fmt: skip
        f.call("start_bins", context)

    def unmarshal_arguments(self) -> None:
        """All arguments taken apart."""
        f, words, leaf = self.f, self.words, self.leaves
        for k, p in enumerate(self.signature.parameters):
            unmarshalling = Unmarshalling(f, self.constants, self.context, word(k + 1), "give_up")
            unmarshalling.unmarshal(p, f.word_of(f.parameters[1], k, "ptr"), words, leaf)
            words = f.at(words, word_count(p.representation))
            leaf = f.at(leaf, leaves_of(p.representation) * LEAF.words)
