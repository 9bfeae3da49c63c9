"""Text to kernel, line by line; the inverse of ``printer``."""

from __future__ import annotations

import re
from collections.abc import Callable

from flambeau.codegen.kernel import nest
from flambeau.codegen.kernel.dtypes import KernelError, element_type
from flambeau.codegen.kernel.nest import Definition, Kernel, Number, Statement

_HEAD = re.compile(r"kernel (\w+) \{$")
_BUFFER = re.compile(r"(in|out|scratch) (\w+): (\w+)\[(.*)\](?: (row-major)| like (.+))?$")
_LOOP = re.compile(r"for(?: (.*?))?(?: reduce (.*))? \{$")
_SELDOM = re.compile(r"([%\w]+): (\w+) = seldom ([%\w]+) \{$")
_SELDOM_END = re.compile(r"\} ([%\w]+), ([%\w]+)$")
_CARRY = re.compile(r"([%\w]+): (\w+) = (\w+)$")
_DEFINE = re.compile(r"([%\w]+): (\w+) = (\w+)(?: (.*))?$")
_ACCESS = re.compile(r"(\w+)\[(.*?)\]$")
_STORE = re.compile(r"store (\w+)\[(.*?)\], (?:(\w+) )?([%\w]+)$")
_ACCUMULATE = re.compile(r"([%\w]+) <- ([%\w]+)(?: at ([%\w]+))?$")


def parse_kernel(text: str) -> Kernel:
    """The kernel that ``text`` describes; raises ``KernelError`` with the line that is wrong.

    >>> text = ('kernel k {\\n  axes i\\n  out y: float32[i]\\n'
    ...         '  for i {\\n    %0: float32 = const 1.0\\n    store y[i], %0\\n  }\\n}\\n')
    >>> parse_kernel(text).name
    'k'
    """
    return _Parser(text).kernel()


def _split(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",")) if text else ()


class _Parser:
    def __init__(self, text: str) -> None:
        self.lines = [(n, line.strip()) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
        self.at = 0
        self.end = ""
        """The line that closed the last body."""
        self.buffers: dict[str, nest.Buffer] = {}

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
        while (declaration := _BUFFER.match(self.line)) is not None:
            role, name, dtype, buffer_axes, is_row_major, like = declaration.groups()
            element_type(dtype)
            deciding = () if is_row_major else _split(like) if like else None
            self.buffers[name] = nest.Buffer(name, dtype, role, _split(buffer_axes), deciding)
            self.at += 1
        body = self.body()
        if self.at != len(self.lines):
            raise self.fail("text after the kernel")
        return Kernel(head[1], axes, tuple(self.buffers.values()), body)

    def body(self) -> tuple[Statement, ...]:
        statements: list[Statement] = []
        while not self.line.startswith("}"):
            statements.append(self.statement())
        self.end = self.line
        self.at += 1
        return tuple(statements)

    def statement(self) -> Statement:
        line = self.line
        if (head := _LOOP.match(line)) is not None:
            carries = tuple([self.carry(part) for part in _split(head[2])])
            self.at += 1
            return nest.Loop(_split(head[1]), carries, self.body())
        if (head := _SELDOM.match(line)) is not None:
            self.at += 1
            body, end = self.body(), _SELDOM_END.match(self.end)
            if end is None:
                raise self.fail("expected '} VALUE, OTHERWISE' before")
            return nest.Seldom(head[1], head[2], head[3], body, end[1], end[2])
        statement = self.simple(line)
        self.at += 1
        return statement

    def carry(self, text: str) -> nest.Carry:
        match = _CARRY.match(text)
        if match is None:
            raise self.fail("expected 'NAME: DTYPE = REDUCER'")
        return nest.Carry(*match.groups())

    def simple(self, line: str) -> Statement:
        """A statement on one line."""
        if (store := _STORE.match(line)) is not None:
            buffer, axes, op, value = store.groups()
            return nest.Store(buffer, value, self.indexes(buffer, axes), op or "")
        if (accumulate := _ACCUMULATE.match(line)) is not None:
            return nest.Accumulate(*accumulate.groups())
        definition = _DEFINE.match(line)
        if definition is None:
            raise self.fail("expected a statement")
        name, dtype, op, rest = definition.groups(default="")
        special = _DEFINITIONS.get(op)
        return nest.Let(name, dtype, op, _split(rest)) if special is None else special(self, name, dtype, rest)

    # --- definitions that are no operations on values

    def const(self, name: str, dtype: str, rest: str) -> nest.Const:
        return nest.Const(name, dtype, self.number(rest))

    def position(self, name: str, _dtype: str, rest: str) -> nest.Position:
        return nest.Position(name, _split(rest))

    def extent(self, name: str, _dtype: str, rest: str) -> nest.Extent:
        return nest.Extent(name, _split(rest))

    def load(self, name: str, dtype: str, rest: str) -> nest.Load:
        access = _ACCESS.match(rest)
        if access is None:
            raise self.fail("expected 'load BUFFER[AXES]'")
        return nest.Load(name, dtype, access[1], self.indexes(access[1], access[2]))

    def running(self, name: str, dtype: str, rest: str) -> nest.Running:
        return nest.Running(name, dtype, rest)

    def within(self, name: str, _dtype: str, rest: str) -> nest.Within:
        operands = _split(rest)
        if len(operands) != 2:
            raise self.fail("expected 'within VALUE, AXIS'")
        return nest.Within(name, *operands)

    def indexes(self, name: str, axes: str) -> tuple[tuple[str, str], ...]:
        """The axes of an access that values stand for."""
        declared = self.buffers[name].axes if name in self.buffers else ()
        written = _split(axes)
        at = tuple((a, v) for a, v in zip(declared, written, strict=False) if v.startswith("%"))
        back = {v: a for a, v in at}
        self.check_access(name, ", ".join(back.get(v, v) for v in written))
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


_DEFINITIONS: dict[str, Callable[[_Parser, str, str, str], Definition]] = {
    "const": _Parser.const,
    "position": _Parser.position,
    "extent": _Parser.extent,
    "load": _Parser.load,
    "running": _Parser.running,
    "within": _Parser.within,
}
"""By the word after the type, what makes a definition of name, type and the rest of its line."""
