"""Classes and functions of a code record as printers write them, found by their lines: nothing is parsed.

    class Linear(Module):                          a class, with lists of names, attributes and constants,
      __parameters__ = ["weight", ]                each on a line of its own,
      weight : Tensor
      in_features : Final[int] = 8
      def forward(self: __torch__.Linear,          and methods, whose bodies are indented further
        input: Tensor) -> Tensor:
        return torch.linear(input, self.weight)

Texts are given as they are written; whoever reads one parses it. A record that is written in another way, and a class
of another kind, is not read here (None), but as a whole (`code_file`): what both read, they read alike.

>>> code = PrintedCode.of("class M(Module):\\n  n : int\\n  def f(self: M) -> int:\\n    return self.n\\n")
>>> code.find_class("M")
PrintedClass(base='Module', lists={}, attributes=[('n', 'int', '')], methods=[PrintedFunction(name='f', \
signature=') -> int', body='    return self.n\\n')])
"""

from __future__ import annotations

import re
from keyword import iskeyword
from typing import Any, Final, NamedTuple

from flambeau.serialize.archive_reader.code_file import STRING

LONGEST: Final = 2_000
"""Characters of a line."""
_UNUSUAL: Final = re.compile(r"[^\n -~]|\\\n|\"\"\"|'''")
"""Characters that may end a line or a name elsewhere than printers do, strings over several lines."""
_TOP: Final = re.compile(r"^(?:(class) ([A-Za-z_]\w*)(?:\(([A-Za-z_]\w*)\))?:\n|(def) ([A-Za-z_]\w*)\()|^[^ \n]", re.M)
_PART: Final = re.compile(
    r"""^\ \ (?:
        ([A-Za-z_]\w*)\ :\ ([^=\n#;]+?)(?:\ =\ (.+))?\n  # an attribute or a constant
        |(?:__annotations__\["([^"\\\n]+)"\])\ =\ (.+)\n  # one whose name is no name in Python
        |(__\w+__)\ =\ (\[[^\]\n]*\])\n                 # a list of names
        |def\ ([A-Za-z_]\w*)\(self(?::\ [\w.]+)?        # a method
        |(pass)\n
        |(?=\S))                                        # something else
    """,
    re.M | re.X,
)
_QUOTED: Final = re.compile(rf"{STRING}|#[^\n]*")
_NAMES: Final = re.compile(r'"([^"\\\n]*)",? ?')
_SIGNATURE_END: Final = ":\n"
_FIRST_METHOD: Final = "\n  def "


_OF_OWNER: Final = re.compile(r"^  def \w+\(self: ([\w.]+\.)\w", re.M)


def without_module(text: str, module: str) -> str:
    """The text of a module without its name where a method says of what class it is: so that classes which are written
    alike in several modules have one text.

    >>> print(without_module("class A(Module):\\n  def f(self: m.A) -> int:\\n    return 1\\n", "m").splitlines()[1])
      def f(self: A) -> int:
    """
    owner = f"{module}."
    pieces, start = [], 0
    for match in _OF_OWNER.finditer(text):
        if match[1] == owner:
            pieces.append(text[start : match.start(1)])
            start = match.end(1)
    return "".join([*pieces, text[start:]])


class PrintedFunction(NamedTuple):
    """A method or a function."""

    name: str
    signature: str
    """What is between the first parameter of a method, or the opening parenthesis, and the last colon."""
    body: str
    """Its statements, each on lines of its own."""


class PrintedClass(NamedTuple):
    """What is written of a class, in order."""

    base: str
    lists: dict[str, list[str]]
    """Lists of names, such as that of the parameters."""
    attributes: list[tuple[str, str, str]]
    """Of each the name, the type, and the value of a constant."""
    methods: list[PrintedFunction]


PrintedMethods = list[PrintedFunction] | None
"""Those of a class; None where something else is among them."""


