"""Pooling of `nn.functional`: indices on demand, sizes that may be left open."""

from __future__ import annotations

from typing import Any

from flambeau.ops.families.composite import F
from flambeau.tensor.tensor import Tensor
from flambeau.util.broadcasting import BroadcastingList1, BroadcastingList2, BroadcastingList3
from flambeau.util.choice import chosen_by


# fmt: off
def _max_pool1d(
    input: Tensor, kernel_size: BroadcastingList1[int], stride: BroadcastingList1[int] | None = None,
    padding: BroadcastingList1[int] = 0, dilation: BroadcastingList1[int] = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor:
    return F.max_pool1d(input, kernel_size, kernel_size if stride is None else stride, padding, dilation, ceil_mode)


def _max_pool2d(
    input: Tensor, kernel_size: BroadcastingList2[int], stride: BroadcastingList2[int] | None = None,
    padding: BroadcastingList2[int] = 0, dilation: BroadcastingList2[int] = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor:
    return F.max_pool2d(input, kernel_size, kernel_size if stride is None else stride, padding, dilation, ceil_mode)


def _max_pool3d(
    input: Tensor, kernel_size: BroadcastingList3[int], stride: BroadcastingList3[int] | None = None,
    padding: BroadcastingList3[int] = 0, dilation: BroadcastingList3[int] = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor:
    return F.max_pool3d(input, kernel_size, kernel_size if stride is None else stride, padding, dilation, ceil_mode)


def max_pool1d_with_indices(
    input: Tensor, kernel_size: BroadcastingList1[int], stride: BroadcastingList1[int] | None = None,
    padding: BroadcastingList1[int] = 0, dilation: BroadcastingList1[int] = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """The largest element of every window, and where it is.

    Args:
        input: the tensor.
        kernel_size: the size of a window: one int, or one for each dimension.
        stride: the step from window to window: one int, or one for each dimension.
        padding: what is added on both sides: one int, or one for each dimension.
        dilation: the distance between neighbouring elements of a window.
        ceil_mode: whether a window that only begins inside counts.
        return_indices: whether the result is a tuple with the places of the elements.

    Shape:
        (N, C, L) or (C, L) to the same with other spatial sizes.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> values, places = F.max_pool1d_with_indices(flambeau.ones(1, 2, 8), 2)
    >>> values.shape, places.shape
    (flambeau.Size([1, 2, 4]), flambeau.Size([1, 2, 4]))
    """
    return F.max_pool1d_with_indices(
        input, kernel_size, kernel_size if stride is None else stride, padding, dilation, ceil_mode
    )


def max_pool2d_with_indices(
    input: Tensor, kernel_size: BroadcastingList2[int], stride: BroadcastingList2[int] | None = None,
    padding: BroadcastingList2[int] = 0, dilation: BroadcastingList2[int] = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """The largest element of every window, and where it is.

    Args:
        input: the tensor.
        kernel_size: the size of a window: one int, or one for each dimension.
        stride: the step from window to window: one int, or one for each dimension.
        padding: what is added on both sides: one int, or one for each dimension.
        dilation: the distance between neighbouring elements of a window.
        ceil_mode: whether a window that only begins inside counts.
        return_indices: whether the result is a tuple with the places of the elements.

    Shape:
        (N, C, H, W) or (C, H, W) to the same with other spatial sizes.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> values, places = F.max_pool2d_with_indices(flambeau.ones(1, 2, 8, 8), 2)
    >>> values.shape, places.shape
    (flambeau.Size([1, 2, 4, 4]), flambeau.Size([1, 2, 4, 4]))
    """
    return F.max_pool2d_with_indices(
        input, kernel_size, kernel_size if stride is None else stride, padding, dilation, ceil_mode
    )


def max_pool3d_with_indices(
    input: Tensor, kernel_size: BroadcastingList3[int], stride: BroadcastingList3[int] | None = None,
    padding: BroadcastingList3[int] = 0, dilation: BroadcastingList3[int] = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """The largest element of every window, and where it is.

    Args:
        input: the tensor.
        kernel_size: the size of a window: one int, or one for each dimension.
        stride: the step from window to window: one int, or one for each dimension.
        padding: what is added on both sides: one int, or one for each dimension.
        dilation: the distance between neighbouring elements of a window.
        ceil_mode: whether a window that only begins inside counts.
        return_indices: whether the result is a tuple with the places of the elements.

    Shape:
        (N, C, D, H, W) or (C, D, H, W) to the same with other spatial sizes.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> values, places = F.max_pool3d_with_indices(flambeau.ones(1, 2, 8, 8, 8), 2)
    >>> values.shape, places.shape
    (flambeau.Size([1, 2, 4, 4, 4]), flambeau.Size([1, 2, 4, 4, 4]))
    """
    return F.max_pool3d_with_indices(
        input, kernel_size, kernel_size if stride is None else stride, padding, dilation, ceil_mode
    )


@chosen_by("return_indices", 6, if_true=max_pool1d_with_indices, if_false=_max_pool1d)
def max_pool1d(
    input: Tensor, kernel_size: BroadcastingList1[int], stride: BroadcastingList1[int] | None = None,
    padding: BroadcastingList1[int] = 0, dilation: BroadcastingList1[int] = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of every window, and where it is if `return_indices`.

    Args:
        input: the tensor.
        kernel_size: the size of a window: one int, or one for each dimension.
        stride: the step from window to window: one int, or one for each dimension.
        padding: what is added on both sides: one int, or one for each dimension.
        dilation: the distance between neighbouring elements of a window.
        ceil_mode: whether a window that only begins inside counts.
        return_indices: whether the result is a tuple with the places of the elements.

    Shape:
        (N, C, L) or (C, L) to the same with other spatial sizes.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.max_pool1d(flambeau.ones(1, 2, 8), 2).shape
    flambeau.Size([1, 2, 4])
    """
    run = max_pool1d_with_indices if return_indices else _max_pool1d
    return run(input, kernel_size, stride, padding, dilation, ceil_mode)


@chosen_by("return_indices", 6, if_true=max_pool2d_with_indices, if_false=_max_pool2d)
def max_pool2d(
    input: Tensor, kernel_size: BroadcastingList2[int], stride: BroadcastingList2[int] | None = None,
    padding: BroadcastingList2[int] = 0, dilation: BroadcastingList2[int] = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of every window, and where it is if `return_indices`.

    Args:
        input: the tensor.
        kernel_size: the size of a window: one int, or one for each dimension.
        stride: the step from window to window: one int, or one for each dimension.
        padding: what is added on both sides: one int, or one for each dimension.
        dilation: the distance between neighbouring elements of a window.
        ceil_mode: whether a window that only begins inside counts.
        return_indices: whether the result is a tuple with the places of the elements.

    Shape:
        (N, C, H, W) or (C, H, W) to the same with other spatial sizes.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.max_pool2d(flambeau.ones(1, 2, 8, 8), 2).shape
    flambeau.Size([1, 2, 4, 4])
    """
    run = max_pool2d_with_indices if return_indices else _max_pool2d
    return run(input, kernel_size, stride, padding, dilation, ceil_mode)


@chosen_by("return_indices", 6, if_true=max_pool3d_with_indices, if_false=_max_pool3d)
def max_pool3d(
    input: Tensor, kernel_size: BroadcastingList3[int], stride: BroadcastingList3[int] | None = None,
    padding: BroadcastingList3[int] = 0, dilation: BroadcastingList3[int] = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of every window, and where it is if `return_indices`.

    Args:
        input: the tensor.
        kernel_size: the size of a window: one int, or one for each dimension.
        stride: the step from window to window: one int, or one for each dimension.
        padding: what is added on both sides: one int, or one for each dimension.
        dilation: the distance between neighbouring elements of a window.
        ceil_mode: whether a window that only begins inside counts.
        return_indices: whether the result is a tuple with the places of the elements.

    Shape:
        (N, C, D, H, W) or (C, D, H, W) to the same with other spatial sizes.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.max_pool3d(flambeau.ones(1, 2, 8, 8, 8), 2).shape
    flambeau.Size([1, 2, 4, 4, 4])
    """
    run = max_pool3d_with_indices if return_indices else _max_pool3d
    return run(input, kernel_size, stride, padding, dilation, ceil_mode)
# fmt: on


def lp_pool1d(
    input: Tensor, norm_type: float | int, kernel_size: int, stride: BroadcastingList1[int] | None = None,
    ceil_mode: bool = False,
) -> Tensor:  # fmt: skip
    """The p-norm of every window, p being `norm_type`.

    Args:
        input: the tensor.
        norm_type: the p of the p-norm.
        kernel_size: the size of a window: one int, or one for each dimension.
        stride: the step from window to window: one int, or one for each dimension.
        ceil_mode: whether a window that only begins inside counts.

    Shape:
        (N, C, L) or (C, L) to the same with other spatial sizes.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.lp_pool1d(flambeau.ones(1, 2, 8), 2.0, 2).shape
    flambeau.Size([1, 2, 4])
    """
    p = float(norm_type)
    steps = [kernel_size] if stride is None else stride
    out = F.avg_pool1d(F.pow(input, p), [kernel_size], steps, [0], ceil_mode)
    return F.pow(F.mul(F.mul(F.sign(out), F.relu(F.abs(out))), kernel_size), 1.0 / p)


def lp_pool2d(
    input: Tensor, norm_type: float | int, kernel_size: BroadcastingList2[int],
    stride: BroadcastingList2[int] | None = None, ceil_mode: bool = False,
) -> Tensor:  # fmt: skip
    """The p-norm of every window, p being `norm_type`.

    Args:
        input: the tensor.
        norm_type: the p of the p-norm.
        kernel_size: the size of a window: one int, or one for each dimension.
        stride: the step from window to window: one int, or one for each dimension.
        ceil_mode: whether a window that only begins inside counts.

    Shape:
        (N, C, H, W) or (C, H, W) to the same with other spatial sizes.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.lp_pool2d(flambeau.ones(1, 2, 8, 8), 2.0, 2).shape
    flambeau.Size([1, 2, 4, 4])
    """
    p = float(norm_type)
    width, height = _pair(kernel_size)
    steps = [width, height] if stride is None else stride
    out = F.avg_pool2d(F.pow(input, p), kernel_size, steps, 0, ceil_mode)
    return F.pow(F.mul(F.mul(F.sign(out), F.relu(F.abs(out))), width * height), 1.0 / p)


def lp_pool3d(
    input: Tensor, norm_type: float | int, kernel_size: BroadcastingList3[int],
    stride: BroadcastingList3[int] | None = None, ceil_mode: bool = False,
) -> Tensor:  # fmt: skip
    """The p-norm of every window, p being `norm_type`.

    Args:
        input: the tensor.
        norm_type: the p of the p-norm.
        kernel_size: the size of a window: one int, or one for each dimension.
        stride: the step from window to window: one int, or one for each dimension.
        ceil_mode: whether a window that only begins inside counts.

    Shape:
        (N, C, D, H, W) or (C, D, H, W) to the same with other spatial sizes.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.lp_pool3d(flambeau.ones(1, 2, 8, 8, 8), 2.0, 2).shape
    flambeau.Size([1, 2, 4, 4, 4])
    """
    p = float(norm_type)
    sizes = _triple(kernel_size)
    steps = sizes if stride is None else stride
    out = F.avg_pool3d(F.pow(input, p), kernel_size, steps, 0, ceil_mode)
    count = sizes[0] * sizes[1] * sizes[2]
    return F.pow(F.mul(F.mul(F.sign(out), F.relu(F.abs(out))), count), 1.0 / p)


def _pair(size: BroadcastingList2[int]) -> tuple[int, int]:
    if isinstance(size, int):
        return size, size
    return size[0], size[1]


def _triple(size: BroadcastingList3[int]) -> list[int]:
    if isinstance(size, int):
        return [size, size, size]
    return [size[0], size[1], size[2]]
