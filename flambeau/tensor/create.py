"""New tensors from Python data, and new memory of given sizes and strides."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final

import numpy as np

from flambeau.schema import dtype as dtypes
from flambeau.schema.argument_rules import to_dtype
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.tensor import defaults, layout
from flambeau.tensor.array_library import empty_in_order, is_on_device
from flambeau.tensor.bridge import from_array, from_dlpack, from_numpy_or_copy, is_foreign
from flambeau.tensor.dispatch import call
from flambeau.tensor.observer import thread
from flambeau.tensor.overrides import NOT_OVERRIDDEN, answer
from flambeau.tensor.tensor import Array, Tensor, wrap

QUANTIZED: Final = (
    "numbers alone do not say what integers of {dtype} stand for: write flambeau.quantize_per_tensor(x, scale, "
    "zero_point, flambeau.{dtype})"
)
_RANGES: Final = {
    d: (0 if not d.is_signed else -(1 << (8 * d.itemsize - 1)), (1 << (8 * d.itemsize - d.is_signed)) - 1)
    for d in dtypes.ALL
    if d.is_integral
}


def check_device(device: Device | None) -> None:
    """Raise RuntimeError unless data can be put on `device`."""
    if device is not None and device.type != "cpu":
        raise RuntimeError(f"no tensor can be put on device '{device}' here; use device='cpu'")


def _check_place(device: Device | None) -> None:
    """Raise RuntimeError for a device that nothing here reaches; whether there is one of CUDA is asked elsewhere."""
    if device is None or device.type not in ("cuda", "meta"):
        check_device(device)


def empty_strided(sizes: Sequence[int], strides: Sequence[int], dtype: DType) -> Array:
    """Fresh memory with these sizes and strides (in elements), not initialised."""
    item = dtype.itemsize
    if is_on_device():
        return empty_in_order(sizes, dtype.numpy, [s * item for s in strides])  # type: ignore[no-any-return]
    needed = layout.min_storage_elements(sizes, strides)
    if needed == prod(sizes):
        return np.ndarray(tuple(sizes), dtype.numpy, strides=[s * item for s in strides])
    memory = np.empty(needed * item, np.uint8)
    return np.ndarray(tuple(sizes), dtype.numpy, memory, 0, [s * item for s in strides])


def strides_for(sizes: Sequence[int], memory_format: int | None, like: Sequence[int] | None = None) -> tuple[int, ...]:
    """Strides of new memory in a memory format; `like` are the strides that `preserve_format` follows."""
    if memory_format in (2, 3):
        if len(sizes) != memory_format + 2:
            raise RuntimeError(
                f"required rank {memory_format + 2} tensor to use channels_last{'_3d' * (memory_format == 3)} format"
            )
        return layout.channels_last_strides(sizes)
    if memory_format == 1 and like is not None:
        return layout.preserved_strides(sizes, like)
    return layout.contiguous_strides(sizes)


def tensor(
    data: Any,
    *,
    dtype: Any = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A new tensor with a copy of `data`: numbers, nested sequences of numbers or tensors, arrays.

    ints give int64, floats the default dtype, bools bool, complex numbers complex64. Raises ValueError for ragged
    sequences, TypeError for what is no number, RuntimeError for numbers that `dtype` cannot hold.

    Args:
        data: numbers, nested lists of them, arrays or tensors.
        dtype: the dtype of the result; that of the data if None.
        device: "cpu".
        requires_grad: whether the result asks for gradients.
        pin_memory: accepted, without effect.

    >>> tensor([[1, 2], [3, 4]]).tolist()
    [[1, 2], [3, 4]]
    """
    if thread.handlers:
        options = {"dtype": dtype, "device": device, "requires_grad": requires_grad, "pin_memory": pin_memory}
        answered = answer(tensor, (data,), {k: v for k, v in options.items() if v not in (None, False)})
        if answered is not NOT_OVERRIDDEN:
            return answered  # type: ignore[no-any-return]
    on_device = Device(device) if isinstance(device, str) else device
    _check_place(on_device)
    target = None if dtype is None else to_dtype(dtype)
    if isinstance(data, Tensor):
        result = call("aten::_to_copy", data.detach(), dtype=target) if target else data.detach().clone()
    elif is_foreign(data):
        result = tensor(from_array(data), dtype=target)
    elif isinstance(data, np.ndarray | np.generic):
        result = from_numpy_or_copy(np.array(data, copy=True))
        result = result if target is None or result.dtype is target else call("aten::_to_copy", result, dtype=target)
    else:
        result = wrap(_from_sequence(data, target))
    if on_device is not None and on_device != result.device:
        result = call("aten::to", result, on_device)
    return result.asking_from_the_start() if requires_grad else result


