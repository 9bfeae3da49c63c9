"""The control flow around the statement that is being emitted: loops, `with`s, `try`s, and its function's returns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from flambeau.frontend.emit.frames import Frame, Variable
from flambeau.frontend.scopes.captured_names import Name
from flambeau.frontend.trees.tree_base import Tree
from flambeau.ir.graph import Node, Value
from flambeau.schema.types import Type
from flambeau.util.record import dataclass, field

S = TypeVar("S")


@dataclass(slots=True)
class LoopState(Generic[S]):
    """The loop around a statement. `emit_condition` emits its test for the next iteration; None if unrolled."""

    emit_condition: Callable[[], Value] | None
    contexts: int = 0
    """How many objects were entered outside the loop."""
    outside: Frame[S] | None = None
    """The scope around the loop."""
    breaks: list[dict[Name, Variable]] = field(default_factory=list)
    """For each `break`, what variables of the loop's own are defined there."""
    leaves: Variable | None = None
    """What a `break` sets, because it leaves a generator that is inlined around the body."""
    contexts_around: int | None = None
    """How many objects were entered outside of that generator."""


@dataclass(slots=True)
class Generated:
    """The list that a generator's values go to, and the values and nodes whose types wait for the first one."""

    result: Value
    element: Type | None
    values: list[Value] = field(default_factory=list)
    appends: list[Value] = field(default_factory=list)


@dataclass(slots=True)
class Stops:
    """A generator that stops at each `yield`: the type of item that it declares, and the types of those it yields."""

    element: Type | None
    yielded: list[Type] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Entry(Generic[S]):
    """A loop, or the body of a `try`, around what is being emitted."""

    tree: Tree
    outside: Frame[S]
    """The scope that it stands in; for a `try`, that of its own body."""


@dataclass(kw_only=True, slots=True)
class Flow(Generic[S]):
    """The control flow around a statement of one function; a function that is inlined has a flow of its own."""

    declared_return: Type | None = None
    """What the signature says; None if it says nothing."""
    merged_return: Type | None = None
    """What the return statements so far have in common."""
    array_result: Type | None = None
    """What the returns so far have in common, where they give arrays."""
    wrap_return: Callable[[Value], Value] | None = None
    """What the body of a `try` makes of a value that it returns from the function around it."""
    generator: Any = None
    """What a generator has yielded (`Generated`, `Stops`), or is inlined for (`Expansion`); None in other functions."""
    loop: LoopState[S] | None = None
    last_loop: tuple[Node, LoopState[S]] | None = None
    """The loop that was emitted last."""
    exits: set[int] | None = None
    """The `break`s and `continue`s that leave the body of a `try`; None where there is no loop around it."""
    caught: Value | None = None
    """The exception whose handler this is."""
    contexts: list[Value] = field(default_factory=list)
    """The objects of the `with` statements around a statement, outermost first."""
    entries: list[Entry[S]] = field(default_factory=list)
    """The loops and bodies of `try` around a statement, outermost first."""

    def inlined(self, generator: Any = None) -> Flow[S]:
        """The flow of a function that is inlined here: in the same `with`s and loops, with returns of its own."""
        return Flow(generator=generator, contexts=self.contexts, entries=self.entries)

    @contextmanager
    def inside_loop(self, loop: LoopState[S]) -> Iterator[None]:
        """Emit the body of a loop."""
        before, self.loop = self.loop, loop
        try:
            yield
        finally:
            self.loop = before

    @contextmanager
    def inside_handler(self, caught: Value) -> Iterator[None]:
        """Emit the handler of an exception."""
        before, self.caught = self.caught, caught
        try:
            yield
        finally:
            self.caught = before

    @contextmanager
    def inside_contexts(self, entered: list[Value]) -> Iterator[None]:
        """Emit the body of a `with` that entered these objects."""
        self.contexts += entered
        try:
            yield
        finally:
            del self.contexts[len(self.contexts) - len(entered) :]
