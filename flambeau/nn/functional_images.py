"""Pooling and resampling of `nn.functional`: sizes that may be left open, indices on demand, modes by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import floor
from typing import Any, Final

from flambeau.ops.families.composite import F
from flambeau.tensor.dispatch import call
from flambeau.tensor.tensor import Tensor

Ints = int | Sequence[int]
Open = int | None | Sequence[int | None]

_LINEAR: Final = {"linear": 1, "bilinear": 2, "trilinear": 3}


def _max_pool(dims: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    name = f"max_pool{dims}d"

    def pool(
        input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1,
        ceil_mode: bool = False, return_indices: bool = False,
    ) -> Any:  # fmt: skip
        operator = f"aten::{name}_with_indices" if return_indices else f"aten::{name}"
        return call(operator, input, kernel_size, [] if stride is None else stride, padding, dilation, ceil_mode)

    def with_indices(
        input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1,
        ceil_mode: bool = False, return_indices: bool = False,
    ) -> Any:  # fmt: skip
        return pool(input, kernel_size, stride, padding, dilation, ceil_mode, True)

    pool.__name__ = pool.__qualname__ = name
    pool.__doc__ = "The largest element of every window, and where it is if `return_indices`."
    with_indices.__name__ = with_indices.__qualname__ = f"{name}_with_indices"
    with_indices.__doc__ = "The largest element of every window, and where it is."
    return pool, with_indices


max_pool1d, max_pool1d_with_indices = _max_pool(1)
max_pool2d, max_pool2d_with_indices = _max_pool(2)
max_pool3d, max_pool3d_with_indices = _max_pool(3)


def _sizes(input: Tensor, output_size: Open, dims: int) -> list[int]:
    """One size per dimension; None keeps the input's."""
    given: Sequence[int | None]
    given = [output_size] * dims if output_size is None or isinstance(output_size, int) else output_size
    if len(given) == 1:
        given = list(given) * dims
    if len(given) > input.ndim:
        raise ValueError(f"Input dimension should be at least {len(given) + 1}")
    kept = input.shape[-len(given) :]
    return [mine if wanted is None else wanted for wanted, mine in zip(given, kept, strict=True)]


def _adaptive(dims: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def average(input: Tensor, output_size: Open) -> Any:
        return call(f"aten::adaptive_avg_pool{dims}d", input, _sizes(input, output_size, dims))

    def largest(input: Tensor, output_size: Open, return_indices: bool = False) -> Any:
        found = call(f"aten::adaptive_max_pool{dims}d", input, _sizes(input, output_size, dims))
        return found if return_indices else found[0]

    average.__name__ = average.__qualname__ = f"adaptive_avg_pool{dims}d"
    average.__doc__ = "The average of windows that divide the input evenly; None keeps a size."
    largest.__name__ = largest.__qualname__ = f"adaptive_max_pool{dims}d"
    largest.__doc__ = "The largest element of windows that divide the input evenly; None keeps a size."
    return average, largest


adaptive_avg_pool1d, adaptive_max_pool1d = _adaptive(1)
adaptive_avg_pool2d, adaptive_max_pool2d = _adaptive(2)
adaptive_avg_pool3d, adaptive_max_pool3d = _adaptive(3)


def interpolate(
    input: Tensor, size: Ints | None = None, scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest", align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Any:  # fmt: skip
    """The input at other spatial sizes: mode nearest, nearest-exact, linear, bilinear, trilinear or area.

    Raises ValueError for arguments that contradict each other, NotImplementedError for a mode or rank that is not
    there.
    """
    dims = input.ndim - 2
    nearest = mode in ("nearest", "nearest-exact", "area")
    if nearest and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    sizes, factors = _targets(size, scale_factor, dims)
    if recompute_scale_factor and factors is not None:
        sizes = [floor(n * f) for n, f in zip(input.shape[2:], factors, strict=True)]
        factors = None
    if antialias:
        raise NotImplementedError("interpolate() has no anti-aliasing; smooth the input before making it smaller")
    if mode == "area":
        wanted = (
            sizes if sizes is not None else [floor(n * f) for n, f in zip(input.shape[2:], factors or (), strict=True)]
        )
        return call(f"aten::adaptive_avg_pool{dims}d", input, wanted)
    if nearest and 1 <= dims <= 3:
        operator = "_upsample_nearest_exact" if mode == "nearest-exact" else "upsample_nearest"
        return call(f"aten::{operator}{dims}d", input, sizes, factors)
    if _LINEAR.get(mode) == dims:
        return call(f"aten::upsample_{mode}{dims}d", input, sizes, bool(align_corners), factors)
    if mode in _LINEAR and 1 <= dims <= 3:
        raise NotImplementedError(f"Got {input.ndim}D input, but {mode} mode needs {_LINEAR[mode] + 2}D input")
    raise NotImplementedError(
        "Input Error: Only 3D, 4D and 5D input Tensors supported (got "
        f"{input.ndim}D) for the modes: nearest | linear | bilinear | trilinear | area | nearest-exact (got {mode})"
    )


def _targets(
    size: Ints | None, scale_factor: float | Sequence[float] | None, dims: int
) -> tuple[list[int] | None, list[float] | None]:
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if size is not None:
        return ([size] * dims if isinstance(size, int) else list(size)), None
    given = scale_factor if isinstance(scale_factor, Sequence) else [float(scale_factor or 0)] * dims
    if len(given) != dims:
        raise ValueError(
            "Input and scale_factor must have the same number of spatial dimensions, but got input with spatial "
            "dimensions "
            f"of {dims} and scale_factor of shape {list(given)}."
        )
    return None, [float(g) for g in given]


def upsample(
    input: Tensor, size: Ints | None = None, scale_factor: float | None = None, mode: str = "nearest",
    align_corners: bool | None = None,
) -> Any:  # fmt: skip
    """An older name of `interpolate`."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Whole channels zeroed with probability `p` while training. Raises ValueError for a probability outside [0, 1]."""
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    return F.feature_dropout_(input, p, training) if inplace else F.feature_dropout(input, p, training)


dropout1d = dropout2d
dropout3d = dropout2d
