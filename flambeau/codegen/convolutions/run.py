"""Convolutions of arrays by machine code: one module for each dtype, whatever the sizes."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

from flambeau.codegen import threads
from flambeau.codegen.convolutions import slopes, sums
from flambeau.codegen.convolutions.lines import Pair, Window
from flambeau.codegen.convolutions.planes import Planes
from flambeau.codegen.convolutions.problem import (
    FOLDED_POSITIONS,
    POSITIONS,
    Array,
    Filters,
    Input,
    Problem,
    Results,
    Strides,
    fits,
    make_problem,
)
from flambeau.codegen.convolutions.vectors import Floats
from flambeau.codegen.convolutions.words import PROBLEM
from flambeau.codegen.llvm.abi import OUT_OF_MEMORY
from flambeau.codegen.llvm.engine import NativeCode, engine, memory_imports
from flambeau.codegen.native_call import object_layouts
from flambeau.codegen.routines.lying import Lying
from flambeau.codegen.routines.memory import Memory
from flambeau.codegen.routines.numbers import chosen, least
from flambeau.util.array_address import address_of
from flambeau.util.thread_count import ANY

TYPES: Final = {"f": "float", "d": "double"}
"""What is computed natively, by NumPy's characters."""
_QUICK_OBJECTS = ctypes.PYFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 5)
_OBJECTS = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 5)
_CALL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
_QUICK = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
RELEASE_FROM: Final = 20_000.0
"""Nanoseconds of work from which other Python threads may run meanwhile."""
SHARE_FROM: Final = 50_000.0
"""Nanoseconds of work from which threads share it."""
MOST_PIECES: Final = 64
"""Pieces that threads share."""
_FILTERS_TOGETHER: Final = 12
"""What the filters that a thread takes are a multiple of."""
_EACH, _UNITS, _DATA_AT, _ERROR = (PROBLEM.word(name) for name in ("filters_each", "units", "data_at", "error"))
_X, _W, _BIAS, _Y = (PROBLEM.word(name) for name in ("x", "w", "bias", "y"))


