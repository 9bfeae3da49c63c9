"""Handing out registers: few of them, so that a value's memory goes when another value takes its place.

Some registers are reserved while a branch or loop body is compiled, because its results have to end up there. Whoever
makes such a result may write it there at once if the register is vacant; then nothing needs to be moved at the end.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flambeau.interpreter.liveness import is_heavy
from flambeau.ir.graph import Value


class Registers:
    """The state of all registers at one point of the compilation."""

    def __init__(self) -> None:
        self.template: list[Any] = []
        """What each register holds when the code starts."""
        self.names: dict[int, str] = {}
        self._of: dict[Value, int] = {}
        self._pinned: dict[Value, int] = {}
        self._free: list[int] = []
        self._reserved: set[int] = set()
        self._vacant: set[int] = set()
        self._wanted: dict[Value, int] = {}

    # -- looking up ---------------------------------------------------------------------------------------------------

    def __getitem__(self, value: Value) -> int:
        return self._of[value] if value in self._of else self._pinned[value]

    def __contains__(self, value: Value) -> bool:
        return value in self._of or value in self._pinned

    # -- giving out ---------------------------------------------------------------------------------------------------

    def constant(self, contents: Any, value: Value | None = None) -> int:
        """A register that holds `contents` for good."""
        index = self._new(contents)
        if value is not None:
            self._pinned[value] = index
        return index

    def take(self, value: Value) -> int:
        """A register for a value that begins: the wanted one if it is vacant, else any."""
        index = self._wanted.get(value)
        if index is not None and index in self._vacant:
            self._vacant.discard(index)
        else:
            index = self._free.pop() if self._free else self._new(None)
        self._of[value] = index
        if value.has_name:
            self.names.setdefault(index, value.name)
        return index

    def temporary(self) -> int:
        """A register for no value of the graph; give it back with `give_back`."""
        return self._free.pop() if self._free else self._new(None)

    def give_back(self, index: int) -> None:
        """The register is not needed any more."""
        if index in self._reserved:
            self._vacant.add(index)
        else:
            self._free.append(index)

    def end(self, value: Value) -> int | None:
        """The value is not needed any more: its register, if that still holds memory worth dropping."""
        index = self._of.pop(value, None)
        if index is None:
            return None
        self.give_back(index)
        return index if is_heavy(value.static_type) else None

    def hand_over(self, value: Value, to: Value) -> int:
        """`to` takes the place of `value`, which ends."""
        index = self._of.pop(value)
        self._of[to] = index
        return index

    def bind(self, value: Value, index: int) -> None:
        """The value is in a register that was given out already."""
        self._of[value] = index
        if value.has_name:
            self.names.setdefault(index, value.name)

    def pin(self, value: Value, index: int) -> None:
        """The value is in a register that is not its own: when it ends, the register goes on."""
        self._pinned[value] = index
        if value.has_name:
            self.names.setdefault(index, value.name)

    def is_own(self, value: Value) -> bool:
        """Whether the value's register is its own, to hand over or give back."""
        return value in self._of

    def _new(self, contents: Any) -> int:
        self.template.append(contents)
        return len(self.template) - 1

    # -- results of branches and bodies -------------------------------------------------------------------------------

    def reserve(self, indices: Iterable[int]) -> frozenset[int]:
        """These registers wait for results and go to nobody else. Those that did not wait already."""
        new = frozenset(indices) - self._reserved
        self._reserved |= new
        return new

    def release(self, reserved: frozenset[int], results: Iterable[int]) -> None:
        """The results are there: their registers are in use, and ordinary ones where `reserve` changed that."""
        self._reserved -= reserved
        self._vacant.difference_update(results)

    def vacate(self, indices: Iterable[int]) -> None:
        """These reserved registers hold nothing now."""
        self._vacant.update(indices)

    def want(self, value: Value, index: int) -> None:
        """`value` has to end up in this reserved register."""
        self._wanted.setdefault(value, index)

    def snapshot(self) -> tuple[dict[Value, int], list[int], set[int]]:
        """What a second branch starts from again."""
        return dict(self._of), list(self._free), set(self._vacant)

    def restore(self, state: tuple[dict[Value, int], list[int], set[int]], since: int) -> None:
        """Back to a snapshot; registers made since, from number `since` on, are free."""
        of, free, vacant = state
        self._of, self._vacant = dict(of), set(vacant)
        self._free = [*free, *range(since, len(self.template))]
