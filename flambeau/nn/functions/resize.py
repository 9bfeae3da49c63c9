"""Resampling of `nn.functional`: other spatial sizes, modes by name."""

from __future__ import annotations

from math import floor

from flambeau.nn.functions import warned
from flambeau.ops.families.composite import F
from flambeau.tensor.tensor import Tensor
from flambeau.util.scripting import is_scripting


def interpolate(
    input: Tensor, size: int | list[int] | None = None, scale_factor: float | int | list[float] | None = None,
    mode: str = "nearest", align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:  # fmt: skip
    """The input at other spatial sizes: mode nearest, nearest-exact, linear, bilinear, trilinear, bicubic or area.

    Raises ValueError for arguments that contradict each other, NotImplementedError for a mode or rank that is not
    there.

    Args:
        input: the tensor.
        size: the result's spatial sizes.
        scale_factor: the result's size divided by the input's.
        mode: "nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear" or "area".
        align_corners: whether the corners' centres stay where they are; for the linear and cubic modes.
        recompute_scale_factor: whether the factor follows from the rounded sizes.
        antialias: whether shrinking averages over all that a place covers.

    Shape:
        (N, C, ...) to the same with other spatial sizes.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.interpolate(flambeau.ones(1, 2, 4, 4), scale_factor=2).shape
    flambeau.Size([1, 2, 8, 8])
    """
    dims = input.dim() - 2
    _check_options(mode, align_corners, antialias, dims)
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    sizes: list[int] | None = None
    factors: list[float] | None = None
    if size is not None:
        sizes = _target_sizes(size, dims)
    elif scale_factor is not None:
        factors = _target_factors(scale_factor, dims)
        if recompute_scale_factor is True or mode == "area":
            sizes = [floor(input.size(i + 2) * factors[i]) for i in range(dims)]
            factors = None
    else:
        raise ValueError("either size or scale_factor should be defined")
    if antialias:
        if mode == "bilinear":
            return F._upsample_bilinear2d_aa(input, sizes, align_corners is True, factors)
        return F._upsample_bicubic2d_aa(input, sizes, align_corners is True, factors)
    return _resized(input, sizes, factors, mode, align_corners is True, dims)


def _check_options(mode: str, align_corners: bool | None, antialias: bool, dims: int) -> None:
    """Raise ValueError for options that a mode does not have."""
    if align_corners is not None and (mode == "nearest" or mode == "nearest-exact" or mode == "area"):
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    if antialias and not (dims == 2 and (mode == "bilinear" or mode == "bicubic")):
        raise ValueError("Anti-alias option is only supported for bilinear and bicubic interpolation of 4D input")


def _resized(
    input: Tensor, sizes: list[int] | None, factors: list[float] | None, mode: str, corners: bool, dims: int
) -> Tensor:
    """By the operator of a mode and a number of dimensions."""
    if 1 <= dims <= 3:
        if mode == "nearest":
            return _nearest(input, sizes, factors, dims)
        if mode == "nearest-exact":
            return _nearest_exact(input, sizes, factors, dims)
        if mode == "area" and sizes is not None:
            return _area(input, sizes, dims)
    if mode == "linear" and dims == 1:
        return F.upsample_linear1d(input, sizes, corners, factors)
    if mode == "bilinear" and dims == 2:
        return F.upsample_bilinear2d(input, sizes, corners, factors)
    if mode == "bicubic" and dims == 2:
        return F.upsample_bicubic2d(input, sizes, corners, factors)
    if mode == "trilinear" and dims == 3:
        return F.upsample_trilinear3d(input, sizes, corners, factors)
    raise NotImplementedError(_no_operator(mode, dims))


def _no_operator(mode: str, dims: int) -> str:
    """Why there is no operator for a mode and a number of dimensions."""
    needed = _rank_of(mode)
    if needed > 0 and 1 <= dims <= 3:
        return f"Got {dims + 2}D input, but {mode} mode needs {needed}D input"
    return (
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {dims + 2}D) for the modes: nearest | linear | "
        f"bilinear | bicubic | trilinear | area | nearest-exact (got {mode})"
    )


def _nearest(input: Tensor, sizes: list[int] | None, factors: list[float] | None, dims: int) -> Tensor:
    if dims == 1:
        return F.upsample_nearest1d(input, sizes, factors)
    if dims == 2:
        return F.upsample_nearest2d(input, sizes, factors)
    return F.upsample_nearest3d(input, sizes, factors)


def _nearest_exact(input: Tensor, sizes: list[int] | None, factors: list[float] | None, dims: int) -> Tensor:
    if dims == 1:
        return F._upsample_nearest_exact1d(input, sizes, factors)
    if dims == 2:
        return F._upsample_nearest_exact2d(input, sizes, factors)
    return F._upsample_nearest_exact3d(input, sizes, factors)


def _area(input: Tensor, sizes: list[int], dims: int) -> Tensor:
    if dims == 1:
        return F.adaptive_avg_pool1d(input, sizes)
    if dims == 2:
        return F.adaptive_avg_pool2d(input, sizes)
    return F.adaptive_avg_pool3d(input, sizes)


def _rank_of(mode: str) -> int:
    """The rank of the input that a mode is for; 0 if it is for several or for none."""
    if mode == "linear":
        return 3
    if mode == "bilinear" or mode == "bicubic":
        return 4
    return 5 if mode == "trilinear" else 0


