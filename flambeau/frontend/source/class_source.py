"""Where things of a Python class stand in the user's file: its header, its fields.

>>> class_range(int) is None
True
"""

from __future__ import annotations

import ast
import inspect
import tokenize

from flambeau.frontend.source.python_source import ParsedText, parse_text
from flambeau.util.errors import CompileError
from flambeau.util.source import Source, SourceRange


def class_range(cls: type) -> SourceRange | None:
    """The words `class Name` of a class statement; None where the source cannot be had."""
    statement = _statement(cls)
    if statement is None:
        return None
    text, node = statement
    line = text.source.text or ""
    start = line.find("class", text.start(node)) if not node.decorator_list else line.find(f"class {cls.__name__}")
    return text.source.range(start, start + len(f"class {cls.__name__}")) if start >= 0 else None


def field_range(cls: type, name: str) -> SourceRange | None:
    """The annotated field of a class body, or of the nearest base that has it; None where there is none."""
    for base in cls.__mro__:
        definition = _statement(base) if name in vars(base).get("__annotations__", {}) else None
        if definition is None:
            continue
        text, node = definition
        for statement in node.body:
            if isinstance(statement, ast.AnnAssign) and getattr(statement.target, "id", "") == name:
                return text.range(statement)
    return None


def _statement(cls: type) -> tuple[ParsedText, ast.ClassDef] | None:
    try:
        lines, first_line = inspect.getsourcelines(cls)
        filename = inspect.getsourcefile(cls) or "<unknown>"
        text = parse_text(Source("".join(lines).replace("\r\n", "\n"), filename, first_line))
    except (OSError, TypeError, IndentationError, tokenize.TokenError, CompileError):
        return None
    node = text.body[0] if text.body else None
    return (text, node) if isinstance(node, ast.ClassDef) else None
