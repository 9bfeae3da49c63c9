"""How far planes lie from where an image's begin: those of some depths, channel by channel."""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau.codegen.routines.memory import Filling, Memory
from flambeau.util.record import dataclass


@dataclass(frozen=True, slots=True)
class Planes:
    """The planes of `number` groups, `step` bytes apart, of which each has planes at `offsets`."""

    number: Any
    step: Any
    offsets: tuple[Any, ...] = (0,)

    @property
    def count(self) -> Any:
        """How many there are."""
        return self.number * len(self.offsets)

    @property
    def apart(self) -> Any:
        """Bytes from the first plane to the second."""
        return self.step if len(self.offsets) == 1 else self.offsets[1] - self.offsets[0]

    def follow(self, distance: int) -> bool:
        """Whether planes lie so far from each other, one behind the other."""
        if self.number > 1 and self.step != distance * len(self.offsets):
            return False
        return all(offset == k * distance for k, offset in enumerate(self.offsets))

    def fillings(self, at: Any, more: tuple[Any, ...], apart: int) -> list[Filling]:
        """A table's numbers, `apart` from each other: how far the planes lie, and so much more each."""
        of_plane = apart * len(more)
        each = of_plane * len(self.offsets)
        return [
            Filling(
                at + k * of_plane, tuple([offset + n for n in more]), len(more), 0, apart,
                self.number, self.step, each,
            )
            for k, offset in enumerate(self.offsets)
        ]  # fmt: skip

    def copied(self, together: Any, plane_bytes: Any) -> Copies:
        """Copies of the planes, of which so many are there at a time, one behind the other."""
        return Copies(self.count, together, plane_bytes)

    def table(self, memory: Memory) -> Any:
        """The address of how far each lies."""
        return memory.table(np.int64, self.count, self.fillings(0, (0,), 1))


@dataclass(frozen=True, slots=True)
class Copies:
    """How far copies of planes lie from the first: `together` of them, then the first again."""

    count: Any
    together: Any
    plane_bytes: Any

    def fillings(self, at: Any, more: tuple[Any, ...], apart: int) -> list[Filling]:
        """A table's numbers, as `Planes.fillings` gives them: whole groups of copies, then those that are left."""
        of_plane = apart * len(more)
        if self.count == self.together or self.count == 0:
            return [Filling(at, more, len(more), 0, apart, self.count, self.plane_bytes, of_plane)]
        whole = self.count // self.together
        each = self.together * of_plane
        return [
            *[
                Filling(at + k * apart, n, self.together, self.plane_bytes, of_plane, whole, 0, each)
                for k, n in enumerate(more)
            ],
            Filling(
                at + whole * each, more, len(more), 0, apart, self.count % self.together, self.plane_bytes, of_plane
            ),
        ]
