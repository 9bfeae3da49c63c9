"""An optimiser's update of all its parameters on a device: one launch for those that have the same kernel.

Parameters are told one after the other, and changed together at the end of the step. What the launch looks up, where
tensors lie and the formula's numbers, stays on the device and is brought over again when it is no longer so.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np

from flambeau.codegen.cuda.many import THREADS, ManyKernel
from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.cuda import capturing, library
from flambeau.cuda.devices import device as using
from flambeau.cuda.storage import TO_DEVICE, CudaStorage
from flambeau.cuda.tensors import is_on_device
from flambeau.optim.formula import Formula, FormulaKernel
from flambeau.schema.device import Device
from flambeau.tensor.grad_mode import refuse_writing
from flambeau.tensor.tensor import Tensor
from flambeau.util.record import dataclass

GRADIENT: Final = 1
"""Which of a formula's tensors is the gradient."""
ALIGNED: Final = 16
WORD: Final = 8
Tensors = Sequence[Tensor | None]


@dataclass(eq=False, slots=True)
class _Member:
    """A parameter with its state, where it lies."""

    arrays: tuple[Any, ...]
    """Of all its tensors but the gradient, for which there is None."""
    flags: tuple[bool, ...]
    kernel: FormulaKernel
    addresses: list[int]
    """Of all its tensors, 0 for one that there is not."""
    storages: list[Any]
    """What is written."""
    size: int
    nbytes: int
    device: Device

    def fits(self, tensors: Tensors, flags: tuple[bool, ...]) -> bool:
        """Whether it is for these flags and this memory; it then takes the gradient, wherever that lies."""
        if flags != self.flags:
            return False
        for k, known in enumerate(self.arrays):
            tensor = tensors[k]
            if k != GRADIENT and known is not (None if tensor is None else tensor._array):
                return False
        return self.takes(tensors[GRADIENT])

    def takes(self, gradient: Tensor | None) -> bool:
        """Whether a gradient lies like the parameter, and apart from all that is written."""
        parameter = self.arrays[0]
        if gradient is None or not is_on_device(gradient) or gradient.device != self.device:
            return False
        array = gradient._array
        if array.shape != parameter.shape or array.dtype != parameter.dtype or not array.flags.c_contiguous:
            return False
        address = int(array.ctypes.data)
        others = [a for k, a in enumerate(self.addresses) if a and k != GRADIENT]
        if any(-self.nbytes < address - other < self.nbytes for other in others):
            return False
        self.addresses[GRADIENT] = address
        return True


class _Tables:
    """What one kernel looks up in a launch on one stream."""

    __slots__ = ("shares", "sizes", "table", "words")

    def __init__(self) -> None:
        self.sizes: tuple[int, ...] = ()
        self.shares: Any = None
        self.table: Any = None
        self.words: Any = None
        """What was brought to `table` last."""


class DeviceUpdate:
    """Applies a formula to parameters on devices."""

    def __init__(self, formula: Formula) -> None:
        self._formula = formula
        self._members: dict[int, _Member] = {}
        """By the identity of the parameter."""
        self._kernels: dict[tuple[FormulaKernel, bool], ManyKernel | None] = {}
        self._waiting: dict[tuple[FormulaKernel, bool, Device], list[tuple[_Member, Any]]] = {}
        self._tables: dict[tuple[Any, ...], _Tables] = {}

    def add(self, tensors: Tensors, numbers: Any, flags: tuple[bool, ...]) -> bool:
        """Have a parameter changed at the end of the step; whether there is a kernel for that.

        Args:
            tensors: the formula's tensors, None where its flags make one useless.
            numbers: its numbers.
            flags: its flags.
        """
        parameter = tensors[0]
        member = self._members.get(id(parameter))
        if member is None or not member.fits(tensors, flags):
            member = self._new_member(tensors, flags)
            if member is None:
                self._members.pop(id(parameter), None)
                return False
            self._members[id(parameter)] = member
        is_aligned = not any(a % ALIGNED for a in member.addresses)
        key = member.kernel, is_aligned
        if key not in self._kernels:
            self._kernels[key] = _many(member.kernel, is_aligned=is_aligned)
        if self._kernels[key] is None:
            return False
        for storage in member.storages:
            refuse_writing(storage.version)
        self._waiting.setdefault((*key, member.device), []).append((member, numbers))
        return True

    def _new_member(self, tensors: Tensors, flags: tuple[bool, ...]) -> _Member | None:
        parameter, present = tensors[0], [t for t in tensors if t is not None]
        if parameter is None or not all(_lies_like(t, parameter) for t in present):
            return None
        size = parameter._array.size
        dtypes = tuple([None if t is None else t.dtype for t in tensors])
        kernel = self._formula.kernel(dtypes, flags)
        if not size or kernel is None or _overlap([t._array for t in present]):
            return None
        arrays = _arrays(tensors)
        return _Member(
            arrays=(*arrays[:GRADIENT], None, *arrays[GRADIENT + 1 :]), flags=flags, kernel=kernel,
            addresses=[0 if a is None else int(a.ctypes.data) for a in arrays],
            storages=[t._storage for k in kernel.targets if (t := tensors[k]) is not None],
            size=size, nbytes=parameter.nbytes, device=parameter.device,
        )  # fmt: skip

    def finish(self) -> None:
        """Change all that was told since the last time."""
        waiting, self._waiting = self._waiting, {}
        for (kernel, is_aligned, device), members in waiting.items():
            many = self._kernels[kernel, is_aligned]
            assert many is not None
            with using(device.index):
                self._launch(many, kernel, device, members)
            for member, _ in members:
                for storage in member.storages:
                    storage.version += 1

    def _launch(
        self, many: ManyKernel, kernel: FormulaKernel, device: Device, members: Sequence[tuple[_Member, Any]]
    ) -> None:
        cuda = library.cupy().cuda
        stream = cuda.get_current_stream()
        capture = capturing.capture_of(device.index or 0, stream) if capturing.underway else None
        key = (many, device, stream.ptr)
        tables = _Tables() if capture is not None else self._tables.setdefault(key, _Tables())
        sizes = tuple([member.size for member, _ in members])
        share, first, blocks = many.shares(sizes)
        if tables.sizes != sizes:
            tables.shares, tables.sizes = _brought(share, device, capture), sizes
        numbers = list(dict.fromkeys(n for _, n in members))
        values = [kernel.numbers([float(x) for x in n.scalars]) for n in numbers]
        count = len(members) * len(many.order)
        length = count + sum(map(len, values))
        if tables.table is None or tables.table.nbytes != length * WORD:
            tables.table, tables.words = _new_table(length * WORD, device, capture), None
        words = _words(many, kernel, members, {n: k for k, n in enumerate(numbers)}, values, tables.table.address)
        if tables.words is None or not np.array_equal(words, tables.words):
            _bring(words, tables.table, capture)
            tables.words = words
        function, module = many.function()
        if capture is not None:
            capture.kept += [tables, module]
        arguments = np.uint64(tables.shares.address), np.uint64(tables.table.address), np.int64(first)
        function((blocks,), (THREADS,), arguments)


