"""What is being compiled right now, and what is done to every function once it is."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from flambeau.frontend.scopes.name_resolution import recursion_error
from flambeau.ir.graph import Graph
from flambeau.passes import constant_pooling, constant_propagation, dce, inline
from flambeau.program.function import Function
from flambeau.schema.function import FunctionSchema
from flambeau.util.errors import CompileError
from flambeau.util.source import SourceRange

OTHER_RESULT: Final = (
    "{name} calls itself, and gives {before} in the returns that are literals or parameters, {after} in all: declare "
    "what it returns"
)


class _Active(threading.local):
    """The functions being compiled on this thread, outermost first."""

    stack: tuple[Any, ...] = ()
    waiting: tuple[Callable[[], object], ...] = ()
    """What is done when the outermost of them is compiled."""
    is_inlining: bool = False
    """Whether calls are inlined into what is compiled."""
    promised: dict[Any, Function]
    """Those that are called already, by themselves or by each other: what calls them has to hold the very object."""

    def __init__(self) -> None:
        self.promised = {}


_active = _Active()


@contextmanager
def compiling(key: Any, name: str, where: SourceRange | None) -> Iterator[None]:
    """Note that something is being compiled. Raises CompileError if it is already: it calls itself."""
    if key in _active.stack:
        raise recursion_error(name, where)
    before, _active.stack = _active.stack, (*_active.stack, key)
    try:
        yield
        if not before:
            _do_what_waits()
    finally:
        _active.stack = before
        if not before:
            _active.waiting = ()


def _do_what_waits() -> None:
    while _active.waiting:
        first, *rest = _active.waiting
        _active.waiting = tuple(rest)
        first()


def afterwards(action: Callable[[], object]) -> None:
    """Do something once what is being compiled on this thread is done, or now if nothing is."""
    if not _active.stack:
        action()
    else:
        _active.waiting = (*_active.waiting, action)


def is_compiling(key: Any) -> bool:
    """Whether something is being compiled on this thread."""
    return key in _active.stack


def promise(key: Any, name: str, schema: Callable[[], FunctionSchema | None]) -> Function | None:
    """A function that is being compiled, for those that call it meanwhile: so far what its declaration says of it.

    None for one that is not being compiled, or that does not declare what it returns.
    """
    if key not in _active.stack:
        return None
    if key not in _active.promised:
        declared = schema()
        if declared is None:
            return None
        _active.promised[key] = Function(name, Graph(declared.name), declared)
    return _active.promised[key]


def kept(
    key: Any, result: Callable[[], Function], where: Callable[[], SourceRange | None] = lambda: None
) -> Function:  # fmt: skip
    """The function that `result` compiles; where it was promised, the promised object becomes it.

    Raises CompileError, with the place that `where` gives, for one that returns something else than was promised.
    """
    try:
        function = result()
    finally:
        promised = _active.promised.pop(key, None)
    if promised is None:
        return function
    before, after = (f.schema.returns[0].type for f in (promised, function))
    if before != after:
        text = OTHER_RESULT.format(name=function.short_name, before=before.annotation, after=after.annotation)
        raise CompileError(text, where())
    promised.graph, promised.schema = function.graph, function.schema
    return promised


def is_inlining() -> bool:
    """Whether graphs that this thread compiles have, in the place of calls, what is called."""
    return _active.is_inlining


def set_inlining(enabled: bool) -> None:
    """Have graphs that this thread compiles from here on with calls, or with what is called in their place."""
    _active.is_inlining = bool(enabled)


def tidy(function: Function) -> None:
    """Compute what is known already, leave out what the program does not need, and name each constant once, so that its
    graph reads well.
    """
    _tidy(function)
    if _active.is_inlining:
        afterwards(lambda: _inline(function))  # what is called may be compiled now, too


def _inline(function: Function) -> None:
    if inline.do(function.graph):
        _tidy(function)


def _tidy(function: Function) -> None:
    constant_propagation.do(function.graph, values_only=True)
    dce.do(function.graph)
    constant_pooling.do(function.graph)
