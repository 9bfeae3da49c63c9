"""Whether lists and tensors still hold the very objects that they held, looked at by machine code.

A module's method is called with what its object holds, after a look whether that is what it was (`jit.modules`): a
hundred places in lists, which Python looks at one by one.

>>> items, expected = [1.5, "a"], "a"
>>> look = unchanged([items], [1], [expected], [], [])
>>> before = look is None or look()
>>> items[1] = "b"
>>> before, look is None or not look()
(True, True)
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from typing import Any

from flambeau.codegen.layouts import Field, Layout
from flambeau.codegen.llvm.compiler import NativeError
from flambeau.codegen.llvm.engine import engine
from flambeau.codegen.llvm.entry_unchanged import UNCHANGED, unchanged_module
from flambeau.codegen.native_call import about, addresses, keep, object_layouts
from flambeau.tensor.tensor import Tensor
from flambeau.util.native_type import HEAD, word

_Tables = Callable[[int, int, int, int], int]


def unchanged(
    lists: Sequence[list[Any]], indices: Sequence[int], expected: Sequence[Any], tensors: Sequence[Tensor],
    arrays: Sequence[Any],
) -> Callable[[], bool] | None:  # fmt: skip
    """What looks whether each list has an object at an index, and each tensor an array; None where there is no machine
    code for that. Lists are of the class itself. The caller keeps all of them alive as long as it looks.
    """
    code, layouts = _code(), object_layouts()
    if code is None or layouts is None:
        return None
    at = layouts.tensor.offset("_array")
    triples = [n for x, k, o in zip(lists, indices, expected, strict=True) for n in (id(x), k, id(o))]
    pairs = [n for t, a in zip(tensors, arrays, strict=True) for n in (id(t) + at, id(a))]
    tables = [(ctypes.c_int64 * len(numbers))(*numbers) for numbers in (triples, pairs)]
    first, second = map(ctypes.addressof, tables)
    counts = len(lists), len(tensors)

    def look(tables: object = tables) -> bool:
        return code(first, counts[0], second, counts[1]) != 0

    return look


@functools.cache
def _list_layout() -> Layout | None:
    """Where a list has its size and the address of its items; None where it looks otherwise than expected."""
    layout = Layout({"size": Field(HEAD, "i64"), "items": Field(HEAD + 8, "ptr")})
    for probe in ([object(), object(), object()], [*range(300, 317)]):
        if layout.read(id(probe), "size") != len(probe):
            return None
        items = layout.read(id(probe), "items")
        if not items or [word(items + 8 * k) for k in range(len(probe))] != [*map(id, probe)]:
            return None
    return layout


@functools.cache
def _code() -> _Tables | None:
    """The function of the tables, which keeps the interpreter's lock; None where it cannot be made."""
    if object_layouts() is None:
        return None
    list_ = _list_layout()
    if list_ is None:
        return None

    def write() -> tuple[str, Sequence[str]]:
        m = unchanged_module(list_)
        return m.text(), (*m.imported, *m.symbols)

    try:
        code = engine().link_entry(about(UNCHANGED), (UNCHANGED,), write, addresses)
    except NativeError:
        return None
    words = ctypes.c_void_p, ctypes.c_int64
    return ctypes.PYFUNCTYPE(ctypes.c_int, *words, *words)(keep(code).addresses[UNCHANGED])
