"""A loop nest as schedules see it: its statements, what they are called, and where they lie."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar

from flambeau.te.build import in_order, statements_for
from flambeau.te.errors import ScheduleError
from flambeau.te.expressions import Var
from flambeau.te.linear import variables
from flambeau.te.proofs import Known
from flambeau.te.statements import (
    VECTOR,
    Allocate,
    Body,
    Loop,
    Statement,
    Store,
    When,
    expressions_of,
    loops_of,
    path_to,
    stores,
    walk,
)
from flambeau.te.tensors import Tensor
from flambeau.te.text import nest_text
from flambeau.util.record import dataclass

LoopName: TypeAlias = "Loop | Var | str"
"""A loop, its index, or its name."""
P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a schedule."""

    call: str
    """As it was written, more or less."""
    text: str
    """The nest after it."""


class Nest:
    """The statements of some tensors, with fresh names for loops and memory."""

    def __init__(self, outputs: Tensor | Sequence[Tensor]) -> None:
        results = [outputs] if isinstance(outputs, Tensor) else list(outputs)
        _check_outputs(results)
        self.tensors = in_order(results)
        """Placeholders and computed tensors, each after what it reads."""
        self.outputs = results
        self._names: set[str] = {v.name for t in self.tensors for v in _numbers_of(t)}
        for t in self.tensors:
            if self.fresh(t.name) != t.name:
                raise ScheduleError(f"two tensors of the nest are called {t.name}; give each a name of its own")
        self.bodies = {t: t.body for t in self.tensors if t.body is not None}
        """The expressions of tensors, in which those that were put in place are no longer read."""
        self.body: Body = []
        for t in self.tensors:
            if t.body is not None and t not in results:
                self.body.append(Allocate(t.buffer))
        for t in self.tensors:
            if t.body is not None:
                self.body += statements_for(t, self.fresh)
        self.steps: list[Step] = [Step("LoopNest", str(self))]
        """What the schedule did so far, with the text of the nest after each step."""

    @property
    def inputs(self) -> list[Tensor]:
        """The placeholders, in the order in which they were defined."""
        return sorted((t for t in self.tensors if t.is_placeholder), key=lambda t: t.number)

    def __str__(self) -> str:
        buffers = [[t.buffer for t in ts] for ts in (self.inputs, self.outputs)]
        return nest_text(buffers[0], buffers[1], self.body)

    __repr__ = __str__

    def history(self) -> str:
        """Every step of the schedule with the nest after it."""
        return "\n".join(f"# {step.call}\n{step.text}" for step in self.steps)

    # --- names and places

    def fresh(self, name: str) -> str:
        """The name, with a number behind it where something is called so already."""
        stem, number, unused = re.sub(r"_\d+$", "", name), 0, name
        while unused in self._names:
            number += 1
            unused = f"{stem}_{number}"
        self._names.add(unused)
        return unused

    def release(self, body: Body) -> None:
        """Let the names of loops that are no longer in the nest be used again."""
        self._names -= {loop.name for loop in loops_of(body)}

    def loop(self, named: LoopName) -> Loop:
        """The loop of that name. Raises ScheduleError where the nest has none."""
        all_loops = loops_of(self.body)
        for loop in all_loops:
            if named is loop or named is loop.var or named == loop.name:
                return loop
        names = ", ".join(loop.name for loop in all_loops) or "none"
        name = named if isinstance(named, str) else getattr(named, "name", named)
        is_other = isinstance(named, Loop | Var)
        why = "names no loop of the nest"
        if is_other:
            why = "is a loop of another nest, or one that a step before replaced"
        raise ScheduleError(f"{name} {why}; its loops are {names}")

    def loops(self, tensor: Tensor | str | None = None) -> list[Loop]:
        """The loops in which a tensor's elements get their values, outermost first; all loops for None.

        Raises ScheduleError for a tensor that the nest does not compute.
        """
        if tensor is None:
            return loops_of(self.body)
        t = self.tensor(tensor)
        return [s for s in self.path(self.main_store(t)) if isinstance(s, Loop)]

    def tensor(self, tensor: Tensor | str) -> Tensor:
        """The computed tensor of that name. Raises ScheduleError where the nest computes none."""
        computed = [t for t in self.tensors if not t.is_placeholder]
        for t in computed:
            if t is tensor or t.name == tensor:
                return t
        names = ", ".join(t.name for t in computed)
        name = tensor if isinstance(tensor, str) else tensor.name
        raise ScheduleError(f"{name} is not computed in this nest; it computes {names}")

    def main_store(self, t: Tensor) -> Store:
        """The store that gives a tensor its values, that of a reduction's loop where there is one."""
        own = [s for s in stores(self.body) if s.tensor is t]
        if not own:
            raise ScheduleError(f"{t.name} has no loops any more: a step before put its expression where it is read")
        return next((s for s in own if s.reducer), own[0])

    def path(self, s: Statement) -> list[Loop | When]:
        """What a statement lies in, outermost first."""
        around = path_to(self.body, s)
        assert around is not None, s
        return around

    def container(self, s: Statement) -> Body:
        """The list that a statement stands in."""
        path = self.path(s)
        return path[-1].body if path else self.body

    def put(self, s: Statement, others: Sequence[Statement]) -> None:
        """Put others in the place of a statement."""
        body = self.container(s)
        at = next(k for k, one in enumerate(body) if one is s)
        body[at : at + 1] = others

    def check_memory_in(self, loop: Loop) -> None:
        """Raise ScheduleError for a loop that lies in a vector, whose lanes would share local memory."""
        for around in self.path(loop):
            if isinstance(around, Loop) and around.kind == VECTOR:
                raise ScheduleError(
                    f"{loop.name} lies in {around.name}, which is a vector: memory there would be one for all its "
                    f"lanes; take this step first, then vectorize a loop inside"
                )

    def known_at(self, s: Statement) -> Known:
        """What is known of indices where a statement stands."""
        known = Known({})
        for around in self.path(s):
            if isinstance(around, Loop):
                known = known.inside(around.var, around.start, around.stop)
            else:
                known = known.under(around.condition)
        return known

    def sizes(self) -> list[Var]:
        """The variables that no loop has, in the order in which they were defined: sizes and numbers of calls."""
        shapes = [e for t in (*self.inputs, *self.outputs) for e in t.shape]
        used = {v for e in [*shapes, *(e for s in walk(self.body) for e in expressions_of(s))] for v in variables(e)}
        return sorted(used - {loop.var for loop in loops_of(self.body)}, key=lambda v: v.number)


