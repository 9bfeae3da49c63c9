"""Text to kernel, line by line; the inverse of ``printer``."""

from __future__ import annotations

import re

from flambeau.codegen.kernel.dtypes import KernelError, element_type
from flambeau.codegen.kernel.nest import (
    Accumulate,
    Buffer,
    Carry,
    Const,
    Extent,
    Kernel,
    Let,
    Load,
    Loop,
    Number,
    Position,
    Running,
    Statement,
    Store,
    Within,
)

_HEAD = re.compile(r"kernel (\w+) \{$")
_BUFFER = re.compile(r"(in|out|scratch) (\w+): (\w+)\[(.*)\](?: (row-major)| like (.+))?$")
_LOOP = re.compile(r"for(?: (.*?))?(?: reduce (.*))? \{$")
_CARRY = re.compile(r"([%\w]+): (\w+) = (\w+)$")
_DEFINE = re.compile(r"([%\w]+): (\w+) = (\w+)(?: (.*))?$")
_ACCESS = re.compile(r"(\w+)\[(.*?)\]$")
_STORE = re.compile(r"store (\w+)\[(.*?)\], (?:(\w+) )?([%\w]+)$")
_ACCUMULATE = re.compile(r"([%\w]+) <- ([%\w]+)(?: at ([%\w]+))?$")


def parse_kernel(text: str) -> Kernel:
    """The kernel that ``text`` describes; raises ``KernelError`` with the line that is wrong."""
    return _Parser(text).kernel()


def _split(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",")) if text else ()


class _Parser:
    def __init__(self, text: str) -> None:
        self.lines = [(n, line.strip()) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
        self.at = 0
        self.buffers: dict[str, Buffer] = {}

    def fail(self, why: str) -> KernelError:
        number, line = self.lines[min(self.at, len(self.lines) - 1)] if self.lines else (0, "")
        return KernelError(f"kernel text, line {number}: {why}: {line!r}")

    @property
    def line(self) -> str:
        if self.at >= len(self.lines):
            raise self.fail("the text ends before the closing brace")
        return self.lines[self.at][1]

    def kernel(self) -> Kernel:
        head = _HEAD.match(self.line)
        if head is None:
            raise self.fail("expected 'kernel NAME {'")
        self.at += 1
        if self.line != "axes" and not self.line.startswith("axes "):
            raise self.fail("expected 'axes ...'")
        axes = _split(self.line[5:])
        self.at += 1
        while (found := _BUFFER.match(self.line)) is not None:
            element_type(found[3])
            like = () if found[5] else _split(found[6]) if found[6] else None
            self.buffers[found[2]] = Buffer(found[2], found[3], found[1], _split(found[4]), like)
            self.at += 1
        body = self.body()
        if self.at != len(self.lines):
            raise self.fail("text after the kernel")
        return Kernel(head[1], axes, tuple(self.buffers.values()), body)

    def body(self) -> tuple[Statement, ...]:
        statements: list[Statement] = []
        while self.line != "}":
            statements.append(self.statement())
        self.at += 1
        return tuple(statements)

    def statement(self) -> Statement:
        line = self.line
        if (found := _LOOP.match(line)) is not None:
            carries = []
            for part in _split(found[2]):
                carry = _CARRY.match(part)
                if carry is None:
                    raise self.fail("expected 'NAME: DTYPE = REDUCER'")
                carries.append(Carry(carry[1], carry[2], carry[3]))
            self.at += 1
            return Loop(_split(found[1]), tuple(carries), self.body())
        statement = self.simple(line)
        self.at += 1
        return statement

    def simple(self, line: str) -> Statement:
        if (found := _STORE.match(line)) is not None:
            return Store(found[1], found[4], self.places(found[1], found[2]), found[3] or "")
        if (found := _ACCUMULATE.match(line)) is not None:
            return Accumulate(found[1], found[2], found[3])
        found = _DEFINE.match(line)
        if found is None:
            raise self.fail("expected a statement")
        name, dtype, op, rest = found[1], found[2], found[3], found[4]
        if op == "const":
            return Const(name, dtype, self.number(rest or ""))
        if op == "position":
            return Position(name, _split(rest))
        if op == "extent":
            return Extent(name, _split(rest))
        if op == "load":
            access = _ACCESS.match(rest or "")
            if access is None:
                raise self.fail("expected 'load BUFFER[AXES]'")
            return Load(name, dtype, access[1], self.places(access[1], access[2]))
        if op == "running":
            return Running(name, dtype, rest or "")
        if op == "within":
            given = _split(rest)
            if len(given) != 2:
                raise self.fail("expected 'within VALUE, AXIS'")
            return Within(name, *given)
        return Let(name, dtype, op, _split(rest))

    def places(self, name: str, axes: str) -> tuple[tuple[str, str], ...]:
        """The axes of an access that values stand for."""
        declared = self.buffers[name].axes if name in self.buffers else ()
        given = _split(axes)
        at = tuple((a, v) for a, v in zip(declared, given, strict=False) if v.startswith("%"))
        back = {v: a for a, v in at}
        self.check_access(name, ", ".join(back.get(v, v) for v in given))
        return at

    def check_access(self, name: str, axes: str) -> None:
        if name not in self.buffers:
            raise self.fail(f"no buffer is called '{name}'")
        declared = self.buffers[name].axes
        if _split(axes) != declared:
            raise self.fail(f"'{name}' is declared with axes [{', '.join(declared)}]")

    def number(self, text: str) -> Number:
        if text in ("true", "false"):
            return text == "true"
        try:
            return int(text)
        except ValueError:
            pass
        try:
            return float(text)
        except ValueError:
            raise self.fail("expected a number") from None
