"""The memory of tensors, as records of a file: each storage once, whatever tensors look at it."""

from __future__ import annotations

from flambeau.schema.device import META
from flambeau.schema.dtype import BARE_UNSIGNED, DType
from flambeau.serialize.archive_format import BYTES_GLOBAL, QUANTIZED_GLOBAL, STORAGE_NAMES, TENSOR_GLOBAL
from flambeau.serialize.archive_writer.container_writer import Bytes
from flambeau.serialize.archive_writer.opcodes import PickleStream
from flambeau.tensor.layout import contiguous_strides
from flambeau.tensor.quantized import PerTensor, QuantizedTensor, Quantizer, on_storage
from flambeau.tensor.storage import Storage
from flambeau.tensor.tensor import Tensor, wrap


class StorageRecords:
    """The storages of one pickle, by the keys it has for them."""

    def __init__(self) -> None:
        self.records: dict[str, Bytes] = {}
        """What to write, by key."""
        self._keys: dict[tuple[int, DType], str] = {}
        self._alive: list[Storage] = []

    def key_of(self, storage: Storage, dtype: DType) -> str:
        """The key of a storage. Memory that is seen as elements of two types is written for each."""
        known = self._keys.get((storage.identity, dtype))
        if known is None:
            known = self._keys[storage.identity, dtype] = str(len(self.records))
            self._alive.append(storage)
            self.records[known] = b"" if storage.device == META else storage.host_bytes()
        return known


def write_tensor(
    stream: PickleStream, tensor: Tensor, storages: StorageRecords, *, is_program: bool = True
) -> None:
    """A tensor as the call that makes it again of its storage; `write_parts` has the arguments."""
    write_parts(stream, tensor, storages, is_program=is_program)
    stream.reduce()


def write_parts(
    stream: PickleStream, tensor: Tensor, storages: StorageRecords, *, is_program: bool = True,
    between: tuple[str, str] | None = None,
) -> None:  # fmt: skip
    """The function that makes a tensor of its storage, and its arguments; of a copy where its layout has no other form.

    Args:
        stream: what is written to.
        tensor: the tensor.
        storages: those of the file.
        is_program: whether it is one of a program. Elsewhere PyTorch writes unsigned words as bytes, with their dtype.
        between: a global that stands between the function and the arguments.
    """
    if not _is_regular(tensor):
        tensor = _copied(tensor)
    is_quantized = isinstance(tensor, QuantizedTensor)
    has_bytes = not is_program and tensor.dtype in BARE_UNSIGNED
    stream.name(*(QUANTIZED_GLOBAL if is_quantized else BYTES_GLOBAL if has_bytes else TENSOR_GLOBAL))
    if between is not None:
        stream.name(*between)
    stream.begin_tuple()
    _write_storage(stream, tensor, storages, has_bytes=has_bytes)
    stream.plain(tensor.storage_offset())
    sizes = tuple(tensor._array.shape)
    _write_sizes(stream, sizes)
    _write_sizes(stream, contiguous_strides(sizes) if tensor._array.size == 0 else tensor.stride())
    if isinstance(tensor, QuantizedTensor):
        _write_quantizer(stream, tensor.quantizer, storages)
    stream.plain(tensor.requires_grad)
    stream.name("collections", "OrderedDict")
    stream.empty_tuple()
    stream.reduce()
    if has_bytes:
        stream.name("torch", tensor.dtype.name)
    stream.end_tuple()


def _write_quantizer(stream: PickleStream, quantizer: Quantizer, storages: StorageRecords) -> None:
    stream.begin_tuple()
    stream.name("torch", quantizer.scheme.name)
    if isinstance(quantizer, PerTensor):
        stream.plain(quantizer.scale)
        stream.plain(quantizer.zero_point)
    else:
        write_tensor(stream, wrap(quantizer.scales), storages)
        write_tensor(stream, wrap(quantizer.zero_points), storages)
        stream.plain(quantizer.axis)
    stream.end_tuple()


def _write_storage(stream: PickleStream, tensor: Tensor, storages: StorageRecords, *, has_bytes: bool) -> None:
    storage, dtype = tensor._storage, tensor.dtype
    key = storages.key_of(storage, dtype)
    if stream.get(("storage", key)):
        return
    stream.begin_tuple()
    stream.plain("storage")
    if has_bytes:
        stream.name("torch.storage", "UntypedStorage")
    else:
        stream.name("torch", STORAGE_NAMES[dtype])
    stream.plain(key)
    stream.plain(str(tensor.device))
    stream.plain(storage.nbytes() // (1 if has_bytes else dtype.itemsize))
    stream.end_tuple()
    stream.persistent()
    stream.put(("storage", key))


def _write_sizes(stream: PickleStream, sizes: tuple[int, ...]) -> None:
    if not sizes:
        stream.empty_tuple()
        return
    stream.begin_tuple()
    for size in sizes:
        stream.plain(int(size))
    stream.end_tuple()


def _is_regular(tensor: Tensor) -> bool:
    """Whether sizes, strides and a first element, counted in elements, say where the elements are."""
    array, storage = tensor._array, tensor._storage
    if array.size == 0 or storage.device == META:
        return True
    from_start = array.ctypes.data - storage.address
    offsets = (*array.strides, from_start)
    last = from_start + sum((n - 1) * s for n, s in zip(array.shape, array.strides, strict=True))
    is_inside = from_start >= 0 and last + array.itemsize <= storage.nbytes() // array.itemsize * array.itemsize
    return is_inside and all(p >= 0 and p % array.itemsize == 0 for p in offsets)


def _copied(tensor: Tensor) -> Tensor:
    if isinstance(tensor, QuantizedTensor):
        return on_storage(tensor._array.copy(), None, tensor.quantizer)
    copy = wrap(tensor._array.copy())
    return copy.requires_grad_() if tensor.requires_grad else copy
