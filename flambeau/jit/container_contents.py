"""What lists, tuples and dicts must hold in calls like one, for native code that looks at them before anything runs.

(list, {(tuple, (int, str))})  →  a tree of classes, as memory that native code (`codegen.llvm.entry_contents`) reads
"""

from __future__ import annotations

import ctypes
from typing import Any, Final

import numpy as np

from flambeau.codegen.layouts import CONTENTS, HOLDS_EACH, HOLDS_ITEMS, HOLDS_NOTHING, HOLDS_PAIRS
from flambeau.jit.open_containers import merged
from flambeau.util.record import dataclass

MOST: Final = 62
"""Lists and dicts within each other, and beside each other in tuples, that one word has bits for."""
_KINDS: Final = {list: HOLDS_ITEMS, dict: HOLDS_PAIRS}


@dataclass(frozen=True)
class ContainerContents:
    """The class of an object, and what it holds."""

    cls: Any
    """A class."""
    kind: int
    parts: tuple[ContainerContents, ...]
    """Of each item of a tuple; of all items of a list; of all keys and all values of a dict."""

    def is_in(self, value: Any) -> bool:
        """Whether a value holds this, as native code sees it.

        >>> numbers = contents_of((list, frozenset({int})))
        >>> numbers.is_in([1, 2]), numbers.is_in([1, 2.5]), numbers.is_in([True]), numbers.is_in([])
        (True, False, False, False)
        """
        filled: set[int] = set()
        return self._holds(value, filled) and len(filled) == len(self._containers())

    def packed(self) -> list[Any]:
        """The memory of the tree, its root first; all of it must be kept."""
        containers = [id(c) for c in self._containers()]
        return self._pack(containers)

    def _containers(self) -> list[ContainerContents]:
        """The lists and dicts of the tree."""
        own = [self] if self.kind in _KINDS.values() else []
        return [*own, *[c for part in self.parts for c in part._containers()]]

    def _holds(self, value: Any, filled: set[int]) -> bool:
        if type(value) is not self.cls:
            return False
        if self.kind == HOLDS_NOTHING:
            return True
        if self.kind == HOLDS_EACH:
            pairs = zip(self.parts, value, strict=False)
            return len(value) == len(self.parts) and all(part._holds(item, filled) for part, item in pairs)
        if value:
            filled.add(id(self))
        items = value.items() if self.kind == HOLDS_PAIRS else [(item,) for item in value]
        return all(p._holds(i, filled) for item in items for p, i in zip(self.parts, item, strict=True))

    def _pack(self, containers: list[int]) -> list[Any]:
        packed = [part._pack(containers) for part in self.parts]
        parts = (ctypes.c_int64 * max(1, len(packed)))(*[ctypes.addressof(p[0]) for p in packed])
        bit = 1 << containers.index(id(self)) if id(self) in containers else 0
        cell = CONTENTS.pack(
            type=id(self.cls), kind=self.kind, count=len(self.parts), bit=bit, bits=(1 << len(containers)) - 1,
            parts=ctypes.addressof(parts),
        )  # fmt: skip
        return [cell, parts, packed, self]


def contents_of(pattern: Any) -> ContainerContents | None:
    """What a list, dict or tuple like one holds; None for what is none, and where classes do not tell: of arrays, sets,
    what holds nothing, items of several classes.
    """
    if not isinstance(pattern, tuple) or not isinstance(pattern[0], type):
        return None
    tree = _tree(pattern)
    return None if tree is None or len(tree._containers()) > MOST else tree


def _tree(pattern: Any) -> ContainerContents | None:
    kind, inner = pattern if isinstance(pattern, tuple) else (pattern, None)
    if not isinstance(kind, type) or issubclass(kind, np.generic):
        return None
    if not isinstance(pattern, tuple):
        return ContainerContents(kind, HOLDS_NOTHING, ())
    if issubclass(kind, tuple):
        parts = [_tree(part) for part in inner]
        return _with_parts(kind, HOLDS_EACH, parts)
    if kind not in _KINDS or not inner:
        return None
    columns = [inner] if kind is list else zip(*inner, strict=True)
    return _with_parts(kind, _KINDS[kind], [_tree_of_all(set(column)) for column in columns])


def _tree_of_all(patterns: set[Any]) -> ContainerContents | None:
    one = merged(patterns)
    return None if one is None else _tree(one)


def _with_parts(kind: type, number: int, parts: list[ContainerContents | None]) -> ContainerContents | None:
    known = tuple([part for part in parts if part is not None])
    return ContainerContents(kind, number, known) if len(known) == len(parts) else None
