"""Functions that users hang onto something: kept by number, in the order in which they run, until they are removed.

>>> hooks: dict[int, object] = {}
>>> handle = add_hook(hooks, print)
>>> list(hooks.values())
[<built-in function print>]
>>> handle.remove()
>>> hooks
{}
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    from types import TracebackType

_numbers: Final = itertools.count()


class RemovableHandle:
    """What registering a hook gives: `remove()` takes the hook away; so does leaving a `with` block."""

    def __init__(self, hooks: dict[int, Any]) -> None:
        self.id = next(_numbers)
        self._hooks = hooks

    def remove(self) -> None:
        """Take the hook away; nothing happens if it is gone already."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.remove()


def add_hook(hooks: dict[int, Any], hook: Any, prepend: bool = False) -> RemovableHandle:
    """Put a hook behind the others, or before them with `prepend`."""
    handle = RemovableHandle(hooks)
    others = dict(hooks) if prepend else {}
    if prepend:
        hooks.clear()
    hooks[handle.id] = hook
    hooks.update(others)
    return handle