def _target_sizes(size: int | list[int], dims: int) -> list[int]:
    if isinstance(size, int):
        return [size] * dims
    if len(size) != dims:
        raise ValueError(
            "Input and output must have the same number of spatial dimensions, but got input with spatial dimensions "
            f"of {dims} and output size of {len(size)}. Provide as many sizes as there are dimensions behind the "
            "channels"
        )
    return list(size)


def _target_factors(scale_factor: float | int | list[float], dims: int) -> list[float]:
    if isinstance(scale_factor, float):
        return [scale_factor] * dims
    if isinstance(scale_factor, int):
        return [float(scale_factor)] * dims
    if len(scale_factor) != dims:
        raise ValueError(
            "Input and scale_factor must have the same number of spatial dimensions, but got input with spatial "
            f"dimensions of {dims} and scale_factor of shape {len(scale_factor)}."
        )
    return [float(f) for f in scale_factor]


def upsample(
    input: Tensor, size: int | list[int] | None = None, scale_factor: float | int | list[float] | None = None,
    mode: str = "nearest", align_corners: bool | None = None,
) -> Tensor:  # fmt: skip
    """An older name of `interpolate`.

    Args:
        input: the tensor.
        size: the size of the result.
        scale_factor: the result's size divided by the input's.
        mode: as in `interpolate`.
        align_corners: whether the corners' centres stay where they are; for the linear and cubic modes.

    Shape:
        (N, C, ...) to the same with other spatial sizes.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.interpolate(flambeau.ones(1, 2, 4, 4), scale_factor=2).shape
    flambeau.Size([1, 2, 8, 8])
    """
    if not is_scripting():
        warned.of_older_upsampling("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(
    input: Tensor, size: int | list[int] | None = None, scale_factor: float | int | list[float] | None = None
) -> Tensor:
    """An older name of `interpolate` with mode nearest.

    Args:
        input: the tensor.
        size: the size of the result.
        scale_factor: the result's size divided by the input's.

    Shape:
        (N, C, ...) to the same with other spatial sizes.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.interpolate(flambeau.ones(1, 2, 4, 4), scale_factor=2, mode="nearest").shape
    flambeau.Size([1, 2, 8, 8])
    """
    if not is_scripting():
        warned.of_older_upsampling("upsample_nearest")
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(
    input: Tensor, size: int | list[int] | None = None, scale_factor: float | int | list[float] | None = None
) -> Tensor:
    """An older name of `interpolate` with mode bilinear and corners at corners.

    Args:
        input: the tensor.
        size: the size of the result.
        scale_factor: the result's size divided by the input's.

    Shape:
        (N, C, ...) to the same with other spatial sizes.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.interpolate(flambeau.ones(1, 2, 4, 4), scale_factor=2, mode="bilinear", align_corners=True).shape
    flambeau.Size([1, 2, 8, 8])
    """
    if not is_scripting():
        warned.of_older_upsampling("upsample_bilinear")
    return interpolate(input, size, scale_factor, "bilinear", True)


def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """The input (N, C, ...) read at the places of `grid` (N, ..., 2 or 3), whose coordinates go from -1 to 1.

    `mode` is bilinear, nearest or bicubic, `padding_mode` zeros, border or reflection. Raises ValueError for others.

    Args:
        input: the tensor.
        grid: places in [-1, 1] to read at, (N, H, W, 2) or (N, D, H, W, 3).
        mode: "bilinear", "nearest" or "bicubic".
        padding_mode: "zeros", "border" or "reflection": what lies outside.
        align_corners: whether the corners' centres stay where they are; for the linear and cubic modes.

    Shape:
        (N, C, H, W) and (N, H', W', 2), to (N, C, H', W'); with a depth too.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.grid_sample(flambeau.ones(1, 2, 4, 4), flambeau.zeros(1, 3, 3, 2), align_corners=False).shape
    flambeau.Size([1, 2, 3, 3])
    """
    if mode != "bilinear" and mode != "nearest" and mode != "bicubic":
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode != "zeros" and padding_mode != "border" and padding_mode != "reflection":
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'"
        )
    by_mode = 0 if mode == "bilinear" else 1 if mode == "nearest" else 2
    by_padding = 0 if padding_mode == "zeros" else 1 if padding_mode == "border" else 2
    if align_corners is None and not is_scripting():
        warned.of_corners("grid_sample")
    return F.grid_sampler(input, grid, by_mode, by_padding, align_corners is True)


def affine_grid(theta: Tensor, size: list[int], align_corners: bool | None = None) -> Tensor:
    """The grid for `grid_sample` of affine maps: theta (N, 2, 3) and a size (N, C, H, W), or (N, 3, 4) and five sizes.

    Args:
        theta: (N, 2, 3) or (N, 3, 4).
        size: the size of the result of sampling, (N, C, H, W) or (N, C, D, H, W).
        align_corners: whether the corners' centres stay where they are; for the linear and cubic modes.

    Shape:
        (N, 2, 3) or (N, 3, 4), to (N, H, W, 2) or (N, D, H, W, 3).

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.affine_grid(flambeau.ones(1, 2, 3), (1, 1, 4, 4), align_corners=False).shape
    flambeau.Size([1, 4, 4, 2])
    """
    if align_corners is None and not is_scripting():
        warned.of_corners("affine_grid")
    return F.affine_grid_generator(theta, size, align_corners is True)
