"""`Tensor`: a strided window on a storage.

>>> t = wrap(np.arange(6, dtype=np.float32).reshape(2, 3))
>>> t.shape, t.stride(), t.dtype
(flambeau.Size([2, 3]), (3, 1), flambeau.float32)
>>> u = view_of(t, (3, 2), (1, 3))
>>> u.shares_storage(t)
True
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from flambeau.schema import dtype as dtypes
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.tensor import layout, observer, overrides, subclasses
from flambeau.tensor.array_library import address_of, device_view
from flambeau.tensor.formats import Layout
from flambeau.tensor.grad_mode import is_grad_enabled, mode, note_asked
from flambeau.tensor.gradient_state import NO_DEEPCOPY, GradientState
from flambeau.tensor.methods import TensorMethods
from flambeau.tensor.observer import thread
from flambeau.tensor.size import Size
from flambeau.tensor.storage import Storage
from flambeau.tensor.truth import ambiguous_truth
from flambeau.util.made_objects import Maker

Array = np.ndarray[Any, Any]
_DTYPE_OF = {d.numpy: d for d in (*dtypes.ALL, *dtypes.QUANTIZED)}
_ASKED, _NUMBERS = object(), frozenset({bool, int, float, complex})
"""Stands for a storage that was not passed: users ask for tensors by data or sizes."""
CONSTRUCTORS: list[Callable[[tuple[Any, ...]], tuple[Array, Storage | None]]] = []
"""What makes memory of the arguments of `Tensor(...)`: it needs tensors itself, so it is told later."""


def _row_major(array: Array) -> Array:
    """An array without elements as others are: NumPy makes all strides of such an array 0."""
    if any(array.strides):
        return array
    strides = [array.itemsize * s for s in layout.contiguous_strides(array.shape)]
    return np.ndarray(array.shape, array.dtype, bytearray(), 0, strides)


class Tensor(GradientState, TensorMethods):
    """A window on a storage: element type, sizes, strides and where it begins, all held by one NumPy array.
    Operators are methods too (`t.add(u)`, `t.add_(u)`), installed from their declarations.
    >>> wrap(np.ones(2)).add(1).tolist()
    [2.0, 2.0]
    """

    __slots__ = (
        "__dict__", "__weakref__", "_array", "_base", "_grad", "_leaf", "_made_in", "_node", "_requires_grad",
        "_storage", "_wrapped", "is_wrapped_number", "output_nr",
    )  # fmt: skip
    # users' attributes lie in `__dict__`, which is made when there are some
    __array_priority__ = 1000
    _is_root = True

    _array: Array
    """Exactly the tensor's sizes and byte strides, over the storage's memory."""
    _storage: Storage
    """The memory, shared with all views."""
    _wrapped: Any
    """What it stands for within a transform (`levels`); plain tensors have none."""
    is_wrapped_number: bool
    """Whether it stands for a Python number: such a tensor gives way to others in type promotion."""

    def __init__(self, array: Any = _ASKED, storage: Any = _ASKED, *sizes: int) -> None:
        # Users pass numbers, sizes or nothing; this package an array and its storage (None: a new one).
        if storage is _ASKED or type(array) is not np.ndarray:
            array, storage = CONSTRUCTORS[0](tuple([a for a in (array, storage, *sizes) if a is not _ASKED]))
        if storage is None and not array.size:
            array = _row_major(array)
        self._array = array
        self._storage = Storage(array) if storage is None else storage
        self._requires_grad = False
        self._grad = None
        self._leaf = None
        self._node = None
        self._base = None
        self._made_in = None
        self.is_wrapped_number = False
        self.output_nr = 0

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        subclasses.adopt(cls, overrides.wrap_members, overrides.guard_reads)

    @classmethod
    def __flambeau_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """What a call of `func` gives that gets tensors of this class: what it gives for plain ones, as this class."""
        return overrides.default_function(cls, func, types, args, kwargs)

    __torch_function__ = __flambeau_function__

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
        watching = thread.observer
        if watching is None:
            return tuple.__new__(Size, self._array.shape)
        sizes = watching.sizes(self, self._array.shape)
        return sizes if isinstance(sizes, Size) else tuple.__new__(Size, sizes)

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
        return (address_of(self._array) - self._storage.address) // self._array.itemsize

    def untyped_storage(self) -> Storage:
        """The memory, shared with all views."""
        return self._storage

    def data_ptr(self) -> int:
        """The address of the first element; 0 when there is none."""
        return address_of(self._array) if self._array.size else 0

    def element_size(self) -> int:
        """Bytes per element."""
        return self._array.itemsize

    def shares_storage(self, other: Tensor) -> bool:
        """Whether both look at the same storage."""
        return self._storage.identity == other._storage.identity

    # Reading

    def numel(self) -> int:
        """The number of elements."""
        return self._array.size

    nelement = numel

    def dim(self) -> int:
        """The number of dimensions."""
        return self._array.ndim

    ndimension = dim

    def size(self, dim: int | None = None) -> Any:
        """All sizes, or the one of a dimension. Raises IndexError for a dimension out of range."""
        if dim is None:
            return self.shape
        if type(self) is Tensor and type(dim) is int and 0 <= dim < self._array.ndim and thread.observer is None:
            return self._array.shape[dim]
        position = layout.wrap_dim(dim, self._array.ndim, allow_scalar=False)
        return self.shape[position if dim >= 0 else dim]

    def is_contiguous(self, memory_format: int = 0) -> bool:
        """Whether its elements lie in that order without gaps: row-major, or channels last for 4 or 5 dimensions."""
        array = self._array
        if memory_format == 0:
            return bool(array.flags.c_contiguous)
        wanted = 4 if memory_format == 2 else 5
        return array.ndim == wanted and layout.is_channels_last(array.shape, self.stride())

    def is_floating_point(self) -> bool:
        """Whether elements are real floats."""
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        """Whether elements are complex."""
        return self.dtype.is_complex

    def is_signed(self) -> bool:
        """Whether elements can be negative."""
        return self.dtype.is_signed

    def get_device(self) -> int:
        """The index of its device; -1 for the CPU."""
        return -1 if self.device.index is None else self.device.index

    @property
    def is_cpu(self) -> bool:
        """Whether its memory is the CPU's."""
        return self.device.type == "cpu"

    @property
    def is_cuda(self) -> bool:
        """Whether its memory is a CUDA device's."""
        return self.device.type == "cuda"

    @observer.seen("numpy")
    def numpy(self, *, force: bool = False) -> Array:
        """The elements as a NumPy array on the same memory; bfloat16 has the dtype of `ml_dtypes`. Raises RuntimeError
        for a leaf that asks for a gradient and for what a tape recorded, unless `force` or under `no_grad()`."""
        if not force and (self._requires_grad or self._is_recorded()) and is_grad_enabled():
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        return self._array[...]

    @observer.seen("item")
    def item(self) -> Any:
        """The only element as a Python number. Raises RuntimeError unless there is exactly one."""
        array = self._array
        if array.size != 1:
            raise RuntimeError(f"a Tensor with {array.size} elements cannot be converted to Scalar")
        value = array.item()
        if type(value) in _NUMBERS:
            return value
        return complex(*map(float, value)) if isinstance(value, tuple) else float(value)

    @observer.seen("tolist")
    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers; a number for a 0-d tensor."""
        if self._array.ndim == 0:
            return self.item()
        if self.dtype is dtypes.bfloat16:
            return self._array.astype(np.float32).tolist()
        if self.dtype is dtypes.complex32:
            return (self._array["real"].astype(np.complex64) + self._array["imag"].astype(np.float32) * 1j).tolist()
        return self._array.tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        array = self.numpy()
        if dtype is not None and np.dtype(dtype) != array.dtype:
            if copy is False:
                raise ValueError(f"converting {array.dtype} to {np.dtype(dtype)} needs a copy; leave copy=False out")
            converted: Array = array.astype(dtype)
            return converted
        return np.array(array) if copy else array

    def __buffer__(self, flags: int) -> memoryview:
        return memoryview(self.numpy().data)

    def __dlpack__(self, **options: Any) -> Any:
        """A DLPack capsule on the same memory. Raises BufferError for a tensor that requires a gradient."""
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def _is_recorded(self) -> bool:
        return self.grad_fn is not None

    def __len__(self) -> int:
        if self._array.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return int(self.shape[0])

    @observer.seen("bool")
    def __bool__(self) -> bool:
        array = self._array
        if array.size != 1:
            raise RuntimeError(ambiguous_truth(array.size))
        return bool(self.item())

    def _only_element(self) -> Any:
        if self._array.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self.item()

    @observer.seen("int")
    def __int__(self) -> int:
        value = self._only_element()
        if isinstance(value, complex):
            if value.imag:
                raise RuntimeError("value cannot be converted to type int64_t without overflow")
            value = value.real
        return int(value)

    @observer.seen("float")
    def __float__(self) -> float:
        value = self._only_element()
        if isinstance(value, complex):
            if value.imag:
                raise RuntimeError("value cannot be converted to type double without overflow")
            value = value.real
        return float(value)

    @observer.seen("complex")
    def __complex__(self) -> complex:
        return complex(self._only_element())

    @observer.seen("index")
    def __index__(self) -> int:
        if self._array.size != 1 or self._array.dtype.kind not in "iub":
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self._array.item())

    def __hash__(self) -> int:
        return id(self)

    def __reduce__(self) -> tuple[Any, ...]:
        extent = (tuple(self._array.shape), self.stride(), self.storage_offset())
        form: tuple[Any, ...] = (self._storage, self.dtype, *extent, self.requires_grad)
        attributes = self.__dict__
        if attributes or subclasses.is_special(type(self)):
            form = (*form, type(self) if subclasses.is_special(type(self)) else None, attributes)
        return (_rebuild, form)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if self._is_recorded():
            raise RuntimeError(NO_DEEPCOPY)
        extent = (tuple(self._array.shape), self.stride(), self.storage_offset())
        form = (deepcopy(self._storage, memo), self.dtype, *extent, self._requires_grad)
        result = memo[id(self)] = _rebuild(*form, type(self) if subclasses.is_special(type(self)) else Tensor)
        if attributes := self.__dict__:
            result.__dict__.update(deepcopy(attributes, memo))
        result.grad = deepcopy(self._grad, memo)
        return result

    if TYPE_CHECKING:
        # Methods and Python operators come from the operator declarations when the package is imported.
        def __getitem__(self, index: Any) -> Tensor: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...
        def __iter__(self) -> Iterator[Tensor]: ...
        def __add__(self, other: Any) -> Tensor: ...
        def __radd__(self, other: Any) -> Tensor: ...
        def __sub__(self, other: Any) -> Tensor: ...
        def __rsub__(self, other: Any) -> Tensor: ...
        def __mul__(self, other: Any) -> Tensor: ...
        def __rmul__(self, other: Any) -> Tensor: ...
        def __truediv__(self, other: Any) -> Tensor: ...
        def __rtruediv__(self, other: Any) -> Tensor: ...
        def __floordiv__(self, other: Any) -> Tensor: ...
        def __mod__(self, other: Any) -> Tensor: ...
        def __pow__(self, other: Any) -> Tensor: ...
        def __rpow__(self, other: Any) -> Tensor: ...
        def __matmul__(self, other: Any) -> Tensor: ...
        def __and__(self, other: Any) -> Tensor: ...
        def __or__(self, other: Any) -> Tensor: ...
        def __xor__(self, other: Any) -> Tensor: ...
        def __neg__(self) -> Tensor: ...
        def __invert__(self) -> Tensor: ...
        def __abs__(self) -> Tensor: ...
        def __lt__(self, other: Any) -> Tensor: ...
        def __le__(self, other: Any) -> Tensor: ...
        def __gt__(self, other: Any) -> Tensor: ...
        def __ge__(self, other: Any) -> Tensor: ...


def _rebuild(
    storage: Storage,
    dtype: DType,
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    offset: int,
    requires_grad: bool,
    cls: type[Tensor] | None = None,
    attributes: dict[str, Any] | None = None,
) -> Tensor:
    """The tensor that was pickled, on the storage that was pickled with it."""
    anchor = Tensor(np.empty(0, dtype.numpy), storage)
    shown = view_of(anchor, sizes, strides, offset)
    if cls is None or cls is Tensor:
        result = shown
    else:
        result = object.__new__(cls)
        Tensor.__init__(result, shown._array, storage)
    if attributes:
        result.__dict__.update(attributes)
    result._requires_grad = requires_grad and note_asked()
    return result


def wrap(array: Any) -> Tensor:
    """A tensor with a storage of its own around an array, without copying. NumPy scalars become 0-d arrays, and arrays
    of a device stay what they are: while an operator runs there, its tensors hold such arrays."""
    if type(array) is not np.ndarray:
        if hasattr(array, "__cuda_array_interface__"):
            return plain(array, _storage_of(array, mode.first_version))  # type: ignore[no-any-return]
        array = np.asarray(array)
    if not array.size:
        array = _row_major(array)
    return plain(array, _storage_of(array, mode.first_version))  # type: ignore[no-any-return]


def wrap_number(value: complex) -> Tensor:
    """A 0-d tensor that stands for a Python number in type promotion; a number of NumPy's is one too."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        array = np.array(value, np.bool_)
    elif isinstance(value, int):
        array = np.array(value, np.int64)
    elif isinstance(value, float):
        array = np.array(value, np.float64)
    else:
        array = np.array(value, np.complex128)
    result = Tensor(array, None)
    result.is_wrapped_number = True
    return result


