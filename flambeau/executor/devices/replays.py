"""Which calls of a plan are captured as CUDA graphs, and which of the graphs that there are takes a call."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Final

from flambeau.cuda import allocator, capturing
from flambeau.cuda.tensors import is_on_device
from flambeau.executor.devices.captured import (
    CapturedCall,
    CaptureError,
    NeedsPlaceError,
    Run,
    is_in_one_piece,
    stream_in_use,
)
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.specialise.cache import SpecialisationCache
from flambeau.tensor.tensor import Tensor
from flambeau.util.locks import Lock

CALLS_BEFORE: Final = 2
"""Calls of a kind that run as any do: kernels are made, and it is seen which arguments stay where they are."""
MAX_KINDS: Final = 8
MAX_CAPTURES: Final = 8
"""Graphs that are made for one kind of call before it is given up."""
LENT: Final = 2
"""Graphs whose results are given out where they are: one may be held while the other runs."""
OTHER_ALLOCATOR: Final = "memory is somebody else's (change_current_allocator)"
NO_TENSOR: Final = "no argument is a tensor on a device"
MOVES: Final = "an argument that is written to, or given back, is somewhere else in each call"
_NUMBERS: Final = (int, float, bool, str, type(None), Device, DType)


class Replays:
    """The graphs of one plan."""

    def __init__(self, run: Run, reason: str) -> None:
        self._run = run
        self.reason = reason
        """Why no call is captured; empty where some may be."""
        self.kinds_cache: SpecialisationCache[Hashable, _Kind] = SpecialisationCache(
            "graphs of calls", MAX_KINDS, describe=str
        )

    def __call__(self, arguments: Sequence[Any]) -> tuple[Any, ...] | None:
        """The results by a graph; None where the call is to run as any does."""
        if self.reason or (capturing.underway and capturing.is_in_one()):
            return None
        key = _key(arguments)
        if key is None:
            return None
        kind = self.kinds_cache.get(key)
        if kind is None:
            kind = self.kinds_cache.get_or_make(key, lambda cause: _Kind(self._run, arguments))
        return kind(arguments)

    @property
    def captured(self) -> int:
        """How many graphs there are."""
        return sum(len(kind.calls) for kind in self.kinds_cache.values)

    @property
    def replays(self) -> int:
        """How many calls were replays."""
        return sum(kind.replays for kind in self.kinds_cache.values)

    @property
    def reasons(self) -> list[str]:
        """Why kinds of calls are not captured."""
        found = [self.reason, *(kind.reason for kind in self.kinds_cache.values)]
        return list(dict.fromkeys(filter(None, found)))


def _key(arguments: Sequence[Any]) -> Hashable | None:
    """What decides which graphs a call may have; None for arguments that no graph takes."""
    parts: list[Any] = [stream_in_use()]
    for value in arguments:
        if isinstance(value, Tensor):
            if not getattr(type(value), "_is_on_device", False) or value.is_wrapped_number:
                return None
            array = value._array
            parts.append((array.shape, array.strides))
        elif isinstance(value, float):
            parts.append(value.hex())
        elif isinstance(value, _NUMBERS):
            parts.append(value)
        else:
            return None
    return tuple(parts)


class _Kind:
    """Calls whose tensors have the same sizes and strides, and whose numbers are the same."""

    def __init__(self, run: Run, arguments: Sequence[Any]) -> None:
        self._run = run
        self._places = [k for k, value in enumerate(arguments) if is_on_device(value)]
        self._fixed: set[int] = set()
        """Arguments that are written to or given back, and cannot be copied."""
        self._moving = {k for k in self._places if not arguments[k]._array.size}
        """Arguments that were at several addresses."""
        self._addresses: list[int] | None = None
        self._seen = self._made = 0
        self._lock = Lock()
        self.calls: list[CapturedCall] = []
        self.replays = 0
        self.reason = "" if self._places else NO_TENSOR

    def __call__(self, arguments: Sequence[Any]) -> tuple[Any, ...] | None:
        """The results by a graph, captured now if it is time; None where there is none."""
        if self.reason:
            return None
        with self._lock:
            fitting = 0
            for call in self.calls:
                if call.fits(arguments):
                    fitting += 1
                    if call.is_free:
                        self.replays += 1
                        return call.replay(arguments)
            if self._seen < CALLS_BEFORE:
                self._note(arguments)
                return None
            return self._captured(arguments, fitting)

    def _note(self, arguments: Sequence[Any]) -> None:
        """See which arguments are where they were."""
        self._seen += 1
        addresses = [arguments[k]._array.ctypes.data for k in self._places]
        if self._addresses is not None:
            pairs = zip(self._places, addresses, self._addresses, strict=True)
            self._moving |= {k for k, now, before in pairs if now != before}
        self._addresses = addresses

    def _captured(self, arguments: Sequence[Any], fitting: int) -> tuple[Any, ...] | None:
        """The results by a new graph; None where the call cannot be one."""
        if allocator.current() is not None:
            self.reason = OTHER_ALLOCATOR
            return None
        self._note(arguments)
        if not fitting and self.calls and not self._moving <= self._fixed:
            self.calls = []  # what was where it is no more, is copied from now on
        try:
            call = self._new_call(arguments)
        except CaptureError as error:
            self.reason = str(error)
            return None
        if call is None:
            self.reason, self.calls = MOVES, []
            return None
        call.note_unheld()
        call.copies = fitting >= LENT
        self.calls.append(call)
        self.replays += 1
        return call.replay(arguments)

    def _new_call(self, arguments: Sequence[Any]) -> CapturedCall | None:
        while self._made < MAX_CAPTURES:
            self._made += 1
            own = sorted(k for k in self._moving - self._fixed if is_in_one_piece(arguments[k]))
            try:
                return CapturedCall(self._run, arguments, self._places, own)
            except NeedsPlaceError as needs:
                self._fixed |= set(needs.places)
        return None
