"""Errors that kernels find, told by what waits for the device next.

A kernel that meets what no program may do, a place outside of a tensor or an integer divided by zero, goes on with what
does no harm, and writes a number to a word of the host's memory of its own. So no call waits for its kernels;
whatever waits for the device looks at the words, and raises for the first that was written, with the operator and the
program's line. The device stays usable.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from flambeau.cuda import capturing, library
from flambeau.cuda.pinned_words import PinnedWords
from flambeau.cuda.program_lines import Line, current_line
from flambeau.util.locks import Lock

WORDS: Final = 4096
"""Calls whose errors may be found at a time; as many calls later, the host waits for them once."""
LATE: Final = (
    "{what}{line}: {error}. Devices tell errors of elements when the program next waits for them; with "
    "CUDA_LAUNCH_BLOCKING=1 in the environment the call itself raises"
)
ErrorOfNumber = Callable[[int], Exception]
"""The error for the number that a kernel wrote."""


def is_blocking() -> bool:
    """Whether each call waits for its kernels, as the environment says it should.

    >>> is_blocking()
    False
    """
    return os.environ.get("CUDA_LAUNCH_BLOCKING", "0") not in ("", "0")


class LateError:
    """The error of an operator, of the program's line that called it.

    >>> print(LateError(IndexError, "index_select", "index out of range", None)(1))  # doctest: +ELLIPSIS
    index_select: index out of range. Devices tell errors ...
    """

    __slots__ = ("_error", "_kind", "_line", "_what")

    def __init__(self, kind: type[Exception], what: str, error: str, line: Line | None) -> None:
        self._kind, self._what, self._error, self._line = kind, what, error, line

    def __call__(self, number: int) -> Exception:
        line = "" if self._line is None else f" at {os.path.basename(self._line[0].co_filename)}:{self._line[1]}"
        return self._kind(LATE.format(what=self._what, line=line, error=self._error))


class _Spoken(threading.local):
    """What calls of this thread are parts of."""

    name = ""


_spoken: Final = _Spoken()


@contextmanager
def as_part_of(name: str) -> Iterator[None]:
    """Within the block, errors that kernels of this thread may find are said to be those of an operator."""
    before, _spoken.name = _spoken.name, name
    try:
        yield
    finally:
        _spoken.name = before


def spoken_of() -> str:
    """The operator whose parts run in this thread; empty if kernels are their own operators'."""
    return _spoken.name


def at_this_line(kind: type[Exception], what: str, error: str) -> LateError:
    """The error of an operator that the program's current line calls."""
    return LateError(kind, what, error, current_line())


class _Words:
    """The words that kernels of one library write to."""

    def __init__(self) -> None:
        self.rounds = PinnedWords(WORDS)
        self.lasting: list[PinnedWords] = [PinnedWords(WORDS)]
        """Of graphs, as long as there are these."""
        self.errors: dict[int, tuple[int, ErrorOfNumber]] = {}
        """What a word at an address stands for, and its number among all that were handed out."""
        self.free = self.lasting[0].addresses()
        self.numbers = itertools.count()
        self.lock = Lock()

    def next(self, error_of: ErrorOfNumber) -> int:
        number = next(self.numbers)
        index = number % WORDS
        if number >= WORDS and index % (WORDS // 2) == 0 and not capturing.underway:
            library.cupy().cuda.runtime.deviceSynchronize()
            self.tell()
        address = self.rounds.address(index)
        self.errors[address] = number, error_of
        return address

    def next_lasting(self, error_of: ErrorOfNumber) -> _Lasting:
        with self.lock:
            if not self.free:
                self.lasting.append(PinnedWords(WORDS))
                self.free = self.lasting[-1].addresses()
            address = self.free.pop()
        self.errors[address] = next(self.numbers), error_of
        return _Lasting(self, address)

    def tell(self) -> None:
        parts = [p for p in (self.rounds, *self.lasting) if p.array.any()]
        if not parts:
            return
        with self.lock:
            failures = [(self.errors[p.address(k)], int(p.array[k]), p, k) for p in parts for k in p.written()]
            for _, _, part, index in failures:
                part.array[index] = 0
        if failures:
            (_, error_of), number, _, _ = min(failures, key=lambda each: each[0][0])
            raise error_of(number)


class _Lasting:
    """A word of a graph."""

    __slots__ = ("_words", "address")

    def __init__(self, words: _Words, address: int) -> None:
        self._words, self.address = words, address

    def __del__(self) -> None:
        self._words.free.append(self.address)


class _State:
    by_library: dict[int, _Words]

    def __init__(self) -> None:
        self.by_library = {}


_state: Final = _State()
_making: Final = Lock()


def _words() -> _Words:
    words = _state.by_library.get(library.which())
    if words is None:
        with _making:
            words = _state.by_library.setdefault(library.which(), _Words())
    return words


def word(error_of: ErrorOfNumber) -> int:
    """The address of a word of 32 bits, 0 until a kernel writes what `error_of` has the error for.

    Within a capture it is the graph's: each replay may write it.
    """
    if capturing.underway:
        cuda = library.cupy().cuda
        capture = capturing.capture_of(int(cuda.runtime.getDevice()), cuda.get_current_stream())
        if capture is not None:
            lasting = _words().next_lasting(error_of)
            capture.kept.append(lasting)
            return lasting.address
    return _words().next(error_of)


def given() -> None:
    """A kernel that has a word was given to the device. Waits for it if the environment says so."""
    if is_blocking() and not capturing.underway:
        library.cupy().cuda.get_current_stream().synchronize()
        tell()


def tell() -> None:
    """Raise the first error that kernels have found. Whoever has waited for a device calls this."""
    words: Any = _state.by_library.get(library.which())
    if words is not None:
        words.tell()
