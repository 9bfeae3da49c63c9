"""New tensors on a device, not initialised: what those of one kind have in common is prepared once.

Every operator makes some, so that this takes as little of the host's time as Python allows.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from math import prod
from typing import Any, Final

import numpy as np

from flambeau.cuda import tensors
from flambeau.cuda.allocator import allocate
from flambeau.cuda.storage import CudaStorage
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.tensor import layout
from flambeau.tensor.grad_mode import mode
from flambeau.tensor.tensor import FRESH, Tensor
from flambeau.util.made_objects import Maker

MAX_KINDS: Final = 256
"""Sizes and dtypes that are remembered."""
_tensor: Final = Maker(tensors.cuda_class(Tensor), ("_array", "_storage"), FRESH)
_storage: Final = Maker(CudaStorage, ("base", "version", "_device", "block"), {"_bytes": None})


class NewTensors:
    """Makes tensors of these sizes, strides (in elements, without gaps) and dtype in new memory."""

    __slots__ = ("_byte_strides", "_dtype", "_extent", "_sizes", "nbytes")

    def __init__(self, sizes: Sequence[int], strides: Sequence[int], dtype: np.dtype[Any]) -> None:
        item = dtype.itemsize
        self._sizes, self._dtype = tuple(sizes), dtype
        self._byte_strides = tuple([s * item for s in strides])
        self.nbytes = prod(sizes) * item
        """Bytes of each tensor."""
        self._extent: Any = ctypes.c_uint8 * self.nbytes

    def __call__(self, device: Device, stream: Any = None) -> Tensor:
        """A new tensor for work of a stream of CuPy's, the one in use if None. Raises OutOfMemoryError where memory is
        too little."""
        nbytes, index = self.nbytes, device.index
        assert index is not None
        if nbytes:
            block = allocate(nbytes, index, stream)
            memory = self._extent.from_address(block.address)
            memory.owner = block
        else:
            block, memory = None, self._extent()
        array: Any = np.ndarray(self._sizes, self._dtype, memory, 0, self._byte_strides)
        return _tensor(array, _storage(array, mode.first_version, device, block))  # type: ignore[no-any-return]

    def fits(self, array: np.ndarray[Any, Any]) -> bool:
        """Whether memory that there is lies like that of one of these."""
        if array.dtype is not self._dtype or array.shape != self._sizes:
            return False
        strides, wanted = array.strides, self._byte_strides
        return strides == wanted or all(
            n == 1 or a == b for n, a, b in zip(self._sizes, strides, wanted, strict=True)
        )  # fmt: skip


_kinds: Final[dict[tuple[tuple[int, ...], DType], NewTensors]] = {}


def row_major(sizes: tuple[int, ...], dtype: DType, device: Device) -> Tensor:
    """A row-major tensor in new memory of a device that has its number."""
    kind = _kinds.get((sizes, dtype))
    if kind is None:
        if len(_kinds) >= MAX_KINDS:
            _kinds.clear()
        kind = _kinds[sizes, dtype] = NewTensors(sizes, layout.contiguous_strides(sizes), dtype.numpy)
    return kind(device)


def strided(sizes: Sequence[int], dtype: DType, device: Device, strides: Sequence[int]) -> Tensor:
    """A tensor with these strides in new memory of a device that has its number.

    Raises RuntimeError for negative sizes, OutOfMemoryError for more memory than there is.
    """
    shape = tuple(sizes)
    if min(shape, default=0) >= 0 and tuple(strides) == layout.contiguous_strides(shape):
        return row_major(shape, dtype, device)
    return tensors.empty(sizes, dtype, device, strides)
