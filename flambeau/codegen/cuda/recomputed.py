"""Scratch rows computed again where they are read: what memory for a column would cost is more than what it saves.

    for r { %1 = load x[r, c]; %2 = exp %1; store s[r], %2; t <- %2 }     for r { ...; t <- %2 }
    for r { %4 = load s[r]; %5 = div %4, t; store y[r, c], %5 }       →   for r { %1' = load x[r, c]; %2' = exp %1' ...}
"""

from __future__ import annotations

from typing import TypeAlias

from flambeau.codegen.kernel.nest import Const, Kernel, Let, Load, Loop, Position, Statement, Store
from flambeau.util.record import replace

Definition: TypeAlias = Const | Let | Load | Position
Known: TypeAlias = "dict[str, tuple[tuple[str, ...], tuple[Definition, ...], str]]"
"""By scratch buffer: the axes of the loop that fills it, the statements for an element, the value's name."""


def recomputed(kernel: Kernel) -> Kernel | None:
    """The same kernel without scratch; None where a row holds what its readers cannot compute."""
    known: Known = {}
    scratch = {b.name for b in kernel.scratch}

    def changed(body: tuple[Statement, ...], suffix: list[int]) -> tuple[Statement, ...] | None:
        result: list[Statement] = []
        for s in body:
            if isinstance(s, Loop):
                inside = changed(s.body, suffix) if _is_outer(s, scratch) else _loop_body(s, known, scratch, suffix)
                if inside is None:
                    return None
                result.append(replace(s, body=inside))
            else:
                result.append(s)
        return tuple(result)

    body = changed(kernel.body, [0])
    if body is None:
        return None
    return replace(kernel, buffers=tuple(b for b in kernel.buffers if b.role != "scratch"), body=body)


def _is_outer(loop: Loop, scratch: set[str]) -> bool:
    """Whether a loop has loops inside, and touches no scratch itself."""
    touches = any(isinstance(s, Load | Store) and s.buffer in scratch for s in loop.body)
    return not touches and any(isinstance(s, Loop) for s in loop.body)


def _loop_body(loop: Loop, known: Known, scratch: set[str], suffix: list[int]) -> tuple[Statement, ...] | None:
    """The body with what scratch would hold computed, and nothing stored there."""
    result: list[Statement] = []
    names: dict[str, str] = {}
    """What stands for a value that was loaded from scratch."""
    for s in loop.body:
        if isinstance(s, Load) and s.buffer in scratch:
            definition = known.get(s.buffer)
            if definition is None or definition[0] != loop.axes:
                return None
            suffix[0] += 1
            again = _renamed(definition[1], f".{suffix[0]}")
            result += again
            names[s.name] = f"{definition[2]}.{suffix[0]}"
        elif isinstance(s, Store) and s.buffer in scratch:
            value = names.get(s.value, s.value)
            statements = _needed(result, value)
            if statements is None:
                return None
            known[s.buffer] = loop.axes, statements, value
        else:
            result.append(_with_names(s, names))
    return tuple(result)


def _needed(body: list[Statement], value: str) -> tuple[Definition, ...] | None:
    """The definitions among these that a value is made of; None where one is no function of the element alone."""
    wanted = {value}
    needed: list[Definition] = []
    for s in reversed(body):
        if getattr(s, "name", "") in wanted:
            if not isinstance(s, Const | Let | Load | Position) or (isinstance(s, Load) and s.at):
                return None
            wanted |= set(s.args) if isinstance(s, Let) else set()
            needed.insert(0, s)
    return tuple(needed)


def _renamed(statements: tuple[Definition, ...], suffix: str) -> tuple[Statement, ...]:
    own = {s.name: s.name + suffix for s in statements}
    return tuple([_with_names(replace(s, name=own[s.name]), own) for s in statements])


def _with_names(s: Statement, names: dict[str, str]) -> Statement:
    """A statement that uses other names."""
    if not names:
        return s
    changes: dict[str, object] = {}
    for field in ("value", "position"):
        if getattr(s, field, None) in names and not isinstance(s, Const):
            changes[field] = names[getattr(s, field)]
    if isinstance(s, Let):
        changes["args"] = tuple(names.get(a, a) for a in s.args)
    return replace(s, **changes) if changes else s  # type: ignore[arg-type]
