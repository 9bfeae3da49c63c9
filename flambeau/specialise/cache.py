"""A bounded cache of specialised code: plans, native functions, kernels, flows, each under what it was made for.

>>> cache = SpecialisationCache("plans", most=2, describe=str)
>>> [cache.get_or_make(key, lambda cause: f"{key}, {cause}") for key in ("int", "int", "float", "bool")]
['int, first call', 'int, first call', 'float, first of its kind: float', 'bool, first of its kind: bool']
>>> cache.statistics()
CacheStatistics(name='plans', entries=2, most=2, hits=1, misses=3, evictions=1)

What was asked for longest ago goes first when it is full. All code for arguments that differ from others is kept in
such a cache, so that `explain()` can say of each what it holds, and why each entry came to be.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import islice
from operator import eq
from typing import Any, Generic, NamedTuple, TypeVar

from flambeau.util.locks import Lock

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
FIRST = "first call"
REMEMBERED_CAUSES = 32
"""Causes of specialisations that a cache can tell, the newest."""
LOOKED_AT = 16
"""Entries, the newest, among which the nearest to a new one is looked for: that is done for each that is made."""
_ABSENT: Any = object()


class CacheStatistics(NamedTuple):
    """What a cache holds, and how often it was asked."""

    name: str
    entries: int
    most: int
    hits: int
    """Questions that it had an answer for; those that native code answers by itself are not counted."""
    misses: int
    """Specialisations that were made."""
    evictions: int
    """Entries that made room for others."""

    def __str__(self) -> str:
        text = f"{self.name}: {self.entries} of at most {self.most}, {self.hits} hits, {self.misses} misses"
        return text + (f", {self.evictions} evicted" if self.evictions else "")


class SpecialisationCache(Generic[K, V]):
    """Entries by key, at most so many. Any number of threads may ask; each entry is made once, by one of them."""

    def __init__(
        self,
        name: str,
        most: int,
        *,
        describe: Callable[[K], str],
        compare: Callable[[K, K], str] | None = None,
        uses: Callable[[V], int] | None = None,
    ) -> None:
        """`describe` words a key, and `compare` what is new about one beside another.

        `uses` counts what an entry did without being asked for here, as native code does: entries in use are kept.
        """
        self.name = name
        self.most = most
        self._describe, self._compare, self._uses = describe, compare, uses
        self._entries: OrderedDict[K, V] = OrderedDict()
        self._counted: dict[K, int] = {}
        """How often entries had been used when that was last looked at."""
        self._lock = Lock()
        self._hits = self._misses = self._evictions = 0
        self.first_cause = FIRST
        """Why there was anything to make at all."""
        self.causes: deque[str] = deque(maxlen=REMEMBERED_CAUSES)
        """Why the newest entries were made."""

    # -- asking -------------------------------------------------------------------------------------------------------

    def get(self, key: K) -> V | None:
        """The entry of a key, or None."""
        value = self._entries.get(key)
        if value is not None:
            self._hits += 1
        return value

    def get_recent(self, key: K) -> V | None:
        """The entry of a key, or None; it is the one asked for last from then on."""
        value = self._entries.get(key)
        if value is not None:
            self._hits += 1
            with contextlib.suppress(KeyError):  # another thread drops it just now
                self._entries.move_to_end(key)
        return value

    def __contains__(self, key: K) -> bool:
        return key in self._entries

    def get_or_make(
        self, key: K, make: Callable[[str], V], evicted: Callable[[K], None] | None = None
    ) -> V:
        """The entry of a key, made now if there is none: `make` is told the cause.

        `evicted` is told the key of an entry that had to go. An entry that cannot be made leaves the cache as it was.
        """
        with self._lock:
            self._move_used_to_end()
            value = self._entries.get(key, _ABSENT)
            if value is _ABSENT:
                cause = self.cause(key)
                value = self._add(key, make(cause), evicted)
                self._misses += 1
                self.causes.append(cause)
            else:
                self._hits += 1
                self._entries.move_to_end(key)
            self._note_use(key, value)
        return value  # type: ignore[no-any-return]

    def put(self, key: K, value: V) -> None:
        """Replace the entry of a key, or add one."""
        with self._lock:
            self._add(key, value, None)

    def clear(self) -> None:
        """Forget all entries; what was counted stays."""
        with self._lock:
            self._entries.clear()
            self._counted.clear()

    def _add(self, key: K, value: V, evicted: Callable[[K], None] | None) -> V:
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self.most:
            oldest, _ = self._entries.popitem(last=False)
            self._counted.pop(oldest, None)
            self._evictions += 1
            if evicted is not None:
                evicted(oldest)
        return value

    def _move_used_to_end(self) -> None:
        """Put entries that were used since the last look behind the others."""
        if self._uses is None:
            return
        for key, value in list(self._entries.items()):
            count = self._uses(value)
            if count != self._counted.get(key):
                self._entries.move_to_end(key)
                self._counted[key] = count

    def _note_use(self, key: K, value: V) -> None:
        if self._uses is not None:
            self._counted[key] = self._uses(value) + 1  # with the one that is being made

    # -- looking ------------------------------------------------------------------------------------------------------

    def cause(self, key: K) -> str:
        """Why an entry for a key would have to be made: what is new about it beside the nearest of the newest ones."""
        if not self._entries:
            return self.first_cause
        if self._compare is None:
            return f"first of its kind: {self._describe(key)}"
        newest = list(islice(reversed(self._entries), LOOKED_AT))
        return self._compare(key, max(reversed(newest), key=lambda other: likeness(key, other)))

    @property
    def keys(self) -> list[K]:
        """The keys, the one asked for longest ago first."""
        return list(self._entries)

    @property
    def values(self) -> list[V]:
        """The entries, the one asked for longest ago first."""
        return list(self._entries.values())

    @property
    def items(self) -> list[tuple[K, V]]:
        """Keys with their entries, the one asked for longest ago first."""
        return list(self._entries.items())

    def __len__(self) -> int:
        return len(self._entries)

    def statistics(self) -> CacheStatistics:
        """What it holds, and how often it was asked."""
        return CacheStatistics(
            self.name, len(self._entries), self.most, self._hits, self._misses, self._evictions
        )


def likeness(key: Hashable, other: Hashable) -> int:
    """How many parts two keys have in common."""
    if isinstance(key, tuple) and isinstance(other, tuple):
        return sum(map(eq, key, other))
    return int(key == other)


def differences(
    key: Sequence[Hashable], other: Sequence[Hashable], names: Iterable[str], describe: Callable[[Hashable], str]
) -> str:
    """What is new about a key beside another one, argument by argument.

    >>> differences(("float32", "int"), ("float64", "int"), ("x", "n"), str)
    "new types: 'x' is float32, was float64"
    """
    changed = [
        f"'{name}' is {describe(mine)}, was {describe(theirs)}"
        for name, mine, theirs in zip(names, key, other, strict=False)
        if mine != theirs
    ]
    return "new types: " + "; ".join(changed)
