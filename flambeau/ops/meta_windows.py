"""Convolutions, pooling and products on tensors without data: sizes by formulas, or refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flambeau.ops.meta_tensors import META_RULES, empty
from flambeau.schema.opdef import OpDef, named_arguments
from flambeau.tensor.tensor import Tensor

MISMATCH: Final = "mat1 and mat2 shapes cannot be multiplied ({a} and {b})"


def _each(value: Any, count: int, default: int = 1) -> list[int]:
    if value is None or value == []:
        return [default] * count
    numbers = [value] if isinstance(value, int) else list(value)
    return numbers * count if len(numbers) == 1 else numbers


@META_RULES(
    "aten::conv1d", "aten::conv2d", "aten::conv3d", "aten::convolution", "aten::_convolution",
    "aten::conv_transpose1d", "aten::conv_transpose2d", "aten::conv_transpose3d",
)  # fmt: skip
def _convolution(definition: OpDef, arguments: Sequence[Any]) -> Any:
    """Sizes of the windows' places; the rest, such as a batch that is missing, is left to a trial."""
    options = named_arguments(definition, arguments)
    source, weight = arguments[0], arguments[1]
    axes = weight.ndim - 2
    padding = options.get("padding")
    if source.ndim != axes + 2 or isinstance(padding, str) or not source.is_contiguous():
        return NotImplemented
    groups = options.get("groups", 1)
    is_transposed = bool(options.get("transposed", "transpose" in definition.name))
    channels = weight.shape[0] if is_transposed else weight.shape[1] * groups
    if source.shape[1] != channels:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(weight.shape)}, expected input{list(source.shape)} to have "
            f"{channels} channels, but got {source.shape[1]} channels instead"
        )
    ways = zip(
        source.shape[2:], weight.shape[2:], _each(options.get("stride"), axes), _each(padding, axes, 0),
        _each(options.get("dilation"), axes), _each(options.get("output_padding"), axes, 0), strict=True,
    )  # fmt: skip
    sizes = []
    for size, window, stride, pad, dilation, extra in ways:
        reach = dilation * (window - 1) + 1
        if is_transposed:
            sizes.append((size - 1) * stride - 2 * pad + reach + extra)
        else:
            sizes.append((size + 2 * pad - reach) // stride + 1)
    if min(sizes, default=1) < 1:
        return NotImplemented
    out = weight.shape[1] * groups if is_transposed else weight.shape[0]
    return empty((source.shape[0], out, *sizes), source.dtype)


@META_RULES(
    "aten::avg_pool1d", "aten::avg_pool2d", "aten::avg_pool3d", "aten::max_pool1d", "aten::max_pool2d",
    "aten::max_pool3d",
)  # fmt: skip
def _pooled(definition: OpDef, arguments: Sequence[Any]) -> Any:
    options = named_arguments(definition, arguments)
    source = arguments[0]
    axes = int(definition.name[-2])
    if source.ndim != axes + 2 or not source.is_contiguous():
        return NotImplemented
    windows = _each(options["kernel_size"], axes)
    strides = _each(options.get("stride") or windows, axes)
    ways = zip(
        source.shape[2:], windows, strides, _each(options.get("padding"), axes, 0),
        _each(options.get("dilation"), axes), strict=True,
    )  # fmt: skip
    sizes = [_places(*way, is_up=bool(options.get("ceil_mode"))) for way in ways]
    return empty((*source.shape[:2], *sizes), source.dtype) if min(sizes) > 0 else NotImplemented


def _places(size: int, window: int, stride: int, pad: int, dilation: int, *, is_up: bool) -> int:
    """How many windows there are along an axis; the last may lie over the end, but not begin behind it."""
    span = size + 2 * pad - dilation * (window - 1) - 1 + (stride - 1 if is_up else 0)
    count = span // stride + 1
    return count - 1 if is_up and (count - 1) * stride >= size + pad else count


@META_RULES(
    "aten::adaptive_avg_pool1d", "aten::adaptive_avg_pool2d", "aten::adaptive_avg_pool3d",
    "aten::_adaptive_avg_pool2d",
)  # fmt: skip
def _adaptive(definition: OpDef, arguments: Sequence[Any]) -> Any:
    source, wanted = arguments[0], arguments[1]
    axes = int(definition.name[-2])
    if source.ndim not in (axes + 1, axes + 2) or not source.is_contiguous():
        return NotImplemented
    sizes = [n if w is None else w for w, n in zip(_each(wanted, axes), source.shape[-axes:], strict=True)]
    return empty((*source.shape[:-axes], *sizes), source.dtype)


@META_RULES("aten::mm", "aten::bmm", "aten::matmul", "aten::addmm", "aten::linear")
def _product(definition: OpDef, arguments: Sequence[Any]) -> Any:
    """Refuse matrices that do not fit; their product is as the rules say."""
    first = 1 if definition.name.endswith("addmm") else 0
    a, b = arguments[first], arguments[first + 1]
    if isinstance(a, Tensor) and isinstance(b, Tensor) and a.ndim and b.ndim:
        is_linear = definition.name.endswith("linear")
        inner = b.shape[-1] if is_linear or b.ndim == 1 else b.shape[-2]
        if a.shape[-1] != inner:
            other = tuple(reversed(b.shape)) if is_linear else tuple(b.shape)
            raise RuntimeError(MISMATCH.format(a="x".join(map(str, a.shape)), b="x".join(map(str, other))))
    return NotImplemented
