"""What calls of scripted functions are served by: fast paths, which change from time to time."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from flambeau.codegen.layouts import measured_layout
from flambeau.tensor.observer import watchers
from flambeau.util.locks import Lock
from flambeau.util.missed import MISSED as MISSED
from flambeau.util.missed import missed as missed
from flambeau.util.native_type import CELL, FIRST, SLOW, tell


class DispatchStub:
    """The fast paths of the moment, where native code finds them: they may change at any time between calls."""

    def __init__(self, most: int = 4) -> None:
        """`most` are kept: those that became the target last."""
        self._most = most
        self.cell = (ctypes.c_int64 * (most + 1))()
        """Their addresses, in the order in which they are tried, then 0."""
        self._targets: list[Callable[..., Any]] = []
        self._lock = Lock()

    @property
    def target(self) -> Callable[..., Any] | None:
        """Called first, with positional arguments; gives `MISSED` for what it does not serve. None forgets all."""
        return self._targets[0] if self._targets else None

    @target.setter
    def target(self, target: Callable[..., Any] | None) -> None:
        if target is self.target:
            return
        with self._lock:
            before = self._targets  # alive until the cell has forgotten them
            others = [t for t in before if t is not target]
            self._targets = [] if target is None else [target, *others][: self._most]
            for index in range(self._most):
                self.cell[index] = id(self._targets[index]) if index < len(self._targets) else 0
            del before


def prepare(instance: Any, stub: DispatchStub, slow: Callable[..., Any], first: object | None = None) -> None:
    """Tell an instance of `NativeBase` what it is called with; the caller keeps all of it alive as long as that.

    Args:
        instance: the callable.
        switch: has the fast path.
        slow: a function of the instance and the arguments, for all that the fast path does not serve.
        first: what goes before the arguments of each call by the fast path, if anything.
    """
    tell(instance, ctypes.addressof(stub.cell), slow, first)


CALLABLE_LAYOUT = measured_layout({"cell": CELL, "slow": SLOW, "first": FIRST})
"""Fields of such instances that the code they jump to reads."""


def forward_objects() -> dict[str, int]:
    """Addresses of what that code asks, by name."""
    return {"missed": id(MISSED), "watchers": ctypes.addressof(watchers.count)}
