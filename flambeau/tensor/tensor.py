"""`Tensor`: a strided window on a storage.

>>> t = wrap(np.arange(6, dtype=np.float32).reshape(2, 3))
>>> t.shape, t.stride(), t.dtype
(flambeau.Size([2, 3]), (3, 1), flambeau.float32)
>>> u = view_of(t, (3, 2), (1, 3))
>>> u.shares_storage(t)
True
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flambeau.schema import dtype as dtypes
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.tensor import layout
from flambeau.tensor.formats import Layout
from flambeau.tensor.size import Size
from flambeau.tensor.storage import Storage

Array = np.ndarray[Any, Any]
_DTYPE_OF = {d.numpy: d for d in dtypes.ALL}


class Tensor:
    """A window on a storage: element type, sizes, strides and where it begins, all held by one NumPy array.

    Operators are methods too (`t.add(u)`, `t.add_(u)`); they are installed from the operator declarations.
    """

    __slots__ = (
        "__weakref__", "_array", "_requires_grad", "_storage", "grad", "grad_fn", "is_wrapped_number", "output_nr",
    )  # fmt: skip
    __array_priority__ = 1000

    _array: Array
    """Exactly the tensor's sizes and byte strides, over the storage's memory."""
    _storage: Storage
    """The memory, shared with all views."""
    _requires_grad: bool
    grad: Tensor | None
    """The accumulated gradient of a leaf."""
    grad_fn: Any
    """The tape node that made it; None for a leaf."""
    output_nr: int
    """Which result of `grad_fn` it is."""
    is_wrapped_number: bool
    """Whether it stands for a Python number: such a tensor gives way to others in type promotion."""

    def __init__(self, array: Array, storage: Storage | None = None) -> None:
        self._array = array
        self._storage = Storage(array) if storage is None else storage
        self._requires_grad = False
        self.grad = None
        self.grad_fn = None
        self.is_wrapped_number = False
        self.output_nr = 0

    # What it is

    @property
    def dtype(self) -> DType:
        """The element type."""
        return _DTYPE_OF[self._array.dtype]

    @property
    def device(self) -> Device:
        """Where its memory is."""
        return self._storage.device

    @property
    def shape(self) -> Size:
        """The sizes."""
        return Size(self._array.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._array.ndim

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return self._array.itemsize

    @property
    def nbytes(self) -> int:
        """Elements times bytes per element."""
        return self._array.nbytes

    @property
    def layout(self) -> Layout:
        """How elements are stored: always strided."""
        return Layout.strided

    def stride(self, dim: int | None = None) -> Any:
        """The distance in elements between neighbours along each dimension, or along one."""
        array = self._array
        item = array.itemsize
        if dim is None:
            return tuple([s // item for s in array.strides])
        return array.strides[layout.wrap_dim(dim, array.ndim, allow_scalar=False)] // item

    def storage_offset(self) -> int:
        """Where in its storage the first element is, counted in elements."""
        if self._array is self._storage.base or self._array.size == 0:
            return 0
        return int(self._array.ctypes.data - self._storage.address) // self._array.itemsize

    def untyped_storage(self) -> Storage:
        """The memory, shared with all views."""
        return self._storage

    def data_ptr(self) -> int:
        """The address of the first element; 0 when there is none."""
        return int(self._array.ctypes.data) if self._array.size else 0

    def element_size(self) -> int:
        """Bytes per element."""
        return self._array.itemsize

    def shares_storage(self, other: Tensor) -> bool:
        """Whether both look at the same storage."""
        return self._storage is other._storage

    # Writing

    @property
    def _version(self) -> int:
        """How many times its storage was written."""
        return self._storage.version

    def bump_version(self) -> None:
        """Note that its memory was written."""
        self._storage.version += 1

    # Gradients

    @property
    def requires_grad(self) -> bool:
        """Whether operations on it are recorded for `backward`."""
        return self._requires_grad or self.grad_fn is not None

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation made it."""
        return self.grad_fn is None

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Ask for a gradient (or stop asking) and return the tensor. Raises RuntimeError for integers and for results."""
        if self.grad_fn is not None and not requires_grad:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a "
                "subgraph that doesn't require differentiation use var_no_grad = var.detach()."
            )
        if requires_grad and self.dtype.category < dtypes.Category.FLOAT:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if self.grad_fn is None:
            self._requires_grad = bool(requires_grad)
        return self

    def __hash__(self) -> int:
        return id(self)


def wrap(array: Any) -> Tensor:
    """A tensor with a storage of its own around an array, without copying. NumPy scalars become 0-d arrays."""
    if type(array) is not np.ndarray:
        array = np.asarray(array)
    return Tensor(array)


def wrap_number(value: complex) -> Tensor:
    """A 0-d tensor that stands for a Python number in type promotion."""
    if isinstance(value, bool):
        array = np.array(value, np.bool_)
    elif isinstance(value, int):
        array = np.array(value, np.int64)
    elif isinstance(value, float):
        array = np.array(value, np.float64)
    else:
        array = np.array(value, np.complex128)
    result = Tensor(array)
    result.is_wrapped_number = True
    return result


def share(base: Tensor, array: Array) -> Tensor:
    """A tensor on `base`'s storage, where `array` is a NumPy view of `base`'s memory with the wanted sizes and strides."""
    return Tensor(array, base._storage)


def view_of(
    base: Tensor, sizes: Sequence[int], strides: Sequence[int], offset: int | None = None, dtype: DType | None = None
) -> Tensor:
    """A tensor on `base`'s storage with these sizes and strides (in elements), beginning `offset` elements into the storage.

    `offset` is `base`'s own by default. `dtype` reads the memory as another type; then strides and offset count its elements.
    Raises RuntimeError when the view would leave the storage.
    """
    array = base._array
    storage = base._storage
    numpy_dtype = array.dtype if dtype is None else dtype.numpy
    item = numpy_dtype.itemsize
    byte_strides = [s * item for s in strides]
    if 0 in sizes:
        return Tensor(np.ndarray(tuple(sizes), numpy_dtype, strides=byte_strides), storage)
    if offset is None:
        start = 0 if array is storage.base else array.ctypes.data - storage.address
    else:
        start = offset * item
    try:
        window: Array = np.ndarray(tuple(sizes), numpy_dtype, storage.bytes, start, byte_strides)
    except (ValueError, TypeError):
        needed = (layout.min_storage_elements(sizes, strides) + start // item) * item
        raise RuntimeError(
            f"setStorage: sizes {list(sizes)}, strides {list(strides)}, storage offset {start // item}, and itemsize "
            f"{item} requiring a storage size of {needed} are out of bounds for storage of size {storage.nbytes}"
        ) from None
    return Tensor(window, storage)


def install_method(name: str, method: Callable[..., Any]) -> None:
    """Give `Tensor` a method, unless it has one of this name already."""
    if name not in Tensor.__dict__:
        setattr(Tensor, name, method)
