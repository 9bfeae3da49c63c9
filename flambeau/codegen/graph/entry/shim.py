"""A graph as a plain C function, for code of other compilers.

``i32 shim(ptr results, ptr error, arguments...)``: numbers travel in registers, an array as its data, sizes and
strides in bytes; results are words. The owner of an array among them is 1 + the number of the argument that it shows a
part of, or the address by which `PyMem_RawFree` frees its memory, which is the caller's from then on; arrays of one
owner show one piece of memory. The status is 0, or 1 where the function failed: the word at ``error`` then is what
`describe` gave for the Python exception. The shim may be called by any thread, with or without the GIL; it takes the
GIL only where Python has a part in the function, to look for signals, and to fail.

Arrays are memory that no Python object stands for. Where Python has to see one, it sees a tensor that holds nothing.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence

from flambeau.codegen.choices import USUAL, Choices
from flambeau.codegen.graph.entry.abi import INTERRUPTED
from flambeau.codegen.graph.entry.python_blocks import free_ring
from flambeau.codegen.graph.exit_points import ExitPoint
from flambeau.codegen.graph.function import SYMBOL, FunctionText
from flambeau.codegen.graph.groups.group_runner import RUN_GROUP, group_runner_address
from flambeau.codegen.graph.module import Prepare
from flambeau.codegen.graph.native import ExitHandler, NativeFunction
from flambeau.codegen.graph.native_values import CannotCompileError
from flambeau.codegen.graph.representation import (
    Array,
    Fixed,
    Representation,
    Tupled,
    llvm_words,
    word_count,
)
from flambeau.codegen.graph.routines.library import addresses_of
from flambeau.codegen.graph.runtime import (
    CYCLES,
    FUNCTIONS,
    PREFIX,
    SERVE,
    call_with_objects,
    clock_text,
    runtime_text,
)
from flambeau.codegen.inline_cache import InlineCache
from flambeau.codegen.layouts import BLOCK, CONTEXT, FOREVER, LEAF
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.c_interface import C_INTERFACE
from flambeau.codegen.llvm.checked_emitter import FALSE, NULL, Operand
from flambeau.codegen.llvm.emitter import Value
from flambeau.codegen.llvm.engine import NativeCode, c_imports, engine
from flambeau.ir.graph import Graph

SHIM = "flambeau_shim"
Describe = Callable[[BaseException], int]
"""Gives the word that tells a caller of an exception."""
_API = {
    **FUNCTIONS, "take_gil": "PyGILState_Ensure", "give_gil": "PyGILState_Release", "has_gil": "PyGILState_Check",
    "fetch": "PyErr_Fetch", "normalize": "PyErr_NormalizeException", "set_traceback": "PyException_SetTraceback",
}  # fmt: skip
_FAIL = PREFIX + "fail"


def _clock_text() -> str:
    """``look_at_clock(context)`` for callers that may have the GIL or not: it gives up one that the function was called
    with.
    """
    m = _module()
    f = m.function("i64 look_at_clock", "ptr context", attributes="noinline cold")
    (context,) = f.parameters
    now, polled = f.define("call i64 @llvm.readcyclecounter()", "i64"), f.get(context, CONTEXT, "polled")
    with f.when(f.compare("eq", polled, 0)):
        f.put(context, CONTEXT, polled=now)
        with f.when(f.compare("ne", f.call("has_gil"), 0)):
            f.put(context, CONTEXT, thread=f.call("save_thread"))
        f.ret(0)
    f.return_unless(f.compare("ugt", f.op("sub", now, polled), CYCLES), 0)
    f.put(context, CONTEXT, polled=now)
    state = f.call("take_gil")
    signal = f.call("check_signals")
    f.call("give_gil", state)
    f.ret(f.pick(f.compare("eq", signal, 0), 0, INTERRUPTED))
    return m.text(behind=runtime_text())


def _module() -> ModuleBuilder:
    interface = {alias: C_INTERFACE[name] for alias, name in _API.items()}
    return ModuleBuilder(interface, PREFIX, own={SYMBOL: "i64 (ptr, ptr, ptr)"})


def _add_tell(m: ModuleBuilder) -> None:
    """``tell(code, context, error)``: writes the word that `describe` gives for a failure."""
    f = m.function("ptr fetched")
    kind, value, traceback = (f.slot("ptr", 8) for _ in range(3))
    f.call("fetch", kind, value, traceback)
    f.call("normalize", kind, value, traceback)
    error, trace = f.load(value, "ptr"), f.load(traceback, "ptr")
    with f.when(f.compare("ne", trace, NULL)):
        f.call("set_traceback", error, trace)
        f.call("drop_reference", trace)
    f.call("drop_reference", f.load(kind, "ptr"))
    f.ret(error)
    f = m.function("void tell", "i64 code", "ptr context", "ptr error", attributes="noinline cold")
    code, context, word = f.parameters
    state = f.call("take_gil")
    is_set = f.compare("eq", code, INTERRUPTED)
    raised = f.choose(is_set, lambda: f.call("fetched"), lambda: f.call("number", 0))
    numbers = [f.call("number", n) for n in (code, f.convert("ptrtoint", context, "i64"))]
    answer = call_with_objects(f, m.symbol("fail"), 3, [*numbers, raised])
    f.store(word, f.call("value_of", answer))
    f.call("drop_reference", answer)
    f.call("give_gil", state)
    f.ret()


def _shim_text(behind: str, parameters: Sequence[Representation], emitted: FunctionText, *, takes_gil: bool) -> str:
    """The shim of a function, which calls it with words and tells its caller how it went."""
    m = _module()
    _add_tell(m)
    kinds = [kind for rep in parameters for kind in llvm_words(rep)]
    numbers = _numbers(parameters)
    declared = [f"{kind} x{k}" for k, (kind, n) in enumerate(zip(kinds, numbers, strict=True)) if n is None]
    f = m.function(f"i32 {SHIM}", "ptr results", "ptr error", *declared, exported=True)
    results, error, *passed = f.parameters
    context = f.slot(f"[{CONTEXT.words} x i64]", 16)
    record = f.slot(f"[{emitted.record_words} x i64]", 16)
    words = f.slot(f"[{max(1, len(kinds))} x i64]", 16)
    f.clear(context, CONTEXT.words)
    f.put(context, CONTEXT, previous=context, next=context, record=record)
    rest = iter(passed)
    blocks: list[tuple[Value, int]] = []
    for k, number in enumerate(numbers):
        if number is None:
            value = next(rest)
            f.set_word(words, k, f.convert("zext", value, "i64") if value.type == "i1" else value)
        else:
            blocks.append((_leaf(f), number))
            f.set_word(words, k, blocks[-1][0])
    gil = f.call("take_gil") if takes_gil else None
    code = f.call(SYMBOL, context, words, results)
    fine = f.compare("eq", code, 0)
    succeeded, failed, done = f.label("succeeded"), f.label("failed"), f.label("done")
    f.branch_if(fine, succeeded, failed)
    f.start(succeeded)
    _tell_owners(f, results, blocks, emitted.results)
    f.branch(done)
    f.start(failed)
    f.call("tell", code, context, error)
    f.start(done)
    if gil is not None:
        f.call("give_gil", gil)
    f.ret(f.pick(fine, 0, 1, "i32"))
    return m.text(behind)


def _leaf(f: FunctionBuilder) -> Value:
    """A block that stands for memory of the caller's, and for no argument that Python knows."""
    words = LEAF.word("object") + 1
    leaf = f.slot(f"[{words} x i64]", 16)
    f.clear(leaf, words)
    f.put(leaf, LEAF, references=FOREVER)
    return leaf


