"""What the code of an archive names that it cannot have: all of it, before anything is loaded.

Operators that Flambeau does not have, operators that reach the world, modules of Python's. A quick search decides
whether a text has to be looked at closely; what is found there counts, not what stands in strings and comments.
"""

from __future__ import annotations

import ast
import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Final

from flambeau.ir import kinds
from flambeau.program.gradients import GRADIENT
from flambeau.schema import registry
from flambeau.serialize.archive_format import code_record
from flambeau.serialize.archive_reader.code_file import STRING, parse_code
from flambeau.serialize.archive_reader.container_reader import Container
from flambeau.serialize.archive_reader.permissions import Permissions
from flambeau.serialize.archive_reader.special_operators import SPECIAL
from flambeau.serialize.archive_reader.upgrades import upgrade_of
from flambeau.tensor.opaque_objects import MAKERS
from flambeau.util.errors import FrontendError
from flambeau.util.names import ROOT, in_root
from flambeau.util.record import dataclass, field

# Each begins with letters that it always has: these are found fast, while alternatives are tried at every character.
_ATEN: Final = re.compile(r"torch(?<![\w.]torch)\.(\w+)")
_OTHERS: Final = re.compile(r"ops(?<![\w.]ops)\.(\w+)\.(\w+)")
_CUSTOM_CLASS: Final = re.compile(rf"{ROOT}(?<![\w.]{ROOT})\.(torch\.classes\.\w+\.\w+)")
_IN_CODE: Final = re.compile("|".join((STRING, r"#[^\n]*", _ATEN.pattern, _OTHERS.pattern, _CUSTOM_CLASS.pattern)))
_ODD: Final = tuple(
    map(re.compile, (r"import\b", r"_IgnoreContextManager\b", r"getattr\s{0,9}\(\s{0,9}(?:torch|ops)\b"))
)
"""What takes a closer look to tell what it is."""
_FORMS: Final = kinds.WAIT | {"aten::device", "aten::autograd", GRADIENT}
"""What is written like an operator and is none."""
_SPACES: Final = {"torch": "aten", "ops": ""}
"""The names that operators are written behind, and their namespaces; that of `ops` comes next."""


@dataclass(frozen=True, slots=True)
class Named:
    """An operator, a class of PyTorch's own or a module of Python's, and where it is named first."""

    name: str
    record: str
    line: int

    def __str__(self) -> str:
        return f"{self.name} ({self.record}, line {self.line})"


@dataclass(frozen=True, slots=True)
class Objections:
    """What code names that it cannot have, each once, by its first place."""

    missing: dict[str, Named] = field(default_factory=dict)
    """Operators and classes that there are not."""
    refused: dict[str, Named] = field(default_factory=dict)
    """Operators that reach the world and were not allowed."""
    of_python: dict[str, Named] = field(default_factory=dict)
    """Modules that it would import, and statements that it would have run by Python."""
    unclear: set[tuple[str, int]] = field(default_factory=set)
    """Records and lines where only compiling tells whether such an operator is called: `x.save(path)`."""
    users: set[str] = field(default_factory=set)
    """Operators of users and classes of C++, which another process may not have."""


def objections(container: Container, texts: Mapping[str, str], permissions: Permissions) -> Objections:
    """What is to be said against these code records."""
    noted = Objections()
    known: set[str] = set(_FORMS)
    words = frozenset(name.rpartition("::")[2] for name in registry.reaching_world())
    if _is_clear("\n".join(texts.values()), words):
        return noted
    for record, text in texts.items():
        plain = text if text.isascii() else unicodedata.normalize("NFKC", text)  # as Python reads names
        names = _named_in(plain) - known
        known.update(filter(_is_there, names))
        noted.users.update(name for name in names & known if _is_of_user(name))
        has_classes = _CUSTOM_CLASS.search(plain) is not None
        if has_classes:
            noted.users.add(record)
        if not names <= known or has_classes:
            _note_missing(plain, record, container, noted)
        if _is_odd(plain, words):
            _look(text, record, permissions, noted, words)
    return noted


