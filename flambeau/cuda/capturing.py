"""Which streams are being captured, and what is refused meanwhile."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import PurePath
from types import TracebackType
from typing import Any, Final

from flambeau.cuda import library
from flambeau.cuda.program_lines import Line, current_line, inside

SYNCHRONISES: Final = (
    "{what} waits for the device, which no graph can hold: it is within a capture, at {line}. Do it before the capture "
    "or after replay(); within it, keep results on the device (in place of .item(), .cpu(), .nonzero(), printing)."
)


_numbers: Final = itertools.count(1)


class _Check(threading.local):
    """What looks at operators that are about to run on arrays while this thread captures."""

    look: Callable[[Any], None] | None = None


_check = _Check()


@contextmanager
def checking(look: Callable[[Any], None]) -> Iterator[None]:
    """Within the block, operators of this thread that run on arrays of the device are looked at first."""
    before, _check.look = _check.look, look
    try:
        yield
    finally:
        _check.look = before


def look_at(definition: Any) -> None:
    """An operator is about to run on arrays. Raises what the look raises that is underway in this thread, if any."""
    if _check.look is not None:
        _check.look(definition)


class Capture:
    """A capture that was begun and not ended."""

    __slots__ = ("device", "kept", "number", "pool", "stream")

    def __init__(self, device: int, stream: int, pool: Any) -> None:
        self.device, self.stream, self.pool = device, stream, pool
        self.number = next(_numbers)
        """No other capture has it."""
        self.kept: list[Any] = []
        """What must last as long as the graph: code of kernels, which it names."""


underway: list[Capture] = []
"""Captures that were begun and not ended, by whichever thread."""


def capture_of(device: int, stream: Any) -> Capture | None:
    """The capture that a stream (of CuPy's) of a device takes part in; also one that joined it on the way."""
    for capture in underway:
        if capture.device == device and capture.stream == stream.ptr:
            return capture
    here = [c for c in underway if c.device == device]
    return here[0] if len(here) == 1 and stream.is_capturing() else None


def keep(device: int, code: Any) -> None:
    """If the stream in use is being captured, keep the code of a kernel as long as the graph."""
    capture = capture_of(device, library.cupy().cuda.get_current_stream(device)) if underway else None
    if capture is not None:
        capture.kept.append(code)


def is_in_one() -> bool:
    """Whether the stream in use is being captured."""
    return bool(underway) and bool(library.cupy().cuda.get_current_stream().is_capturing())


def refuse_waiting(what: str) -> None:
    """Raise RuntimeError that names the program's line if the stream in use is being captured."""
    if is_in_one():
        raise RuntimeError(SYNCHRONISES.format(what=what, line=_text(current_line())))


def refusal(traceback: TracebackType | None) -> RuntimeError:
    """The error for what CUDA refused within a capture, with the program's last line on the way there."""
    line: Line | None = None
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if not file.startswith(inside()) and "cupy" not in PurePath(file).parts:
            line = traceback.tb_frame.f_code, traceback.tb_lineno
        traceback = traceback.tb_next
    return RuntimeError(SYNCHRONISES.format(what="This", line=_text(line)))


def _text(line: Line | None) -> str:
    return "a line that is not known" if line is None else f"{os.path.basename(line[0].co_filename)}:{line[1]}"
