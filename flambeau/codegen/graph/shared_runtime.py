"""What native functions share: blocks and looks at the clock, compiled once for all of them and called by address.

A function's text has them before its own, so that it is whole and can be linked anywhere. Compiling them again with
each function took as long as a short function does.

>>> from flambeau.codegen.graph.runtime import clock_text, runtime_text
>>> text = sharing("\\n".join((runtime_text(), clock_text())))
>>> [name for name in SHARED if f"declare {SHARED[name].declaration(name).removeprefix('declare ')}" in text]
['new_block', 'drop_block', 'look_at_clock']
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from flambeau.codegen.graph.group_runner import python_imports
from flambeau.codegen.graph.runtime import METADATA, clock_text, runtime_text
from flambeau.codegen.llvm.builder import Signature
from flambeau.codegen.llvm.engine import Engine, NativeCode, engine
from flambeau.util.locks import Lock

SHARED: Final = {
    "new_block": Signature("ptr (ptr, i64)"), "drop_block": Signature("void (ptr)"),
    "look_at_clock": Signature("i64 (ptr)"),
}  # fmt: skip
"""The functions that others call by address, by symbol."""
_RARE: Final = ("look_at_clock",)
_PRIVATE: Final = "fresh_block"
"""What only these call."""


def _definition(name: str) -> re.Pattern[str]:
    return re.compile(rf"^define internal [^@\n]*@{name}\(.*?^}}$", re.MULTILINE | re.DOTALL)


_DEFINITIONS: Final = {name: _definition(name) for name in (*SHARED, _PRIVATE)}


@cache
def _heads() -> tuple[str, str]:
    """What the text of a function begins with, as it is whole and as it shares."""
    whole = shared = "\n".join((runtime_text(), clock_text()))
    for name, definition in _DEFINITIONS.items():
        declared = SHARED[name].declaration(name) if name in SHARED else ""
        if name in _RARE:
            declared += " cold"
        shared, count = definition.subn(declared, shared, count=1)
        assert count == 1, name
    return whole, shared


def sharing(text: str) -> str:
    """The text of a function that calls what is shared, by symbol; as it is where it begins otherwise."""
    whole, shared = _heads()
    return shared + text.removeprefix(whole) if text.startswith(whole) else text


def _text() -> tuple[str, tuple[str, ...]]:
    text = _heads()[0]
    for name in SHARED:
        text = re.sub(rf"^define internal ([^@\n]*@{name}\()", r"define \1", text, count=1, flags=re.MULTILINE)
    return text + METADATA, ()


_lock = Lock()
_compiled: dict[Engine, NativeCode] = {}


def shared_addresses() -> dict[str, int]:
    """Where each is, by symbol, compiled at the first call. Raises NativeError."""
    jit = engine()
    with _lock:
        code = _compiled.get(jit)
        if code is None:
            code = _compiled[jit] = jit.link_entry(
                "shared", tuple(SHARED), _text, lambda names: python_imports(), is_glue=False
            )
    return code.addresses
