"""Whether native code gains on the objects that a function is given: what refers to them is copied in and out.

A call copies every object that can be reached from its arguments, and may do very little with them: look at one node of
a tree. How much it does nobody knows beforehand, so both ways are timed. Native code serves until copying takes longer
than the machine would have taken, a few times in a row; the machine serves until a call takes it longer than copying.

>>> trial = ObjectTrial()
>>> for _ in range(LOSSES):
...     trial.native_took(copying=50e-6, code=1e-6)
>>> trial.is_native
False
>>> trial.machine_took(3e-3)
>>> trial.is_native
True
"""

from __future__ import annotations

from typing import Final

from flambeau.ir.graph import Graph
from flambeau.schema.types import ClassType

QUICKER: Final = 30
"""How many times as long the machine takes for what native code does."""
LOSSES: Final = 3
"""Calls in a row that are not worth copying, after which the machine serves."""
GAIN: Final = 2
"""How many times as long as copying a call of the machine takes that had better be native."""


def takes_objects(graph: Graph) -> bool:
    """Whether there are objects among the arguments of a graph."""
    return any(isinstance(part, ClassType) for v in graph.parameters for part in v.static_type.walk())


class ObjectTrial:
    """The calls of a plan with objects among its arguments."""

    def __init__(self) -> None:
        self.is_native = True
        """Whether native code serves the next call."""
        self._losses = 0
        self._copying = self._wasted = self._regretted = 0.0

    def native_took(self, copying: float, code: float) -> None:
        """A call of native code took so many seconds, beside those for copying."""
        self._copying = copying
        is_lost = copying > QUICKER * code
        self._losses = self._losses + 1 if is_lost else 0
        self._wasted = self._wasted + copying if is_lost else 0.0
        if self._losses >= LOSSES and self._wasted >= self._regretted:
            self.is_native, self._losses, self._wasted = False, 0, 0.0

    def machine_took(self, seconds: float) -> None:
        """The machine served a call. Where it took long, as much as that is copied before it is tried again, and each
        time twice as much: some loops take native code no time at all.
        """
        if seconds > GAIN * self._copying:
            self.is_native = True
            self._regretted = 2 * self._regretted + seconds
