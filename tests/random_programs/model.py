"""A generated program as a small tree, so that it can be printed, and shrunk by taking parts away.

>>> body = [Statement("a = 1"), Compound("if a > 0:", [[Statement("a = 2")]]), Statement("return a")]
>>> print(Program("f", "a: int", "int", body).source(), end="")
def f(a: int) -> int:
    a = 1
    if a > 0:
        a = 2
    return a
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

INDENT = "    "


@dataclass(frozen=True, slots=True)
class Statement:
    """One line."""

    text: str
    is_kept: bool = False
    """Never taken away when a program is made smaller: a loop would not end without it."""

    def lines(self, depth: int) -> Iterator[str]:
        """The source."""
        yield INDENT * depth + self.text


@dataclass(frozen=True, slots=True)
class Compound:
    """A header with one or more bodies; `joints` are the headers of the later ones (`else:`)."""

    header: str
    bodies: Sequence[Sequence[Node]]
    joints: Sequence[str] = ()
    before: Sequence[Statement] = ()
    """Lines that belong to it, as a loop's counter does."""
    is_kept: bool = False

    def lines(self, depth: int) -> Iterator[str]:
        """The source."""
        for statement in self.before:
            yield from statement.lines(depth)
        for header, body in zip((self.header, *self.joints), self.bodies, strict=True):
            yield INDENT * depth + header
            for node in body or (Statement("pass"),):
                yield from node.lines(depth + 1)


Node = Statement | Compound


@dataclass(frozen=True, slots=True)
class Program:
    """One function, and the functions it calls."""

    name: str
    parameters: str
    returns: str
    body: Sequence[Node]
    helpers: Sequence[Program] = field(default=())
    prelude: str = ""
    """Source of what stands before all functions, classes for example."""
    definitions: Sequence[Node] = field(default=())
    """What stands behind that, and is made smaller with the program."""

    def source(self) -> str:
        """Python source of everything that is called, callees first."""
        before = "".join("\n".join((*node.lines(0), "", "", "")) for node in self.definitions)
        return self.prelude + before + self._functions()

    def smaller(self) -> Iterator[Program]:
        """The program with one thing less."""
        for body in smaller(self.body):
            yield replace(self, body=body)
        for definitions in smaller(self.definitions):
            yield replace(self, definitions=definitions)
        for i, helper in enumerate(self.helpers):
            for less in helper.smaller():
                yield replace(self, helpers=[*self.helpers[:i], less, *self.helpers[i + 1 :]])

    def _functions(self) -> str:
        text = self._own()
        for helper in reversed(self.helpers):
            if re.search(rf"\b{helper.name}\b", text):
                text = helper._functions() + "\n" + text
        return text

    def _own(self) -> str:
        lines = [f"def {self.name}({self.parameters}) -> {self.returns}:"]
        for node in self.body:
            lines.extend(node.lines(1))
        return "\n".join(lines) + "\n"


def smaller(body: Sequence[Node]) -> Iterator[list[Node]]:
    """Bodies with one thing less: a run of statements gone, a compound replaced by one of its bodies, or its body
    smaller.
    """
    count = len(body)
    width = count // 2
    while width >= 1:
        for start in range(0, count - width + 1, width):
            gone = body[start : start + width]
            ends = any("return" in line for n in gone for line in n.lines(0))
            if not any(n.is_kept for n in gone) and (not ends or start + width < count):
                yield [*body[:start], *body[start + width :]]
        width //= 2
    for i, node in enumerate(body):
        if isinstance(node, Compound):
            for j, inner in enumerate(node.bodies):
                yield [*body[:i], *node.before, *inner, *body[i + 1 :]]
                for less in smaller(inner):
                    bodies = [*node.bodies[:j], less, *node.bodies[j + 1 :]]
                    yield [*body[:i], replace(node, bodies=bodies), *body[i + 1 :]]


def unused(words: Iterable[str], texts: Iterable[str]) -> list[str]:
    """The words that none of many texts has; the texts are asked for until all are found.

    >>> unused(["while", "with"], (text for text in ["while n:", "for i in x:"]))
    ['with']
    """
    left = list(words)
    for text in texts:
        left = [word for word in left if word not in text]
        if not left:
            break
    return left
