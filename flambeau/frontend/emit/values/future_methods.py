"""Futures in programs: what can be asked of one, and the functions that wait for several.

task.done()    →    %d : bool = ^done(%task)            wait_all(tasks)    →    %r : int[] = ^wait_all(%tasks)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.frontend.emit.values.special_methods import WaitMethod
from flambeau.frontend.emit.values.sugared import Emitter, Given, Sugared
from flambeau.ir.graph import Value
from flambeau.schema.types import BOOL, FutureType, ListType
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

Wrap = Callable[[Value], Sugared]
NOT_IN_PROGRAMS: Final = {
    "then": "fork a function that waits for it: `fork(lambda: f(task.wait()))`",
    "add_done_callback": "wait for it, and call the function then",
    "set_result": "Python completes futures; return the value instead",
    "set_exception": "Python completes futures; raise the exception instead",
}
NO_METHOD = "a future in a program has no '{name}': {instead}"
NOT_FUTURES = "{name} expects a list of futures, but this is a {found}"


def future_method(wrap: Wrap, future: Value, name: str, where: SourceRange) -> Sugared | None:
    """`wait`, `value` and `done` of a future; None for names that it does not have.

    Raises CompileError for what only Python may do with one.
    """
    if name in NOT_IN_PROGRAMS:
        raise CompileError(NO_METHOD.format(name=name, instead=NOT_IN_PROGRAMS[name]), where)
    if name == "done":
        return DoneMethod(wrap, future)
    return WaitMethod(wrap, future) if name in ("wait", "value") else None


def _done(future: Any) -> bool:
    return bool(future.done())


@dataclass(slots=True)
class DoneMethod(Sugared):
    """`future.done`."""

    wrap: Wrap
    future: Value

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "method done"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """Whether the task has ended."""
        if args or keywords:
            raise CompileError("done() takes no arguments", where)
        return self.wrap(e.emit("^done", (self.future,), BOOL, callable=_done))


@dataclass(slots=True)
class FutureFunction(Sugared):
    """`wait_all` and `collect_all`: Python's own functions, for futures of one type."""

    wrap: Wrap
    name: str
    python: Any

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return self.name

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """The results of all tasks, or a future of them."""
        arguments = [*args, *(k for k in keywords if k.name == "futures")]
        if len(arguments) != 1 or len(args) + len(keywords) != 1:
            raise CompileError(f"{self.name} expected 1 argument, got {len(args) + len(keywords)}", where)
        type_ = arguments[0].value.static_type
        if not isinstance(type_, ListType) or not isinstance(type_.element, FutureType):
            raise CompileError(NOT_FUTURES.format(name=self.name, found=type_.annotation), arguments[0].where)
        result = FutureType(type_) if self.name == "collect_all" else ListType(type_.element.element)
        return self.wrap(e.emit(f"^{self.name}", (arguments[0].value,), result, callable=self.python))


FUTURE_FUNCTIONS: Final = ("wait_all", "collect_all")
"""How `wait_all` and `collect_all` call themselves in `language_form`."""
