"""An optimiser's update of all its parameters: a table of calls of one kernel, which writes over what it reads.

Such a call is the block of words that a kernel is called with: addresses of arrays and numbers, sizes. It is kept from
step to step and told what has changed, so that a step costs a look at each array and a jump into native code.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from flambeau.codegen.launches import Launch
from flambeau.codegen.llvm.launch_sizes import ALIGNED_FROM
from flambeau.codegen.native_call import object_layouts
from flambeau.codegen.runtime import start
from flambeau.ops.families.composite import F
from flambeau.optim.device_update import DeviceUpdate
from flambeau.optim.formula import Formula, FormulaKernel
from flambeau.schema.dtype import DType
from flambeau.tensor.grad_mode import refuse_writing
from flambeau.tensor.settled import is_readable
from flambeau.tensor.tensor import Tensor
from flambeau.util.array_address import address_of

_WORD: Final = ctypes.c_size_t
Tensors = Sequence[Tensor | None]
GRADIENT: Final = 1
"""Which of a formula's tensors is the gradient."""
PIECE: Final = ALIGNED_FROM // 2
"""Bytes of a result that one call of a kernel writes at most."""
REAL_OF_COMPLEX: Final = {np.dtype(np.complex64): np.dtype(np.float32), np.dtype(np.complex128): np.dtype(np.float64)}


class Numbers:
    """The numbers of a formula in one step: as the settings have them, a rate may be a tensor."""

    def __init__(self, scalars: Sequence[Any]) -> None:
        self.scalars = scalars


class NumberCell:
    """Where a kernel reads its numbers, for one optimiser: written when other ones are to be used."""

    def __init__(self, kernel: FormulaKernel) -> None:
        self.kernel = kernel
        self.values = np.zeros(len(kernel.number_indices))
        self.current: Numbers | None = None
        """Whose values are there."""

    def hold(self, numbers: Numbers) -> None:
        """Work out what the kernel takes."""
        self.values[:] = self.kernel.numbers([float(n) for n in numbers.scalars])
        self.current = numbers


class FusedUpdate:
    """Applies a formula to parameters, each with its gradient and state."""

    def __init__(self, formula: Formula) -> None:
        self.formula = formula
        self._updates: dict[int, ParameterUpdate | None] = {}
        """By the identity of the parameter; None where the last try had no native form."""
        self._flag = ctypes.c_int32(0)
        self._cells: dict[FormulaKernel, NumberCell] = {}
        self._on_devices = DeviceUpdate(formula)

    def finish(self) -> None:
        """Change the parameters on devices, which wait for all others of a step."""
        self._on_devices.finish()

    def __call__(self, tensors: Tensors, numbers: Numbers, flags: tuple[bool, ...]) -> None:
        """Write a parameter and its state.

        Args:
            tensors: the formula's tensors, None where its flags make one useless.
            numbers: its numbers.
            flags: its flags.
        """
        parameter = tensors[0]
        update = self._updates.get(id(parameter))
        if update is None or not update.fits(tensors, flags):
            is_on_host = parameter is not None and is_readable(parameter)
            if not is_on_host and self._on_devices.add(tensors, numbers, flags):
                return
            update = self._updates[id(parameter)] = self._new_update(tensors, flags) if is_on_host else None
            if update is None:
                apply(self.formula, tensors, numbers.scalars, flags)
                return
        update.run(numbers)

    def _new_update(self, tensors: Tensors, flags: tuple[bool, ...]) -> ParameterUpdate | None:
        """An update for tensors that lie in memory of the host one element after the other; else None."""
        arrays = [None if t is None else t._array for t in tensors]
        present = [a for a in arrays if a is not None]
        targets = [a for k, a in enumerate(arrays) if a is not None and k != GRADIENT]
        if not all(a.flags.writeable for a in targets):
            return None
        if any(a.shape != present[0].shape or not _is_plain(a) for a in present) or _overlap(present):
            return None
        kernel = self.formula.kernel(tuple([None if t is None else _real(t.dtype) for t in tensors]), flags)
        if kernel is None:
            return None
        cell = self._cells.setdefault(kernel, NumberCell(kernel))
        return ParameterUpdate(cell, tensors, flags, self._flag)


