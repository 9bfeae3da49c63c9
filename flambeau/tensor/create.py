"""New tensors from Python data, and new memory of given sizes and strides."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final

import numpy as np

from flambeau.schema.argument_rules import to_dtype
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.tensor import defaults, layout
from flambeau.tensor.array_library import empty_in_order, is_on_device
from flambeau.tensor.bridge import from_array, from_dlpack, from_numpy_or_copy, is_foreign
from flambeau.tensor.dispatch import call
from flambeau.tensor.observer import thread
from flambeau.tensor.overrides import NOT_OVERRIDDEN, answer
from flambeau.tensor.sequences import array_of
from flambeau.tensor.tensor import Array, Tensor, wrap
from flambeau.util.user_code import warn_user

COPIES: Final = (
    "tensor(x) of a tensor is deprecated: write x.detach().clone(), and .requires_grad_() where the copy asks for "
    "gradients"
)


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

    ints give int64, floats the default dtype, bools bool, complex numbers complex64; NumPy's numbers, arrays and
    tensors in a sequence have dtypes of their own, which are promoted with these. Raises ValueError for ragged
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
        warn_user(COPIES, UserWarning)
        result = _copied(data, target)
    elif is_foreign(data):
        result = _copied(from_array(data), target)
    elif isinstance(data, np.ndarray | np.generic):
        result = from_numpy_or_copy(np.array(data, copy=True))
        result = result if target is None or result.dtype is target else call("aten::_to_copy", result, dtype=target)
    else:
        result = wrap(array_of(data, target))
    if on_device is not None and on_device != result.device:
        result = call("aten::to", result, on_device)
    return result.asking_from_the_start() if requires_grad else result


def _copied(source: Tensor, dtype: DType | None) -> Tensor:
    copied: Tensor = call("aten::_to_copy", source.detach(), dtype=dtype) if dtype else source.detach().clone()
    return copied


tensor.operator_name = "aten::tensor"  # type: ignore[attr-defined]  # how the compiler knows it


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
