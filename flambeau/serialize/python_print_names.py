"""Names of variables in printed code: valid, not reserved, and each used once per function.

>>> names = Names()
>>> names.unique("x"), names.unique("x"), names.unique("while"), names.unique("")
('x', 'x0', 'while0', '_0')
"""

from __future__ import annotations

import keyword
import re

from flambeau.ir.value import Value

TEMPORARY = "_"
"""What values without a name are called; numbers follow."""

RESERVED = frozenset(keyword.kwlist) | {
    TEMPORARY, "CONSTANTS", "__torch__", "annotate", "as", "aten", "attribute", "awaitable", "fork", "getattr", "inf",
    "infj", "nan", "nanj", "ops", "torch", "unchecked_cast", "uninitialized", "unwrap_optional",
    "bool", "float", "int", "isinstance", "len", "print", "range", "sorted", "str",
}  # fmt: skip
"""Words that mean something else in printed code."""

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FOREIGN = re.compile(r"[^A-Za-z0-9_]")


def is_identifier(name: str) -> bool:
    """Whether a name can be written in code as it is."""
    return _IDENTIFIER.fullmatch(name) is not None


def as_identifier(name: str) -> str:
    """A name with everything replaced that an identifier cannot hold."""
    text = _FOREIGN.sub("_", name)
    return "_" + text if not text or text[0].isdigit() else text


def base_name(value: Value) -> str:
    """The name of a value without the number that tells it from others of that name; "" if it has none."""
    if not value.has_name:
        return ""
    base, dot, digits = value.name.rpartition(".")
    return base if dot and digits.isdigit() else value.name


class Names:
    """The names that one function has used."""

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._next: dict[str, int] = {}

    def unique(self, wanted: str) -> str:
        """`wanted` made valid, with the first number behind it that makes it new if it is not."""
        candidate = as_identifier(wanted) if wanted else TEMPORARY
        name = candidate
        while name in self._used or name in RESERVED:
            number = self._next.get(candidate, 0)
            self._next[candidate] = number + 1
            name = f"{candidate}{number}"
        self._used.add(name)
        return name

    def of(self, value: Value) -> str:
        """A new name for a value."""
        return self.unique(base_name(value))
