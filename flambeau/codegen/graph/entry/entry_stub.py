"""Calls of whole-graph functions from Python: natively from end to end, or through ctypes where objects look strange.

``make_entry`` gives a callable whose code takes arguments apart, calls the function and makes objects of its results
(``llvm/entry_graph.py``); ``call_in_python`` does the same in Python (``reference_entry.py``), and is what the native
one is compared with.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from typing import Any

from flambeau.codegen import native_call
from flambeau.codegen.graph.entry.reference_entry import call_in_python
from flambeau.codegen.graph.entry.signature import Parameter, Signature, ones_of
from flambeau.codegen.layouts import GRAPH_CELL
from flambeau.codegen.llvm.compiler import NativeError
from flambeau.codegen.llvm.engine import NativeCode, engine
from flambeau.codegen.llvm.entry_constants import DESCR, FIXED, fixed_values
from flambeau.codegen.llvm.entry_graph import graph_entry
from flambeau.codegen.llvm.entry_objects import EXPORTS, objects_module
from flambeau.schema.dtype import by_name as dtype_by_name
from flambeau.util.native_type import HEAD
from flambeau.util.record import dataclass

__all__ = ["Entry", "Parameter", "Signature", "call_in_python", "make_entry", "ones_of"]


@dataclass(slots=True)
class Entry:
    """A native callable, and what it counts. `make_entry` gives one.

    >>> Entry(call=abs, cell=GRAPH_CELL.pack(function=0, error=0, user=0)).served
    0
    """

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

    Example:
        >>> from flambeau.codegen.graph.representation import Int
        >>> from flambeau.codegen.llvm.engine import engine
        >>> code = engine().link('''
        ... define i64 @double(ptr %context, ptr %arguments, ptr %results) {
        ...   %n = load i64, ptr %arguments
        ...   %twice = add i64 %n, %n
        ...   store i64 %twice, ptr %results
        ...   ret i64 0
        ... }
        ... ''', ("double",), {})
        >>> signature = Signature((Parameter(Int()),), (Int(),))
        >>> entry = make_entry(signature, code.addresses["double"], lambda n: "none of mine", lambda code, at: None)
        >>> entry.call(21), entry.call("21"), entry.served
        (42, 'none of mine', 1)
    """
    code = _entry_code(signature)
    if code is None:
        return None
    cell = GRAPH_CELL.pack(function=function_address, error=id(error), user=user)
    kept = (error, cell, code, signature)
    callable_ = native_call.new_callable(code.addresses["entry"], ctypes.addressof(cell), slow, kept)
    return None if callable_ is None else Entry(callable_, cell)


@functools.cache
def _objects_code() -> NativeCode | None:
    layouts = native_call.object_layouts()
    if layouts is None or native_call.numpy_functions() is None or not _float_is_plain():
        return None

    def write() -> tuple[str, Sequence[str]]:
        m = objects_module(layouts)
        return m.text(), (*m.imported, *m.symbols)

    try:
        code = engine().link_entry(
            native_call.about("objects"), tuple(EXPORTS), write, native_call.addresses, optimise=False
        )
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
    known = {name: support.addresses[name] for name in EXPORTS}
    fixed = [*fixed_values(signature)]

    def write() -> tuple[str, Sequence[str]]:
        stub = graph_entry(signature, layouts)
        return stub.m.text(), (*stub.m.imported, *stub.m.symbols)

    def addresses(names: Sequence[str]) -> dict[str, int]:
        dtypes = [name.removeprefix(DESCR) for name in names if name.startswith(DESCR)]
        more = {DESCR + name: id(dtype_by_name(name).numpy) for name in dtypes}
        return native_call.addresses(names, known | more | {f"{FIXED}{k}": id(value) for k, value in enumerate(fixed)})

    try:
        about = native_call.about(f"graph {signature.described()} {_shared_values(fixed)}")
        return engine().link_entry(about, ("entry",), write, addresses, optimise=False, is_shared=False)
    except NativeError:
        return None


def _shared_values(fixed: Sequence[object]) -> tuple[int, ...]:
    """Which fixed values are one object: of each, the place of the first that it is."""
    return tuple([next(k for k, other in enumerate(fixed) if other is value) for value in fixed])