class PrintedCode:
    """The definitions of one record, by name."""

    def __init__(
        self, text: str, definitions: dict[str, tuple[bool, str, int, int]], known: dict[str, PrintedMethods]
    ) -> None:
        """`definitions` has of each whether it is a class, its base, and where what is behind its name begins and ends;
        `known` methods by their text, of other records too.
        """
        self._text = text
        self._definitions = definitions
        self._known = known
        self._classes: dict[str, PrintedClass | None] = {}

    @classmethod
    def of(
        cls, text: str, longest: int = LONGEST, known: dict[str, PrintedMethods] | None = None
    ) -> PrintedCode | None:
        """What is defined in a text; None for one that is not as printers write it, and for one with lines beyond a
        length, which may be nested so deeply that it is to be refused. `known` keeps the methods of several texts."""
        if _UNUSUAL.search(text) is not None or not text.endswith("\n") or max(map(len, text.split("\n"))) > longest:
            return None
        starts = list(_TOP.finditer(text))
        if not starts or text[: starts[0].start()].strip("\n"):
            return None
        definitions = {}
        ends = [*[match.start() for match in starts[1:]], len(text)]
        for match, end in zip(starts, ends, strict=True):
            name = match[2] or match[5]
            if name is None or iskeyword(name):
                return None
            definitions[name] = bool(match[1]), match[3] or "", match.end(), end
        return cls(text, definitions, {} if known is None else known)

    def is_class(self, name: str) -> bool | None:
        """Whether what has a name is a class, and no function; None if nothing has it."""
        return self._definitions[name][0] if name in self._definitions else None

    def find_class(self, name: str) -> PrintedClass | None:
        """A class; None for what is none, or has something in it that printers do not write."""
        if name not in self._classes:
            is_class, base, start, end = self._definitions.get(name, (False, "", 0, 0))
            self._classes[name] = self._class(base, start, end) if is_class else None
        return self._classes[name]

    def find_function(self, name: str) -> PrintedFunction | None:
        """A function, on the same terms."""
        is_class, _, start, end = self._definitions.get(name, (True, "", 0, 0))
        return None if is_class else self._function(name, start, end)

    def find_method(self, name: str, method: str) -> PrintedFunction | None:
        """A method of a class, on the same terms."""
        owner = self.find_class(name)
        return None if owner is None else next((one for one in owner.methods if one.name == method), None)

    def _class(self, base: str, start: int, end: int) -> PrintedClass | None:
        first = self._text.find(_FIRST_METHOD, start - 1, end) + 1 or end
        printed = PrintedClass(base, {}, [], [])
        methods = self._methods(self._text[first:end])
        if methods is None or not self._read(printed, start, first):
            return None
        printed.methods.extend(methods)
        return printed

    def _methods(self, text: str) -> PrintedMethods:
        """The methods that a text consists of; None for one in which is something else."""
        if text not in self._known:
            others = PrintedCode(text, {}, self._known)
            printed = PrintedClass("", {}, [], [])
            is_read = others._read(printed, 0, len(text)) and not printed.attributes and not printed.lists
            self._known[text] = printed.methods if is_read else None
        return self._known[text]

    def _read(self, printed: PrintedClass, start: int, end: int) -> bool:
        """Add all parts between two places. False for what printers do not write."""
        parts = list(_PART.finditer(self._text, start, end))
        if start < end and (not parts or parts[0].start() != start):
            return False
        ends = [*[match.start() for match in parts[1:]], end]
        attributes = printed.attributes
        for match, part_end in zip(parts, ends, strict=bool(parts)):
            name = match[1]
            if name is not None and match.end() == part_end:
                if iskeyword(name):
                    return False
                attributes.append((name, match[2], match[3] or ""))
            elif not self._add(printed, match, part_end):
                return False
        return True

    def _add(self, printed: PrintedClass, match: re.Match[str], end: int) -> bool:
        """Add a part that ends where the next one begins. False for what printers do not write."""
        name, type_, value, quoted, of_quoted, listed, names, method, nothing = match.groups()
        if method is not None:
            function = self._function(method, match.end(), end)
            if function is None or any(one.name == method for one in printed.methods):
                return False
            printed.methods.append(function)
            return True
        if self._text[match.end() : end].strip("\n"):  # lines that belong to this one, or to none
            return False
        if name is not None:  # with empty lines behind it
            printed.attributes.append((name, type_, value or ""))
            return not iskeyword(name)
        if quoted is not None:
            printed.attributes.append((quoted, of_quoted, ""))
        elif listed == "__annotations__":
            return names == "[]"
        elif listed is not None and listed not in printed.lists and not printed.attributes:
            printed.lists[listed] = _NAMES.findall(names)
            return not _NAMES.sub("", names[1:-1])
        return quoted is not None or nothing is not None

    def _function(self, name: str, start: int, end: int) -> PrintedFunction | None:
        text = self._text
        colon = text.find(_SIGNATURE_END, start, end)
        body = text[colon + len(_SIGNATURE_END) : end]
        if colon < 0 or not body.strip("\n") or iskeyword(name) or not _is_closed(body):
            return None
        return PrintedFunction(name, text[start:colon], body)


def _is_closed(body: str) -> bool:
    """Whether as many brackets are closed as opened, so that what follows does not belong to it."""
    bare: Any = _QUOTED.sub("", body) if '"' in body or "'" in body or "#" in body else body
    opened = bare.count("(") + bare.count("[") + bare.count("{")
    return bool(opened == bare.count(")") + bare.count("]") + bare.count("}"))
