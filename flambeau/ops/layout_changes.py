"""Tensors that are given other sizes, other memory or no history in place."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.ops.copies import PRESERVE
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.variants import resize
from flambeau.schema.traits import Traits
from flambeau.tensor import layout
from flambeau.tensor.array_library import np
from flambeau.tensor.grad_mode import refuse_writing
from flambeau.tensor.tensor import Tensor, view_of


def resize_kernel(self: Tensor, size: Sequence[int], memory_format: int | None = None) -> Tensor:
    """Other sizes in place, row-major or in the named format; new elements are not initialised."""
    if any(s < 0 for s in size):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(size)}: {list(size)}")
    if memory_format == PRESERVE:
        raise RuntimeError("Unsupported memory format Preserve")
    refuse_writing(self._storage.version)
    if self.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    if tuple(size) != self._array.shape:
        offset = self.storage_offset() if self._storage.nbytes() else 0
        if offset:
            return _resize_at(self, size, offset)
        resize(self, tuple(size))
    if memory_format:
        strides = layout.channels_last_strides(size)
        self._array = view_of(self, size, strides)._array
    return self


def _resize_at(self: Tensor, size: Sequence[int], offset: int) -> Tensor:
    strides = layout.contiguous_strides(size)
    item = self._array.itemsize
    storage = self._storage
    needed = (layout.min_storage_elements(size, strides) + offset) * item
    if needed > storage.nbytes():
        grown = np.zeros(needed, np.uint8)
        grown[: storage.nbytes()] = storage.bytes
        storage.base, storage._bytes = grown, None
    self._array = view_of(self, size, strides, offset)._array
    return self


def set_kernel(self: Tensor, source: Tensor) -> Tensor:
    """Look at another tensor's memory from now on."""
    refuse_writing(self._storage.version)
    self._array, self._storage = source._array, source._storage
    return self


def set_window_kernel(
    self: Tensor, source: Tensor, storage_offset: int, size: Sequence[int], stride: Sequence[int] = ()
) -> Tensor:
    """`set_` to the memory of another tensor, seen through a window of its own."""
    window = view_of(source, size, stride or layout.contiguous_strides(size), storage_offset)
    return set_kernel(self, window)


DETACHED_VIEW = (
    "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for training, "
    "and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence detach_() cannot be "
    "called on these gradients. To fix this error, please refer to the Optimizer.zero_grad() function in "
    "torch/optim/optimizer.py as the solution."
)


def detach_in_place(self: Tensor) -> Tensor:
    """Forget how the tensor was computed. Raises RuntimeError for a view."""
    if self._base is not None:
        raise RuntimeError(DETACHED_VIEW)
    self._node = self._base = None
    self._requires_grad = False
    return self


declare(
    "aten::resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor(a!)",
    kernel=resize_kernel,
    traits=Traits(changes_layout=True),
    is_about_tensor=True,
    on_tensors=True,
    family="write",
    is_function=False,
    doc="Other sizes in place; the storage grows where it must, and new elements are not initialised.",
)
declare(
    "aten::resize_as_(Tensor(a!) self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor(a!)",
    kernel=lambda self, the_template, memory_format: resize_kernel(self, the_template._array.shape, memory_format),
    traits=Traits(changes_layout=True),
    is_about_tensor=True,
    on_tensors=True,
    family="write",
    doc="The sizes of another tensor in place.",
)
declare(
    "aten::set_.source_Tensor(Tensor(a!) self, Tensor source) -> Tensor(a!)",
    kernel=set_kernel,
    traits=Traits(changes_layout=True),
    is_about_tensor=True,
    on_tensors=True,
    family="write",
    is_function=False,
    doc="Look at another tensor's memory from now on.",
)
declare(
    "aten::set_.source_Tensor_storage_offset(Tensor(a!) self, Tensor source, SymInt storage_offset, SymInt[] size, "
    "SymInt[] stride=[]) -> Tensor(a!)",
    kernel=set_window_kernel,
    traits=Traits(changes_layout=True),
    on_tensors=True,
    family="write",
    is_function=False,
)
declare(
    "aten::detach_(Tensor(a!) self) -> Tensor(a!)",
    kernel=detach_in_place,
    traits=Traits(changes_layout=True),
    is_about_tensor=True,
    on_tensors=True,
    family="write",
    doc="Forget how the tensor was computed.",
)
