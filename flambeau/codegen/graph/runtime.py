"""What native functions need around them, as LLVM text: blocks with counts, lists, polls, calls of Python.

Everything is internal to the module it is put into, so that LLVM can inline what is small.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from flambeau.codegen.graph.entry.abi import INTERRUPTED, STOPPED
from flambeau.codegen.graph.entry.block_bins import ADVICE, add_blocks
from flambeau.codegen.layouts import BLOCK, CONTEXT, TEAM
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder, Signature
from flambeau.codegen.llvm.c_interface import C_INTERFACE
from flambeau.codegen.llvm.checked_emitter import FALSE, NULL
from flambeau.codegen.llvm.emitter import Value

PREFIX = "flambeau_whole_"
FUNCTIONS = {
    "allocate": "PyMem_RawMalloc", "free": "PyMem_RawFree", "save_thread": "PyEval_SaveThread",
    "restore_thread": "PyEval_RestoreThread", "check_signals": "PyErr_CheckSignals", "number": "PyLong_FromLongLong",
    "value_of": "PyLong_AsLongLong", "call": "PyObject_Vectorcall", "drop_reference": "Py_DecRef",
    "ensure_gil": "PyGILState_Ensure", "leave_gil": "PyGILState_Release", "fetch_error": "PyErr_Fetch",
    "set_error": "PyErr_Restore", "this_thread": "PyThread_get_thread_ident", **ADVICE,
}  # fmt: skip
"""Functions of Python's C interface, and of the system, that the module calls, under the prefix."""
SERVE = PREFIX + "serve"
"""The address of the Python callable that runs exit points: of (context, number of the exit point, inputs, outputs),
to a code.
"""
POLL_INTERVAL = 1 << 16
"""Iterations of loops between two looks at the clock."""
CYCLES = 1 << 27
"""Cycles between two polls for an interrupt: some 50 ms."""

METADATA = """
attributes #0 = { nounwind "prefer-vector-width"="512" }
!10 = !{!"words"}
!11 = !{!12, !12, i64 0}
!12 = !{!"blocks", !10, i64 0}
!13 = !{!14, !14, i64 0}
!14 = !{!"elements", !10, i64 0}
!15 = !{!16, !16, i64 0}
!16 = !{!"numbers in lists", !10, i64 0}
!17 = !{!18, !18, i64 0}
!18 = !{!"addresses in lists", !10, i64 0}
"""
BLOCKS, ELEMENTS, NUMBERS, ADDRESSES = "!tbaa !11", "!tbaa !13", "!tbaa !15", "!tbaa !17"
"""What a load or store touches: blocks' own words, tensors' elements, lists' items by kind. None overlaps another."""


@cache
def runtime_text() -> str:
    """What every native function has before its own text."""
    return runtime_module().text()


@cache
def clock_text() -> str:
    """``look_at_clock(context)``, for functions whose caller has the GIL."""
    m = ModuleBuilder({alias: C_INTERFACE[name] for alias, name in FUNCTIONS.items()}, PREFIX)
    m.access = ", " + BLOCKS
    _add_look_at_clock(m)
    return m.text(behind=runtime_text())


@cache
def ask_text() -> str:
    """``ask(context, exit point, inputs, outputs)``, for functions that call Python: it runs an exit point, and gives a
    code. What it raises stays set.
    """
    m = runtime_module()
    m.access = ""
    return "\n".join(f.text() for f in _ask(m))


def runtime_module() -> ModuleBuilder:
    """A module with blocks, polls and reference counts: what every native function may call."""
    m = ModuleBuilder({alias: C_INTERFACE[name] for alias, name in FUNCTIONS.items()}, PREFIX)
    m.access = ", " + BLOCKS
    for name, kind in (
        ("llvm.readcyclecounter", "i64 ()"), ("llvm.memcpy.p0.p0.i64", "void (ptr noalias, ptr noalias, i64, i1)"),
        ("llvm.ctlz.i64", "i64 (i64, i1)"),
        ("llvm.memset.p0.i64", "void (ptr, i8, i64, i1)"), ("llvm.memmove.p0.p0.i64", "void (ptr, ptr, i64, i1)"),
    ):  # fmt: skip
        m.declarations[Signature(kind).declaration(name)] = None
    for alias in FUNCTIONS:
        m.callee(alias)
    m.symbol("serve")
    add_blocks(m)
    _add_counts(m)
    return m


def _add_counts(m: ModuleBuilder) -> None:
    """``retain(block)``; ``let_go(block)``, which says whether that was the last reference; ``release(block)``, which
    then drops the block. Null is no block.
    """
    f = m.function("void retain", "ptr block", attributes="alwaysinline")
    (block,) = f.parameters
    with f.when(f.compare("ne", block, NULL)):
        f.put(block, BLOCK, references=f.op("add", f.get(block, BLOCK, "references"), 1))
    f.ret()
    f = m.function("i1 let_go", "ptr block", attributes="alwaysinline")
    (block,) = f.parameters
    f.return_if(f.is_null(block), FALSE)
    less = f.op("sub", f.get(block, BLOCK, "references"), 1)
    f.put(block, BLOCK, references=less)
    f.ret(f.compare("eq", less, 0))
    f = m.function("void release", "ptr block", attributes="alwaysinline")
    with f.when(f.call("let_go", f.parameters[0])):
        f.call("drop_block", f.parameters[0])
    f.ret()