class Code:
    """A function `(words, low, high)` of a dtype, and the ways to call it."""

    def __init__(
        self, write: Callable[[Floats], str], character: str, symbol: str, of_objects: str = "", *others: str
    ) -> None:
        symbols = (symbol, *([of_objects] if of_objects else []), *others)
        self.native = linked(write, character, symbols)
        on_objects = self.native.addresses.get(of_objects, 0)
        self.quick_objects: Any = _QUICK_OBJECTS(on_objects)
        self.slow_objects: Any = _OBJECTS(on_objects)
        self.address = self.native.addresses[symbol]
        self.quick: Any = _QUICK(self.address)
        self.slow: Any = _CALL(self.address)

    def run(self, words: array[int], units: int, nanoseconds: float) -> None:
        """Compute all units, by several threads where that pays. Raises MemoryError."""
        error = ctypes.c_int32(0)
        if len(words) == PROBLEM.words:  # norms take no memory, and their blocks have no word for it
            words[_ERROR] = ctypes.addressof(error)
        block = words.buffer_info()[0]
        if nanoseconds < RELEASE_FROM:
            self.quick(block, 0, units)
        elif units == 1 or nanoseconds < SHARE_FROM:
            self.slow(block, 0, units)
        else:
            pieces = min(units, MOST_PIECES)
            step = -(-units // pieces)
            threads.run(ANY)(self.address, block, units, step, -(-units // step))
        if error.value:
            raise MemoryError(OUT_OF_MEMORY)


def pieces_of(units: Any, nanoseconds: Any, largest: int = MOST_PIECES) -> tuple[Any, Any]:
    """How many units a thread takes at a time, 0 where one takes all, and how many pieces that makes."""
    step = -(-units // least(units, largest))
    is_shared = nanoseconds >= SHARE_FROM
    several = chosen(units == 1, False, is_shared)
    return chosen(several, step, 0), chosen(several, -(-units // step), 1)


def linked(write: Callable[[Floats], str], character: str, symbols: tuple[str, ...]) -> NativeCode:
    """The code of a module for a dtype, whose text is written where the cache does not have it."""
    floats = Floats(TYPES[character], engine().target)
    return engine().link_written(_what(write, character), symbols, lambda: write(floats), memory_imports())


def is_at_hand(write: Callable[[Floats], str], character: str) -> bool:
    """Whether the code of a module for a dtype does not have to be compiled any more."""
    return character in TYPES and engine().has_written(_what(write, character))


def _what(write: Callable[[Floats], str], character: str) -> str:
    return f"{write.__module__}.{write.__qualname__} {character}"


@cache
def sums_code(character: str) -> Code:
    """The code for a dtype."""
    return Code(sums.sums_text, character, sums.SYMBOL, sums.OF_OBJECTS, sums.OF_LAUNCH)


@cache
def slopes_code(character: str) -> Code:
    """The code of weights' gradients for a dtype."""
    return Code(slopes.slopes_text, character, slopes.SYMBOL, "", slopes.OF_LAUNCH)


class Slice:
    """A convolution in two dimensions, whose arrays start some bytes from those that were given."""

    __slots__ = ("from_x", "from_y", "problem")

    def __init__(self, problem: Problem, from_x: Any, from_y: Any) -> None:
        self.problem, self.from_x, self.from_y = problem, from_x, from_y


class Convolution:
    """Convolutions of arrays of such sizes and strides."""

    __slots__ = ("_block", "_is_shared", "_kept", "_of_objects", "_slices", "_words", "code")

    def __init__(self, code: Code, slices: list[Slice], memory: Memory) -> None:
        """`memory` has what words of problems point to."""
        self.code, self._slices, self._kept = code, slices, memory.kept
        self._of_objects: Any = None
        self._is_shared, self._block = False, 0
        layouts = object_layouts()
        if len(slices) == 1 and slices[0].from_x == slices[0].from_y == 0 and layouts is not None:
            problem = slices[0].problem
            problem.words[_UNITS], problem.words[_DATA_AT] = problem.units, layouts.array.offset("data")
            self._words = array("q", problem.words)
            self._of_objects = code.quick_objects if problem.nanoseconds < RELEASE_FROM else code.slow_objects
            self._is_shared = problem.units > 1 and problem.nanoseconds >= SHARE_FROM
            self._block = self._words.buffer_info()[0]

    def __call__(self, x: Array, w: Array, bias: Array | None, y: Array) -> None:
        """Fill `y`. A bias lies side by side. Raises MemoryError."""
        if self._of_objects is not None and not (self._is_shared and threads.get_num_threads() > 1):
            if self._of_objects(self._block, id(x), id(w), None if bias is None else id(bias), id(y)):
                raise MemoryError(OUT_OF_MEMORY)
            return
        from_x, from_w, to = address(x), address(w), address(y)
        from_bias = 0 if bias is None else address(bias)
        for one in self._slices:
            problem = one.problem
            words = array("q", problem.words)
            words[_X], words[_W], words[_BIAS], words[_Y] = from_x + one.from_x, from_w, from_bias, to + one.from_y
            self.code.run(words, problem.units, problem.nanoseconds)


def address(a: Array) -> int:
    """Of the first element of an array."""
    return address_of(a)


def prepare(
    x: Array, w: Array, y: Array, stride: Sequence[int], before: Sequence[int], dilation: Sequence[int], groups: int,
    is_transposed: bool,
) -> Convolution | None:  # fmt: skip
    """What fills `y` with the convolution of `x` (images, channels, *sizes), of arrays that lie as these do; None where
    there is no code for it.

    The sizes of `y` say how many windows there are; windows that lie beyond the input find zeros there.
    """
    character = x.dtype.char
    if character not in TYPES or w.dtype.char != character:
        return None
    memory = Memory()
    arrays = Lying.of(x), Lying.of(w), Lying.of(y)
    numbers = tuple(stride), tuple(before), tuple(dilation)
    slices = slices_of(*arrays, *numbers, groups, is_transposed, memory) if y.size else []
    return None if slices is None else Convolution(sums_code(character), slices, memory)


class WeightGradient:
    """Gradients of the weights of convolutions of arrays of such sizes and strides."""

    __slots__ = ("code", "memory", "slices", "units")

    def __init__(self, code: Code, slices: list[Slice], filters: int, groups: int, memory: Memory) -> None:
        """`memory` has what words of problems point to."""
        self.code, self.slices, self.memory = code, slices, memory
        shared = threads.get_num_threads() if sum(s.problem.nanoseconds for s in slices) >= SHARE_FROM else 1
        each = -(-filters // shared)
        each = least(filters, -(-each // _FILTERS_TOGETHER) * _FILTERS_TOGETHER)
        self.units = groups * -(-filters // each)
        for one in slices:
            one.problem.words[_EACH] = each

    def __call__(self, x: Array, slope: Array, w: Array) -> None:
        """Add to `w`, from the input and the gradient of the result."""
        from_x, from_w, from_slope = address(x), address(w), address(slope)
        for one in self.slices:
            problem = one.problem
            words = array("q", problem.words)
            words[_X], words[_W], words[_Y] = from_x + one.from_x, from_w, from_slope + one.from_y
            self.code.run(words, self.units, problem.nanoseconds)


def prepare_weight_gradient(
    x: Array, slope: Array, w: Array, stride: Sequence[int], before: Sequence[int], dilation: Sequence[int],
    groups: int,
) -> WeightGradient | None:  # fmt: skip
    """What adds to `w` the gradient of the weight of a convolution of `x` whose result has the gradient `slope`, for
    arrays that lie as these do; None where there is no code for it.
    """
    arrays = Lying.of(x), Lying.of(slope), Lying.of(w)
    return weight_gradient(*arrays, stride, before, dilation, groups, Memory())


def weight_gradient(
    x: Lying, slope: Lying, w: Lying, stride: Sequence[int], before: Sequence[int], dilation: Sequence[int],
    groups: int, memory: Memory,
) -> WeightGradient | None:  # fmt: skip
    """The same of arrays that lie so; tables go to the memory."""
    character = x.dtype.char
    if character not in TYPES or slope.dtype.char != character:
        return None
    numbers = tuple(stride), tuple(before), tuple(dilation)
    slices = slices_of(x, w, slope, *numbers, groups, False, memory, FOLDED_POSITIONS) if slope.size != 0 else []
    if slices is None:
        return None
    return WeightGradient(slopes_code(character), slices, slope.shape[1] // groups, groups, memory)


def slices_of(
    x: Lying, w: Lying, y: Lying, stride: tuple[int, ...], before: tuple[int, ...], dilation: tuple[int, ...],
    groups: int, is_transposed: bool, memory: Memory, positions: int = POSITIONS,
) -> list[Slice] | None:  # fmt: skip
    """Slices through the third dimension from the end, if there is one; None where offsets are too large. What their
    words point to goes to the memory.
    """
    x, w, y = (a.expanded(5 - a.ndim, 2) for a in (x, w, y))
    stride, dilation = ((1,) * (3 - len(v)) + v for v in (stride, dilation))
    before = (0,) * (3 - len(before)) + before
    if not fits(*[sum((n - 1) * abs(s) for n, s in zip(a.shape, a.strides, strict=True)) for a in (x, w)]):
        return None
    kernel, steps, around, apart = ((v[1], v[2]) for v in (w.shape[2:], stride, before, dilation))
    window = Window(kernel, steps, around, apart, is_transposed)
    may_be_in_place = positions == POSITIONS and engine().target.vector_bits > 128
    problems: dict[tuple[int, ...], Problem] = {}
    slices = []
    for index in range(y.shape[2]):
        depths = _depths(index, x.shape[2], w.shape[2], stride[0], before[0], dilation[0], is_transposed)
        first = depths[0][1] if depths else 0
        shape = tuple([n for k, d in depths for n in (k, d - first)])
        if shape not in problems:
            problems[shape] = _problem(
                x, w, y, window, groups, [(k, d - first) for k, d in depths], memory, positions, may_be_in_place
            )  # fmt: skip
        slices.append(Slice(problems[shape], first * x.strides[2], index * y.strides[2]))
    return slices


def _depths(
    position: int, size: int, kernel: int, stride: int, before: int, dilation: int, is_transposed: bool
) -> list[Pair]:
    """The elements of a kernel along the first of three dimensions that a result has, and where their input is."""
    if is_transposed:
        reached = [(k, position + before - k * dilation) for k in range(kernel)]
        pairs = [(k, at // stride) for k, at in reached if at % stride == 0]
    else:
        pairs = [(k, position * stride - before + k * dilation) for k in range(kernel)]
    return [(k, at) for k, at in pairs if 0 <= at < size]


def _problem(
    x: Lying, w: Lying, y: Lying, window: Window, groups: int, depths: list[Pair], memory: Memory, positions: int,
    may_be_in_place: bool,
) -> Problem:  # fmt: skip
    inner, outer = x.shape[1] // groups, y.shape[1] // groups
    by_input, by_output = (0, 1) if window.is_transposed else (1, 0)
    planes = Planes(inner, x.strides[1], tuple([d * x.strides[2] for _, d in depths]))
    weights = Planes(inner, w.strides[by_input], tuple([k * w.strides[2] for k, _ in depths]))
    w_group = inner * w.strides[0] if window.is_transposed else outer * w.strides[0]
    return make_problem(
        x.dtype,
        Input(
            x.shape[0], x.shape[3], x.shape[4],
            Strides(x.strides[0], inner * x.strides[1], x.strides[3], x.strides[4]), planes,
        ),
        Filters(outer, weights, w_group, w.strides[by_output], w.strides[3], w.strides[4]),
        Results(y.shape[3], y.shape[4], (y.strides[0], y.strides[1], y.strides[3], y.strides[4])),
        window, groups, memory, may_be_in_place=may_be_in_place, positions=positions,
    )  # fmt: skip
