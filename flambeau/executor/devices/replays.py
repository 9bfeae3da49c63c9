"""Which calls of a plan are captured as CUDA graphs, and which of the graphs that there are takes a call."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from operator import attrgetter, call, is_
from typing import Any, Final
from weakref import ref

from flambeau.codegen import native_call
from flambeau.codegen.callable_type import MISSED
from flambeau.cuda import allocator, blame, capturing
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
from flambeau.tensor.grad_mode import is_grad_enabled
from flambeau.tensor.tensor import Tensor
from flambeau.util.array_address import address_of
from flambeau.util.made_objects import make_natively

CALLS_BEFORE: Final = 2
"""Calls of a kind that run as any do: kernels are made, and it is seen which arguments stay where they are."""
MAX_KINDS: Final = 8
MAX_CAPTURES: Final = 8
"""Graphs that are made for one kind of call before it is given up."""
LENT: Final = 2
"""Graphs whose results are handed out where they are: one may be held while the other runs."""
MOST_FAILURES: Final = 3
"""Captures that fail before none is tried any more."""
MANY_CAPTURES, FEW_REPLAYS = 32, 3
"""After so many captures, each has to have had so many replays."""
OFTEN_OTHERS: Final = "sizes and numbers are other ones too often"
OTHER_ALLOCATOR: Final = "memory is somebody else's (change_current_allocator)"
NO_TENSOR: Final = "no argument is a tensor on a device"
MOVES: Final = "an argument that is written to, or returned, is somewhere else in each call"
_array_of: Final = attrgetter("_array")
_is_number: Final = attrgetter("is_wrapped_number")
_NUMBERS: Final = (int, float, bool, str, type(None), Device, DType)


class Replays:
    """The graphs of one plan."""

    def __init__(self, name: str, run: Run, reason: str) -> None:
        self._name, self._run = name, run
        self.reason = reason
        """Why no call is captured; empty where some may be."""
        self.kinds_cache: SpecialisationCache[Hashable, _Kind] = SpecialisationCache(
            "graphs of calls", MAX_KINDS, describe=str
        )
        self._newest: _Kind | None = None
        """What took the last call."""
        self._tried = self._failed = self._served = 0
        self.quick_calls = 0
        """Replays that came in by `quick`."""
        self.quick: Callable[..., Any] = self._quickly
        """What takes users' arguments as they come; gives `MISSED` for those that are not like the last ones."""

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
        results = kind(arguments)
        self._newest = None if results is None else kind
        self._served += results is not None
        if kind.is_new:
            self._look_back(kind)
        return results

    def _look_back(self, kind: _Kind) -> None:
        """After a capture that was tried: give up where others would fail as well, or hardly any is of use."""
        kind.is_new = False
        self._tried += 1
        self._failed += bool(kind.reason)
        if self._failed >= MOST_FAILURES:
            self.reason = kind.reason
        elif self._tried >= MANY_CAPTURES and self._served + self.quick_calls < FEW_REPLAYS * self._tried:
            self.reason = OFTEN_OTHERS

    @property
    def is_quick(self) -> bool:
        """Whether the next call like the last one is a replay."""
        return self._newest is not None

    def _quickly(self, *arguments: Any) -> Any:
        kind = self._newest
        if kind is None or capturing.underway or not kind.is_of(arguments):
            return MISSED
        blame.note(self._name)
        results = kind(arguments)
        if results is None:
            return MISSED
        self.quick_calls += 1
        return results[0] if len(results) == 1 else results or None

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
        reasons = [self.reason, *(kind.reason for kind in self.kinds_cache.values)]
        return list(dict.fromkeys(filter(None, reasons)))


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


def _layout(array: Any) -> Any:
    return array.dtype, array.shape, array.strides


def _is_asked(inputs: Sequence[Tensor]) -> bool:
    """Whether tensors ask for gradients while those are recorded, or stand for numbers."""
    if any(map(_is_number, inputs)):
        return True
    return is_grad_enabled() and any(t.asks() for t in inputs)


def _spelled(value: Any) -> Any:
    """What numbers are told apart by, the sign of a zero included."""
    return value.hex() if type(value) is float else value


