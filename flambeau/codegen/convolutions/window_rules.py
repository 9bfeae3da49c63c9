"""The rules of pooling, interpolation and padding: from an operator's numbers to what each place takes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import inf
from typing import Any, Final

from flambeau.codegen.convolutions.axes import Axis, Stretch, Stretches, identity, picked, weighted
from flambeau.codegen.convolutions.problem import Array
from flambeau.codegen.convolutions.taps import Kind
from flambeau.codegen.convolutions.taps_launches import launch_of
from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.launches import Launch
from flambeau.codegen.routines.lying import Lying
from flambeau.codegen.routines.memory import Memory
from flambeau.codegen.routines.numbers import chosen, least, most
from flambeau.codegen.routines.recording import Recordable
from flambeau.codegen.routines.table import Operands, Prepare, operands_of, routines, single_node
from flambeau.codegen.runtime import block_of, start
from flambeau.ir.graph import Graph
from flambeau.ops import pooling_adaptive, pooling_windows, resampling, resampling_cubic
from flambeau.ops.padding import per_dim
from flambeau.util.record import dataclass

Constants = Mapping[str, Any]
Rule = Callable[[Lying, Constants, Memory], Launch]


_rules: Final[dict[str, Rule]] = {}


def _routine(name: str, rule: Rule) -> None:
    """Register a rule for a routine of one tensor."""
    _rules[name] = rule

    def prepare_group(graph: Graph) -> Prepare:
        operands = operands_of(graph, single_node(graph))
        if len(operands.inputs) != 1:
            raise KernelError("numbers that are not constant")
        return Recordable(partial(_make, rule, operands))

    routines(name)(prepare_group)


def _make(rule: Rule, operands: Operands, arrays: Sequence[Lying], memory: Memory) -> Launch:
    (x,) = (arrays[index] for index in operands.inputs.values())
    try:
        return rule(x, operands.constants, memory)
    except (RuntimeError, IndexError, NotImplementedError) as refusal:
        raise KernelError(str(refusal)) from None


def run_of(name: str, x: Array, constants: Constants) -> Callable[[Array], Array] | None:
    """What runs an operator on arrays that lie as `x`; None for what it refuses, or has no code for."""
    try:
        launch = _rules[name](Lying.of(x), constants, Memory())
    except (KernelError, RuntimeError, IndexError, NotImplementedError):
        return None

    def run(array: Array) -> Array:
        result: Array = launch.outputs[0].allocate()
        start(launch, block_of(launch, (array, result), ctypes.c_int32(0)))
        return result

    return run


# -- pooling ----------------------------------------------------------------------------------------------------------


def _geometry(name: str, dims: int, x: Lying, constants: Constants) -> pooling_windows.Geometry:
    if x.ndim not in (dims + 1, dims + 2):
        raise KernelError("neither an image nor a batch of images")
    pooling_windows.check_rank(name, x, dims)
    return pooling_windows.Geometry(
        name, x, dims, constants["kernel_size"], constants["stride"], constants["padding"],
        constants.get("dilation", (1,)), constants["ceil_mode"],
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Windows:
    """The windows along an axis of so many elements."""

    size: Any
    count: Any
    stride: int
    before: int
    kernel: int
    dilation: int
    divisor: Callable[[_Windows, Any, Any], Any]
    """By where a window begins, and how many elements of it are inside."""

    def stretches(self) -> Stretches:
        """What the windows take: those at both ends have fewer elements."""
        reach = self.dilation * (self.kernel - 1)
        all_: list[Stretch] = []
        at: Any = 0
        while at < -(-self.before // self.stride) and at < self.count:
            all_.append(self._at_the_end(at))
            at = at + 1
        within = most(0, least(self.count, (self.size - 1 - reach + self.before) // self.stride + 1) - at)
        if within > 0:
            first = at * self.stride - self.before
            divisor = self.divisor(self, first, self.kernel)
            all_.append(Stretch(within, first, self.stride, self.kernel, divisor, self.dilation))
            at = at + within
        for k in range(self.before // self.stride + 2):
            if type(self.count) is int and at + k >= self.count:
                break
            all_.append(self._at_the_end(at + k, chosen(at + k < self.count, 1, 0)))
        return Stretches(tuple(all_))

    def _at_the_end(self, number: Any, times: Any = 1) -> Stretch:
        """A window of which a part is inside, if it is there."""
        first = number * self.stride - self.before
        low = -(least(first, 0) // self.dilation)
        high = least(self.kernel, -((first - self.size) // self.dilation))
        count = most(high - low, 0)
        divisor = self.divisor(self, first, count)
        return Stretch(times, first + low * self.dilation, 1, count, divisor, self.dilation)


def _largest(dims: int, x: Lying, constants: Constants, memory: Memory) -> Launch:
    g = _geometry(f"max_pool{dims}d", dims, x, constants)
    numbers = zip(x.shape[-dims:], g.places, g.stride, g.padding, g.kernel, g.dilation, strict=True)
    axes = [
        _Windows(size, count, stride, before, kernel, dilation, partial(_always, 1)).stretches()
        for size, count, stride, before, kernel, dilation in numbers
    ]
    return launch_of(x, axes, Kind.LARGEST, memory, -inf, keeps_order=True)


def _average(dims: int, x: Lying, constants: Constants, memory: Memory) -> Launch:
    g = _geometry(f"avg_pool{dims}d", dims, x, constants)
    own = constants.get("divisor_override")
    if own == 0:
        raise KernelError("a divisor of 0")
    counts_padding = bool(constants["count_include_pad"])
    axes: list[Axis] = []
    for size, count, stride, before, kernel in zip(
        x.shape[-dims:], g.places, g.stride, g.padding, g.kernel, strict=True
    ):
        by: Callable[[_Windows, Any, Any], Any] = _elements_with_padding if counts_padding else _elements
        if own is not None:
            by = partial(_always, 1 if axes else own)
        stretches = _Windows(size, count, stride, before, kernel, 1, by).stretches()
        if any(chosen(s.number == 0, 1, s.count) < 1 for s in stretches.all):
            raise KernelError("a window without elements")
        axes.append(stretches)
    return launch_of(x, axes, Kind.MEAN, memory, keeps_order=dims == 2)


def _elements_with_padding(windows: _Windows, first: Any, count: Any) -> Any:
    """The divisor of a window that counts what is around."""
    return least(first + windows.kernel, windows.size + windows.before) - first


def _elements(windows: _Windows, first: Any, count: Any) -> Any:
    """The divisor of a window that counts its elements."""
    return count


def _always(divisor: Any, windows: _Windows, first: Any, count: Any) -> Any:
    """A divisor that the operator names."""
    return divisor


def _adaptive(dims: int, x: Lying, constants: Constants, memory: Memory) -> Launch:
    sizes = pooling_adaptive.check_adaptive(f"adaptive_avg_pool{dims}d", x, dims, constants["output_size"])
    axes: list[Axis] = []
    for size, count in zip(x.shape[-dims:], sizes, strict=True):
        if count < 1:
            raise KernelError("a result of nothing")
        if size % count == 0:
            each = size // count
            axes.append(Stretches((Stretch(count, 0, each, each, each),)))
            continue
        all_ = []
        for k in range(count):
            start = k * size // count
            taken = -(-(k + 1) * size // count) - start
            all_.append(Stretch(1, start, 1, taken, taken))
        axes.append(Stretches(tuple(all_)))
    return launch_of(x, axes, Kind.MEAN, memory, keeps_order=dims == 2)


# -- interpolation ----------------------------------------------------------------------------------------------------


def _sizes(dims: int, x: Lying, constants: Constants) -> tuple[Sequence[Any], Sequence[float | None]]:
    """The sizes of the result, and the factors that say how far places are apart."""
    if "scale_factors" in constants:
        factors = constants["scale_factors"]
        scales: Sequence[float | None] = factors or (None,) * dims
        if constants["output_size"] is None and factors and all(float(f).is_integer() for f in factors):
            sizes: Sequence[Any] = [n * int(f) for n, f in zip(x.shape[2:], factors, strict=True)]
        else:
            sizes = resampling.target_sizes(x, constants["output_size"], factors)
    else:
        sizes = [int(n) for n in constants["output_size"]]
        width = constants.get("scales") or constants.get("scales_w")
        scales = (constants.get("scales_d"), constants.get("scales_h"), width)[-dims:]
    resampling.check(x, sizes, dims)
    return sizes, scales


def _nearest(dims: int, exact: bool, x: Lying, constants: Constants, memory: Memory) -> Launch:
    sizes, scales = _sizes(dims, x, constants)
    axes: list[Axis] = []
    for size, count, scale in zip(x.shape[2:], sizes, scales, strict=True):
        times = _power_of_two(size, count, scale)
        if times:
            axes.append(Stretches((Stretch(size, 0, times=times),)))
        else:
            axes.append(picked(resampling.nearest_places(int(size), int(count), scale, exact)))
    return launch_of(x, axes, Kind.SUM, memory, keeps_order=True)


def _power_of_two(size: Any, count: Any, scale: float | None) -> int:
    """How often each element is in the result, if that is a power of two; else 0."""
    if count % size != 0:
        return 0
    times = int(count // size)
    is_as_said = not scale or scale <= 0 or scale == times
    return times if is_as_said and times & (times - 1) == 0 else 0


def _linear(dims: int, x: Lying, constants: Constants, memory: Memory) -> Launch:
    sizes, scales = _sizes(dims, x, constants)
    axes: list[Axis] = []
    for size, count, scale in zip(x.shape[2:], sizes, scales, strict=True):
        if size == count:
            axes.append(identity(size))
            continue
        numbers = int(size), int(count), constants["align_corners"], scale, x.dtype
        below, above, weight = resampling.neighbours(*numbers)
        axes.append(weighted((below, above), (1 - weight, weight)))
    return launch_of(x, axes, Kind.SUM, memory, keeps_order=True)


def _cubic(x: Lying, constants: Constants, memory: Memory) -> Launch:
    sizes, scales = _sizes(2, x, constants)
    axes = [
        weighted(*resampling_cubic.four_neighbours(int(size), int(count), constants["align_corners"], scale, x.dtype))
        for size, count, scale in zip(x.shape[2:], sizes, scales, strict=True)
    ]
    return launch_of(x, axes, Kind.SUM, memory, keeps_order=True)


# -- padding ----------------------------------------------------------------------------------------------------------


def _constant(x: Lying, constants: Constants, memory: Memory) -> Launch:
    """Amounts below 0 cut off."""
    value = constants.get("value")
    if len(constants["pad"]) % 2 or len(constants["pad"]) > 2 * x.ndim or isinstance(value, complex):
        raise KernelError("amounts that do not fit")
    around = per_dim(constants["pad"], x.ndim)
    first = next((k for k, pair in enumerate(around) if pair != (0, 0)), x.ndim - 1)
    axes: list[Axis] = []
    for size, (before, after) in list(zip(x.shape, around, strict=True))[min(first, 2) :]:
        if size + min(before, 0) + min(after, 0) < 0:
            raise KernelError("more is cut off than there is")
        cut = max(-before, 0)
        inside = Stretch(size - cut - max(-after, 0), cut)
        axes.append(Stretches((Stretch(max(before, 0), 0, 0, 0), inside, Stretch(max(after, 0), 0, 0, 0))))
    return launch_of(x, axes, Kind.SUM, memory, float(value or 0.0), keeps_order=True)


def _pad(x: Lying, constants: Constants, memory: Memory) -> Launch:
    if constants["mode"] == "constant":
        return _constant(x, constants, memory)
    if constants["value"]:
        raise KernelError("a value with another mode")
    return _border(constants["mode"], x, {"padding": constants["pad"]}, memory)


def _border(mode: str, x: Lying, constants: Constants, memory: Memory) -> Launch:
    """Places outside are those inside: turned back at the border, held there, or come round to the other end."""
    dims = len(constants["padding"]) // 2
    if len(constants["padding"]) % 2 or x.ndim not in (dims + 1, dims + 2) or dims > 3:
        raise KernelError("amounts that do not fit")
    axes: list[Axis] = []
    for size, (before, after) in zip(x.shape[-dims:], per_dim(constants["padding"], x.ndim)[-dims:], strict=True):
        outside = max(before, after)
        if min(before, after) < 0:
            raise KernelError("amounts that cut off")
        if size == 0 or (outside >= size if mode == "reflect" else outside > size and mode == "circular"):
            raise KernelError("amounts that are refused")
        if mode == "reflect":
            ends = Stretch(before, before, -1), Stretch(after, size - 2, -1)
        elif mode == "circular":
            ends = Stretch(before, size - before), Stretch(after, 0)
        elif mode == "replicate":
            ends = Stretch(before, 0, 0), Stretch(after, size - 1, 0)
        else:
            raise KernelError(f"no mode {mode!r}")
        axes.append(Stretches((ends[0], Stretch(size, 0), ends[1])))
    return launch_of(x, axes, Kind.SUM, memory, keeps_order=mode != "circular")


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
