"""Giving the parameters and buffers of a tree of modules another dtype, keeping who they are."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Any

from flambeau.nn.members import Members
from flambeau.nn.parameter import Parameter
from flambeau.nn.swapped_parameters import (
    get_overwrite_module_params_on_conversion,
    get_swap_module_params_on_conversion,
)
from flambeau.nn.uninitialized import UninitializedBuffer, UninitializedParameter
from flambeau.ops.meta_tensors import is_meta
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.tensor import dispatch
from flambeau.tensor.swapping import swap_tensors
from flambeau.tensor.tensor import Tensor

Change = Callable[[Tensor], Tensor]
TO_WHAT = "to() takes a dtype, a device, both, or a tensor that has them, not {what}"
ONLY_FLOATS = "nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"


def change_tensors(module: Members, change: Change, *, recurse: bool = True) -> None:
    """Replace what every tensor of a module and those below it holds by `change` of it.

    Parameters stay the objects that they are, so that optimisers and modules that share them see the change.
    """
    known: dict[int, Tensor] = {}
    for inner in module.modules() if recurse else (module,):
        holders: tuple[MutableMapping[str, Any], ...] = (inner._parameters, inner._buffers)
        for holder in holders:
            for name, tensor in holder.items():
                if tensor is None:
                    continue
                if id(tensor) not in known:
                    if isinstance(tensor, UninitializedParameter | UninitializedBuffer):
                        empty = change(tensor.placeholder())
                        tensor._array, tensor._storage = empty._array, empty._storage
                        continue
                    known[id(tensor)] = _changed(tensor, change)
                if known[id(tensor)] is not tensor:
                    holder[name] = known[id(tensor)]


def _changed(tensor: Tensor, change: Change) -> Tensor:
    """What a parameter or buffer is afterwards: a parameter itself, unless users want another object."""
    changed = change(tensor.detach())
    if not isinstance(tensor, Parameter):
        return changed
    if not (get_overwrite_module_params_on_conversion() or get_swap_module_params_on_conversion()):
        tensor.data = changed
        gradient = tensor._grad
        if gradient is not None:
            converted = change(gradient.detach())
            if converted.device == gradient.device:
                gradient.data = converted
            else:  # who has the gradient keeps it where it is
                tensor.grad = converted
        return tensor
    other = Parameter(changed, tensor.requires_grad)
    other.grad = None if tensor.grad is None else change(tensor.grad)
    if get_overwrite_module_params_on_conversion():
        return other
    other.__dict__.update(tensor.__dict__)
    swap_tensors(tensor, other)
    return tensor


NO_DATA = (
    "Cannot copy out of meta tensor; no data! Please use flambeau.nn.Module.to_empty() instead of "
    "flambeau.nn.Module.to() when moving module from meta to a different device."
)


def _check_data(tensor: Tensor, target: Device) -> None:
    """Raise NotImplementedError for a tensor without data that is to be where tensors have some."""
    if target.type != "meta" and is_meta(tensor):
        raise NotImplementedError(NO_DATA)


def to_change(*args: Any, **kwargs: Any) -> Change:
    """What `module.to(*args, **kwargs)` does to a tensor. Raises TypeError for integer dtypes and unknown arguments."""
    dtype, device = kwargs.pop("dtype", None), kwargs.pop("device", None)
    layout = kwargs.pop("memory_format", None)
    kwargs.pop("non_blocking", None)
    kwargs.pop("copy", None)
    for argument in (*args, *kwargs.values()):
        match argument:
            case Tensor():
                dtype, device = argument.dtype, argument.device
            case DType():
                dtype = argument
            case Device() | str():
                device = argument
            case bool() | None:
                pass
            case _:
                raise TypeError(TO_WHAT.format(what=type(argument).__name__))
    if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
        raise TypeError(ONLY_FLOATS.format(dtype=dtype))
    target = Device(device) if isinstance(device, str) else device

    def change(tensor: Tensor) -> Tensor:
        if target is not None:
            _check_data(tensor, target)
            tensor = dispatch.call("aten::to", tensor, target)
        if layout is not None and tensor.dim() in (4, 5):
            tensor = dispatch.call("aten::contiguous", tensor, memory_format=layout)
        return convert(tensor, dtype) if dtype is not None else tensor

    return change


def convert(tensor: Tensor, dtype: DType) -> Tensor:
    """A floating point or complex tensor in another dtype; others as they are."""
    if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
        converted: Tensor = dispatch.call("aten::to", tensor, dtype)
        return converted
    return tensor
