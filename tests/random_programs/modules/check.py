"""Runs a generated module eagerly and scripted, on every path, and says where results or the state afterwards differ."""

from __future__ import annotations

import linecache
from collections.abc import Mapping, Sequence
from typing import Any

import flambeau
from flambeau import nn
from tests.random_programs import check
from tests.random_programs.model import Program

ATTRIBUTES = (
    "count", "weight", "name", "marks", "table", "pair", "seen", "training", "scale.calls", "scale.limit", "scale.factor",
    "shift.amount", "pick.history", "pick.steps.0.calls", "pick.steps.0.factor", "pick.named.far.calls",
)  # fmt: skip
"""What calls may change."""


def make(source: str, filename: str, is_training: bool) -> nn.Module:
    """A new module of the program."""
    namespace = check.compile_source(source, filename)
    base = namespace["Base"]
    made: nn.Module = type("Net", (base,), {"forward": namespace["forward"], "__module__": base.__module__})()
    return made.train(is_training)


def state(module: Any) -> dict[str, Any]:
    """The values of what calls may change."""
    found = {}
    for path in ATTRIBUTES:
        value = module
        for part in path.split("."):
            value = getattr(value, part)
        found[path] = value.detach() if isinstance(value, flambeau.Tensor) else value
    return found


def disagreement(
    program: Program, seed: int, paths: Mapping[str, Mapping[str, Any]] = check.PATHS, given: Sequence[int] = (0, 0, 1)
) -> str | None:
    """The first path on which calls of the scripted module give other results than the eager one's, or leave another
    state; None if all agree. The module is called once for each of `given`, with the arguments of `seed` plus that.
    """
    filename, source, is_training = f"<generated {seed}>", program.source(), seed % 3 == 0
    try:
        eager = make(source, filename, is_training)
        calls = [check.arguments(seed + number) for number in given]
        wanted = [check.outcome(eager, values) for values in calls]
        after = state(eager)
        for path, options in paths.items():
            try:
                scripted: Any = flambeau.script(make(source, filename, is_training), **options)
            except Exception as error:
                return f"{path}: cannot be compiled: {type(error).__name__}: {error}"
            for call, (values, want) in enumerate(zip(calls, wanted, strict=True)):
                found = check.difference(want, check.outcome(scripted, values))
                if found is not None:
                    return f"{path}, call {call}: {found}"
            for name, value in state(scripted).items():
                found = check.difference(after[name], value)
                if found is not None:
                    return f"{path}: self.{name} afterwards: {found}"
        return None
    finally:
        linecache.cache.pop(filename, None)


def report(seed: int, program: Program, found: str, *, disagree: Any = disagreement, **how: Any) -> str:
    """What to print of a module that disagrees, made as small as it gets."""
    small = check.shrink(program, lambda p: disagree(p, seed, **how) is not None, is_sound=_is_sound)
    return f"seed {seed}: {disagree(small, seed, **how) or found}\n\n{small.source()}"


def _is_sound(program: Program) -> bool:
    """Whether the module still runs eagerly; taking away a definition may break it."""
    try:
        result = make(program.source(), "<shrinking>", False)(*map(check.copy, check.arguments(0)))
    except Exception:
        return False
    return isinstance(result, tuple)
