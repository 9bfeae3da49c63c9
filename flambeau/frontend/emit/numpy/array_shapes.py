"""Functions of NumPy that move, repeat and surround the elements of arrays: rules for the axes they name.

np.roll(x, (1, 2), axis=(0, 1))    →    aten::roll(%x, [1, 2], [0, 1])        np.diff(x, prepend=0.0)    →    cat, diff
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Final

import numpy as np

from flambeau.frontend.closures.call_arguments import Argument
from flambeau.frontend.emit.builtins.library_functions import call_library
from flambeau.frontend.emit.implicit_conversions import pack_list
from flambeau.frontend.emit.numpy.array_lists import item_of
from flambeau.frontend.emit.numpy.array_promotion import converted, dtype_and_rank, dtype_of, is_array, promoted
from flambeau.frontend.emit.numpy.borders import BORDERS, with_borders
from flambeau.frontend.emit.numpy.function_calls import NO_KEYWORD, FunctionCall
from flambeau.frontend.emit.numpy.method_calls import constant_int, constant_text
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.library import paddings
from flambeau.ir.graph import Value
from flambeau.schema.types import INT, TENSOR, NoneType
from flambeau.util.errors import CompileError

WIDTHS: Final = "np.pad takes one width, two for the ends of each axis, or a pair for each axis, written out"
MODES: Final = "np.pad takes the modes {modes} here, written out"
WINDOWS: Final = "sliding_window_view takes a size for each axis, or for those that axis= names, written out here"


def _stacked(rank_one: str, axis: int, otherwise: int) -> Callable[[FunctionCall], Value]:
    def emit(f: FunctionCall) -> Value:
        item = item_of(f.values[0])
        is_flat = (dtype_and_rank(f.parts()[0], f.where)[1] if item is None or f.is_literal() else item.rank) == 1
        return f.joined(rank_one if is_flat else "cat", axis if is_flat else otherwise)

    return emit


def _concatenated(f: FunctionCall) -> Value:
    """Arrays behind each other; of axis None, the elements of all."""
    if not f.is_none(1):
        return f.joined("cat", f.axis(1, 0))
    flat = [f.op("reshape", part, pack_list(f.e, [f.e.constant(-1)], INT)) for part in f.parts()]
    return f.op("cat", pack_list(f.e, flat, TENSOR), 0)


def _expanded(f: FunctionCall) -> Value:
    """An axis of one element, or several: places in the result."""
    axes = f.axes(1) or [0]
    rank = dtype_and_rank(f.values[0], f.where)[1] + len(axes)
    array = f.values[0]
    for axis in sorted(axis % rank if -rank <= axis < rank else axis for axis in axes):
        array = f.op("unsqueeze", array, axis)
    return array


def _diff(f: FunctionCall) -> Value:
    """Differences of neighbours, with what is put before and behind: an array, or a number for each line."""
    axis = f.axis(2, -1)
    around = [f.argument(name, position) for name, position in (("prepend", 3), ("append", 4))]
    before, behind = ([] if value is None else [_like_lines(f, value, axis)] for value in around)
    lines = promoted(f.e, f.where, [*before, f.values[0], *behind])
    array = lines[0] if len(lines) == 1 else f.op("cat", pack_list(f.e, lines, TENSOR), axis)
    return f.op("diff", array, f.named.get("n", f.values[1] if len(f.values) > 1 else f.e.constant(1)), axis)


def _like_lines(f: FunctionCall, value: Value, axis: int) -> Value:
    """A number as an array of one place along an axis, as large as another across it."""
    if is_array(value):
        return value
    array, rank = f.values[0], dtype_and_rank(f.values[0], f.where)[1]
    sizes = [f.e.constant(1) if k == axis % rank else f.op("size", array, k) for k in range(rank)]
    alike = converted(f.e, array, dtype_of(f.where, np.asarray, value))
    return f.op("new_full", alike, pack_list(f.e, sizes, INT), value)


def _rolled(f: FunctionCall) -> Value:
    """Elements moved along axes, or all in their order."""
    if f.is_none(2):
        return f.op("roll", f.values[0], f.values[1])
    axes, shifts = f.axes(2) or [], f.counts(f.values[1])
    shifts = shifts * len(axes) if len(shifts) == 1 else shifts
    axes = axes * len(shifts) if len(axes) == 1 else axes
    numbers = [f.e.constant(axis) for axis in axes]
    return f.op("roll", f.values[0], pack_list(f.e, shifts, INT), pack_list(f.e, numbers, INT))


def _broadcast_to(f: FunctionCall) -> Value:
    return f.op("expand", f.values[0], pack_list(f.e, f.counts(f.values[1]), INT))


def _tile(f: FunctionCall) -> Value:
    repeats = f.named.pop("reps", f.values[-1])
    return f.op("tile", f.values[0], pack_list(f.e, f.counts(repeats), INT))


def _pad(f: FunctionCall) -> Value:
    """`constant_pad_nd`, which begins at the last axis, or the elements of borders."""
    mode = f.named.pop("mode", f.values[2] if len(f.values) > 2 else None)
    text = "constant" if mode is None else constant_text(mode)
    if text != "constant" and text not in BORDERS and text not in PADDINGS:
        modes = ", ".join(sorted(["constant", *BORDERS, *PADDINGS]))
        raise CompileError(MODES.format(modes=modes), f.where)
    pairs = _pairs(f, f.named.pop("pad_width", f.values[1] if len(f.values) > 1 else f.e.constant(0)))
    if text in BORDERS:
        return with_borders(f.e, f.where, f.values[0], pairs, text)
    if text in PADDINGS:
        return _padded_by_library(f, pairs, text)
    numbers = f.named.pop("constant_values", f.e.constant(0))
    if len(f.counts(numbers)) == 1:
        ends = [end for pair in reversed(pairs) for end in pair]
        return f.op("constant_pad_nd", f.values[0], pack_list(f.e, ends, INT), f.counts(numbers)[0])
    return _padded_by_ends(f, pairs, _pairs(f, numbers))


def _padded_by_library(f: FunctionCall, pairs: list[list[Value]], mode: str) -> Value:
    """The array with what a function of the library puts at the ends of an axis, an axis after another."""
    keyword, default = ("end_values", f.e.constant(0)) if mode == "linear_ramp" else ("stat_length", None)
    said = f.argument(keyword, 3)
    limits = _pairs(f, said) if said is not None else [[default or f.e.constant(None)] * 2] * len(pairs)
    array = f.values[0]
    for axis, (widths, ends) in enumerate(zip(pairs, limits, strict=True)):
        operands = [array, f.e.constant(axis), *widths, *ends]
        arguments = [Argument(SimpleValue(value), f.where) for value in operands]
        array = call_library(f.e, f.where, PADDINGS[mode], arguments, {}).as_value(f.e, f.where)
    return array


def _padded_by_ends(f: FunctionCall, pairs: list[list[Value]], numbers: list[list[Value]]) -> Value:
    """The array with a number of its own at each end, an axis after another."""
    array, rank = f.values[0], len(pairs)
    for axis, (widths, values) in enumerate(zip(pairs, numbers, strict=True)):
        for end in (0, 1):
            none = f.e.constant(0)
            ends = [none] * (2 * rank)
            ends[2 * (rank - 1 - axis) + end] = widths[end]
            array = f.op("constant_pad_nd", array, pack_list(f.e, ends, INT), values[end])
    return array


def _pairs(f: FunctionCall, argument: Value) -> list[list[Value]]:
    """The two ends of each axis: of one number, of one for each of two ends, or of a pair an axis."""
    _, rank = dtype_and_rank(f.values[0], f.where)
    pairs = [f.counts(value) for value in f.counts(argument)]
    if len(pairs) <= 2 and all(len(pair) == 1 for pair in pairs):
        pairs = [[*pairs[0], *pairs[-1]]]
    if len(pairs) == 1:
        pairs *= rank
    if len(pairs) != rank or any(len(pair) != 2 for pair in pairs):
        raise CompileError(WIDTHS, f.where)
    return pairs


def _column_stack(f: FunctionCall) -> Value:
    return f.op(f.name, pack_list(f.e, f.parts(), TENSOR))


def _windows(f: FunctionCall) -> Value:
    """A view of the windows of one size for each axis that is named, in axes behind all others."""
    axes = f.named.get("axis", f.values[2] if len(f.values) > 2 else None)
    sizes = f.counts(f.values[1])
    rank = dtype_and_rank(f.values[0], f.where)[1]
    if axes is None or isinstance(axes.static_type, NoneType):
        numbers: list[int | None] = list(range(rank))
    else:
        numbers = [constant_int(v) for v in f.counts(axes)]
    if len(numbers) != len(sizes) or None in numbers:
        raise CompileError(WINDOWS, f.where)
    windows = f.values[0]
    for number, size in zip(numbers, sizes, strict=True):
        assert number is not None
        windows = f.op("unfold", windows, number if number >= 0 else number + rank, size, 1)
    return windows


def _moved(f: FunctionCall) -> Value:
    """One axis to a place, or several."""
    source, target = (f.items_or_number(value) for value in f.values[1:3])
    return f.op("movedim", f.values[0], pack_list(f.e, source, INT), pack_list(f.e, target, INT))


def _rolled_axis(f: FunctionCall) -> Value:
    """An axis put before another."""
    rank = dtype_and_rank(f.values[0], f.where)[1]
    axis, start = (constant_int(value) for value in (*f.values[1:3], *[f.e.constant(0)] * (3 - len(f.values))))
    if axis is None or start is None:
        raise CompileError(NO_KEYWORD.format(name=f.name, keyword="axis"), f.where)
    axis, start = axis % rank, start + rank if start < 0 else start
    return f.op("movedim", f.values[0], axis, start - 1 if axis < start else start)


def _diagonal(f: FunctionCall) -> Value:
    """`tril`, `triu` and `diag`, of or from the diagonal `k`."""
    array = f.values[0]
    if f.name != "diag" and dtype_and_rank(array, f.where)[1] == 1:  # every row is the line
        count = f.op("size", array, 0)
        array = f.op("expand", array, pack_list(f.e, [count, count], INT))
    return f.op(f.name, array, f.argument("k", 1) or f.e.constant(0))


def _broadcast_arrays(f: FunctionCall) -> Value:
    """Views of arrays in their common sizes."""
    arrays = f.values
    whole = arrays[0]
    for array in arrays[1:]:
        whole = f.op("add", f.op("zeros_like", whole), f.op("zeros_like", array))
    return f.tuple_of([f.op("expand_as", array, whole) for array in arrays])


PADDINGS: Final[dict[str, FunctionType]] = {
    mode: vars(paddings)[f"pad_{mode}"] for mode in ("mean", "median", "maximum", "minimum", "linear_ramp")
}
"""What pads an axis by what it holds, by the mode."""
TAKEN: Final[dict[str, tuple[int, tuple[str, ...]]]] = {
    "concatenate": (2, ("axis",)), "stack": (2, ("axis",)), "expand_dims": (2, ("axis",)), "roll": (3, ("axis",)),
    "diff": (5, ("n", "axis", "prepend", "append")), "tile": (2, ("reps",)), "moveaxis": (3, ()), "rollaxis": (3, ()),
    "pad": (3, ("pad_width", "mode", "constant_values", "stat_length", "end_values")), "broadcast_to": (2, ()),
    "sliding_window_view": (3, ("axis",)),
    "tril": (2, ("k",)), "triu": (2, ("k",)), "diag": (2, ("k",)),
    "broadcast_arrays": (9, ()),
}  # fmt: skip
"""How many arguments each looks at by their places, and which by name; others take their first alone."""
SHAPES: Final[dict[str, Callable[[FunctionCall], Value]]] = {
    "concatenate": _concatenated, "stack": lambda f: f.joined("stack", f.axis(1, 0)),
    "vstack": _stacked("stack", 0, 0), "hstack": _stacked("cat", 0, 1), "expand_dims": _expanded, "diff": _diff,
    "roll": _rolled, "moveaxis": _moved, "rollaxis": _rolled_axis, "broadcast_to": _broadcast_to, "tile": _tile,
    "pad": _pad, "column_stack": _column_stack, "dstack": _column_stack, "sliding_window_view": _windows,
    "tril": _diagonal, "triu": _diagonal, "diag": _diagonal,
    "broadcast_arrays": _broadcast_arrays,
}  # fmt: skip
"""The rule of each."""