def _tell_owners(
    f: FunctionBuilder, results: Value, blocks: Sequence[tuple[Value, int]], reps: Sequence[Representation]
) -> None:
    """Make of the owners of results something that a caller without blocks can use."""
    offset = 0
    for rep in leaves(reps):
        if isinstance(rep, Array):
            at = f.at(results, offset)
            owner = f.load(at, "ptr")
            is_argument: Value = FALSE
            chosen: Operand = 0
            for block, number in blocks:
                is_this = f.compare("eq", owner, block)
                is_argument = f.op("or", is_this, is_argument)
                chosen = f.pick(is_this, number + 1, chosen)
            # The word before an argument's block is nothing: the results' address stands in for it.
            raw = f.load(f.pick(is_argument, results, f.field(owner, BLOCK, "raw"), "ptr"))
            f.store(at, f.pick(is_argument, chosen, raw))
        offset += word_count(rep)


def leaves(results: Sequence[Representation]) -> list[Representation]:
    """The numbers and arrays of results, which may be tuples or None."""
    parts: list[Representation] = []
    for rep in results:
        if rep != Fixed(None):
            parts += leaves(rep.items) if isinstance(rep, Tupled) else (rep,)
    return parts


def _numbers(parameters: Sequence[Representation]) -> list[int | None]:
    """For each word of the arguments, the number of the argument whose block it is, if it is one."""
    return [
        number if isinstance(rep, Array) and k == 0 else None
        for number, rep in enumerate(parameters)
        for k in range(word_count(rep))
    ]