tensor.operator_name = "aten::tensor"  # type: ignore[attr-defined]  # how the compiler knows it


def _from_sequence(data: Any, target: DType | None) -> Array:
    shape = _shape_of(data)
    flat: list[Any] = []
    _flatten(data, shape, 0, flat)
    dtype = target or infer_dtype(flat)
    if not flat:
        return np.empty(shape, dtype.numpy)
    _check_values(flat, dtype)
    with np.errstate(all="ignore"):
        if dtype is dtypes.complex32:
            array = np.array([(complex(v).real, complex(v).imag) for v in flat], dtype.numpy)
        elif dtype is dtypes.bool_:
            array = np.array([bool(v) for v in flat])
        elif dtype.is_integral:
            array = np.array([int(v) for v in flat], np.int64).astype(dtype.numpy)
        else:
            array = np.array(flat, np.complex128 if dtype.is_complex else np.float64).astype(dtype.numpy)
    return array.reshape(shape)


def _shape_of(data: Any) -> tuple[int, ...]:
    """The sizes of nested sequences, by their first elements."""
    sizes: list[int] = []
    while True:
        if isinstance(data, Tensor):
            return (*sizes, *data.shape)
        if isinstance(data, np.ndarray):
            return (*sizes, *data.shape)
        if not _is_sequence(data):
            return tuple(sizes)
        sizes.append(len(data))
        if not len(data):
            return tuple(sizes)
        data = data[0]


def _is_sequence(data: Any) -> bool:
    return isinstance(data, list | tuple | range) or (
        hasattr(data, "__len__") and hasattr(data, "__getitem__") and not isinstance(data, str | bytes | dict | set)
    )


def _flatten(data: Any, shape: tuple[int, ...], depth: int, out: list[Any]) -> None:
    if isinstance(data, Tensor | np.ndarray):
        if tuple(data.shape) != shape[depth:]:
            raise ValueError(
                f"expected sequence of shape {list(shape[depth:])} at dim {depth} (got {list(data.shape)})"
            )
        values = data.tolist()
        array = (
            np.asarray(values, dtype=object).reshape(-1) if not isinstance(values, int | float | complex) else [values]
        )
        out.extend(array)
        return
    if depth == len(shape):
        out.append(_number(data))
        return
    if not _is_sequence(data):
        raise TypeError("not a sequence")
    if len(data) != shape[depth]:
        raise ValueError(f"expected sequence of length {shape[depth]} at dim {depth} (got {len(data)})")
    if depth == len(shape) - 1 and all(type(v) in _PLAIN for v in data):
        out.extend(data)
        return
    for element in data:
        _flatten(element, shape, depth + 1, out)


_PLAIN: Final = frozenset((int, float, bool, complex))


def _number(value: Any) -> Any:
    if type(value) in _PLAIN:
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, str) or not isinstance(value, int | float | complex):
        if not isinstance(value, str) and hasattr(value, "__index__"):
            return value.__index__()
        if not isinstance(value, str) and hasattr(value, "__float__"):
            return float(value)
        if value is None:
            raise RuntimeError("Could not infer dtype of NoneType")
        if isinstance(value, str):
            raise TypeError("new(): invalid data type 'str'")
        raise RuntimeError(f"Could not infer dtype of {type(value).__name__}")
    return value


