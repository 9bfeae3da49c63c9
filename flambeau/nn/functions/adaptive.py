"""Adaptive pooling of `nn.functional`: the size of the result is given, None keeps the input's."""

from __future__ import annotations

from typing import Any

from flambeau.ops.families.composite import F
from flambeau.ops.surface import runs
from flambeau.tensor.tensor import Tensor
from flambeau.util.broadcasting import BroadcastingList1, BroadcastingList2, BroadcastingList3
from flambeau.util.choice import Shortcut, chosen_by


def _size_or(wanted: int | None, kept: int) -> int:
    return kept if wanted is None else wanted


def _sizes2(input: Tensor, output_size: BroadcastingList2[int | None]) -> list[int]:
    if input.dim() < 3:
        raise ValueError("Input dimension should be at least 3")
    if output_size is None or isinstance(output_size, int):
        return [_size_or(output_size, input.size(-2)), _size_or(output_size, input.size(-1))]
    if len(output_size) > 2:
        raise RuntimeError(f"output_size must be one int or 2, got {output_size}")
    return [_size_or(output_size[0], input.size(-2)), _size_or(output_size[-1], input.size(-1))]


def _sizes3(input: Tensor, output_size: BroadcastingList3[int | None]) -> list[int]:
    if input.dim() < 4:
        raise ValueError("Input dimension should be at least 4")
    depth, height, width = input.size(-3), input.size(-2), input.size(-1)
    if output_size is None or isinstance(output_size, int):
        return [_size_or(output_size, depth), _size_or(output_size, height), _size_or(output_size, width)]
    if len(output_size) > 3:
        raise RuntimeError(f"output_size must be one int or 3, got {output_size}")
    return [
        _size_or(output_size[0], depth), _size_or(output_size[len(output_size) // 2], height),
        _size_or(output_size[-1], width),
    ]  # fmt: skip


@runs("aten::adaptive_avg_pool1d")
def adaptive_avg_pool1d(input: Tensor, output_size: BroadcastingList1[int]) -> Tensor:
    """The average of windows that divide the input evenly.

    Args:
        input: the tensor.
        output_size: the sizes of the result: one int, or one for each dimension.

    Shape:
        (N, C, L) or (C, L) to the same with other spatial sizes.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.adaptive_avg_pool1d(flambeau.ones(1, 2, 8), 3).shape
    flambeau.Size([1, 2, 3])
    """
    return F.adaptive_avg_pool1d(input, output_size)


@runs("aten::adaptive_avg_pool2d", Shortcut())
def adaptive_avg_pool2d(input: Tensor, output_size: BroadcastingList2[int | None]) -> Tensor:
    """The average of windows that divide the input evenly; None keeps a size.

    Args:
        input: the tensor.
        output_size: the sizes of the result: one int, or one for each dimension.

    Shape:
        (N, C, H, W) or (C, H, W) to the same with other spatial sizes.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.adaptive_avg_pool2d(flambeau.ones(1, 2, 8, 8), 3).shape
    flambeau.Size([1, 2, 3, 3])
    """
    return F.adaptive_avg_pool2d(input, _sizes2(input, output_size))


@runs("aten::adaptive_avg_pool3d", Shortcut())
def adaptive_avg_pool3d(input: Tensor, output_size: BroadcastingList3[int | None]) -> Tensor:
    """The average of windows that divide the input evenly; None keeps a size.

    Args:
        input: the tensor.
        output_size: the sizes of the result: one int, or one for each dimension.

    Shape:
        (N, C, D, H, W) or (C, D, H, W) to the same with other spatial sizes.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.adaptive_avg_pool3d(flambeau.ones(1, 2, 8, 8, 8), 3).shape
    flambeau.Size([1, 2, 3, 3, 3])
    """
    return F.adaptive_avg_pool3d(input, _sizes3(input, output_size))


def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: BroadcastingList1[int], return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """The largest element of windows that divide the input evenly, and where it is.

    Args:
        input: the tensor.
        output_size: the sizes of the result: one int, or one for each dimension.
        return_indices: whether the result is a tuple with the places of the elements.

    Shape:
        (N, C, L) or (C, L) to the same with other spatial sizes.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> values, places = F.adaptive_max_pool1d_with_indices(flambeau.ones(1, 2, 8), 3)
    >>> values.shape, places.shape
    (flambeau.Size([1, 2, 3]), flambeau.Size([1, 2, 3]))
    """
    return F.adaptive_max_pool1d(input, output_size)


def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: BroadcastingList2[int | None], return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """The largest element of windows that divide the input evenly, and where it is; None keeps a size.

    Args:
        input: the tensor.
        output_size: the sizes of the result: one int, or one for each dimension.
        return_indices: whether the result is a tuple with the places of the elements.

    Shape:
        (N, C, H, W) or (C, H, W) to the same with other spatial sizes.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> values, places = F.adaptive_max_pool2d_with_indices(flambeau.ones(1, 2, 8, 8), 3)
    >>> values.shape, places.shape
    (flambeau.Size([1, 2, 3, 3]), flambeau.Size([1, 2, 3, 3]))
    """
    return F.adaptive_max_pool2d(input, _sizes2(input, output_size))


def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: BroadcastingList3[int | None], return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """The largest element of windows that divide the input evenly, and where it is; None keeps a size.

    Args:
        input: the tensor.
        output_size: the sizes of the result: one int, or one for each dimension.
        return_indices: whether the result is a tuple with the places of the elements.

    Shape:
        (N, C, D, H, W) or (C, D, H, W) to the same with other spatial sizes.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> values, places = F.adaptive_max_pool3d_with_indices(flambeau.ones(1, 2, 8, 8, 8), 3)
    >>> values.shape, places.shape
    (flambeau.Size([1, 2, 3, 3, 3]), flambeau.Size([1, 2, 3, 3, 3]))
    """
    return F.adaptive_max_pool3d(input, _sizes3(input, output_size))


def _adaptive_max_pool1d(
    input: Tensor, output_size: BroadcastingList1[int], return_indices: bool = False
) -> Tensor:
    return F.adaptive_max_pool1d(input, output_size)[0]


def _adaptive_max_pool2d(
    input: Tensor, output_size: BroadcastingList2[int | None], return_indices: bool = False
) -> Tensor:
    return F.adaptive_max_pool2d(input, _sizes2(input, output_size))[0]


def _adaptive_max_pool3d(
    input: Tensor, output_size: BroadcastingList3[int | None], return_indices: bool = False
) -> Tensor:
    return F.adaptive_max_pool3d(input, _sizes3(input, output_size))[0]


@chosen_by("return_indices", 2, if_true=adaptive_max_pool1d_with_indices, if_false=_adaptive_max_pool1d)
def adaptive_max_pool1d(input: Tensor, output_size: BroadcastingList1[int], return_indices: bool = False) -> Any:
    """The largest element of windows that divide the input evenly, and where it is if `return_indices`.

    Args:
        input: the tensor.
        output_size: the sizes of the result: one int, or one for each dimension.
        return_indices: whether the result is a tuple with the places of the elements.

    Shape:
        (N, C, L) or (C, L) to the same with other spatial sizes.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.adaptive_max_pool1d(flambeau.ones(1, 2, 8), 3).shape
    flambeau.Size([1, 2, 3])
    """
    return (adaptive_max_pool1d_with_indices if return_indices else _adaptive_max_pool1d)(input, output_size)


@chosen_by("return_indices", 2, if_true=adaptive_max_pool2d_with_indices, if_false=_adaptive_max_pool2d)
def adaptive_max_pool2d(
    input: Tensor, output_size: BroadcastingList2[int | None], return_indices: bool = False
) -> Any:
    """The largest element of windows that divide the input evenly, and where it is if `return_indices`.

    Args:
        input: the tensor.
        output_size: the sizes of the result: one int, or one for each dimension.
        return_indices: whether the result is a tuple with the places of the elements.

    Shape:
        (N, C, H, W) or (C, H, W) to the same with other spatial sizes.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.adaptive_max_pool2d(flambeau.ones(1, 2, 8, 8), 3).shape
    flambeau.Size([1, 2, 3, 3])
    """
    return (adaptive_max_pool2d_with_indices if return_indices else _adaptive_max_pool2d)(input, output_size)


@chosen_by("return_indices", 2, if_true=adaptive_max_pool3d_with_indices, if_false=_adaptive_max_pool3d)
def adaptive_max_pool3d(
    input: Tensor, output_size: BroadcastingList3[int | None], return_indices: bool = False
) -> Any:
    """The largest element of windows that divide the input evenly, and where it is if `return_indices`.

    Args:
        input: the tensor.
        output_size: the sizes of the result: one int, or one for each dimension.
        return_indices: whether the result is a tuple with the places of the elements.

    Shape:
        (N, C, D, H, W) or (C, D, H, W) to the same with other spatial sizes.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.adaptive_max_pool3d(flambeau.ones(1, 2, 8, 8, 8), 3).shape
    flambeau.Size([1, 2, 3, 3, 3])
    """
    return (adaptive_max_pool3d_with_indices if return_indices else _adaptive_max_pool3d)(input, output_size)