def _add_look_at_clock(m: ModuleBuilder) -> None:
    """``look_at_clock(context)``: gives the GIL up, or asks for interrupts where that is due; 0 or `INTERRUPTED`."""
    f = m.function("i64 look_at_clock", "ptr context", attributes="noinline cold")
    (context,) = f.parameters
    now = f.define("call i64 @llvm.readcyclecounter()", "i64")
    polled, thread = f.get(context, CONTEXT, "polled"), f.get(context, CONTEXT, "thread")
    team = f.get(context, CONTEXT, "team")
    with f.when(f.compare("ne", team, NULL)):
        failed = f.load(f.field(team, TEAM, "failed"))
        f.return_if(f.compare("slt", failed, f.get(context, CONTEXT, "piece")), STOPPED)
        around = f.get(team, TEAM, "context")
        with f.when(f.compare("ne", f.get(around, CONTEXT, "team"), NULL)):
            f.ret(f.call("look_at_clock", around))
        leads = f.compare("eq", f.call("this_thread"), f.get(team, TEAM, "leader"))
        f.return_unless(leads, 0)
    with f.when(f.is_null(thread)):
        f.put(context, CONTEXT, thread=f.call("save_thread"), polled=now)
        f.ret(0)
    f.return_unless(f.compare("ugt", f.op("sub", now, polled), CYCLES), 0)
    f.call("restore_thread", thread)
    f.put(context, CONTEXT, thread=NULL, polled=now)
    with f.when(f.compare("ne", f.call("check_signals"), 0)):
        with f.when(f.compare("ne", team, NULL)):
            _keep_error(f, context)
            f.put(context, CONTEXT, thread=f.call("save_thread"))
        f.ret(INTERRUPTED)
    f.put(context, CONTEXT, thread=f.call("save_thread"))
    f.ret(0)


def _keep_error(f: FunctionBuilder, context: Value) -> None:
    """Take what was raised into the context of a piece: its thread is not the one that the caller hears."""
    f.call("fetch_error", *(f.field(context, CONTEXT, name) for name in ("error", "error_value", "error_trace")))


def _ask(m: ModuleBuilder) -> tuple[FunctionBuilder, ...]:
    """``ask_python`` is the same for all modules, given their ``serve``, and ``ask`` calls it with the module's own."""
    asked = ("ptr context", "i64 exit_point", "ptr inputs", "ptr outputs")
    served = f = m.function("i64 ask_serve", "ptr serve", *asked, attributes="noinline")
    serve, context, exit_point, inputs, outputs = f.parameters
    addresses = [f.convert("ptrtoint", p, "i64") for p in (context, inputs, outputs)]
    answer = call_with_numbers(f, serve, [addresses[0], exit_point, *addresses[1:]])
    f.return_if(f.is_null(answer), INTERRUPTED)
    code = f.call("value_of", answer)
    f.call("drop_reference", answer)
    f.ret(code)
    by_python = f = m.function("i64 ask_python", "ptr serve", *asked, attributes="noinline")
    context = f.parameters[1]
    with f.when(f.compare("ne", f.get(context, CONTEXT, "team"), NULL)):
        state = f.call("ensure_gil")
        code = f.call("ask_serve", *f.parameters)
        with f.when(f.compare("eq", code, INTERRUPTED)):
            _keep_error(f, context)
        f.call("leave_gil", state)
        f.ret(code)
    thread = f.get(context, CONTEXT, "thread")
    with f.when(f.compare("ne", thread, NULL)):
        f.call("restore_thread", thread)
        f.put(context, CONTEXT, thread=NULL)
    f.ret(f.call("ask_serve", *f.parameters))
    f = m.function("i64 ask", *asked, attributes="alwaysinline")
    f.ret(f.call("ask_python", m.symbol("serve"), *f.parameters))
    return served, by_python, f


def call_with_numbers(f: FunctionBuilder, function: Value, numbers: Sequence[Value]) -> Value:
    """What a Python callable gives for ints; null where it raises."""
    return call_with_objects(f, function, len(numbers), (f.call("number", number) for number in numbers))


def call_with_objects(f: FunctionBuilder, function: Value, count: int, arguments: Iterable[Value]) -> Value:
    """What a Python callable gives for new objects, which are dropped; null where it raises."""
    memory = f.slot(f"[{count} x ptr]", 16)
    objects = list(arguments)
    for k, argument in enumerate(objects):
        f.set_word(memory, k, argument)
    answer = f.call("call", function, memory, count, NULL)
    for argument in objects:
        f.call("drop_reference", argument)
    return answer
