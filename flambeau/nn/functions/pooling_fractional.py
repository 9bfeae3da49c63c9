"""Fractional max pooling of `nn.functional`: windows at random places, to any size. Graham (2014)."""

from __future__ import annotations

from typing import Any

from flambeau.ops.families.composite import F
from flambeau.tensor.tensor import Tensor
from flambeau.util.broadcasting import BroadcastingList2, BroadcastingList3
from flambeau.util.choice import chosen_by


# fmt: off
def _share(size: int, ratio: float) -> int:
    return int(size * ratio)


def _sizes(size: BroadcastingList3[int] | None, count: int) -> list[int]:
    """The numbers given: in programs a list arrives, in Python perhaps a number."""
    if size is None:
        return []
    if isinstance(size, int):
        return [size] * count
    return [n for n in size]  # noqa: C416  (a tuple in Python, a list in programs)


def _output_sizes(
    input: Tensor, dims: int, output_size: BroadcastingList3[int] | None, output_ratio: BroadcastingList3[float] | None
) -> list[int]:
    """The sizes, or those that the ratios make. Raises ValueError if neither is given."""
    if output_size is not None:
        return _sizes(output_size, dims)
    if output_ratio is None:
        raise ValueError(f"fractional_max_pool{dims}d requires specifying either an output_size or an output_ratio")
    if isinstance(output_ratio, float):
        return [_share(input.size(i - dims), output_ratio) for i in range(dims)]
    return [_share(input.size(i - dims), output_ratio[i]) for i in range(dims)]


def _drawn(input: Tensor, dims: int, samples: Tensor | None) -> Tensor:
    """The random offsets of the windows: numbers from 0 to 1 for every plane."""
    if samples is not None:
        return samples
    batch = input.size(0) if input.dim() == dims + 2 else 1
    return F.rand([batch, input.size(-dims - 1), dims], dtype=input.dtype, device=input.device)


def fractional_max_pool2d_with_indices(
    input: Tensor, kernel_size: BroadcastingList2[int], output_size: BroadcastingList2[int] | None = None,
    output_ratio: BroadcastingList2[float] | None = None, return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The largest element of windows at random places of (N, C, H, W) or (C, H, W), and where it is.

    Args:
        input: the tensor.
        kernel_size: the size of a window: one int, or one for each dimension.
        output_size: the sizes of the result: one int, or one for each dimension.
        output_ratio: the result's size as a fraction of the input's, between 0 and 1.
        return_indices: whether the result is a tuple with the places of the elements.
        _random_samples: numbers between 0 and 1 that choose the windows, in place of random ones.

    Shape:
        (N, C, H, W) or (C, H, W) to the same with other spatial sizes.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> values, places = F.fractional_max_pool2d_with_indices(flambeau.ones(1, 2, 8, 8), 2, output_size=3)
    >>> values.shape, places.shape
    (flambeau.Size([1, 2, 3, 3]), flambeau.Size([1, 2, 3, 3]))
    """
    sizes = _output_sizes(input, 2, output_size, output_ratio)
    return F.fractional_max_pool2d(input, _sizes(kernel_size, 2), sizes, _drawn(input, 2, _random_samples))


def fractional_max_pool3d_with_indices(
    input: Tensor, kernel_size: BroadcastingList3[int], output_size: BroadcastingList3[int] | None = None,
    output_ratio: BroadcastingList3[float] | None = None, return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The largest element of windows at random places of (N, C, D, H, W) or (C, D, H, W), and where it is.

    Args:
        input: the tensor.
        kernel_size: the size of a window: one int, or one for each dimension.
        output_size: the sizes of the result: one int, or one for each dimension.
        output_ratio: the result's size as a fraction of the input's, between 0 and 1.
        return_indices: whether the result is a tuple with the places of the elements.
        _random_samples: numbers between 0 and 1 that choose the windows, in place of random ones.

    Shape:
        (N, C, D, H, W) or (C, D, H, W) to the same with other spatial sizes.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> values, places = F.fractional_max_pool3d_with_indices(flambeau.ones(1, 2, 8, 8, 8), 2, output_size=3)
    >>> values.shape, places.shape
    (flambeau.Size([1, 2, 3, 3, 3]), flambeau.Size([1, 2, 3, 3, 3]))
    """
    sizes = _output_sizes(input, 3, output_size, output_ratio)
    return F.fractional_max_pool3d(input, _sizes(kernel_size, 3), sizes, _drawn(input, 3, _random_samples))


def _fractional_max_pool2d(
    input: Tensor, kernel_size: BroadcastingList2[int], output_size: BroadcastingList2[int] | None = None,
    output_ratio: BroadcastingList2[float] | None = None, return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Tensor:
    return fractional_max_pool2d_with_indices(
        input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )[0]


def _fractional_max_pool3d(
    input: Tensor, kernel_size: BroadcastingList3[int], output_size: BroadcastingList3[int] | None = None,
    output_ratio: BroadcastingList3[float] | None = None, return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Tensor:
    return fractional_max_pool3d_with_indices(
        input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )[0]


@chosen_by("return_indices", 4, if_true=fractional_max_pool2d_with_indices, if_false=_fractional_max_pool2d)
def fractional_max_pool2d(
    input: Tensor, kernel_size: BroadcastingList2[int], output_size: BroadcastingList2[int] | None = None,
    output_ratio: BroadcastingList2[float] | None = None, return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The largest element of windows at random places, and where it is if `return_indices`.

    Raises ValueError unless a size or a ratio is given.

    Args:
        input: the tensor.
        kernel_size: the size of a window: one int, or one for each dimension.
        output_size: the sizes of the result: one int, or one for each dimension.
        output_ratio: the result's size as a fraction of the input's, between 0 and 1.
        return_indices: whether the result is a tuple with the places of the elements.
        _random_samples: numbers between 0 and 1 that choose the windows, in place of random ones.

    Shape:
        (N, C, H, W) or (C, H, W) to the same with other spatial sizes.

    >>> import flambeau
    >>> fractional_max_pool2d(flambeau.ones(1, 1, 7, 7), 2, output_size=(3, 5)).shape
    flambeau.Size([1, 1, 3, 5])
    """
    run = fractional_max_pool2d_with_indices if return_indices else _fractional_max_pool2d
    return run(input, kernel_size, output_size, output_ratio, return_indices, _random_samples)


@chosen_by("return_indices", 4, if_true=fractional_max_pool3d_with_indices, if_false=_fractional_max_pool3d)
def fractional_max_pool3d(
    input: Tensor, kernel_size: BroadcastingList3[int], output_size: BroadcastingList3[int] | None = None,
    output_ratio: BroadcastingList3[float] | None = None, return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The largest element of windows at random places, and where it is if `return_indices`.

    Raises ValueError unless a size or a ratio is given.

    Args:
        input: the tensor.
        kernel_size: the size of a window: one int, or one for each dimension.
        output_size: the sizes of the result: one int, or one for each dimension.
        output_ratio: the result's size as a fraction of the input's, between 0 and 1.
        return_indices: whether the result is a tuple with the places of the elements.
        _random_samples: numbers between 0 and 1 that choose the windows, in place of random ones.

    Shape:
        (N, C, D, H, W) or (C, D, H, W) to the same with other spatial sizes.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.fractional_max_pool3d(flambeau.ones(1, 2, 8, 8, 8), 2, output_size=3).shape
    flambeau.Size([1, 2, 3, 3, 3])
    """
    run = fractional_max_pool3d_with_indices if return_indices else _fractional_max_pool3d
    return run(input, kernel_size, output_size, output_ratio, return_indices, _random_samples)
# fmt: on