def _arrays(tensors: Tensors) -> list[Any]:
    return [None if t is None else t._array for t in tensors]


def _lies_like(tensor: Tensor, parameter: Tensor) -> bool:
    """Whether a tensor is a row of as many elements on the same device, in one piece."""
    if not is_on_device(tensor) or tensor.device != parameter.device or tensor.dtype.is_complex:
        return False
    return bool(tensor._array.shape == parameter._array.shape and tensor._array.flags.c_contiguous)


def _words(
    many: ManyKernel, kernel: FormulaKernel, members: Sequence[tuple[_Member, Any]], row_of: dict[Any, int],
    values: list[list[float]], address: int,
) -> Any:  # fmt: skip
    """Where each set's vectors and numbers lie, and behind that the numbers."""
    sources, targets = kernel.sources, kernel.targets
    order = []
    for name in many.order:
        number = int(name[1:])
        if name.startswith("y"):
            order.append((targets[number], -1))
        else:
            order.append((sources[number], -1) if number < len(sources) else (-1, number - len(sources)))
    count, width = len(members) * len(order), len(values[0]) if values else 0
    words = np.empty(count + width * len(values), np.int64)
    rows = [
        member.addresses[k] if at < 0 else address + (count + row_of[numbers] * width + at) * WORD
        for member, numbers in members
        for k, at in order
    ]
    words[:count] = rows
    words[count:] = np.array(values, np.float64).reshape(-1).view(np.int64)
    return words


def _brought(words: Any, device: Device, capture: Any) -> CudaStorage:
    """A table in new memory of a device."""
    result = _new_table(words.nbytes, device, capture)
    _bring(words, result, capture)
    return result


def _new_table(nbytes: int, device: Device, capture: Any) -> CudaStorage:
    """Memory for a table. That of a capture is not the graph's, whose earlier work may use the same in each replay,
    while what the table holds is brought there once."""
    if capture is None:
        return CudaStorage(device, nbytes)
    memory = library.cupy().cuda.Memory(nbytes)
    return CudaStorage(device, nbytes, memory, int(memory.ptr))


def _bring(words: Any, table: CudaStorage, capture: Any) -> None:
    """Fill a table, in the order of the stream in use. A capture holds no copies of the host's memory: there another
    stream does it at once."""
    cuda = library.cupy().cuda
    stream = cuda.get_current_stream() if capture is None else cuda.Stream(non_blocking=True)
    cuda.runtime.memcpyAsync(table.address, words.ctypes.data, words.nbytes, TO_DEVICE, stream.ptr)
    if capture is not None:
        stream.synchronize()


def _many(kernel: FormulaKernel, *, is_aligned: bool) -> ManyKernel | None:
    try:
        return ManyKernel(kernel.lowered.kernel, is_aligned=is_aligned)
    except KernelError:
        return None


def _overlap(arrays: Sequence[Any]) -> bool:
    """Whether two of some arrays of one size share memory."""
    addresses = sorted(int(a.ctypes.data) for a in arrays)
    return any(second - first < arrays[0].nbytes for first, second in pairwise(addresses))