def infer_dtype(values: Sequence[Any]) -> DType:
    """The dtype for Python numbers: the highest kind among them decides. float32 for none."""
    kinds = set(map(type, values))
    if not kinds:
        return defaults.float_dtype()
    if any(issubclass(k, complex) for k in kinds):
        return defaults.float_dtype().to_complex()
    if any(issubclass(k, float) for k in kinds):
        return defaults.float_dtype()
    return dtypes.bool_ if kinds == {bool} else dtypes.int64


def _check_values(values: Sequence[Any], dtype: DType) -> None:
    """Refuse numbers that integers and real dtypes cannot hold."""
    if dtype.is_complex or dtype is dtypes.bool_:
        return
    if any(isinstance(v, complex) for v in values):
        raise TypeError("must be real number, not complex")
    if dtype.is_quantized:
        raise RuntimeError(QUANTIZED.format(dtype=dtype.name))
    if not dtype.is_integral:
        return
    low, high = _RANGES[dtype]
    for value in values:
        if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
            raise ValueError("Overflow when unpacking long long")
        if not _fits_range(value, low, high):
            raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")


def _fits_range(value: Any, low: int, high: int) -> bool:
    """Whether an integral dtype holds a number; unsigned ones take negative ints, which wrap around."""
    if isinstance(value, int):
        return (-high if low == 0 else low) <= value <= high
    return value - value == 0 and low <= int(value) <= high


def as_tensor(data: Any, dtype: Any = None, device: Device | str | None = None) -> Tensor:
    """`data` as a tensor, sharing memory with a tensor or array that has the dtype already; else as `tensor`.

    Args:
        data: a tensor, an array, numbers or nested lists of them.
        dtype: the dtype of the result; that of the data if None.
        device: "cpu".

    >>> import flambeau
    >>> flambeau.as_tensor([1, 2])
    tensor([1, 2])
    """
    if thread.handlers:
        options = {"dtype": dtype, "device": device}
        answered = answer(as_tensor, (data,), {k: v for k, v in options.items() if v is not None})
        if answered is not NOT_OVERRIDDEN:
            return answered  # type: ignore[no-any-return]
    target = None if dtype is None else to_dtype(dtype)
    if isinstance(data, np.ndarray) or is_foreign(data):
        data = from_array(data)
    if isinstance(data, Tensor):
        on_device = Device(device) if isinstance(device, str) else device
        _check_place(on_device)
        if on_device is not None and on_device != data.device:
            data = call("aten::to", data, on_device)
        same: Tensor = data if target is None or data.dtype is target else call("aten::to", data, target)
        return same
    return tensor(data, dtype=target, device=device)


def asarray(
    obj: Any,
    *,
    dtype: Any = None,
    device: Device | str | None = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """`obj` as a tensor: tensors, arrays, DLPack exporters, buffers and scalars share memory where they can.

    `copy=True` always copies; `copy=False` raises ValueError where a copy would be needed.

    Args:
        obj: what becomes a tensor.
        dtype: the dtype of the result; that of the object if None.
        device: "cpu".
        copy: whether memory is copied; where needed if None.
        requires_grad: whether the result asks for gradients.

    >>> import flambeau
    >>> flambeau.asarray([1.0, 2.0])
    tensor([1., 2.])
    """
    target = None if dtype is None else to_dtype(dtype)
    source = obj
    if not isinstance(source, Tensor | np.ndarray) and is_foreign(source):
        source = from_dlpack(source)
    elif not isinstance(source, Tensor | np.ndarray) and isinstance(source, memoryview | bytearray):
        source = np.frombuffer(source, target.numpy if target else defaults.float_dtype().numpy)
    result = as_tensor(source, target, device)
    shares = isinstance(source, Tensor | np.ndarray) and np.may_share_memory(
        result._array, source._array if isinstance(source, Tensor) else source
    )
    if copy is False and not shares:
        raise ValueError(f"can't alias arbitrary sequence or convert without a copy: got {type(obj).__name__}")
    result = result.detach()
    if copy and shares:
        result = result.clone()
    return result.asking_from_the_start() if requires_grad else result
