"""Whether native code that has Python run some of its nodes gains by it: both ways take some calls in turn.

What passes between native code and Python is copied, lists and texts item by item, which may take longer than to
interpret the whole program. How long its loops go round nobody knows beforehand, so calls are looked at: where much
of their time goes to what Python is asked, the machine serves a few, as it will once the program ran often
(`interpreter.hot_functions`). The quicker of the two serves from then on.

>>> trial = Trial()
>>> for _ in range(CALLS):
...     trial.native_took(asked=90e-6, whole=100e-6)
>>> for _ in range(MACHINE_CALLS):
...     trial.machine_took(20e-6)
>>> trial.is_on, trial.is_lost
(False, True)
"""

from __future__ import annotations

from typing import Final

CALLS: Final = 6
"""Of native code, of which the first are not looked at: what they meet is compiled."""
SKIPPED: Final = 2
MACHINE_CALLS: Final = 3
SHARE: Final = 0.2
"""Of a call that goes to what Python is asked, from which on the machine is tried. The rest is what has to be copied on
the way in and out, and loops."""


class Trial:
    """The calls of a plan while it is not known which way is quicker."""

    def __init__(self) -> None:
        self.is_on = True
        """Whether calls still have to come through the plan."""
        self.is_lost = False
        """Whether the machine is quicker."""
        self._calls = self._machine_calls = 0
        self._asked = self._native = self._machine = float("inf")
        self._share = 0.0

    @property
    def tries_machine(self) -> bool:
        """Whether the machine is to serve the next call."""
        return self.is_on and self._calls >= CALLS

    def native_took(self, asked: float, whole: float) -> None:
        """A call of native code took so many seconds, some of them for what Python was asked."""
        self._calls += 1
        if self._calls > SKIPPED:
            self._asked, self._native = min(self._asked, asked), min(self._native, whole)
            self._share = max(self._share, asked / max(whole, 1e-9))
        if self._calls >= CALLS and self._share < SHARE:
            self.is_on = False

    def machine_took(self, seconds: float) -> None:
        """The machine served a call; it is not tried again where that took much longer."""
        self._machine_calls += 1
        self._machine = min(self._machine, seconds)
        if self._machine_calls >= MACHINE_CALLS or seconds > 8 * self._asked:
            self.is_on, self.is_lost = False, self._machine < self._native