class Shim(NativeFunction):
    """A graph's native code behind C arguments. Raises `CannotCompileError` where there is none."""

    def __init__(
        self, graph: Graph, parameters: Sequence[Representation], run_exit_point: ExitHandler,
        inline_cache_of: Callable[[ExitPoint], InlineCache],
        describe: Describe, choices: Choices = USUAL, prepare: Prepare | None = None,
    ) -> None:  # fmt: skip
        """`describe` is called with the GIL, once for each failure."""
        self._describe = describe
        self._failed = self._word_of_failure  # native code has its address, so it must be one object
        super().__init__(graph, parameters, run_exit_point, inline_cache_of, choices=choices, prepare=prepare)

    @property
    def entry(self) -> int:
        """Where the shim is."""
        return self.code.addresses[SHIM]

    @property
    def results(self) -> tuple[Representation, ...]:
        """What it gives, as words."""
        return self.emitted.results

    def _compiled(self) -> FunctionText:
        emitted = super()._compiled()
        emitted.operators = ()  # Python runs them whatever that costs: the caller has no other way
        return emitted

    def _word_of_failure(self, code: int, context: int, raised: BaseException | int) -> int:
        try:
            if isinstance(raised, BaseException):
                return self._describe(raised)
            self.fail(code, context)
        except BaseException as error:  # whatever it is, the caller gets it
            return self._describe(error)
        finally:
            free_ring(context)
        return 0

    def _imports(self) -> dict[str, int]:
        imports = {
            PREFIX + name: ctypes.cast(getattr(ctypes.pythonapi, c_name), ctypes.c_void_p).value or 0
            for name, c_name in _API.items()
        }
        if self.linkage.cells:
            imports[RUN_GROUP] = group_runner_address()
        imports.update({SERVE: id(self._serve), _FAIL: id(self._failed)})
        imports.update(addresses_of(self.linkage.routines))
        imports.update(c_imports(self.linkage.libm))
        imports.update(self.tensors.addresses)
        for cell, inline_cache in zip(self.linkage.cells, self.inline_caches, strict=True):
            imports[cell] = ctypes.addressof(inline_cache.cell)
        return imports

    def _link(self, imports: dict[str, int]) -> NativeCode:
        imports.update({code.symbol: code.address for code in self.emitted.foreign})
        optimise = self.choices.optimise
        return engine().link(self._text(), (SYMBOL, SHIM), imports, optimise=optimise, is_glue=not optimise)

    def _text(self) -> str:
        """The function's module with the shim in it."""
        text = self.emitted.text
        asks = bool(self.emitted.groups) or " @ask(" in text
        if not asks:
            if clock_text() not in text:
                raise CannotCompileError("the function does not say when it looks at the clock")
            text = text.replace(clock_text(), _clock_text(), 1)
        return text + _shim_text(text, self.parameters, self.emitted, takes_gil=asks)