def share(base: Tensor, array: Array) -> Tensor:
    """A tensor on `base`'s storage, where `array` is a NumPy view of `base`'s memory with the wanted sizes and
    strides."""
    shown = base._base
    made_in = None if mode.enabled else mode.unrecorded
    return _view(array, base._storage, base if shown is None else shown, made_in)  # type: ignore[no-any-return]


def window(array: Array, storage: Storage, shown: Tensor | None = None) -> Tensor:
    """`Tensor(array, storage)`, in a fraction of the time; a view of `shown`."""
    if shown is None:
        return plain(array, storage)  # type: ignore[no-any-return]
    base = shown if shown._base is None else shown._base
    return _view(array, storage, base, None if mode.enabled else mode.unrecorded)  # type: ignore[no-any-return]


_FRESH: Final[dict[str, Any]] = {"_requires_grad": False, "is_wrapped_number": False, "output_nr": 0}
_FRESH.update(dict.fromkeys(("_grad", "_leaf", "_node")))
FRESH: Final = {**_FRESH, "_base": None, "_made_in": None}
"""What is in the slots of a tensor that is no view, but for its array and its storage."""
plain: Final = Maker(Tensor, ("_array", "_storage"), FRESH)
_view: Final = Maker(Tensor, ("_array", "_storage", "_base", "_made_in"), _FRESH)
_storage_of: Final = Maker(Storage, ("base", "version"), {"_bytes": None})
_NOTHING: Final = np.empty(0, np.uint8)