def _numbers_of(t: Tensor) -> set[Var]:
    """The variables of a tensor that are no axes of it."""
    body = set() if t.body is None else variables(t.body)
    sizes = {v for e in (*t.shape, *(size for _, size in t.reduced)) for v in variables(e)}
    return (body | sizes) - {*t.axes, *(v for v, _ in t.reduced)}


def _check_outputs(outputs: list[Tensor]) -> None:
    if not outputs:
        raise ScheduleError("a loop nest computes something: give a tensor, or several")
    for t in outputs:
        if not isinstance(t, Tensor):
            raise ScheduleError(f"a loop nest computes tensors of te.compute and te.reduce, got {type(t).__name__}")
        if t.is_placeholder:
            raise ScheduleError(
                f"{t.name} is a placeholder, which calls give: a nest computes te.compute and te.reduce"
            )


def step(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """A method that is a step of a schedule: what it did is kept in `steps`."""

    @wraps(method)
    def recorded(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        shown = [_shown(a) for a in args] + [f"{name}={_shown(a)}" for name, a in kwargs.items()]
        result = method(self, *args, **kwargs)
        self.steps.append(Step(f"{method.__name__}({', '.join(shown)})", str(self)))
        return result

    return recorded


def _shown(argument: object) -> str:
    return str(getattr(argument, "name", argument))
