"""Names of variables in printed code: valid, not reserved, and each used once per function.

>>> names = Names()
>>> names.unique("x"), names.unique("x"), names.unique("while"), names.unique("")
('x', 'x0', 'while0', '_0')
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable
from typing import Final

from flambeau.ir.graph import Node, Value
from flambeau.util.names import ROOT

TEMPORARY = "_"
"""What values without a name are called; numbers follow."""

RESERVED = frozenset(keyword.kwlist) | {
    TEMPORARY, "CONSTANTS", ROOT, "annotate", "as", "aten", "attribute", "fork", "getattr", "inf",
    "infj", "nan", "nanj", "ops", "torch", "unchecked_cast", "uninitialized",
}  # fmt: skip
"""Words that always mean something else in printed code."""

WORD_OF_KIND: Final[dict[str, str]] = {
    "prim::Loop": "range", "prim::Print": "print", "prim::isinstance": "isinstance", "prim::awaitable": "awaitable",
}  # fmt: skip
"""Builtin functions that only these nodes print: elsewhere a variable, above all a parameter, may have the name."""

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FOREIGN = re.compile(r"[^A-Za-z0-9_]")


def is_identifier(name: str) -> bool:
    """Whether a name can be written in code as it is."""
    return _IDENTIFIER.fullmatch(name) is not None


def is_plain_name(name: str) -> bool:
    """Whether an attribute can be written behind a dot: no word of Python, which would not parse."""
    return is_identifier(name) and not keyword.iskeyword(name)


def as_identifier(name: str) -> str:
    """A name with everything replaced that an identifier cannot hold."""
    text = _FOREIGN.sub("_", name)
    return "_" + text if not text or text[0].isdigit() else text


def is_temporary(name: str) -> bool:
    """Whether a name is one that printed code gives to values without a name."""
    return name.startswith(TEMPORARY) and name[1:].isdigit()


def base_name(value: Value) -> str:
    """The name of a value without the number that tells it from others of that name; "" if it has none."""
    if not value.has_name:
        return ""
    base, dot, digits = value.name.rpartition(".")
    return base if dot and digits.isdigit() else value.name


class Names:
    """The names that one function has used."""

    def __init__(self, nodes: Iterable[Node] = ()) -> None:
        self._reserved = RESERVED | {WORD_OF_KIND[n.op] for n in nodes if n.op in WORD_OF_KIND}
        self._used: set[str] = set()
        self._next: dict[str, int] = {}

    def unique(self, wanted: str) -> str:
        """`wanted` made valid, with the first number behind it that makes it new if it is not."""
        candidate = as_identifier(wanted) if wanted else TEMPORARY
        name = candidate
        while name in self._used or name in self._reserved:
            number = self._next.get(name, 0)
            self._next[name] = number + 1
            name = f"{candidate}{number}"
        self._used.add(name)
        return name

    def of(self, value: Value) -> str:
        """A new name for a value."""
        return self.unique(base_name(value))