class _Kind:
    """Calls whose tensors have the same sizes and strides, and whose numbers are the same."""

    def __init__(self, run: Run, arguments: Sequence[Any]) -> None:
        self._run = run
        self._tensor_indices = [k for k, value in enumerate(arguments) if is_on_device(value)]
        self._stream, self._count = stream_in_use(), len(arguments)
        self._classes = {type(arguments[k]) for k in self._tensor_indices}
        self._layouts = [_layout(arguments[k]._array) for k in self._tensor_indices]
        self._refs = [ref(arguments[k]._array) for k in self._tensor_indices]
        """The arrays of the tensors that were seen last."""
        self._fixed_values = [(k, v) for k, v in enumerate(arguments) if not is_on_device(v)]
        self._fixed: set[int] = set()
        """Arguments that are written to or returned, and cannot be copied."""
        self._moving = {k for k in self._tensor_indices if not arguments[k]._array.size}
        """Arguments that were at several addresses."""
        self._addresses: list[int] | None = None
        self._seen = self._made = 0
        self._tokens = [None]
        """Whoever takes what is in it may replay: one thread at a time, since graphs have memory of their own."""
        self.calls: list[CapturedCall] = []
        self.replays = 0
        self.is_new = False
        """Whether a capture has been tried since somebody looked."""
        self.reason = "" if self._tensor_indices else NO_TENSOR

    def __call__(self, arguments: Sequence[Any]) -> tuple[Any, ...] | None:
        """The results by a graph, captured now if it is time; None where there is none."""
        if self.reason:
            return None
        try:
            token = self._tokens.pop()
        except IndexError:  # another thread has it
            return None
        try:
            return self._replayed(arguments)
        finally:
            self._tokens.append(token)

    def _replayed(self, arguments: Sequence[Any]) -> tuple[Any, ...] | None:
        fitting = 0
        for captured in self.calls:
            if captured.fits(arguments):
                fitting += 1
                if captured.is_free:
                    self.replays += 1
                    return captured.replay(arguments)
        if self._seen < CALLS_BEFORE:
            self._note(arguments)
            return None
        return self._captured(arguments, fitting)

    def is_of(self, arguments: Sequence[Any]) -> bool:
        """Whether arguments, as users give them, are of this kind, and no gradients are asked for."""
        if len(arguments) != self._count or stream_in_use() != self._stream:
            return False
        for k, value in self._fixed_values:
            one = arguments[k]
            if one is not value and (type(one) is not type(value) or _spelled(one) != _spelled(value)):
                return False
        inputs = [arguments[k] for k in self._tensor_indices]
        if not self._classes.issuperset(map(type, inputs)) or _is_asked(inputs):
            return False
        arrays = list(map(_array_of, inputs))
        if all(map(is_, map(call, self._refs), arrays)):
            return True
        if list(map(_layout, arrays)) != self._layouts:
            return False
        self._refs = list(map(ref, arrays))
        return True

    def _note(self, arguments: Sequence[Any]) -> None:
        """See which arguments are where they were."""
        self._seen += 1
        addresses = [address_of(arguments[k]._array) for k in self._tensor_indices]
        if self._addresses is not None:
            pairs = zip(self._tensor_indices, addresses, self._addresses, strict=True)
            self._moving |= {k for k, now, before in pairs if now != before}
        self._addresses = addresses

    def _captured(self, arguments: Sequence[Any], fitting: int) -> tuple[Any, ...] | None:
        """The results by a new graph; None where the call cannot be one."""
        self.is_new = True
        if allocator.current() is not None:
            self.reason = OTHER_ALLOCATOR
            return None
        if address := native_call.make_code():
            make_natively(address)  # tensors, of which every replay makes some
        self._note(arguments)
        if not fitting and self.calls and not self._moving <= self._fixed:
            self.calls = []  # what was where it is no more, is copied from now on
        try:
            captured = self._new_call(arguments)
        except CaptureError as error:
            self.reason = str(error)
            return None
        if captured is None:
            self.reason, self.calls = MOVES, []
            return None
        captured.count_own_references()
        captured.copies = fitting >= LENT
        self.calls.append(captured)
        self.replays += 1
        return captured.replay(arguments)

    def _new_call(self, arguments: Sequence[Any]) -> CapturedCall | None:
        while self._made < MAX_CAPTURES:
            self._made += 1
            own = sorted(k for k in self._moving - self._fixed if is_in_one_piece(arguments[k]))
            try:
                return CapturedCall(self._run, arguments, self._tensor_indices, own)
            except NeedsPlaceError as needs:
                self._fixed |= set(needs.indices)
        return None
