"""What a thread has asked of the profiling executor: whether it is on, how many runs it counts, what guards ask for.

>>> Settings(is_on=True, strategy=(("STATIC", 1), ("DYNAMIC", 2))).depth
3
>>> [Settings(strategy=(("STATIC", 1), ("DYNAMIC", 1))).guard_at(level) for level in range(3)]
['STATIC', 'DYNAMIC', '']
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.executor.recording import Recorder
from flambeau.executor.recording import local as recording
from flambeau.schema.opdef import OpDef
from flambeau.tensor.interceptors import NOBODY, Standing
from flambeau.tensor.observer import thread
from flambeau.util.record import dataclass

STATIC: Final = "STATIC"
"""Guards that ask for the sizes and strides that were seen."""
DYNAMIC: Final = "DYNAMIC"
"""Guards that ask for the dtype and the rank alone."""
WORDS: Final = (STATIC, DYNAMIC)
STRATEGY: Final = ((STATIC, 2), (DYNAMIC, 10))


@dataclass(frozen=True, slots=True)
class Settings:
    """How calls of a thread are planned."""

    is_on: bool = False
    """Whether calls are profiled and specialised on what was seen, in the place of plans by argument specification."""
    has_mode: bool = True
    """Whether runs are counted: without it there is nothing to specialise on."""
    runs: int = 1
    """Runs that record before a function is specialised."""
    strategy: tuple[tuple[str, int], ...] = STRATEGY
    """Guards to be made one within the fallback of another: kinds, each with how often it is made."""
    fuses: bool = True
    """Whether there are groups at all."""
    folds: bool = True
    """Whether groups take reductions."""

    @property
    def is_usual(self) -> bool:
        """Whether calls are planned as functions themselves say."""
        return self.fuses and not self.is_profiling

    @property
    def is_profiling(self) -> bool:
        """Whether runs are counted and specialised on."""
        return self.is_on and self.has_mode

    @property
    def depth(self) -> int:
        """How many guards there may be one within the fallback of another."""
        return sum(count for _, count in self.strategy)

    def guard_at(self, level: int) -> str:
        """What the guard at a level of fallbacks asks for; empty behind the last."""
        for word, count in self.strategy:
            if level < count:
                return word
            level -= count
        return ""


class _Local(threading.local):
    settings: Settings = Settings()


_local = _Local()


def settings() -> Settings:
    """This thread's."""
    return _local.settings


def set_settings(new: Settings, run: Recorder) -> None:
    """Have this thread's calls planned so from here on, by `run` unless that is as usual."""
    _local.settings = new
    wanted = not new.is_usual
    if wanted != _standing.is_there:
        _standing.put(there=wanted)
        if wanted or recording.recorder is run:
            recording.recorder = run if wanted else None


def passing(definition: OpDef, arguments: Sequence[Any], proceed: Callable[[Sequence[Any]], Any]) -> Any:
    """An interceptor that changes nothing: calls of functions come by `set_settings`' way because it is there."""
    return proceed(arguments)


_standing = Standing(passing)


def is_alone() -> bool:
    """Whether nobody else stands between this thread's calls and kernels."""
    return thread.observer is None and (thread.handlers or NOBODY) == NOBODY._replace(handlers=(passing,))