def _is_clear(text: str, words: frozenset[str]) -> bool:
    """Whether nothing is to be said against code, of users' operators neither, after a quick search of all of it."""
    if not text.isascii() or _CUSTOM_CLASS.search(text) is not None or _is_odd(text, words):
        return False
    return all(name in _FORMS or (_is_there(name) and not _is_of_user(name)) for name in _named_in(text))


def _is_odd(text: str, words: frozenset[str]) -> bool:
    """Whether a text takes a closer look: it has such words in it, or what may import or rename."""
    return any(map(text.__contains__, words)) or any(odd.search(text) for odd in _ODD)


def _named_in(text: str) -> set[str]:
    """The operators that a text names, in strings and comments too."""
    names = {f"aten::{name}" for name in _ATEN.findall(text)}
    names.update(f"{space}::{name}" for space, name in _OTHERS.findall(text))
    return names


def _note_missing(text: str, record: str, container: Container, objections: Objections) -> None:
    """Add the operators and classes that a text names, outside of strings and comments, and that there are not."""
    line, counted = 1, 0
    for match in _IN_CODE.finditer(text):
        if match.lastindex is None:
            continue
        aten, space, other, custom = match.groups()
        name = custom or (f"aten::{aten}" if aten else f"{space}::{other}")
        is_class = custom and (in_root(custom) in MAKERS or container.has(code_record(in_root(custom))))
        is_there = is_class if custom else _is_there(name)
        if not is_there and name not in objections.missing:
            line, counted = line + text.count("\n", counted, match.start()), match.start()
            objections.missing[name] = Named(name, record, line)


def _mentions(node: ast.AST, words: frozenset[str]) -> bool:
    """Whether it may be such an operator of a namespace that the program has under another name."""
    name = node.attr if isinstance(node, ast.Attribute) else node.value if isinstance(node, ast.Constant) else None
    return isinstance(name, str) and name in words


def _is_of_user(name: str) -> bool:
    return any(definition.family == "custom" for definition in registry.overloads(name))


def _is_there(name: str) -> bool:
    is_upgraded = name.startswith("aten::") and upgrade_of(name.removeprefix("aten::"), 0) is not None
    return bool(registry.overloads(name)) or name in SPECIAL or name in _FORMS or is_upgraded


def _look(text: str, record: str, permissions: Permissions, objections: Objections, words: frozenset[str]) -> None:
    """Add what the code in a text says. Text that cannot be parsed is refused when something needs it."""
    try:
        body = parse_code(text, record).body
    except FrontendError:
        return
    top = set(map(id, body))
    for node in (inner for statement in body for inner in ast.walk(statement)):
        for name in _modules(node) if id(node) not in top else ():
            objections.of_python.setdefault(name, Named(name, record, getattr(node, "lineno", 1)))
        operator = _operator(node)
        if operator is None:
            if _mentions(node, words):
                objections.unclear.add((record, getattr(node, "lineno", 1)))
            continue
        line = getattr(node, "end_lineno", None) or 1
        if not _is_there(operator):
            objections.missing.setdefault(operator, Named(operator, record, line))
        elif permissions.refuses(operator):
            objections.refused.setdefault(operator, Named(operator, record, line))


def _modules(node: ast.AST) -> Iterator[str]:
    """What a statement takes from Python."""
    if isinstance(node, ast.Import):
        yield from (f"import {alias.name}" for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield f"import {'.' * node.level}{node.module or ''}"
    elif isinstance(node, ast.Name | ast.Attribute):
        name = node.id if isinstance(node, ast.Name) else node.attr
        if name == "_IgnoreContextManager":
            yield name


def _operator(node: ast.AST) -> str | None:
    """The qualified name of the operator that it is: `torch.add`, `ops.prim.min`, `getattr(torch, "add")`."""
    parts: list[str] = []
    while len(parts) < 3:
        match node:
            case ast.Attribute(value=owner, attr=name):
                pass
            case ast.Call(func=ast.Name(id="getattr"), args=[owner, ast.Constant(value=str(name))]):
                pass
            case _:
                break
        parts.append(name)
        node = owner
    if not isinstance(node, ast.Name) or node.id not in _SPACES:
        return None
    spaces = [*filter(None, (_SPACES[node.id],)), *reversed(parts)]
    if spaces[:2] == ["aten", "autograd"]:
        del spaces[1]
    return "::".join(spaces) if len(spaces) == 2 else None