class ParameterUpdate:
    """A kernel's calls for one parameter. Its gradient may lie elsewhere in each step, and is not kept.

    A large parameter is updated piece by piece: for large results a kernel counts on memory that lies as it allocates
    it, and what is written over lies where it is.
    """

    __slots__ = (
        "_addresses", "_alone", "_cell", "_data_at", "_dtype", "_flag", "_flags", "_gradient_at", "_kept_arrays",
        "_nbytes", "_pieces", "_shape", "_storages", "kernel",
    )  # fmt: skip

    def __init__(self, cell: NumberCell, tensors: Tensors, flags: tuple[bool, ...], flag: ctypes.c_int32) -> None:
        kernel = self.kernel = cell.kernel
        self._cell = cell
        self._flags = flags
        self._flag = flag
        arrays = [None if t is None else t._array for t in tensors]
        self._nbytes = arrays[0].nbytes  # type: ignore[union-attr]
        self._storages = [tensors[k]._storage for k in kernel.targets]  # type: ignore[union-attr]
        self._gradient_at = 1 + kernel.sources.index(GRADIENT)
        rows = [None if a is None else _flat(a) for a in arrays]
        self._pieces = list(self._in_pieces(rows))
        """Of each piece, how the kernel is launched, on which words, and how far its gradient is from the first."""
        self._alone = _one_call(self._pieces)
        self._addresses = [_address(a) for k, a in enumerate(arrays) if a is not None and k != GRADIENT]
        self._shape, self._dtype = arrays[GRADIENT].shape, arrays[GRADIENT].dtype  # type: ignore[union-attr]
        self._kept_arrays: list[tuple[int, Any]] = [(k, a) for k, a in enumerate(arrays) if k != GRADIENT]
        """What the words are about, kept alive, by which of the tensors it is."""
        layouts = object_layouts()
        self._data_at = None if layouts is None else layouts.array.offset("data")

    def _in_pieces(self, rows: list[Any]) -> Iterator[tuple[Launch, Any, int]]:
        kernel, values = self.kernel, self._cell.values
        numbers = [values[k : k + 1].reshape(()) for k in range(len(values))]
        length = rows[0].size
        most = PIECE // max(row.itemsize for row in rows if row is not None)
        for first in range(0, length, most):
            parts = [None if row is None else row[first : first + most] for row in rows]
            inputs: list[Any] = [*[parts[k] for k in kernel.sources], *numbers]
            launch = kernel.compiled.launch_for(inputs)
            words = array("q", launch.words)
            words[0] = ctypes.addressof(self._flag)
            for at, part in enumerate([*inputs, *[parts[k] for k in kernel.targets]], 1):
                words[at] = _address(part)
            yield launch, words, first * rows[GRADIENT].itemsize

    def fits(self, tensors: Tensors, flags: tuple[bool, ...]) -> bool:
        """Whether it is for these flags and this memory; it then takes the gradient, wherever that lies."""
        if flags is not self._flags and flags != self._flags:
            return False
        for at, known in self._kept_arrays:
            tensor = tensors[at]
            if known is not (None if tensor is None else tensor._array):
                return False
        gradient = tensors[GRADIENT]._array  # type: ignore[union-attr]
        if gradient.shape != self._shape or gradient.dtype is not self._dtype:
            return False
        # Asking NumPy for the address takes as long as a small update does.
        data_at = self._data_at
        data_address = _address(gradient) if data_at is None else _WORD.from_address(id(gradient) + data_at).value
        kind = gradient.flags
        if not (kind.c_contiguous and kind.aligned):
            return False
        nbytes = self._nbytes
        for address in self._addresses:
            if -nbytes < data_address - address < nbytes:
                return False
        at = self._gradient_at
        for _, words, offset in self._pieces:
            words[at] = data_address + offset
        return True

    def run(self, numbers: Numbers) -> None:
        """Compute, and write, with the formula's numbers."""
        for storage in self._storages:
            refuse_writing(storage.version)
        if self._cell.current is not numbers:
            self._cell.hold(numbers)
        if self._alone is not None:
            entry, block, high = self._alone
            entry(block, 0, high)
        else:
            for launch, words, _ in self._pieces:
                start(launch, words)
        for storage in self._storages:
            storage.version += 1


def _one_call(pieces: Sequence[tuple[Launch, Any, int]]) -> tuple[Any, int, int] | None:
    """What is called with what, where one call on this thread is all."""
    if len(pieces) != 1:
        return None
    launch, words, _ = pieces[0]
    if launch.step or launch.variant is None:
        return None
    return launch.variant.entry, words.buffer_info()[0], launch.high


def apply(formula: Formula, tensors: Tensors, numbers: Sequence[Any], flags: tuple[bool, ...]) -> None:
    """Write a parameter and its state by operators one after the other, which the tape may record."""
    real = [_as_real(t) for t in tensors]
    results = formula(real, numbers, flags)
    for target, result in zip(formula.targets, results, strict=True):
        if real[target] is not None:
            F.copy_(real[target], result)


def _as_real(tensor: Tensor | None) -> Any:
    return F.view_as_real(tensor) if tensor is not None and tensor.dtype.is_complex else tensor


def _real(dtype: DType) -> DType:
    """The dtype of the parts of a complex number."""
    return dtype.to_real() if dtype.is_complex else dtype


def _is_plain(a: Any) -> bool:
    return bool(a.flags.c_contiguous and a.flags.aligned)


def _overlap(arrays: Sequence[Any]) -> bool:
    """Whether two of them share memory; one that is there twice does."""
    return any(np.may_share_memory(a, b) for k, a in enumerate(arrays) for b in arrays[:k])


def _flat(a: Any) -> Any:
    """All elements in a row, of complex numbers both parts."""
    row = a.reshape(-1)
    return row.view(REAL_OF_COMPLEX[row.dtype]) if row.dtype in REAL_OF_COMPLEX else row


def _address(a: Any) -> int:
    return address_of(a)
