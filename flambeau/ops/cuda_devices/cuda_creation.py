"""New memory on a device: `zeros`, `full`, `empty_like` and their kind. What nobody initialises is zero, as it is on
the host.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flambeau.cuda.devices import numbered
from flambeau.cuda.fresh import strided
from flambeau.ops.cuda_devices.cuda_calls import CUDA_RULES, device_among
from flambeau.ops.cuda_devices.cuda_rules import fill
from flambeau.schema.device import CPU, Device
from flambeau.schema.dtype import DType, by_code
from flambeau.schema.opdef import OpDef, named_arguments
from flambeau.tensor.array_library import np
from flambeau.tensor.create import strides_for
from flambeau.tensor.defaults import float_dtype
from flambeau.tensor.sequences import infer_dtype
from flambeau.tensor.tensor import Tensor, wrap

PRESERVE: Final = 1
_FILLS: Final = {"zeros": 0, "ones": 1, "empty": 0}


@CUDA_RULES(
    "aten::empty", "aten::zeros", "aten::ones", "aten::full", "aten::new_empty", "aten::new_zeros", "aten::new_ones",
    "aten::new_full",
)  # fmt: skip
def _new(definition: OpDef, arguments: Sequence[Any]) -> Any:
    options = named_arguments(definition, arguments)
    like: Tensor | None = options.get("self")
    device = _device_for(arguments, like)
    if device.type != "cuda":
        return NotImplemented if like is None else definition.kernel(_sizes_only(like), *arguments[1:])
    short = definition.name.removeprefix("aten::").removeprefix("new_")
    value = options["fill_value"] if short == "full" else _FILLS[short]
    code = options.get("dtype")
    dtype = by_code(code) if code is not None else like.dtype if like is not None else _dtype_of(value, short)
    sizes = options["size"]
    return _filled(sizes, dtype, device, strides_for(sizes, options.get("memory_format")), value)


@CUDA_RULES("aten::empty_like", "aten::zeros_like", "aten::ones_like", "aten::full_like")
def _new_like(definition: OpDef, arguments: Sequence[Any]) -> Any:
    options = named_arguments(definition, arguments)
    like: Tensor = options["self"]
    device = _device_for(arguments, like)
    if device.type != "cuda":
        return definition.kernel(_sizes_only(like), *arguments[1:])
    short = definition.name.removeprefix("aten::").removesuffix("_like")
    value = options["fill_value"] if short == "full" else _FILLS[short]
    code, wanted = options.get("dtype"), options.get("memory_format")
    sizes = like._array.shape
    strides = strides_for(sizes, PRESERVE if wanted is None else wanted, like.stride())
    return _filled(sizes, like.dtype if code is None else by_code(code), device, strides, value)


@CUDA_RULES("aten::empty_strided", "aten::new_empty_strided")
def _strided(definition: OpDef, arguments: Sequence[Any]) -> Any:
    options = named_arguments(definition, arguments)
    like: Tensor | None = options.get("self")
    device = _device_for(arguments, like)
    if device.type != "cuda":
        return NotImplemented
    code = options.get("dtype")
    dtype = by_code(code) if code is not None else like.dtype if like is not None else float_dtype()
    return _filled(options["size"], dtype, device, options["stride"], 0)


def _filled(sizes: Sequence[int], dtype: DType, device: Device, strides: Sequence[int], value: Any) -> Tensor:
    result = strided(sizes, dtype, numbered(device), strides)
    fill(result, value)
    return result


def _device_for(arguments: Sequence[Any], like: Tensor | None) -> Device:
    named = device_among(arguments)
    return named if named is not None else like.device if like is not None else CPU


def _dtype_of(value: Any, short: str) -> DType:
    """The dtype of new memory that nobody named: `full` follows its number."""
    return infer_dtype([value]) if short == "full" else float_dtype()


def _sizes_only(source: Tensor) -> Tensor:
    """A tensor of the host, one element repeated, of the same sizes and dtype."""
    return wrap(np.broadcast_to(np.zeros((), source.dtype.numpy), source._array.shape))
