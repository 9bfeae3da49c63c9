"""Convolutions as launches, for groups of plans: sizes and strides become words once, results get their places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import inf, prod
from typing import Any

from flambeau.codegen.call_geometry import Output
from flambeau.codegen.convolutions import sums
from flambeau.codegen.convolutions.activations import SYMBOL as ACTIVATED
from flambeau.codegen.convolutions.channel_launches import WindowGeometry, channels_launch, takes_channels
from flambeau.codegen.convolutions.followed import Followed, followed_by
from flambeau.codegen.convolutions.point_launches import place_step, points_launch, takes_points
from flambeau.codegen.convolutions.run import TYPES, Slice, pieces_of, slices_of, sums_code
from flambeau.codegen.convolutions.winograd_launches import Tiles, winograd_launch, winograd_tiles
from flambeau.codegen.convolutions.words import BLOCK_WORDS, CALL, CALL_AT, NOTHING, PROBLEM, SLICE
from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.launches import Launch
from flambeau.codegen.llvm.launch_sizes import ALIGNED_FROM
from flambeau.codegen.routines.lying import Lying, is_channels_last
from flambeau.codegen.routines.memory import Memory
from flambeau.codegen.routines.numbers import bits_of
from flambeau.codegen.routines.recording import Recordable
from flambeau.codegen.routines.table import Prepare, Routine, routines
from flambeau.ir.graph import Graph
from flambeau.ops.convolution import check_output_padding
from flambeau.ops.convolution_checks import check_channels, check_numbers, spread
from flambeau.util.record import dataclass


@dataclass(frozen=True, slots=True)
class Windows:
    """How windows lie, by the numbers that an operator is given."""

    stride: tuple[int, ...]
    before: tuple[int, ...]
    """Zeros in front of each dimension."""
    dilation: tuple[int, ...]
    groups: int
    is_transposed: bool
    counts: tuple[int, ...]
    """How many there are along each dimension."""
    is_flipped: bool = False
    """Whether the last element of a kernel is the first of a window."""


@routines(
    "aten::conv1d", "aten::conv2d", "aten::conv3d", "aten::convolution", "aten::_convolution", "aten::_convolution_mode"
)  # fmt: skip
def _convolution(graph: Graph) -> Prepare:
    followed = followed_by(graph)
    return Recordable(partial(launch_for, followed, bool(followed.operands.constants.get("transposed", False))))


@routines("aten::conv_transpose1d", "aten::conv_transpose2d", "aten::conv_transpose3d")
def _transposed(graph: Graph) -> Prepare:
    return Recordable(partial(launch_for, followed_by(graph), True))


def launch_for(
    followed: Followed, is_transposed: bool, arrays: Sequence[Lying], memory: Memory, *, takes_sums: bool = True
) -> Launch:
    """The launch for arrays like these, the inputs of a group. Raises `KernelError` for what there is no code for, and
    without `takes_sums` for what sums over windows alone are for.
    """
    operands = followed.operands
    x, w, bias = (operands.array(name, arrays) for name in ("input", "weight", "bias"))
    seen, w = _images(x, w, bias)
    windows = _windows(operands.constants, seen, w, bias, is_transposed)
    channels = w.shape[1] * windows.groups if is_transposed else w.shape[0]
    output, strides = result_of(seen, (seen.shape[0], channels, *windows.counts), keeps_order=True)
    like = Lying(seen.dtype, output.shape, strides)
    if seen.size == 0:
        raise KernelError("a convolution of nothing")
    forward = _forward(w, windows) if x is seen else None
    if forward is not None:
        special = _special(followed, arrays, output, (seen, forward[0], like), forward[1], memory)
        if special is not None:
            return special
    if not takes_sums and (forward is None or _tiles((seen, forward[0], like), forward[1]) is None):
        raise KernelError("sums over windows")
    slices = slices_of(
        seen, w, like, windows.stride, windows.before, windows.dilation, windows.groups, is_transposed, memory
    )  # fmt: skip
    if not slices:
        raise KernelError("a convolution of nothing, or of more than offsets reach")
    if x is not None and x.ndim < seen.ndim:
        output, _ = result_of(seen, output.shape[1:], keeps_order=False)
    residual = followed.check(arrays, output.shape, seen.dtype, is_transposed)
    direct = _launch(followed, output, slices, like, residual, channels, memory)
    if forward is None:
        return direct
    return _with_fewer_products(followed, output, (seen, forward[0], like), forward[1], residual, direct, memory)


def _forward(w: Lying, windows: Windows) -> tuple[Lying, Windows] | None:
    """The weight and the windows of a convolution that is not transposed: one without steps, transposed, is one of
    which input and output channels are exchanged, with flipped windows. None where there is no such convolution.
    """
    if not windows.is_transposed:
        return w, windows
    is_depthwise = windows.groups == w.shape[0] and w.shape[1] == 1
    if w.ndim != 4 or any(s != 1 for s in windows.stride) or not (windows.groups == 1 or is_depthwise):
        return None
    reach = [d * (k - 1) for d, k in zip(windows.dilation, w.shape[2:], strict=True)]
    before = tuple([r - b for r, b in zip(reach, windows.before, strict=True)])
    if any(b < 0 for b in before):
        return None
    own = Windows(windows.stride, before, windows.dilation, windows.groups, False, windows.counts, is_flipped=True)
    return w if is_depthwise else w.transposed(1, 0, 2, 3), own


def _special(
    followed: Followed, arrays: Sequence[Lying], output: Output, own: tuple[Lying, Lying, Lying], windows: Windows,
    memory: Memory,
) -> Launch | None:  # fmt: skip
    """The launch of a convolution that has code of its own: of each channel by itself, or of few places."""
    x, w, y = own
    if followed.residual is None and takes_channels(x, w, y, windows.groups):
        followed.check(arrays, output.shape, x.dtype, False)
        stride, before, dilation = ((v[0], v[1]) for v in (windows.stride, windows.before, windows.dilation))
        geometry = WindowGeometry(stride, before, dilation, windows.is_flipped)
        return channels_launch(followed, output, x, w, y, geometry, memory)
    if not windows.is_flipped and takes_points(x, w, y, windows.stride, any(windows.before), windows.groups):
        residual = followed.check(arrays, output.shape, x.dtype, False)
        if residual is None or place_step(residual) is not None:
            return points_launch(followed, output, x, w, y, residual, memory)
    return None


def _with_fewer_products(
    followed: Followed, output: Output, own: tuple[Lying, Lying, Lying], windows: Windows, residual: Lying | None,
    direct: Launch, memory: Memory,
) -> Launch:  # fmt: skip
    """The launch by Winograd's products, where they are for such windows and pay; else the one that is there."""
    lies_alike = residual is None or residual.strides[3:] == own[2].strides[3:]
    tiles = _tiles(own, windows) if lies_alike else None
    if tiles is None:
        return direct
    return winograd_launch(
        followed, output, *own, windows.before, residual, direct, tiles, memory, is_flipped=windows.is_flipped
    )  # fmt: skip


