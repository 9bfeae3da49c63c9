"""What native functions share: blocks, looks at the clock and calls of Python, compiled once for all of them and called
by address.

A function's text has them before its own, so that it is whole and can be linked anywhere. Compiling them again with
each function took as long as a short function does.

>>> from flambeau.codegen.graph.runtime import ask_text, clock_text, runtime_text
>>> text = sharing("\\n".join((runtime_text(), clock_text())))
>>> [name for name in SHARED if f"declare {SHARED[name].declaration(name).removeprefix('declare ')}" in text]
['new_block', 'drop_block', 'look_at_clock']
>>> "define internal i64 @ask_python" in sharing("\\n".join((runtime_text(), clock_text(), ask_text())))
False
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from flambeau.codegen.graph.groups.group_runner import python_imports
from flambeau.codegen.graph.runtime import METADATA, ask_text, clock_text, runtime_text
from flambeau.codegen.llvm.builder import Signature
from flambeau.codegen.llvm.engine import Engine, NativeCode, engine
from flambeau.util.locks import Lock

SHARED: Final = {
    "new_block": Signature("ptr (ptr, i64)"), "drop_block": Signature("void (ptr)"),
    "look_at_clock": Signature("i64 (ptr)"), "ask_python": Signature("i64 (ptr, ptr, i64, ptr, ptr)"),
}  # fmt: skip
"""The functions that others call by address, by symbol."""
_RARE: Final = ("look_at_clock",)
_PRIVATE: Final = ("fresh_block", "ask_serve")
"""What only these call."""


def _definition(name: str) -> re.Pattern[str]:
    return re.compile(rf"^define internal [^@\n]*@{name}\(.*?^}}$", re.MULTILINE | re.DOTALL)


_DEFINITIONS: Final = {name: _definition(name) for name in (*SHARED, *_PRIVATE)}


@cache
def _heads() -> tuple[str, str]:
    """What the text of a function begins with, as it is whole and as it shares."""
    whole = "\n".join((runtime_text(), clock_text()))
    return whole, _declared(whole)


@cache
def _asks() -> tuple[str, str]:
    """How a function that calls Python goes on, as it is whole and as it shares."""
    return ask_text(), _declared(ask_text())


def _declared(text: str) -> str:
    """A text with declarations in the place of definitions that are shared."""
    for name, definition in _DEFINITIONS.items():
        declared = SHARED[name].declaration(name) if name in SHARED else ""
        if name in _RARE:
            declared += " cold"
        text = definition.sub(declared, text, count=1)
    return text


def sharing(text: str) -> str:
    """The text of a function that calls what is shared, by symbol; as it is where it begins otherwise."""
    whole, shared = _heads()
    return shared + text.removeprefix(whole).replace(*_asks(), 1) if text.startswith(whole) else text


def _text() -> tuple[str, tuple[str, ...]]:
    asks = _definition("ask").sub("", ask_text())  # a module's own, with its callable
    text = "\n".join((_heads()[0], asks))
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
