"""`print`, and the streams that it writes to.

print(a, b)                                 →    prim::Print(%a, %b)
print(a, b, sep=",", file=sys.stderr)       →    python::print_stderr(",", "\\n", False, %a, %b)
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Final

from flambeau.frontend.emit.call_expressions import emit_arguments
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.operator_arguments import printed
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Given, Sugared
from flambeau.frontend.trees.tree_views import Apply, NoneLit
from flambeau.ir.graph import Value
from flambeau.schema.types import BOOL, NONE, STRING, Type
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass, replace
from flambeau.util.source import SourceRange

REFUSED = (
    "print doesn't accept any keyword arguments but sep and end, which are strings, flush, which is a bool, and file, "
    "which is sys.stdout or sys.stderr: {found}"
)
NOT_A_STREAM = (
    "A program writes to sys.stdout and sys.stderr alone; return the text, or write it in a function marked with "
    "jit.ignore"
)
DEFAULTS: Final[dict[str, Any]] = {"sep": " ", "end": "\n", "flush": False}


class PrintFunction(Sugared):
    """`print`."""

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "print"

    def call_tree(self, e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
        """A node that prints, to the stream that `file` is."""
        where, stream = tree.callee.range, "stdout"
        for keyword in tree.keywords:
            if keyword.name == "file" and not isinstance(keyword.value, NoneLit):
                meaning = e.sugared(keyword.value)
                if not isinstance(meaning, StreamValue):
                    raise CompileError(REFUSED.format(found=f"file is a {meaning.kind}. {NOT_A_STREAM}"), where)
                stream = meaning.name
        rest = replace(tree, keywords=tuple(k for k in tree.keywords if k.name != "file"))
        args, keywords = emit_arguments(e, rest)
        return self._printed(e, where, args, keywords, stream)

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A node that prints."""
        return self._printed(e, where, args, keywords, "stdout")

    def _printed(
        self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given], stream: str
    ) -> Sugared:
        texts = [printed(e, where, a.value) for a in args]
        passed = {k.name: _option(k, where) for k in keywords}
        options = [passed.get(n) or e.constant(default) for n, default in DEFAULTS.items()]
        if stream == "stdout" and not passed:
            e.insert("prim::Print", texts)
        else:
            sep, end, flush = options
            e.insert(_operator("print", stream), [sep, end, flush, *texts])
        return SimpleValue(e.constant(None))


def _operator(name: str, stream: str) -> str:
    """Each stream has operators of its own: what they may do is declared of operators."""
    return f"python::{name}" if stream == "stdout" else f"python::{name}_{stream}"


def _option(keyword: Given, where: SourceRange) -> Value | None:
    """What a keyword says; None where it says None, which stands for the default."""
    name, type_ = keyword.name, keyword.value.static_type
    if name not in DEFAULTS:
        raise CompileError(REFUSED.format(found=f"'{name}' is none of them"), where)
    if type_ == NONE and name != "flush":
        return None
    if type_ != (BOOL if name == "flush" else STRING):
        raise CompileError(REFUSED.format(found=f"'{name}' is of type {type_.annotation}"), where)
    return keyword.value


@dataclass(slots=True)
class StreamValue(Sugared):
    """`sys.stdout` or `sys.stderr`: the one that has that name when the program runs."""

    name: str

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return f"sys.{self.name}"

    def attribute(self, e: Emitter, where: SourceRange, name: str) -> Sugared:
        """`write` and `flush`."""
        if name in ("write", "flush"):
            return _StreamMethod(self.name, name)
        raise CompileError(f"sys.{self.name} has write and flush here, and no '{name}'. {NOT_A_STREAM}", where)

    def has_attribute(self, e: Emitter, where: SourceRange, name: str) -> bool:
        """Whether the stream has it."""
        return hasattr(getattr(sys, self.name), name)


@dataclass(slots=True)
class _StreamMethod(Sugared):
    stream: str
    name: str

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "method"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A node that writes, or lets out what was written."""
        return SimpleValue(call_operator(e, where, _operator(self.name, self.stream), args, keywords))


def stream_value(value: Any) -> StreamValue | None:
    """What one of the standard streams is in a program; None for everything else."""
    for name in ("stdout", "stderr"):
        if value is getattr(sys, name) or value is getattr(sys, f"__{name}__"):
            return StreamValue(name)
    return None
