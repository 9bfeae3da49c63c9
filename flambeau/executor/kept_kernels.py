"""Kernels of a plan's groups, kept beside the plan in the cache on disk: another process neither lowers nor schedules
them again.

They are read when a group first asks, and written after calls that made new ones. An entry depends on all that the
plan depends on; within it a kernel is found by its group and what the group's inputs are, a schedule by the pattern
of calls that it is for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flambeau.codegen.lower import Lowered
from flambeau.codegen.schedules import KeptSchedules
from flambeau.executor.stored import CacheEntry
from flambeau.schema.types import TensorType, Type

MOST_KERNELS: Final = 1 << 10
"""Kernels that are kept of one plan."""
FIRST_CALLS: Final = 8
"""Calls of a plan after which what is new is written: one that meets new patterns forever does not write forever."""


class KeptKernels:
    """The kernels of one plan's groups with their schedules, as far as they are known on disk or were made since."""

    def __init__(self, entry: CacheEntry | None) -> None:
        """`entry` is that of the plan; None where nothing is kept."""
        self._entry = None if entry is None else entry.beside("kernels")
        self._kernels: dict[str, tuple[Lowered, KeptSchedules]] | None = None
        self._size = 0
        """Kernels and schedules that are on disk."""
        self._calls = 0

    def find(self, group: str, types: Sequence[Type]) -> tuple[Lowered, KeptSchedules] | None:
        """The kernel of a group for inputs of such types, and its schedules by pattern; None where none is known."""
        return None if self._entry is None else self._known(self._entry).get(_name(group, types))

    def add(self, group: str, types: Sequence[Type], lowered: Lowered) -> KeptSchedules:
        """Note a kernel that was lowered now; gives where its schedules belong."""
        schedules: KeptSchedules = {}
        if self._entry is not None and len(self._known(self._entry)) < MOST_KERNELS:
            self._known(self._entry)[_name(group, types)] = lowered, schedules
        return schedules

    def write(self) -> None:
        """Keep what is new after one of the first calls."""
        if self._entry is None or not self._kernels or self._calls == FIRST_CALLS:
            return
        self._calls += 1
        kernels = {name: (lowered, dict(schedules)) for name, (lowered, schedules) in list(self._kernels.items())}
        size = _size(kernels)
        if size > self._size:
            self._size = size
            self._entry.keep(kernels)

    def _known(self, entry: CacheEntry) -> dict[str, tuple[Lowered, KeptSchedules]]:
        if self._kernels is None:
            kernels = entry.read()
            self._kernels = kernels if isinstance(kernels, dict) else {}
            self._size = _size(self._kernels)
        return self._kernels


def _size(kernels: dict[str, tuple[Lowered, KeptSchedules]]) -> int:
    return sum([1 + len(schedules) for _, schedules in kernels.values()])


def _name(group: str, types: Sequence[Type]) -> str:
    """What of the types of its inputs a group's kernel depends on: dtypes, ranks, and which sizes are 1."""
    return " ".join([group, *map(_pattern, types)])


def _pattern(type_: Type) -> str:
    if isinstance(type_, TensorType) and type_.dtype is not None and type_.sizes is not None:
        return type_.dtype.name + "".join(["1" if size == 1 else "*" for size in type_.sizes])
    return str(type_)