def _tiles(own: tuple[Lying, Lying, Lying], windows: Windows) -> Tiles | None:
    """How results by Winograd's products are cut, where these are for such windows and pay."""
    return winograd_tiles(*own, (windows.stride, windows.dilation), windows.groups)


def _images(x: Lying | None, w: Lying | None, bias: Lying | None) -> tuple[Lying, Lying]:
    """Images, and the weight. Raises `KernelError` for ranks, dtypes and layouts that there is no code for."""
    if x is None or w is None or w.ndim < 3 or w.ndim > 5 or x.ndim not in (w.ndim, w.ndim - 1):
        raise KernelError("a convolution of one to three dimensions takes an input and a weight of fitting ranks")
    if x.dtype.char not in TYPES or (bias is not None and bias.strides != (bias.itemsize,)):
        raise KernelError(f"no convolution of {x.dtype}, or with a bias that does not lie side by side")
    seen = x if x.ndim == w.ndim else x.expanded(1)
    if x is not seen and is_channels_last(seen):
        raise KernelError("a single image whose channels lie innermost")
    return seen, w


def _windows(
    constants: Mapping[str, Any], x: Lying, w: Lying, bias: Lying | None, is_transposed: bool
) -> Windows:
    """Raises `KernelError` for numbers, channels and sizes that the operator refuses."""
    dims, groups = w.ndim - 2, int(constants["groups"])
    try:
        stride = spread("stride", constants["stride"], dims)
        dilation = spread("dilation", constants["dilation"], dims)
        before, after = _padding(constants["padding"], stride, dilation, w.shape[2:])
        extra = spread("output_padding", constants.get("output_padding", (0,)), dims)
        check_numbers(stride, before, dilation, groups)
        check_channels(x, w, bias, groups, is_transposed)
        if is_transposed:
            check_output_padding(extra, stride, dilation)
    except RuntimeError as refusal:
        raise KernelError(str(refusal)) from None
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, w.shape[2:], strict=True)]
    if is_transposed:
        counts = [
            (n - 1) * s + r + o - 2 * p
            for n, s, r, o, p in zip(x.shape[2:], stride, reach, extra, before, strict=True)
        ]
    else:
        counts = [
            (n + a + b - r) // s + 1
            for n, a, b, r, s in zip(x.shape[2:], before, after, reach, stride, strict=True)
        ]
    if min(counts) < 1:
        raise KernelError("the kernel is larger than the padded image")
    return Windows(stride, before, dilation, groups, is_transposed, tuple(counts))


