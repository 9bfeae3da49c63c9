"""Whole calls of a plan as CUDA graphs: captured once, replayed for arguments that lie in the same way.

Arguments that were at the same address call after call, such as a model's parameters, are used where they are; others
are copied to memory of the graph's own. A replay writes its results where the last one did: they are handed out from
there while nobody holds those of a call before, from a second graph where somebody does, and copied where both are.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from operator import call, is_
from typing import Any
from weakref import ref

from flambeau.cuda import capturing, library, tensors
from flambeau.cuda.allocator import temporaries
from flambeau.cuda.devices import device as using
from flambeau.cuda.graphs import CUDAGraph
from flambeau.cuda.storage import WITHIN, copy
from flambeau.cuda.streams import Stream, stream
from flambeau.executor.devices.capturable import refuse_unsafe
from flambeau.tensor import layout
from flambeau.tensor.settled import settle
from flambeau.tensor.tensor import Tensor, view_of, window
from flambeau.util.array_address import address_of
from flambeau.util.record import dataclass

Run = Callable[[Sequence[Any]], tuple[Any, ...]]


class CaptureError(Exception):
    """That a call cannot be a graph, and why."""


class NeedsPlaceError(Exception):
    """That arguments which were copied are written to, or returned: they have to be used where they are."""

    def __init__(self, indices: list[int]) -> None:
        super().__init__(indices)
        self.indices = indices


@dataclass(frozen=True, slots=True)
class _Own:
    """A result in memory of the graph."""

    array: Any
    storage: Any
    cls: type

    def after_replay(self, arguments: Sequence[Any], *, copies: bool) -> Tensor:
        """The result of a replay."""
        if copies:
            shown = settle(window(self.array, self.storage))
            strides = [s // self.array.itemsize for s in self.array.strides]
            copied = tensors.empty(self.array.shape, shown.dtype, shown.device, strides)
            copy(copied.data_ptr(), shown.data_ptr(), copied.nbytes, WITHIN, shown.device)
            return copied
        shown = window(self.array, self.storage)
        shown.__class__ = self.cls
        return shown


@dataclass(frozen=True, slots=True)
class _Itself:
    """A result that is an argument."""

    index: int

    def after_replay(self, arguments: Sequence[Any], *, copies: bool) -> Any:
        """The argument."""
        return arguments[self.index]


@dataclass(frozen=True, slots=True)
class _View:
    """A result that looks at the memory of an argument."""

    index: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int

    def after_replay(self, arguments: Sequence[Any], *, copies: bool) -> Tensor:
        """The same of the argument of this call."""
        base: Tensor = arguments[self.index]
        return settle(view_of(base, self.sizes, self.strides, base.storage_offset() + self.offset))


@dataclass(frozen=True, slots=True)
class _Known:
    """A result that is no tensor."""

    value: Any

    def after_replay(self, arguments: Sequence[Any], *, copies: bool) -> Any:
        """The value."""
        return self.value


@dataclass(frozen=True, slots=True)
class _Several:
    """A tuple or list of results."""

    kind: type
    items: tuple[Any, ...]

    def after_replay(self, arguments: Sequence[Any], *, copies: bool) -> Any:
        """New ones of them."""
        return self.kind([item.after_replay(arguments, copies=copies) for item in self.items])


class CapturedCall:
    """One graph, with its arguments and results."""

    def __init__(
        self, run: Run, arguments: Sequence[Any], tensor_indices: Sequence[int], own_indices: Sequence[int]
    ) -> None:
        """Captures a call. `own_indices` are the arguments that are copied; the others are used where they are.

        Raises CaptureError for what cannot be captured, NeedsPlaceError for a copied argument that is written to.
        """
        self.replays = 0
        self._fixed_indices = [k for k in tensor_indices if k not in own_indices]
        """The arguments that are used where they are."""
        self._refs = [ref(arguments[k]._array) for k in self._fixed_indices]
        self._addresses = [address_of(arguments[k]._array) for k in self._fixed_indices]
        inputs = list(arguments)
        self._own = []
        for k in own_indices:
            inputs[k] = like(arguments[k])
            self._own.append((k, inputs[k].data_ptr(), inputs[k].nbytes, inputs[k]))
        versions = {k: inputs[k]._storage.version for k in tensor_indices}
        self._graph, results = captured(run, tuple(inputs))
        self._written = [k for k in tensor_indices if inputs[k]._storage.version != versions[k]]
        """The arguments that a call writes to."""
        memories = {id(arguments[k]._storage) for k in self._written}
        needed = [k for k in own_indices if id(arguments[k]._storage) in memories]
        if needed:  # what is written to, and what looks at the same memory
            raise NeedsPlaceError(needed)
        self._storages: dict[int, Any] = {}
        self._result_storages: list[Any] = []
        self._own_references: list[int] = []
        self._results = [self._described(r, inputs, tensor_indices, own_indices) for r in results]
        self.copies = False
        """Whether results are copied out, for calls whose earlier results are held."""
        self._device = inputs[tensor_indices[0]].device

    def _described(self, result: Any, inputs: list[Any], indices: Sequence[int], own: Sequence[int]) -> Any:
        if isinstance(result, list | tuple):
            return _Several(type(result), tuple(self._described(r, inputs, indices, own) for r in result))
        if not isinstance(result, Tensor):
            return _Known(result)
        for k in indices:
            if inputs[k] is result or inputs[k]._storage is result._storage:
                if k in own:
                    raise NeedsPlaceError([k])
                if inputs[k] is result:
                    return _Itself(k)
                if result.dtype is not inputs[k].dtype:
                    raise CaptureError("a result reads the memory of an argument as another dtype")
                offset = result.storage_offset() - inputs[k].storage_offset()
                return _View(k, tuple(result._array.shape), tuple(result.stride()), offset)
        if not tensors.is_on_device(result):
            raise CaptureError("a result is a tensor of the host")
        self._storages[id(result._storage)] = result._storage
        return _Own(result._array, result._storage, type(result))

    def count_own_references(self) -> None:
        """Nobody has results yet: so many references are the graph's own."""
        self._result_storages = list(self._storages.values())
        self._own_references = list(map(sys.getrefcount, self._result_storages))

    @property
    def is_free(self) -> bool:
        """Whether nobody holds results of an earlier replay."""
        return self.copies or list(map(sys.getrefcount, self._result_storages)) == self._own_references

    def fits(self, arguments: Sequence[Any]) -> bool:
        """Whether the arguments that are used where they are, are there, and none that is copied shares what is
        written to."""
        if self._written and self._own:
            memories = {id(arguments[k]._storage) for k in self._written}
            if any(id(arguments[k]._storage) in memories for k, *_ in self._own):
                return False
        arrays = [arguments[k]._array for k in self._fixed_indices]
        if all(map(is_, map(call, self._refs), arrays)):
            return True
        if list(map(address_of, arrays)) != self._addresses:
            return False
        self._refs = list(map(ref, arrays))
        return True

    def replay(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """The results for arguments that fit."""
        if self._own:
            self._fill(arguments)
        self._graph.replay()
        self.replays += 1
        for k in self._written:
            arguments[k].bump_version()
        copies = self.copies
        return tuple([r.after_replay(arguments, copies=copies) for r in self._results])


    def _fill(self, arguments: Sequence[Any]) -> None:
        """Copy the arguments that are copied."""
        cuda = library.cupy().cuda
        if cuda.runtime.getDevice() != self._device.index:
            with using(self._device.index):
                self._fill(arguments)
            return
        stream, copy_bytes = cuda.get_current_stream().ptr, cuda.runtime.memcpyAsync
        for k, target, nbytes, _ in self._own:
            if nbytes:
                copy_bytes(target, address_of(arguments[k]._array), nbytes, WITHIN, stream)


def like(tensor: Tensor) -> Tensor:
    """New memory for a tensor that lies in one piece, with the same strides."""
    return tensors.empty(tensor._array.shape, tensor.dtype, tensor.device, tensor.stride())


def is_in_one_piece(tensor: Tensor) -> bool:
    """Whether a tensor's elements are all that its extent holds."""
    return layout.is_non_overlapping_and_dense(tensor._array.shape, tensor.stride())


def captured(run: Run, arguments: tuple[Any, ...]) -> tuple[CUDAGraph, tuple[Any, ...]]:
    """A call as a graph, with its results, of which nothing has been computed yet. Raises CaptureError."""
    graph = CUDAGraph()
    device = next(a.device for a in arguments if tensors.is_on_device(a))
    with stream(Stream(device)), temporaries(), capturing.checking(refuse_unsafe):
        graph.capture_begin()
        try:
            results = run(arguments)
        except Exception as error:
            _ended(graph)
            raise CaptureError(_words(error)) from error
        try:
            graph.capture_end()
        except Exception as error:
            graph.reset()
            raise CaptureError(_words(error)) from error
    return graph, results


def _ended(graph: CUDAGraph) -> None:
    """End a capture that failed."""
    with suppress(Exception):  # it says again that it failed
        graph.capture_end()
    graph.reset()


def _words(error: BaseException) -> str:
    cause = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    return str(cause).strip().splitlines()[-1] if str(cause).strip() else type(cause).__name__


def stream_in_use() -> int:
    """The handle of the stream that calls of this thread go to."""
    return int(library.cupy().cuda.get_current_stream().ptr)
