"""Time and counts of all that a thread calls between two moments, line by line.

>>> import flambeau
>>> unit = flambeau.CompilationUnit("def f(n: int):\\n  s = 0\\n  for i in range(n):\\n    s += i\\n  return s")
>>> profile = _ScriptProfile()
>>> profile.enable()
>>> unit.f(10), unit.f(5)
(45, 10)
>>> profile.disable()
>>> [line.hits for line in profile.lines if line.line == 4]
[15]
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from flambeau.executor.executor import Executor
from flambeau.executor.ledger import LineCost, Profile
from flambeau.executor.profile import profile
from flambeau.executor.recording import Recorder, local
from flambeau.schema.opdef import OpDef
from flambeau.tensor.dispatch import intercepting, uninterrupted

NAME = "all calls"


class _Active(threading.local):
    profiles: tuple[_ScriptProfile, ...] = ()
    block: Any = None
    """The interception that makes calls come by here."""
    before: Recorder | None = None
    """Who ran functions before."""


_active = _Active()


class _ScriptProfile:
    """Profiles each call of a compiled function that this thread makes between `enable()` and `disable()`.

    Each call is what `fn.profile(*args)` is of one function: counts are exact, and made by code of its own. Several may
    be active, one within another or not; each has what ran while it was. Functions of the reference backend run, but
    tell no times.
    """

    def __init__(self) -> None:
        self._calls: list[Profile] = []

    def enable(self) -> None:
        """Begin. A second time changes nothing."""
        if self in _active.profiles:
            return
        if not _active.profiles:
            _active.block = intercepting(_unchanged)
            _active.block.__enter__()
            _active.before, local.recorder = local.recorder, _record
        _active.profiles = (*_active.profiles, self)

    def disable(self) -> None:
        """End. What was seen stays, and more comes to it if it is enabled again."""
        if self not in _active.profiles:
            return
        _active.profiles = tuple(p for p in _active.profiles if p is not self)
        if not _active.profiles:
            _active.before, local.recorder = None, _active.before
            block, _active.block = _active.block, None
            block.__exit__(None, None, None)

    @property
    def lines(self) -> tuple[LineCost, ...]:
        """All lines of the functions that ran, in order of files and lines, with the sums of all calls."""
        lines: dict[tuple[str, int], LineCost] = {}
        for cost in (line for call in self._calls for line in call.lines):
            key = (cost.filename, cost.line)
            known = lines.get(key)
            hits, seconds = (known.hits, known.seconds) if known is not None else (0, 0.0)
            lines[key] = LineCost(*key, cost.source, hits + cost.hits, seconds + cost.seconds)
        return tuple(lines[key] for key in sorted(lines))

    def dump_string(self) -> str:
        """A table beside the source; empty if nothing ran."""
        if not self._calls:
            return ""
        return str(Profile(NAME, sum(call.seconds for call in self._calls), self.lines, (), None))

    def dump(self) -> None:
        """Print the table."""
        print(self.dump_string())


def _unchanged(definition: OpDef, arguments: Sequence[Any], proceed: Callable[[Sequence[Any]], Any]) -> Any:
    return proceed(arguments)


def _record(executor: Executor, arguments: Sequence[Any]) -> Any:
    profiles = _active.profiles
    with uninterrupted():
        if executor.options.backend == "reference":
            return executor(*arguments)
        measured = profile(executor, arguments)
    for each in profiles:
        each._calls.append(measured)
    return measured.result
