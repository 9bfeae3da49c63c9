"""Numbers of the host as tensors of a device.

A number that is new is made there by a kernel that is given it: nothing is copied. One that comes again is kept in a
table of the device, as long as there is room.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from flambeau.cuda import capturing, library
from flambeau.cuda.allocator import temporaries
from flambeau.cuda.devices import device as using
from flambeau.cuda.storage import TO_DEVICE, CudaStorage, copy
from flambeau.cuda.tensors import adopted, in_storage
from flambeau.schema.device import Device
from flambeau.tensor.tensor import Tensor
from flambeau.util.locks import Lock

ROOM: Final = 1024
WORD: Final = 8
MOST_BYTES: Final = 8
Key = tuple[str, bytes]


class _Table:
    """The numbers that a device has met more than once."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.memory: Any = library.cupy().cuda.Memory(ROOM * WORD)
        self.known: dict[Key, Tensor] = {}
        self.met: dict[Key, None] = {}
        self.lock = Lock()

    def find(self, value: Any, dtype: np.dtype[Any]) -> Tensor | None:
        """The tensor of a number; None for one that is met for the first time."""
        element = np.asarray(value, dtype)
        key = dtype.str, element.tobytes()
        number = self.known.get(key)
        if number is not None or element.nbytes > MOST_BYTES:
            return number
        with self.lock:
            if key not in self.met:
                if len(self.met) >= ROOM:
                    self.met.clear()
                self.met[key] = None
                return None
            if len(self.known) >= ROOM:
                return None
            return self.known.setdefault(key, self._brought(element))

    def _brought(self, element: np.ndarray[Any, Any]) -> Tensor:
        """A number in the next word; whoever reads it, on whatever stream, does so later."""
        address = int(self.memory.ptr) + len(self.known) * WORD
        storage = CudaStorage(self.device, element.nbytes, self.memory, address)
        copy(address, element.ctypes.data, element.nbytes, TO_DEVICE, self.device)
        return in_storage(storage, (), (), element.dtype)


class _State:
    def __init__(self) -> None:
        self.tables: dict[tuple[int, int], _Table] = {}


_state: Final = _State()


def number_on_device(value: Any, dtype: np.dtype[Any], device: Device) -> Tensor:
    """A tensor without dimensions that holds a number, which nobody writes to."""
    with using(device.index):
        if not capturing.underway:
            key = library.which(), device.index or 0
            table = _state.tables.get(key)
            if table is None:
                table = _state.tables.setdefault(key, _Table(device))
            number = table.find(value, dtype)
            if number is not None:
                return number
        with temporaries():
            return adopted(library.cupy().full((), value, dtype), device)