def view_of(
    base: Tensor, sizes: Sequence[int], strides: Sequence[int], offset: int | None = None, dtype: DType | None = None
) -> Tensor:
    """A tensor on `base`'s storage with these sizes and strides (in elements), beginning `offset` elements into the
    storage.

    `offset` is `base`'s own by default. `dtype` reads the memory as another type; then strides and offset count its
    elements. Raises RuntimeError when the view would leave the storage.
    """
    array = base._array
    storage = base._storage
    numpy_dtype = array.dtype if dtype is None else dtype.numpy
    item = numpy_dtype.itemsize
    byte_strides = [s * item for s in strides]
    if type(array) is not np.ndarray:
        start = None if offset is None else storage.address + offset * item
        return window(device_view(array, sizes, byte_strides, numpy_dtype, start), storage, base)
    if 0 in sizes:
        # without memory of its own NumPy would forget the strides
        return window(np.ndarray(tuple(sizes), numpy_dtype, _NOTHING, 0, byte_strides), storage, base)
    if offset is None and array.flags.c_contiguous:
        try:  # what lies inside of the array needs no bytes of the storage around it
            return window(np.ndarray(tuple(sizes), numpy_dtype, array, 0, byte_strides), storage, base)
        except (ValueError, TypeError):
            pass
    start = (0 if array is storage.base else array.ctypes.data - storage.address) if offset is None else offset * item
    try:
        shown: Array = np.ndarray(tuple(sizes), numpy_dtype, storage.bytes, start, byte_strides)
    except (ValueError, TypeError):
        needed = (layout.min_storage_elements(sizes, strides) + start // item) * item
        raise RuntimeError(
            f"setStorage: sizes {list(sizes)}, strides {list(strides)}, storage offset {start // item}, and itemsize "
            f"{item} requiring a storage size of {needed} are out of bounds for storage of size {storage.nbytes()}"
        ) from None
    return window(shown, storage, base)


def install_method(name: str, method: Callable[..., Any]) -> None:
    """Give `Tensor` a method, unless it has one of this name already."""
    if name not in Tensor.__dict__:
        setattr(Tensor, name, method)
