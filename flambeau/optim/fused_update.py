"""An optimiser's update of all its parameters: a table of calls of one kernel, which writes over what it reads.

Such a call is the block of words that a kernel is called with: addresses of arrays and numbers, sizes. It is kept from
step to step and told what has changed, so that a step costs a look at each array and a jump into native code.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from flambeau.codegen.launches import Launch
from flambeau.codegen.native_call import object_layouts
from flambeau.codegen.runtime import start
from flambeau.ops.families.composite import F
from flambeau.optim.formula import Formula, FormulaKernel
from flambeau.schema.dtype import DType
from flambeau.tensor.tensor import Tensor

_WORD: Final = ctypes.c_size_t
Tensors = Sequence[Tensor | None]
GRADIENT: Final = 1
"""Which of a formula's tensors is the gradient."""
ELSEWHERE: Final = object()
"""Stands for an array that may be another one in each step."""
REAL_OF_COMPLEX: Final = {np.dtype(np.complex64): np.dtype(np.float32), np.dtype(np.complex128): np.dtype(np.float64)}


class Numbers:
    """The numbers of a formula in one step, and what each kernel makes of them, worked out once."""

    def __init__(self, given: Sequence[Any]) -> None:
        self.given = given
        """As the settings have them: a rate may be a tensor."""
        self._of_kernels: dict[FormulaKernel, tuple[Any, int]] = {}

    def words(self, kernel: FormulaKernel) -> tuple[Any, int]:
        """The kernel's numbers in memory, and where that is."""
        words = self._of_kernels.get(kernel)
        if words is None:
            values = np.array(kernel.numbers([float(n) for n in self.given]), np.float64)
            words = self._of_kernels[kernel] = (values, _address(values))
        return words


class FusedUpdate:
    """Applies a formula to parameters, each with its gradient and state."""

    def __init__(self, formula: Formula) -> None:
        self.formula = formula
        self._updates: dict[int, ParameterUpdate | None] = {}
        """By the identity of the parameter; None where the last try had no native form."""
        self._flag = ctypes.c_int32(0)

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
            update = self._updates[id(parameter)] = self._new_update(tensors, flags)
            if update is None:
                apply(self.formula, tensors, numbers.given, flags)
                return
        update.run(numbers)

    def _new_update(self, tensors: Tensors, flags: tuple[bool, ...]) -> ParameterUpdate | None:
        """An update for tensors that lie in memory one element after the other; else None."""
        arrays = [None if t is None else t._array for t in tensors]
        present = [a for a in arrays if a is not None]
        targets = [a for k, a in enumerate(arrays) if a is not None and k != GRADIENT]
        if not all(a.flags.writeable for a in targets):
            return None
        if any(a.shape != present[0].shape or not _is_plain(a) for a in present) or _overlap(present):
            return None
        kernel = self.formula.kernel(tuple([None if t is None else _real(t.dtype) for t in tensors]), flags)
        return None if kernel is None else ParameterUpdate(kernel, tensors, flags, self._flag)


class ParameterUpdate:
    """A kernel's call for one parameter. Its gradient may lie elsewhere in each step, and is not kept."""

    __slots__ = (
        "_addresses",
        "_arrays",
        "_data_at",
        "_dtype",
        "_first",
        "_flag",
        "_flags",
        "_gradient_at",
        "_launch",
        "_nbytes",
        "_number_at",
        "_shape",
        "_storages",
        "_words",
        "kernel",
    )  # fmt: skip

    def __init__(self, kernel: FormulaKernel, tensors: Tensors, flags: tuple[bool, ...], flag: ctypes.c_int32) -> None:
        self.kernel = kernel
        self._flags = flags
        self._flag = flag
        arrays = [None if t is None else t._array for t in tensors]
        self._nbytes = arrays[0].nbytes  # type: ignore[union-attr]
        self._storages = [tensors[k]._storage for k in kernel.targets]  # type: ignore[union-attr]
        inputs = [_flat(arrays[k]) for k in kernel.sources]
        values = np.zeros(len(kernel.number_places))
        numbers = [values[k : k + 1].reshape(()) for k in range(len(values))]
        self._launch: Launch = kernel.compiled.launch_for([*inputs, *numbers])
        self._number_at = 1 + len(inputs)
        self._words = array("q", self._launch.words or [0])
        places = [*kernel.sources, *[None] * len(numbers), *kernel.targets]
        self._gradient_at = 1 + places.index(GRADIENT)
        if self._launch.variant is not None:
            self._words[0] = ctypes.addressof(flag)
            for at, place in enumerate(places, 1):
                if place is not None:
                    self._words[at] = _address(arrays[place])
        self._addresses = [_address(a) for k, a in enumerate(arrays) if a is not None and k != GRADIENT]
        self._shape, self._dtype = arrays[GRADIENT].shape, arrays[GRADIENT].dtype  # type: ignore[union-attr]
        self._arrays: list[Any] = [*arrays[:GRADIENT], ELSEWHERE, *arrays[GRADIENT + 1 :]]
        """What the words are about, kept alive."""
        layouts = object_layouts()
        self._data_at = None if layouts is None else layouts.array.offset("data")
        self._first = 0
        """Where the numbers are that the words point to."""

    def fits(self, tensors: Tensors, flags: tuple[bool, ...]) -> bool:
        """Whether it is for these flags and this memory; it then takes the gradient, wherever that lies."""
        if flags != self._flags:
            return False
        for tensor, known in zip(tensors, self._arrays, strict=True):
            if known is not (None if tensor is None else tensor._array) and known is not ELSEWHERE:
                return False
        gradient = tensors[GRADIENT]._array  # type: ignore[union-attr]
        if gradient.shape != self._shape or gradient.dtype is not self._dtype:
            return False
        # Asking NumPy for the address takes as long as a small update does.
        data_at = self._data_at
        place = _address(gradient) if data_at is None else _WORD.from_address(id(gradient) + data_at).value
        kind = gradient.flags
        if not (kind.c_contiguous and kind.aligned):
            return False
        nbytes = self._nbytes
        for address in self._addresses:
            if -nbytes < place - address < nbytes:
                return False
        if self._launch.variant is not None:
            self._words[self._gradient_at] = place
        return True

    def run(self, numbers: Numbers) -> None:
        """Compute, and write, with the formula's numbers."""
        if self._launch.variant is None:
            return
        values, first = numbers.words(self.kernel)
        if first != self._first:
            self._first = first
            at = self._number_at
            for k in range(len(values)):
                self._words[at + k] = first + 8 * k
        start(self._launch, self._words)
        for storage in self._storages:
            storage.version += 1


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
    return a.__array_interface__["data"][0]  # type: ignore[no-any-return]