def _padding(
    padding: Any, stride: Sequence[int], dilation: Sequence[int], kernel: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Zeros in front and behind. Raises RuntimeError for a name that means nothing."""
    if not isinstance(padding, str):
        around = spread("padding", padding, len(kernel))
        return around, around
    if padding not in ("valid", "same") or (padding == "same" and any(s != 1 for s in stride)):
        raise RuntimeError(f"padding {padding!r} with strides {list(stride)}")
    total = [d * (k - 1) if padding == "same" else 0 for d, k in zip(dilation, kernel, strict=True)]
    before = tuple([t // 2 for t in total])
    return before, tuple([t - b for t, b in zip(total, before, strict=True)])


def result_of(x: Any, shape: tuple[Any, ...], *, keeps_order: bool) -> tuple[Output, tuple[Any, ...]]:
    """A result of `x`'s dtype and its strides: row-major, or with channels innermost in memory where those of `x` are
    and that is kept.
    """
    rank = len(shape)
    is_last = keeps_order and x.ndim > 3 and is_channels_last(x)
    memory = (shape[0], *shape[2:], shape[1]) if is_last else shape
    steps = [x.itemsize * prod(memory[k + 1 :]) for k in range(rank)]
    permutation = (0, rank - 1, *range(1, rank - 1)) if is_last else None
    strides = steps if permutation is None else [steps[k] for k in permutation]
    is_large = prod(shape) * x.itemsize >= ALIGNED_FROM
    return Output(shape, x.dtype, permutation, memory, is_large), tuple(strides)


def _launch(
    followed: Followed, output: Output, slices: Sequence[Slice], like: Lying, residual: Lying | None, channels: Any,
    memory: Memory,
) -> Launch:  # fmt: skip
    """The launch of slices, whose results lie as `like`."""
    size = like.itemsize
    added = None if residual is None else residual if residual.ndim == like.ndim else residual.expanded(1)
    if added is not None and added.ndim < 5:
        added = added.expanded(5 - added.ndim, 2)
    activation = followed.activation_code(like.dtype.char)
    if activation is not None and added is not None and like.strides[-1] != size:
        raise KernelError("an addition and an activation of numbers that do not lie side by side")
    behind = _words_behind(followed.bounds, added, size)
    behind["activation"] = 0 if activation is None else activation.addresses[ACTIVATED]
    listed = _listed(slices, behind, 0 if added is None else added.strides[2], memory)
    call = memory.struct(
        CALL, slices=listed, slice_count=len(slices), eps=bits_of(followed.eps, size),
        is_scaled=int(followed.is_scaled), channels=channels, y=1 + followed.inputs, **followed.places(1, NOTHING),
    )  # fmt: skip
    words_of_block = [0] * BLOCK_WORDS
    words_of_block[CALL_AT] = call
    units = slices[0].problem.units if len(slices) == 1 else len(slices)
    nanoseconds = sum(one.problem.nanoseconds for one in slices)
    each, pieces = pieces_of(units, nanoseconds)
    code = sums_code(like.dtype.char)
    memory.keep(activation)
    return Launch(
        (output,), words_of_block, units, None, each, pieces, nanoseconds,
        routine=Routine(code.native, sums.OF_LAUNCH, memory.kept),
    )  # fmt: skip


def _listed(slices: Sequence[Slice], behind: Mapping[str, Any], beside: Any, memory: Memory) -> Any:
    """The address of the slices, whose problems get words of what is done to sums; what is added to a slice lies so far
    from what is added to the one before.
    """
    listed: list[Any] = []
    problems: dict[int, Any] = {}
    for number, one in enumerate(slices):
        own = id(one.problem)
        if own not in problems:
            words = one.problem.words
            for name, value in behind.items():
                words[PROBLEM.indices[name]] = value
            problems[own] = memory.words(words)
        listed += [problems[own], one.from_x, one.from_y, number * beside, one.problem.units]
    assert len(listed) == SLICE.words * len(slices)
    return memory.words(listed)


def _words_behind(bounds: tuple[float, float], added: Lying | None, size: int) -> dict[str, Any]:
    """Words of what is done to sums: bounds, at once or behind what is `added`, and how that lies."""
    own, last = ((-inf, inf), bounds) if added is not None else (bounds, (-inf, inf))
    names = "least", "most", "last_least", "last_most"
    words = {name: bits_of(value, size) for name, value in zip(names, (*own, *last), strict=True)}
    if added is not None:
        steps = zip(("image", "filter", "row", "column"), (*added.strides[:2], *added.strides[3:]), strict=True)
        words |= {f"residual_{name}": step for name, step in steps}
    return words
