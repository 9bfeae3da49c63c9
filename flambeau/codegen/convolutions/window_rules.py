"""The rules of pooling, interpolation and padding: from an operator's numbers to what each place takes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from flambeau.codegen.convolutions.problem import Array
from flambeau.codegen.convolutions.taps import Kind
from flambeau.codegen.convolutions.taps_launches import Axis, identity, launch_of, ranges, weighted
from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.launches import Launch
from flambeau.codegen.routines.table import Operands, Prepare, operands_of, routines, single_node
from flambeau.codegen.runtime import block_of, start
from flambeau.ir.graph import Graph
from flambeau.ops import pooling_adaptive, pooling_windows, resampling, resampling_cubic
from flambeau.ops.padding import per_dim

Constants = Mapping[str, Any]
Rule = Callable[[Array, Constants], Launch]


_rules: Final[dict[str, Rule]] = {}


def _routine(name: str, rule: Rule) -> None:
    """Register a rule for a routine of one tensor."""
    _rules[name] = rule

    def prepare_group(graph: Graph) -> Prepare:
        operands = operands_of(graph, single_node(graph))
        if len(operands.inputs) != 1:
            raise KernelError("numbers that are not constant")
        return partial(_prepare, rule, operands)

    routines(name)(prepare_group)


def _prepare(rule: Rule, operands: Operands, arrays: Sequence[Array]) -> Launch:
    (x,) = (arrays[index] for index in operands.inputs.values())
    try:
        return rule(x, operands.constants)
    except (RuntimeError, IndexError, NotImplementedError) as refusal:
        raise KernelError(str(refusal)) from None


def run_of(name: str, x: Array, constants: Constants) -> Callable[[Array], Array] | None:
    """What runs an operator on arrays that lie as `x`; None for what it refuses, or has no code for."""
    try:
        launch = _rules[name](x, constants)
    except (KernelError, RuntimeError, IndexError, NotImplementedError):
        return None

    def run(array: Array) -> Array:
        result: Array = launch.outputs[0].allocate()
        start(launch, block_of(launch, (array, result), ctypes.c_int32(0)))
        return result

    return run


# -- pooling ----------------------------------------------------------------------------------------------------------


def _geometry(name: str, dims: int, x: Array, constants: Constants) -> pooling_windows.Geometry:
    if x.ndim not in (dims + 1, dims + 2):
        raise KernelError("neither an image nor a batch of images")
    pooling_windows.check_rank(name, x, dims)
    return pooling_windows.Geometry(
        name, x, dims, constants["kernel_size"], constants["stride"], constants["padding"],
        constants.get("dilation", (1,)), constants["ceil_mode"],
    )  # fmt: skip


def _starts(size: int, count: int, stride: int, before: int, kernel: int, dilation: int) -> tuple[Array, Array]:
    """Where the elements of windows start inside of an axis, and how many there are."""
    starts = np.arange(count) * stride - before
    low = -(np.minimum(starts, 0) // dilation)
    high = np.minimum(kernel, -((starts - size) // dilation))
    return starts + low * dilation, np.maximum(high - low, 0)


def _largest(dims: int, x: Array, constants: Constants) -> Launch:
    g = _geometry(f"max_pool{dims}d", dims, x, constants)
    axes = [
        ranges(*_starts(*numbers), step=numbers[-1])
        for numbers in zip(x.shape[-dims:], g.places, g.stride, g.padding, g.kernel, g.dilation, strict=True)
    ]
    return launch_of(x, axes, Kind.LARGEST, -np.inf)


def _average(dims: int, x: Array, constants: Constants) -> Launch:
    g = _geometry(f"avg_pool{dims}d", dims, x, constants)
    divisor = constants.get("divisor_override")
    if divisor == 0:
        raise KernelError("a divisor of 0")
    axes: list[Axis] = []
    for size, count, stride, before, kernel in zip(
        x.shape[-dims:], g.places, g.stride, g.padding, g.kernel, strict=True
    ):
        starts, counts = _starts(size, count, stride, before, kernel, 1)
        if divisor is not None:
            over = np.full(count, 1 if axes else divisor)
        elif constants["count_include_pad"]:
            first = np.arange(count) * stride - before
            over = np.minimum(first + kernel, size + before) - first
        else:
            over = counts
        if counts.min() < 1:
            raise KernelError("a window without elements")
        axes.append(ranges(starts, counts, divisors=over))
    return launch_of(x, axes, Kind.MEAN)


def _adaptive(dims: int, x: Array, constants: Constants) -> Launch:
    sizes = pooling_adaptive.check_adaptive(f"adaptive_avg_pool{dims}d", x, dims, constants["output_size"])
    axes = []
    for size, count in zip(x.shape[-dims:], sizes, strict=True):
        numbers = np.arange(count)
        starts = numbers * size // max(count, 1)
        counts = -(-(numbers + 1) * size // max(count, 1)) - starts
        axes.append(ranges(starts, counts, divisors=counts))
    return launch_of(x, axes, Kind.MEAN)


# -- interpolation ----------------------------------------------------------------------------------------------------


def _sizes(dims: int, x: Array, constants: Constants) -> tuple[list[int], Sequence[float | None]]:
    """The sizes of the result, and the factors that say how far places are apart."""
    if "scale_factors" in constants:
        factors = constants["scale_factors"]
        sizes = resampling.target_sizes(x, constants["output_size"], factors)
        scales: Sequence[float | None] = factors or (None,) * dims
    else:
        sizes = [int(n) for n in constants["output_size"]]
        width = constants.get("scales") or constants.get("scales_w")
        scales = (constants.get("scales_d"), constants.get("scales_h"), width)[-dims:]
    resampling.check(x, sizes, dims)
    return sizes, scales


def _nearest(dims: int, exact: bool, x: Array, constants: Constants) -> Launch:
    sizes, scales = _sizes(dims, x, constants)
    axes = [
        ranges(resampling.nearest_places(size, count, scale, exact), np.ones(count, np.int64))
        for size, count, scale in zip(x.shape[2:], sizes, scales, strict=True)
    ]
    return launch_of(x, axes, Kind.SUM, keeps_order=True)


def _linear(dims: int, x: Array, constants: Constants) -> Launch:
    sizes, scales = _sizes(dims, x, constants)
    axes = []
    for size, count, scale in zip(x.shape[2:], sizes, scales, strict=True):
        if size == count:
            axes.append(identity(size))
            continue
        below, above, weight = resampling.neighbours(size, count, constants["align_corners"], scale, x.dtype)
        axes.append(weighted((below, above), (1 - weight, weight)))
    return launch_of(x, axes, Kind.SUM, keeps_order=True)


def _cubic(x: Array, constants: Constants) -> Launch:
    sizes, scales = _sizes(2, x, constants)
    axes = [
        weighted(*resampling_cubic.four_neighbours(size, count, constants["align_corners"], scale, x.dtype))
        for size, count, scale in zip(x.shape[2:], sizes, scales, strict=True)
    ]
    return launch_of(x, axes, Kind.SUM, keeps_order=True)


# -- padding ----------------------------------------------------------------------------------------------------------


def _constant(x: Array, constants: Constants) -> Launch:
    """Amounts below 0 cut off."""
    value = constants.get("value")
    if len(constants["pad"]) % 2 or len(constants["pad"]) > 2 * x.ndim or isinstance(value, complex):
        raise KernelError("amounts that do not fit")
    around = per_dim(constants["pad"], x.ndim)
    first = next((k for k, pair in enumerate(around) if pair != (0, 0)), x.ndim - 1)
    axes = []
    for size, (before, after) in list(zip(x.shape, around, strict=True))[min(first, 2) :]:
        if size + min(before, 0) + min(after, 0) < 0:
            raise KernelError("more is cut off than there is")
        positions = np.arange(-before, size + after)
        axes.append(ranges(positions, ((positions >= 0) & (positions < size)).astype(np.int64)))
    return launch_of(x, axes, Kind.SUM, float(value or 0.0), keeps_order=True)


def _pad(x: Array, constants: Constants) -> Launch:
    if constants["mode"] == "constant":
        return _constant(x, constants)
    if constants["value"]:
        raise KernelError("a value with another mode")
    return _border(constants["mode"], x, {"padding": constants["pad"]})


def _border(mode: str, x: Array, constants: Constants) -> Launch:
    """Places outside are those inside: turned back at the border, held there, or come round to the other end."""
    dims = len(constants["padding"]) // 2
    if len(constants["padding"]) % 2 or x.ndim not in (dims + 1, dims + 2) or dims > 3:
        raise KernelError("amounts that do not fit")
    axes = []
    for size, (before, after) in zip(x.shape[-dims:], per_dim(constants["padding"], x.ndim)[-dims:], strict=True):
        inside = (max(-before, 0), size - max(-after, 0))
        most = max(before, after)
        if inside[0] >= inside[1] or (most >= size if mode == "reflect" else most > size and mode == "circular"):
            raise KernelError("amounts that are refused")
        positions = np.arange(-before, size + after)
        if mode == "reflect":
            positions = np.abs(positions)
            positions = np.where(positions >= size, 2 * (size - 1) - positions, positions)
        elif mode == "circular":
            positions = positions % size
        elif mode == "replicate":
            positions = positions.clip(0, size - 1)
        else:
            raise KernelError(f"no mode {mode!r}")
        if before < 0 or after < 0:
            raise KernelError("amounts that cut off")
        axes.append(ranges(positions, np.ones(len(positions), np.int64)))
    return launch_of(x, axes, Kind.SUM)


for _dims in (1, 2, 3):
    _routine(f"aten::max_pool{_dims}d", partial(_largest, _dims))
    _routine(f"aten::avg_pool{_dims}d", partial(_average, _dims))
    _routine(f"aten::adaptive_avg_pool{_dims}d", partial(_adaptive, _dims))
    _routine(f"aten::upsample_nearest{_dims}d", partial(_nearest, _dims, False))
    _routine(f"aten::_upsample_nearest_exact{_dims}d", partial(_nearest, _dims, True))
    _routine(f"aten::reflection_pad{_dims}d", partial(_border, "reflect"))
    _routine(f"aten::replication_pad{_dims}d", partial(_border, "replicate"))
_routine("aten::upsample_linear1d", partial(_linear, 1))
_routine("aten::upsample_bilinear2d", partial(_linear, 2))
_routine("aten::upsample_trilinear3d", partial(_linear, 3))
_routine("aten::upsample_bicubic2d", _cubic)
_routine("aten::constant_pad_nd", _constant)
_routine("aten::pad", _pad)
