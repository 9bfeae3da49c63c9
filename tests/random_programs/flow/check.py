"""What a program gives and how it fails, in CPython and on every path."""

from __future__ import annotations

import linecache
import random
import re
import traceback
from collections.abc import Mapping
from typing import Any

import flambeau
from flambeau import nn
from flambeau.util.errors import ScriptError
from tests.random_programs.check import PATHS, compile_source, shrink
from tests.random_programs.model import Program

CALLS = 5
NOT_RAISED = ("an error", "of an operation")
LOST = ("NameError", "UnboundLocalError", "AttributeError")
"""What Python raises for programs that make no sense."""


def arguments(seed: int) -> tuple[Any, ...]:
    """Arguments for the parameters of `generate`."""
    draw = random.Random(seed)
    ints = [draw.randint(-20, 30) for _ in range(draw.choice([0, 1, 2, 3, 5]))]
    word = draw.choice(["", "a", "xyz", "Hello world", "12", "aa-b"])
    return (
        draw.randint(-5, 40),
        draw.randint(0, 9),
        draw.choice([0.0, 0.75, -2.5, 1e3]),
        draw.random() < 0.5,
        word,
        ints,
    )


def outcome(function: Any, given: tuple[Any, ...]) -> Any:
    """The results of a call, or class and message of its error."""
    *rest, ints = given
    try:
        return function(*rest, list(ints))
    except Exception as error:
        return failure(error)


def failure(error: Exception) -> tuple[str, str]:
    """Class and message of an error that the program raised; the language's own errors are worded as they are."""
    if isinstance(error, ScriptError):
        name, _, message = str(error).rpartition("\n")[2].removeprefix("RuntimeError: ").partition(": ")
        return name.rpartition(".")[2], message
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames[-1:] if frame.filename.startswith("<")]
    if not own or not (own[0].line or "").strip().startswith(("raise", "assert")):
        return NOT_RAISED
    return type(error).__name__, str(error.args[0]) if error.args else ""


def entry(namespace: Mapping[str, Any], seed: int) -> Any:
    """What to call: the function `main`, or a new module whose `forward` stands beside its class."""
    if "main" in namespace:
        return namespace["main"]
    base = namespace["Base"]
    made: nn.Module = type("Net", (base,), {"forward": namespace["forward"], "__module__": base.__module__})()
    return made.train(seed % 2 == 0)


def disagreement(program: Program, seed: int, paths: Mapping[str, Mapping[str, Any]] = PATHS) -> str | None:
    """The first path whose outcome is not CPython's, with the difference; None if all agree."""
    filename = f"<generated {seed}>"
    try:
        namespace = compile_source(program.source(), filename)
        calls = [arguments(seed * CALLS + number) for number in range(CALLS)]
        with flambeau.disabled():
            function = entry(namespace, seed)
            wanted = [outcome(function, given) for given in calls]
        for path, options in paths.items():
            try:
                scripted = flambeau.script(entry(namespace, seed), **options)
            except Exception as error:
                return f"{path}: cannot be compiled: {type(error).__name__}: {error}"
            for given, want in zip(calls, wanted, strict=True):
                got = outcome(scripted, given)
                if want != got:
                    return f"{path}, main{given}: expected\n{want!r}, got\n{got!r}"
        return None
    finally:
        linecache.cache.pop(filename, None)


def report(seed: int, program: Program, found: str, *, disagree: Any = disagreement, **how: Any) -> str:
    """What to print of a program that disagrees: the seed, the program made as small as it gets, and how it differs."""

    def is_bad(candidate: Program) -> bool:
        now = disagree(candidate, seed, **how)
        return now is not None and _kind(now) == _kind(found)

    small = shrink(program, is_bad, is_sound=lambda candidate: is_python(candidate, seed))
    own = small.source().removeprefix(small.prelude)
    return f"seed {seed}: {disagree(small, seed, **how) or found}\n\n{own}"


def _kind(found: str) -> str:
    """What tells one finding from another: a program that one path refuses is none that gives other results."""
    refused = re.search("cannot be compiled: (.{30})", found)
    return refused[1] if refused else "died" if "died" in found else "differs"


def is_python(program: Program, seed: int) -> bool:
    """Whether a program runs in CPython: what it names is there."""
    try:
        function = entry(compile_source(program.source(), "<shrinking>"), seed)
    except Exception:
        return False
    for number in range(CALLS):
        *rest, ints = arguments(seed * CALLS + number)
        try:
            if not isinstance(function(*rest, list(ints)), tuple):
                return False
        except Exception as error:
            is_own = failure(error) != NOT_RAISED
            if type(error).__name__ in LOST or "No active exception" in str(error):
                return False
            if isinstance(error, TypeError) and not is_own:
                return False
    return True
