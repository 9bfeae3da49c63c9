"""Calls of whole-graph functions from Python: natively from end to end, or through ctypes where objects look strange.

``make_entry`` gives a callable whose code takes arguments apart, calls the function and makes objects of its results
(``llvm/entry_graph.py``); ``call_in_python`` does the same in Python (``reference_entry.py``), and is what the native
one is compared with.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

from flambeau.codegen import native_call
from flambeau.codegen.graph.reference_entry import call_in_python
from flambeau.codegen.graph.signature import Parameter, Signature, ones_of
from flambeau.codegen.layouts import GRAPH_CELL
from flambeau.codegen.llvm.compiler import NativeError
from flambeau.codegen.llvm.engine import NativeCode, engine
from flambeau.codegen.llvm.entry_graph import graph_entry
from flambeau.codegen.llvm.entry_objects import EXPORTS, objects_module
from flambeau.util.native_type import HEAD
from flambeau.util.record import dataclass

__all__ = ["Entry", "Parameter", "Signature", "call_in_python", "make_entry", "ones_of"]


@dataclass(slots=True)
class Entry:
    """A native callable, and what it counts."""

    call: Callable[..., Any]
    """Takes the function's arguments."""
    cell: Any

    @property
    def served(self) -> int:
        """How often it called the function."""
        return int(self.cell[GRAPH_CELL.word("served")])


def make_entry(
    signature: Signature,
    function_address: int,
    slow: Callable[..., Any],
    error: Callable[[int, int], Any],
    user: int = 0,
) -> Entry | None:
    """A callable of a function's arguments as users give them; None where there cannot be one.

    Args:
        signature: how arguments must look, and what results are.
        function_address: called as `abi` says. Its code must outlive the callable: let `error` or `slow` hold it.
        slow: called with the same arguments if one of them does not look so.
        error: called with the function's code, unless that is 0, and the address of its context; it raises.
        user: goes into the context's word of this name.
    """
    code = _entry_code(signature)
    if code is None:
        return None
    cell = GRAPH_CELL.pack(function=function_address, error=id(error), user=user)
    kept = (error, cell, code, signature)
    made = native_call.new_callable(code.addresses["entry"], ctypes.addressof(cell), slow, kept)
    return None if made is None else Entry(made, cell)


@functools.cache
def _objects_code() -> NativeCode | None:
    layouts = native_call.object_layouts()
    if layouts is None or native_call.numpy_functions() is None or not _float_is_plain():
        return None
    m = objects_module(layouts)
    try:
        code = engine().link(m.text(), tuple(EXPORTS), native_call.imports_of(m), is_glue=True)
    except NativeError:
        return None
    return native_call.keep(code)


def _float_is_plain() -> bool:
    """Whether a float has its number right after its head."""
    return all(ctypes.c_double.from_address(id(x) + HEAD).value == x for x in (1.5, -1e300))


def _entry_code(signature: Signature) -> NativeCode | None:
    support, layouts = _objects_code(), native_call.object_layouts()
    if support is None or layouts is None:
        return None
    stub = graph_entry(signature, layouts)
    known = {name: support.addresses[name] for name in EXPORTS}
    known |= {f"descr_{k}": id(dtype.numpy) for k, dtype in enumerate(stub.dtypes)}
    known |= {f"fixed_{k}": id(value) for k, value in enumerate(stub.fixed)}
    try:
        return engine().link(stub.m.text(), ("entry",), native_call.imports_of(stub.m, known), is_glue=True)
    except NativeError:
        return None
