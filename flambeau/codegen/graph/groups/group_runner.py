"""What runs fused groups for native functions, compiled once for all of them and called by address.

Each native function used to hold a copy, whose compilation took longer than that of the function itself.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache

from flambeau.codegen.graph.groups.group_launches import NO_LAUNCH, add_run_group
from flambeau.codegen.graph.runtime import FUNCTIONS, METADATA, PREFIX, runtime_module
from flambeau.codegen.llvm.builder import ModuleBuilder
from flambeau.codegen.llvm.engine import Engine, NativeCode, engine
from flambeau.util.locks import Lock

RUN_GROUP = PREFIX + "run_group"
"""``i64 (ptr context, ptr cell, ptr inputs, i64 n_in, ptr outputs)``: what ``run_group`` gives, or `NO_LAUNCH`."""


@cache
def call_text() -> str:
    """For a native function: ``run_group``, by the launch for a group's inputs, or by the callback that makes one."""
    own = {"ask": "i64 (ptr, i64, ptr, ptr)"}
    m = ModuleBuilder({RUN_GROUP: "i64 (ptr, ptr, ptr, i64, ptr)"}, prefix="", own=own)
    f = m.function(
        "i64 run_group", "ptr context", "i64 exit_point", "ptr cell", "ptr inputs", "i64 n_in", "ptr outputs",
        attributes="noinline",
    )  # fmt: skip
    context, exit_point, cell, inputs, n_in, outputs = f.parameters
    answer = f.call(RUN_GROUP, context, cell, inputs, n_in, outputs)
    f.return_unless(f.compare("eq", answer, NO_LAUNCH), answer)
    f.ret(f.call("ask", context, exit_point, inputs, outputs))
    return m.text()


_lock = Lock()
_compiled: dict[Engine, NativeCode] = {}


def python_imports() -> dict[str, int]:
    """The addresses of the functions of Python's C interface that native functions call, by symbol."""
    return dict(_python_addresses())


@cache
def _python_addresses() -> dict[str, int]:
    return {
        PREFIX + name: ctypes.cast(getattr(ctypes.pythonapi, c_name), ctypes.c_void_p).value or 0
        for name, c_name in FUNCTIONS.items()
    }


def _text() -> tuple[str, Sequence[str]]:
    m = runtime_module()
    add_run_group(m, RUN_GROUP)
    return m.text() + METADATA, ()


def group_runner_address() -> int:
    """Where `RUN_GROUP` is, compiled at the first call. Raises NativeError."""
    jit = engine()
    with _lock:
        code = _compiled.get(jit)
        if code is None:
            code = _compiled[jit] = jit.link_entry("groups", (RUN_GROUP,), _text, lambda names: python_imports())
    return code.addresses[RUN_GROUP]
