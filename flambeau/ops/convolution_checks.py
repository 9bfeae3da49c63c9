"""What convolutions refuse: numbers that mean nothing, channels and dtypes that do not fit."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.ops.families.arrays import Shaped, dtype_of, not_implemented
from flambeau.tensor.array_library import np

Ints = Sequence[int]


def spread(name: str, values: Ints, dims: int) -> tuple[int, ...]:
    """One value per dimension. Raises RuntimeError for another number of values."""
    if len(values) == 1:
        return (int(values[0]),) * dims
    if len(values) != dims:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {dims} values to match the convolution "
            f"dimensions, "
            f"but got {name}={list(values)}"
        )
    return tuple(int(v) for v in values)


def check_numbers(stride: Ints, padding: Ints, dilation: Ints, groups: int) -> None:
    """Raise RuntimeError for numbers that mean nothing."""
    if any(p < 0 for p in padding):
        raise RuntimeError("negative padding is not supported")
    if any(s <= 0 for s in stride):
        raise RuntimeError("non-positive stride is not supported")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if any(d <= 0 for d in dilation):
        raise RuntimeError(f"dilation should be greater than zero, but got {list(dilation)}")


def check_channels(x: Shaped, weight: Shaped, bias: Shaped | None, groups: int, transposed: bool) -> None:
    """Raise RuntimeError unless channels, groups, bias and dtypes fit."""
    _check_input_channels(x, weight, groups, transposed)
    if bias is not None:
        _check_bias(x, weight, bias, groups, transposed)
    if weight.dtype != x.dtype:
        raise RuntimeError(f"expected scalar type {dtype_of(x).display} but found {dtype_of(weight).display}")
    if x.dtype == np.bool_:
        raise not_implemented("slow_conv2d_cpu", dtype_of(x))


def _check_input_channels(x: Shaped, weight: Shaped, groups: int, transposed: bool) -> None:
    sizes = list(weight.shape)
    if weight.shape[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size "
            f"{sizes} instead"
        )
    if weight.shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of "
            f"size {[sizes]} instead"
        )
    channels = weight.shape[0] if transposed else weight.shape[1] * groups
    if x.shape[1] != channels:
        start = "Given transposed=1, weight" if transposed else f"Given groups={groups}, weight"
        raise RuntimeError(
            f"{start} of size {sizes}, expected input{list(x.shape)} to have {channels} channels, but got {x.shape[1]} "
            "channels instead"
        )


def _check_bias(x: Shaped, weight: Shaped, bias: Shaped, groups: int, transposed: bool) -> None:
    channels = weight.shape[1] * groups if transposed else weight.shape[0]
    if bias.shape != (channels,):
        raise RuntimeError(
            f"Given {'transposed=1, ' if transposed else ''}weight of size {list(weight.shape)}, expected bias to be "
            f"1-dimensional with {channels} elements, but got bias of size {list(bias.shape)} instead"
        )
    if bias.dtype != x.dtype:
        raise RuntimeError(
            f"Input type ({dtype_of(x).short}) and bias type ({dtype_of(bias).short}) should be the same"
        )
