"""Unpooling of `nn.functional`: elements back at the places where max pooling took them from, zeros elsewhere."""

from __future__ import annotations

from flambeau.ops.families.composite import F
from flambeau.tensor.tensor import Tensor
from flambeau.util.broadcasting import BroadcastingList1, BroadcastingList2, BroadcastingList3


def unpooled_size(
    input: Tensor, kernel_size: list[int], stride: list[int], padding: list[int], output_size: list[int] | None
) -> list[int]:
    """The spatial sizes before pooling; `output_size` chooses among those that give the same pooled size.

    Raises ValueError for a size that does not, or of another length.
    """
    dims = len(kernel_size)
    rank = input.dim()
    usual = [
        (input.size(rank - dims + d) - 1) * stride[d] + kernel_size[d] - 2 * padding[d] for d in range(dims)
    ]
    if output_size is None:
        return usual
    wanted = list(output_size)
    if len(wanted) == dims + 2:
        wanted = wanted[2:]
    if len(wanted) != dims:
        raise ValueError(
            f"output_size should be a sequence containing {dims} or {dims + 2} elements, but it has a length of "
            f"'{len(wanted)}'"
        )
    for d in range(dims):
        if wanted[d] <= usual[d] - stride[d] or wanted[d] >= usual[d] + stride[d]:
            raise ValueError(
                f"invalid output_size {wanted} (dim {d} must be between {usual[d] - stride[d]} and "
                f"{usual[d] + stride[d]})"
            )
    return wanted


def _numbers(number: BroadcastingList3[int], count: int) -> list[int]:
    """One number per dimension: in programs a list arrives, in Python perhaps a number."""
    if isinstance(number, int):
        return [number] * count
    return [n for n in number] * (count if len(number) == 1 else 1)  # noqa: C416  (a tuple in Python, a list in programs)


def max_unpool1d(
    input: Tensor, indices: Tensor, kernel_size: BroadcastingList1[int], stride: BroadcastingList1[int] | None = None,
    padding: BroadcastingList1[int] = 0, output_size: list[int] | None = None,
) -> Tensor:  # fmt: skip
    """(N, C, L) or (C, L). Raises ValueError for an `output_size` that cannot have been.

    Args:
        input: the tensor.
        indices: places as pooling gave them.
        kernel_size: the size of a window: one int, or one for each dimension.
        stride: the step from window to window: one int, or one for each dimension.
        padding: what is added on both sides: one int, or one for each dimension.
        output_size: the sizes of the result: one int, or one for each dimension.

    Shape:
        (N, C, L) or (C, L) to the same with other spatial sizes.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> values, places = F.max_pool1d_with_indices(flambeau.ones(1, 2, 8), 2)
    >>> F.max_unpool1d(values, places, 2).shape
    flambeau.Size([1, 2, 8])
    """
    kernel = _numbers(kernel_size, 1)
    steps = kernel if stride is None else _numbers(stride, 1)
    size = unpooled_size(input, kernel, steps, _numbers(padding, 1), output_size)
    result = F.max_unpool2d(F.unsqueeze(input, -1), F.unsqueeze(indices, -1), [size[0], 1])
    return F.squeeze(result, -1)


def max_unpool2d(
    input: Tensor, indices: Tensor, kernel_size: BroadcastingList2[int], stride: BroadcastingList2[int] | None = None,
    padding: BroadcastingList2[int] = 0, output_size: list[int] | None = None,
) -> Tensor:  # fmt: skip
    """(N, C, H, W) or (C, H, W). Raises ValueError for an `output_size` that cannot have been.

    Args:
        input: the tensor.
        indices: places as pooling gave them.
        kernel_size: the size of a window: one int, or one for each dimension.
        stride: the step from window to window: one int, or one for each dimension.
        padding: what is added on both sides: one int, or one for each dimension.
        output_size: the sizes of the result: one int, or one for each dimension.

    Shape:
        (N, C, H, W) or (C, H, W) to the same with other spatial sizes.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> values, places = F.max_pool2d_with_indices(flambeau.ones(1, 2, 8, 8), 2)
    >>> F.max_unpool2d(values, places, 2).shape
    flambeau.Size([1, 2, 8, 8])
    """
    kernel = _numbers(kernel_size, 2)
    steps = kernel if stride is None else _numbers(stride, 2)
    return F.max_unpool2d(input, indices, unpooled_size(input, kernel, steps, _numbers(padding, 2), output_size))


def max_unpool3d(
    input: Tensor, indices: Tensor, kernel_size: BroadcastingList3[int], stride: BroadcastingList3[int] | None = None,
    padding: BroadcastingList3[int] = 0, output_size: list[int] | None = None,
) -> Tensor:  # fmt: skip
    """(N, C, D, H, W) or (C, D, H, W). Raises ValueError for an `output_size` that cannot have been.

    Args:
        input: the tensor.
        indices: places as pooling gave them.
        kernel_size: the size of a window: one int, or one for each dimension.
        stride: the step from window to window: one int, or one for each dimension.
        padding: what is added on both sides: one int, or one for each dimension.
        output_size: the sizes of the result: one int, or one for each dimension.

    Shape:
        (N, C, D, H, W) or (C, D, H, W) to the same with other spatial sizes.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> values, places = F.max_pool3d_with_indices(flambeau.ones(1, 2, 8, 8, 8), 2)
    >>> F.max_unpool3d(values, places, 2).shape
    flambeau.Size([1, 2, 8, 8, 8])
    """
    kernel = _numbers(kernel_size, 3)
    steps = kernel if stride is None else _numbers(stride, 3)
    around = _numbers(padding, 3)
    return F.max_unpool3d(input, indices, unpooled_size(input, kernel, steps, around, output_size), steps, around)
