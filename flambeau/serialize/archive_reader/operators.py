"""Which operators the code of an archive names that Flambeau does not have: all of them, before anything is loaded."""

from __future__ import annotations

import ast
import re
from typing import Final

from flambeau.schema import registry
from flambeau.serialize.archive_format import code_record
from flambeau.serialize.archive_reader.code_file import with_odd_names
from flambeau.serialize.archive_reader.container import Container
from flambeau.serialize.archive_reader.special_operators import SPECIAL
from flambeau.util.record import dataclass

_NAMED: Final = re.compile(r"(?<![\w.])(?:torch|ops\.(\w+))\.(\w+)")
_CUSTOM_CLASS: Final = re.compile(r"(?<![\w.])__torch__\.(torch\.classes\.\w+\.\w+)")
_FORMS: Final = frozenset(("aten::device", "aten::autograd", "aten::wait", "prim::awaitable_wait"))
"""What is written like an operator and is none."""


@dataclass(frozen=True, slots=True)
class Missing:
    """An operator, or a class of PyTorch's own, that is not there, and where it is named first."""

    name: str
    record: str
    line: int

    def __str__(self) -> str:
        return f"{self.name} ({self.record}, line {self.line})"


def missing_operators(container: Container, records: list[str]) -> list[Missing]:
    """What these code records name and Flambeau does not have, each once, by its first place. Raises ArchiveError."""
    found: dict[str, Missing] = {}
    known: set[str] = set(_FORMS)
    for record in records:
        text = container.text(record)
        for match in _NAMED.finditer(text):
            name = f"{match[1] or 'aten'}::{match[2]}"
            if name in known or name in found:
                continue
            if registry.overloads(name) or name in SPECIAL:
                known.add(name)
            elif _is_code(text, match.start()):
                found[name] = Missing(name, record, text.count("\n", 0, match.start()) + 1)
        for match in _CUSTOM_CLASS.finditer(text):
            name = match[1]
            if name not in found and not container.has(code_record(f"__torch__.{name}")):
                found[name] = Missing(name, record, text.count("\n", 0, match.start()) + 1)
    return list(found.values())


def _is_code(text: str, offset: int) -> bool:
    """Whether a place in a text is code, and no part of a string."""
    line = text.count("\n", 0, offset)
    column = len(text[text.rfind("\n", 0, offset) + 1 : offset].encode())
    try:
        tree = ast.parse(with_odd_names(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.lineno <= line + 1:
            begins = (node.lineno, node.col_offset) <= (line + 1, column)
            if begins and (node.end_lineno or 0, node.end_col_offset or 0) > (line + 1, column):
                return False
    return True
