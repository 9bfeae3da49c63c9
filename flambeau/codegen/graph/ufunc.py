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
from flambeau.codegen.graph.function import SYMBOL, FunctionEmitter, FunctionText
from flambeau.codegen.graph.native_values import CannotCompileError
from flambeau.codegen.graph.representation import Representation
from flambeau.codegen.graph.runtime import FUNCTIONS, METADATA, PREFIX, SERVE, runtime_text
from flambeau.codegen.graph.slots import Assumptions, WidenError
from flambeau.codegen.graph.ufunc_loop import Kind, Loop
from flambeau.codegen.llvm.engine import NativeCode, c_imports, engine
from flambeau.ir.graph import Graph

LOOP = "flambeau_ufunc_"
_API = {**FUNCTIONS, "take_gil": "PyGILState_Ensure", "give_gil": "PyGILState_Release", "occurred": "PyErr_Occurred"}
_RUN = PREFIX + "run"
_FLAGS = 61 if platform.machine().lower() in ("x86_64", "amd64", "i686") and sys.platform != "win32" else 31
"""The C library's mask of all floating-point exceptions. NumPy would warn of flags that are set, even by a way of a
branch that the program does not take and that vectors compute; scripts do not warn."""

_RUNTIME = f"""
declare i32 @{PREFIX}take_gil()
declare void @{PREFIX}give_gil(i32)
declare ptr @{PREFIX}occurred()
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.umax.i64(i64, i64)
declare i32 @fetestexcept(i32)
declare i32 @feclearexcept(i32)
@{_RUN} = external global i8

define internal void @forget_flags() alwaysinline #0 {{
entry:
  %raised = call i32 @fetestexcept(i32 {_FLAGS})
  %any = icmp ne i32 %raised, 0
  br i1 %any, label %clear, label %done
clear:
  %code = call i32 @feclearexcept(i32 {_FLAGS})
  br label %done
done:
  ret void
}}

define internal void @run_in_python(i64 %kind, ptr %args, ptr %steps, i64 %start, i64 %count) noinline cold {{
entry:
  %given = alloca [5 x ptr], align 16
  %state = call i32 @{PREFIX}take_gil()
  %error = call ptr @{PREFIX}occurred()
  %failed = icmp ne ptr %error, null
  br i1 %failed, label %done, label %ask
ask:
  %args.i = ptrtoint ptr %args to i64
  %steps.i = ptrtoint ptr %steps to i64
  %a0 = call ptr @{PREFIX}number(i64 %kind)
  %a1 = call ptr @{PREFIX}number(i64 %args.i)
  %a2 = call ptr @{PREFIX}number(i64 %steps.i)
  %a3 = call ptr @{PREFIX}number(i64 %start)
  %a4 = call ptr @{PREFIX}number(i64 %count)
  %p1 = getelementptr ptr, ptr %given, i64 1
  %p2 = getelementptr ptr, ptr %given, i64 2
  %p3 = getelementptr ptr, ptr %given, i64 3
  %p4 = getelementptr ptr, ptr %given, i64 4
  store ptr %a0, ptr %given
  store ptr %a1, ptr %p1
  store ptr %a2, ptr %p2
  store ptr %a3, ptr %p3
  store ptr %a4, ptr %p4
  %answer = call ptr @{PREFIX}call(ptr @{_RUN}, ptr %given, i64 5, ptr null)
  call void @{PREFIX}drop_reference(ptr %a0)
  call void @{PREFIX}drop_reference(ptr %a1)
  call void @{PREFIX}drop_reference(ptr %a2)
  call void @{PREFIX}drop_reference(ptr %a3)
  call void @{PREFIX}drop_reference(ptr %a4)
  %raised = icmp eq ptr %answer, null
  br i1 %raised, label %done, label %drop
drop:
  call void @{PREFIX}drop_reference(ptr %answer)
  br label %done
done:
  call void @{PREFIX}give_gil(i32 %state)
  ret void
}}
"""
_PYTHON_LOOP = """
define void @{name}(ptr %args, ptr %dims, ptr %steps, ptr %data) #0 {{
  %n = load i64, ptr %dims
  call void @run_in_python(i64 {kind}, ptr %args, ptr %steps, i64 0, i64 %n)
  ret void
}}
"""


class _Screening(FunctionEmitter):
    """Emits a function that only says that it failed, not where: its loop can be vectors."""

    has_record = False


def screening_text(graph: Graph, parameters: Sequence[Representation]) -> FunctionText:
    """The function of a graph of numbers. Raises `CannotCompileError` where Python would have a part in it."""
    assumed: Assumptions = {}
    alias = AliasAnalysis(graph)
    for _ in range(64):
        try:
            made = _Screening(graph, alias, assumed, engine().target).run(parameters)
        except WidenError:
            continue
        if made.groups or made.operators or " @ask(" in made.text or "call ptr @new_block(" in made.text:
            raise CannotCompileError("Python has a part in it, or it makes lists")
        return made
    raise CannotCompileError("the types of values that loops carry do not settle")


def link(
    loops: Sequence[tuple[Sequence[Kind], Sequence[Kind]]], function: FunctionText | None, run: Callable[..., None]
) -> NativeCode:
    """Loops for several choices of element types; `function` is None where Python runs every element.

    ``run(number of the choice, arguments, steps, start, count)`` runs elements in Python.
    """
    names = [f"{LOOP}{k}" for k in range(len(loops))]
    if function is None:
        bodies = [_PYTHON_LOOP.format(name=name, kind=k) for k, name in enumerate(names)]
        text = "\n".join((runtime_text(), _RUNTIME, *bodies, METADATA))
    else:
        head, rest = function.text.split(f"define i64 @{SYMBOL}(", 1)
        inlined = f"{head}define internal i64 @{SYMBOL}({rest.replace(' #0 {', ' #0 alwaysinline {', 1)}"
        polls = "call i64 @look_at_clock(" in function.text.split(f"@{SYMBOL}(", 1)[1]
        numbered = enumerate(zip(names, loops, strict=True))
        bodies = [Loop(name, k, *kinds, polls=polls).text() for k, (name, kinds) in numbered]
        text = "\n".join((inlined, _RUNTIME, *bodies, "!30 = distinct !{}", ""))
    imports = {
        PREFIX + name: ctypes.cast(getattr(ctypes.pythonapi, c_name), ctypes.c_void_p).value or 0
        for name, c_name in _API.items()
    }
    imports[SERVE] = imports[_RUN] = id(run)
    if function is not None:
        imports.update(c_imports(function.libm))
        imports.update({code.symbol: code.address for code in function.foreign})
    return engine().link(text, tuple(names), imports, optimise=True)
