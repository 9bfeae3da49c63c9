"""Where the graph of a function comes from, if another process can say so too: what was made of it can be kept on disk.

The code of an archive has an origin: its bytes. What is made of a function by known steps has one that follows from the
function's.

>>> code = Provenance(lambda: Origin("0a1b", NO_NAMES))
>>> code.part("Net.forward").origin() == code.part("Net.forward").origin()
True
>>> code.part("a", "b").origin() == code.part("ab").origin()
False
>>> code.end()
>>> code.part("Net.forward").origin() is None
True
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, Final, Protocol

from flambeau.schema.types import Type
from flambeau.util.locks import Lock
from flambeau.util.record import dataclass, field


class Names(Protocol):
    """Knows the classes and functions of a program by their qualified names."""

    def find_type(self, name: str, /) -> Type | None:
        """The class, or None."""

    def find_function(self, name: str, /) -> Any:
        """The function, or None."""


class NoNames:
    """The names of a program that has none."""

    def find_type(self, name: str, /) -> Type | None:
        """None."""

    def find_function(self, name: str, /) -> Any:
        """None."""


NO_NAMES: Final = NoNames()


@dataclass(frozen=True, slots=True)
class Origin:
    """What tells a piece of code from every other, in all processes."""

    key: str
    """Hexadecimal digits of a hash over all that the piece depends on."""
    names: Names = field(compare=False, repr=False)
    """What the piece may refer to."""

    def part(self, *names: Any) -> Origin:
        """The origin of something that follows from this and what the names say (their `str`)."""
        digest = hashlib.sha256(self.key.encode())
        for name in map(str, names):
            digest.update(b"%d:" % len(name))
            digest.update(name.encode("utf-8", "surrogatepass"))
        return Origin(digest.hexdigest(), self.names)


class Provenance:
    """The origin of a function, found when something asks for it, for as long as the code is what it was.

    All functions of one program share what is around them: once one of them may have been changed, no origin holds.
    """

    def __init__(
        self, find: Callable[[], Origin | None], whole: Provenance | None = None, *, is_loaded: bool = True
    ) -> None:
        """`is_loaded` says whether the code comes from an archive, and not from a function of Python."""
        self.is_loaded: bool = is_loaded if whole is None else whole.is_loaded
        self._find = find
        self._whole = whole or self
        self._known: tuple[Origin | None] | None = None
        self._is_over = False
        self._lock = Lock()
        self._readers: list[Any] = []

    def origin(self) -> Origin | None:
        """What the function is known by in all processes; None where there is nothing, or no longer."""
        if self._whole._is_over:
            return None
        with self._lock:
            if self._known is None:
                self._known = (self._find(),)
        return self._known[0]

    def part(self, *names: Any) -> Provenance:
        """That of something that follows from the function and what the names say."""

        def find() -> Origin | None:
            origin = self.origin()
            return None if origin is None else origin.part(*names)

        return Provenance(find, self._whole)

    @property
    def is_over(self) -> bool:
        """Whether somebody may have changed a graph of the program."""
        return self._whole._is_over

    def end(self) -> None:
        """From now on nothing is known of the program: somebody may change a graph of it in place."""
        self._whole._is_over = True

    def read_by(self, function: Any) -> None:
        """Note a function whose graph something relies on that was read, so that its graph may not even be made."""
        self._whole._readers.append(function)

    def take_readers(self) -> list[Any]:
        """The functions that were noted since this was asked last."""
        with self._whole._lock:
            readers, self._whole._readers = self._whole._readers, []
        return readers
