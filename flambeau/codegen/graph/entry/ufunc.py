"""Loops over strided elements around the native code of a scalar function, as NumPy's universal functions call them.

``void loop(char **arguments, npy_intp *dimensions, npy_intp *steps, void *data)`` for one choice of element types.
Elements go through in blocks: operands that do not lie side by side are copied together first, results go into a
buffer unless they lie side by side and away from all operands, so that the loop in the middle is always one that LLVM
turns into vectors. Where an element fails, no operand of its block has been written over; Python runs the block again,
element by element, and raises. Operands that results are written over in turn (as in reductions) go one by one.
"""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Callable, Sequence

from flambeau.analysis.alias import AliasAnalysis
from flambeau.codegen.graph.entry.ufunc_loop import PARAMETERS, Kind, add_loop
from flambeau.codegen.graph.function import SYMBOL, FunctionEmitter, FunctionText
from flambeau.codegen.graph.native_values import CannotCompileError
from flambeau.codegen.graph.representation import Representation
from flambeau.codegen.graph.routines.library import addresses_of
from flambeau.codegen.graph.runtime import FUNCTIONS, METADATA, PREFIX, SERVE, call_with_numbers, runtime_text
from flambeau.codegen.graph.slots import Assumptions, WidenError
from flambeau.codegen.llvm.builder import ModuleBuilder, Signature
from flambeau.codegen.llvm.c_interface import C_INTERFACE
from flambeau.codegen.llvm.checked_emitter import NULL
from flambeau.codegen.llvm.engine import NativeCode, c_imports, engine
from flambeau.ir.graph import Graph

LOOP = "flambeau_ufunc_"
_API = {**FUNCTIONS, "take_gil": "PyGILState_Ensure", "give_gil": "PyGILState_Release", "occurred": "PyErr_Occurred"}
_RUN = PREFIX + "run"
_FLAGS = 61 if platform.machine().lower() in ("x86_64", "amd64", "i686") and sys.platform != "win32" else 31
"""The C library's mask of all floating-point exceptions. NumPy would warn of flags that are set, even by a way of a
branch that the program does not take and that vectors compute; scripts do not warn."""


def _module() -> ModuleBuilder:
    """A module with what loops call: ``forget_flags()``, and ``run_in_python(choice, args, steps, start, count)``."""
    interface = {alias: C_INTERFACE[name] for alias, name in _API.items()}
    own = {SYMBOL: "i64 (ptr, ptr, ptr)", "fetestexcept": "i32 (i32)", "feclearexcept": "i32 (i32)"}
    m = ModuleBuilder(interface, PREFIX, own=own)
    m.declarations.update(dict.fromkeys(Signature(own[name]).declaration(name) for name in list(own)[1:]))
    f = m.function("void forget_flags", attributes="alwaysinline #0")
    raised = f.call("fetestexcept", _FLAGS)
    with f.when(f.compare("ne", raised, 0)):
        f.call("feclearexcept", _FLAGS)
    f.ret()
    parameters = ("i64 choice", "ptr args", "ptr steps", "i64 start", "i64 count")
    f = m.function("void run_in_python", *parameters, attributes="noinline cold")
    choice, args, steps, start, count = f.parameters
    state = f.call("take_gil")
    with f.when(f.is_null(f.call("occurred"))):
        addresses = [f.convert("ptrtoint", address, "i64") for address in (args, steps)]
        answer = call_with_numbers(f, m.symbol("run"), [choice, *addresses, start, count])
        with f.when(f.compare("ne", answer, NULL)):
            f.call("drop_reference", answer)
    f.call("give_gil", state)
    f.ret()
    return m


def _add_python_loop(m: ModuleBuilder, name: str, choice: int) -> None:
    """A loop whose elements Python runs, all at once."""
    f = m.function(f"void {name}", *PARAMETERS, exported=True, attributes="#0")
    args, dims, steps, _ = f.parameters
    f.call("run_in_python", choice, args, steps, 0, f.load(dims))
    f.ret()


def screening_text(graph: Graph, parameters: Sequence[Representation]) -> FunctionText:
    """The function of a graph of numbers. Raises `CannotCompileError` where Python would have a part in it."""
    assumed: Assumptions = {}
    alias = AliasAnalysis(graph)
    for _ in range(64):
        try:
            # It only says that it failed, not where: its loop can be vectors.
            text = FunctionEmitter(graph, alias, assumed, engine().target, has_record=False).run(parameters)
        except WidenError:
            continue
        if text.groups or text.operators or " @ask(" in text.text or "call ptr @new_block(" in text.text:
            raise CannotCompileError("Python has a part in it, or it makes lists")
        return text
    raise CannotCompileError("the types of values that loops carry do not settle")


def link(
    loops: Sequence[tuple[Sequence[Kind], Sequence[Kind]]], function: FunctionText | None, run: Callable[..., None]
) -> NativeCode:
    """Loops for several choices of element types; `function` is None where Python runs every element.

    ``run(number of the choice, arguments, steps, start, count)`` runs elements in Python.
    """
    names = [f"{LOOP}{k}" for k in range(len(loops))]
    m = _module()
    if function is None:
        for k, name in enumerate(names):
            _add_python_loop(m, name, k)
        head = runtime_text()
        text = "\n".join((head, m.text(head), METADATA))
    else:
        head, rest = function.text.split(f"define i64 @{SYMBOL}(", 1)
        inlined = f"{head}define internal i64 @{SYMBOL}({rest.replace(' #0 {', ' #0 alwaysinline {', 1)}"
        polls = "call i64 @look_at_clock(" in rest
        for k, (name, kinds) in enumerate(zip(names, loops, strict=True)):
            add_loop(m, name, k, *kinds, polls=polls)
        text = f"{inlined}\n{m.text(inlined)}"
    imports = {
        PREFIX + name: ctypes.cast(getattr(ctypes.pythonapi, c_name), ctypes.c_void_p).value or 0
        for name, c_name in _API.items()
    }
    imports[SERVE] = imports[_RUN] = id(run)
    if function is not None:
        imports.update(addresses_of(function.routines))
        imports.update(c_imports(function.libm))
        imports.update({code.symbol: code.address for code in function.foreign})
    return engine().link(text, tuple(names), imports, optimise=True)
