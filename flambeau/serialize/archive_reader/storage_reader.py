"""The tensors of an archive: views of its storages, which are views of the file's memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from operator import mul
from typing import Any, Final

import numpy as np

from flambeau.cuda.devices import numbered
from flambeau.cuda.tensors import on_device
from flambeau.ops.meta_tensors import empty
from flambeau.schema.device import CPU, META, Device
from flambeau.schema.dtype import DType, uint8
from flambeau.serialize.archive_format import STORAGES
from flambeau.serialize.archive_reader.container_reader import Container
from flambeau.serialize.archive_reader.limits import LoadLimits, exceeded
from flambeau.serialize.archive_reader.pickle_machine import PickleError, shown
from flambeau.tensor.dispatch import call
from flambeau.tensor.grad_mode import note_asked
from flambeau.tensor.settled import settle
from flambeau.tensor.tensor import Tensor, view_of, window, wrap
from flambeau.util.record import dataclass

SIZE_LIMIT: Final = 1 << 62
MAX_AXES: Final = 64
MapLocation = Callable[[str], str]
"""From the device that a storage was written on to the one that it is to be on."""


def as_written(location: str) -> str:
    """Storages go where they were."""
    return location


@dataclass(frozen=True, slots=True)
class AllTo:
    """All storages go to one device."""

    device: str

    def __call__(self, location: str) -> str:
        return self.device


NO_DEVICE = (
    "the storage was on device '{device}', which Flambeau cannot load to: pass map_location='cpu' to load everything "
    "into the memory of the machine ({reason})"
)
QUANTIZED = "its elements share bytes, and Flambeau has no such dtype: dequantise the model before saving it"


@dataclass(frozen=True, slots=True)
class StorageKind:
    """A storage class that a pickle names."""

    name: str
    dtype: DType | None
    """None for those of quantised tensors."""


class StoredMemory:
    """A storage: all elements of it as one row; None where only sizes are read."""

    __slots__ = ("device", "key", "kind", "limits", "row", "size")

    def __init__(
        self, kind: StorageKind, key: str, size: int, device: Device, row: Tensor | None, limits: LoadLimits
    ) -> None:
        """`size` is how many elements it has."""
        self.kind, self.key, self.size, self.device, self.row, self.limits = kind, key, size, device, row, limits

    @property
    def dtype(self) -> DType:
        """The element type. Raises PickleError for a quantised one."""
        if self.kind.dtype is None:
            raise PickleError(f"storage '{self.key}' ({self.kind.name}): {QUANTIZED}")
        return self.kind.dtype


@dataclass(frozen=True, slots=True)
class TensorShape:
    """A tensor of which only dtype, sizes and strides are read."""

    dtype: DType
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    device: Device
    requires_grad: bool


UNTYPED: Final = StorageKind("UntypedStorage", uint8)
"""The class of storages that are bytes: what elements they are is written beside each tensor."""


def as_elements(storage: Any, dtype: Any) -> Any:
    """The bytes of a storage as elements. Raises PickleError for another storage, and what is no dtype of tensors."""
    if not isinstance(storage, StoredMemory) or storage.kind is not UNTYPED:
        raise PickleError("a tensor whose dtype is written beside it is made of something that is no untyped storage")
    if not isinstance(dtype, DType) or dtype.is_quantized or storage.size % dtype.itemsize:
        raise PickleError(f"storage '{storage.key}' of {storage.size} bytes holds no elements of {shown(dtype)}")
    row = None if storage.row is None else call("aten::view", storage.row, dtype)
    return StoredMemory(
        StorageKind(UNTYPED.name, dtype), storage.key, storage.size // dtype.itemsize, storage.device, row,
        storage.limits,
    )  # fmt: skip


class Storages:
    """The storages of one pickle, each read once, by its key."""

    def __init__(
        self, container: Container, folder: str, map_location: MapLocation, *, shapes_only: bool = False
    ) -> None:
        self._container = container
        self._folder = folder
        self._map_location = map_location
        self._shapes_only = shapes_only
        self._known: dict[tuple[str, str], StoredMemory] = {}
        self._devices: dict[str, Device] = {}
        """The devices that storages were put on, by name."""

    def find(self, kind: Any, key: Any, location: Any, count: Any) -> StoredMemory:
        """The storage that a persistent id names. Raises PickleError, ArchiveError."""
        if not isinstance(kind, StorageKind) or not isinstance(key, str) or not isinstance(location, str):
            raise PickleError("a storage is not written as its class, key, device and number of elements")
        if type(count) is not int or not 0 <= count < SIZE_LIMIT:
            raise PickleError(f"storage '{key}' cannot have {count} elements")
        storage = self._known.get((kind.name, key))
        if storage is None:
            storage = self._known[kind.name, key] = self._read(kind, key, location, count)
        elif storage.size != count:
            raise PickleError(f"storage '{key}' has {storage.size} elements in one place and {count} in another")
        return storage

    def _read(self, kind: StorageKind, key: str, location: str, count: int) -> StoredMemory:
        try:
            device = self._device(self._map_location(location))
        except RuntimeError as error:
            raise PickleError(f"storage {shown(key)}: {error}") from None
        limits = self._container.limits
        if self._shapes_only or kind.dtype is None:
            return StoredMemory(kind, key, count, device, None, limits)
        is_host = device.type == "cpu" and not device.index
        if not is_host and device == META:
            return StoredMemory(kind, key, count, META, empty((count,), kind.dtype), limits)
        row = wrap(elements_of(self._container, self.record(key), kind.dtype, count))
        if is_host:
            return StoredMemory(kind, key, count, CPU, row, limits)
        try:
            device_number = numbered(device)
        except (RuntimeError, ValueError) as error:
            raise PickleError(NO_DEVICE.format(device=device, reason=error)) from None
        return StoredMemory(kind, key, count, device_number, on_device(row, device_number), limits)

    def _device(self, name: str) -> Device:
        known = self._devices.get(name)
        if known is None:
            known = self._devices[name] = Device(name)
        return known

    def record(self, key: str) -> str:
        """The record of a storage."""
        return f"{self._folder}/{key}"

    def rows(self) -> Iterator[tuple[str, StoredMemory]]:
        """The storages that were read so far, each with its record."""
        for (_, key), memory in self._known.items():
            yield self.record(key), memory


def elements_of(container: Container, record: str, dtype: DType, count: int) -> np.ndarray[Any, Any]:
    """The elements of a storage, as a row. Raises ArchiveError where the record has more or fewer."""
    if count == 0:
        return np.empty(0, dtype.numpy)
    expected, size = count * dtype.itemsize, container.size(record)
    if expected != size:
        raise container.error(f"expected {expected} bytes for {count} elements of {dtype.name}, got {size}", record)
    elements = np.frombuffer(container.view(record, is_data=True), dtype.numpy)
    return elements if elements.flags.aligned else elements.copy()


def part_of(row: Tensor, offset: int, sizes: tuple[int, ...], strides: tuple[int, ...], asks: bool) -> Tensor:
    """A tensor of its own on the memory of a row; `asks` says whether it has gradients. Raises ValueError where it
    would leave the row."""
    memory = row._array
    item = memory.dtype.itemsize
    if 0 in sizes:
        array = view_of(row, sizes, strides, offset)._array
    else:
        array = np.ndarray(sizes, memory.dtype, memory, offset * item, [s * item for s in strides])
    tensor = window(array, row._storage)
    if asks:
        tensor._requires_grad = note_asked()
    return tensor


def tensor_of(
    storage: Any, offset: Any, sizes: Any, strides: Any, requires_grad: Any, flags: Any
) -> Tensor | TensorShape:
    """The tensor that a pickle describes. Raises PickleError if it would leave its storage."""
    if not isinstance(storage, StoredMemory):
        raise PickleError("a tensor is made of something that is no storage")
    dtype = storage.dtype
    _check_layout(offset, sizes, strides)
    if requires_grad is True and not (dtype.is_floating_point or dtype.is_complex):
        raise PickleError(f"a tensor of {dtype.name} cannot have gradients")
    _check_extent(storage, dtype, offset, sizes, strides)
    if storage.row is None:
        return TensorShape(dtype, sizes, strides, storage.device, requires_grad is True)
    row = _flagged(storage.row, flags) if flags else storage.row
    if storage.device is CPU:
        return part_of(row, offset, sizes, strides, requires_grad is True)
    tensor = settle(view_of(row, sizes, strides, offset))
    return tensor.requires_grad_(True) if requires_grad is True else tensor


def _check_layout(offset: Any, sizes: Any, strides: Any) -> None:
    """Raise PickleError for what are no numbers that could be an offset, sizes and strides."""
    for numbers in (sizes, strides):
        if not isinstance(numbers, tuple) or not set(map(type, numbers)) <= _INT or not _are_sizes(numbers):
            got = shown(numbers)
            raise PickleError(f"expected sizes and strides of a tensor as tuples of numbers from 0 on, got {got}")
    if len(sizes) != len(strides) or not _is_size(offset) or len(sizes) > MAX_AXES:
        raise PickleError(f"a tensor has sizes {shown(sizes)}, strides {shown(strides)} and offset {shown(offset)}")


_INT: Final = frozenset({int})


def _are_sizes(numbers: tuple[int, ...]) -> bool:
    return not numbers or (min(numbers) >= 0 and max(numbers) < SIZE_LIMIT)


def _is_size(number: Any) -> bool:
    return type(number) is int and 0 <= number < SIZE_LIMIT


def _check_extent(
    storage: StoredMemory, dtype: DType, offset: int, sizes: tuple[int, ...], strides: tuple[int, ...]
) -> None:
    """Raise PickleError if a tensor would leave its storage, or would be too large once it is copied."""
    last = offset + sum(map(mul, sizes, strides)) - sum(strides) if all(sizes) else -1
    if last >= storage.size:
        raise PickleError(
            f"a tensor of sizes {shown(list(sizes))}, strides {shown(list(strides))} and offset {offset} does not fit "
            f"into storage '{storage.key}' of {storage.size} elements"
        )
    count = math.prod(sizes) if last >= 0 else math.prod([max(n, 1) for n in sizes])
    if dtype.itemsize * count > storage.limits.expanded_bytes:
        raise PickleError(f"a tensor of sizes {shown(list(sizes))} has {exceeded(storage.limits, 'expanded_bytes')}")


def _flagged(row: Tensor, flags: Any) -> Tensor:
    """The elements of a storage as a pickle says that they are meant."""
    if isinstance(flags, dict) and flags.get("conj") is True:
        row = call("aten::conj_physical", row)
    if isinstance(flags, dict) and flags.get("neg") is True:
        row = call("aten::neg", row)
    return row


def storage_kind(name: str) -> StorageKind:
    """The storage class of that name in the module `torch`."""
    return StorageKind(name, STORAGES.get(name))


def contiguous(sizes: Sequence[int]) -> tuple[int, ...]:
    """The strides of a tensor whose elements lie one after the other."""
    strides, step = [], 1
    for size in reversed(sizes):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))
