"""From the meaning of a pointwise operator to the loops that NumPy would run for it, as a program of ``llvm.loops``.

The meaning is evaluated once on stand-ins for arrays. Each universal function that they meet is noted down with the
loop that NumPy takes for these dtypes; whatever else they meet, a question about values or a conversion of arrays, ends
it: such calls have no program.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from flambeau.codegen.llvm.entry_geometry import FOLDED, KEPT, MAPPED, MOST_ARRAYS, SPREAD, WRITTEN
from flambeau.codegen.llvm.loop_words import ADDRESS, ALL, ONCE, OWN, REST, SCRATCH
from flambeau.codegen.llvm.loops import CONVERT, COPY, COUNT, SELECT
from flambeau.codegen.recorded_program import Meaning, NotRecordedError, Program, Step
from flambeau.codegen.ufunc_loops import Loop, loop_of
from flambeau.ops.families import rows
from flambeau.ops.families.numpy_cast import constant
from flambeau.ops.families.numpy_scalar import NUMPY
from flambeau.ops.families.rows import RowsMeaning
from flambeau.schema.dtype import DType
from flambeau.schema.types import FloatType, IntType, TensorType
from flambeau.tensor.tensor import Tensor
from flambeau.util.record import dataclass, field

MOST_STEPS, MOST_INPUTS = 24, MOST_ARRAYS - 1
_NUMBERS: Final = {float: np.dtype(np.float64), int: np.dtype(np.int64)}
"""Python numbers, and how native code reads them."""
_SMALL: Final = range(-5, 257)
"""Ints of which CPython has one object each: which it is, native code sees before it takes a program."""
_WAYS: Final = {rows.FOLDED: FOLDED, rows.KEPT: KEPT, rows.MAPPED: MAPPED}


class _Traced(NDArrayOperatorsMixin):
    """Stands for an array of which the dtype is known."""

    def __init__(self, recorder: _Recorder, index: int, step: int, dtype: np.dtype[Any]) -> None:
        self.recorder, self.index, self.step, self.dtype = recorder, index, step, dtype

    def __array_ufunc__(self, function: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or options:
            raise NotRecordedError(f"{function.__name__}.{method}")
        return self.recorder.call(function, inputs)

    def __array_function__(self, function: Any, types: Any, args: Sequence[Any], options: Any) -> Any:
        if function is np.where and len(args) == 3 and not options:
            return self.recorder.select(*args)
        raise NotRecordedError(getattr(function, "__name__", str(function)))

    def _refuse(self, *args: Any) -> Any:
        raise NotRecordedError("a question about values")

    __bool__ = __array__ = __getitem__ = __len__ = __iter__ = __float__ = __int__ = __index__ = _refuse
    shape = ndim = size = property(_refuse)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotRecordedError(name)


@dataclass(slots=True)
class _Recorder:
    steps: list[Step] = field(default_factory=list)
    guards: list[tuple[int, int]] = field(default_factory=list)
    objects: list[int] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)
    rows: int = 0

    def call(self, function: np.ufunc, inputs: Sequence[Any]) -> _Traced:
        """A universal function of these operands."""
        if function.nout != 1:
            raise NotRecordedError(function.__name__)
        kinds = [_kind(x) for x in inputs]
        try:
            resolved = function.resolve_dtypes((*kinds, None))
        except TypeError:
            raise NotRecordedError(function.__name__) from None
        loop = loop_of(function, resolved)
        if loop is None:
            raise NotRecordedError(f"{function.__name__} of {resolved}")
        operands = [self.place(x, dtype) for x, dtype in zip(inputs, resolved, strict=False)]
        if function is np.power and operands[1][1] == OWN:  # rounds otherwise where one exponent is repeated
            raise NotRecordedError("powers whose exponents are laid out in any way")
        return self.step(loop, operands, resolved[-1])

    def select(self, condition: Any, a: Any, b: Any) -> _Traced:
        """`numpy.where`."""
        dtypes = {x.dtype for x in (a, b) if isinstance(x, _Traced | np.generic | np.ndarray)}
        if len(dtypes) != 1:
            raise NotRecordedError("where")
        [dtype] = dtypes
        if dtype.itemsize not in SELECT:
            raise NotRecordedError(f"where of {dtype}")
        operands = [self.place(condition, np.dtype(np.bool_)), self.place(a, dtype), self.place(b, dtype)]
        return self.step(SELECT[dtype.itemsize], operands, dtype)

    def step(self, loop: Loop | str, operands: list[tuple[int, int]], dtype: np.dtype[Any]) -> _Traced:
        """Note a loop down; its result, in a row of its own."""
        if len(self.steps) >= MOST_STEPS or dtype.itemsize > 8:
            raise NotRecordedError("too much")
        is_single = all(distance == 0 for _, distance in operands)
        result = self.row(dtype, 0 if is_single else dtype.itemsize)
        self.steps.append(Step(loop, [*operands, (result.index, result.step)], ONCE if is_single else ALL))
        return result

    def row(self, dtype: np.dtype[Any], step: int) -> _Traced:
        """A row that nothing was put into yet."""
        self.rows += 1
        return _Traced(self, SCRATCH + self.rows - 1, step, dtype)

    def fold(self, function: np.ufunc, x: _Traced) -> _Traced:
        """One element of a row, as the function's `reduce` gives it."""
        loop = loop_of(function, (x.dtype,) * 3)
        if loop is None or not x.step:
            raise NotRecordedError(f"{function.__name__} of {x.dtype}")
        folded, copy = self.row(x.dtype, 0), copy_of(x.dtype)
        has_start = function.identity is not None
        start = self.place(x.dtype.type(function.identity), x.dtype) if has_start else (x.index, 0)
        result = (folded.index, 0)
        self.steps.append(Step(copy, [start, result], ONCE))
        self.steps.append(Step(loop, [result, (x.index, x.step), result], ALL if has_start else REST))
        return folded

    def count(self, dtype: np.dtype[Any]) -> _Traced:
        """How many elements a row has."""
        length = self.row(dtype, 0)
        self.steps.append(Step(COUNT[dtype.name], [(length.index, 0)], ALL))
        return length

    def converted(self, x: _Traced, dtype: np.dtype[Any]) -> _Traced:
        """The traced value converted to another dtype."""
        if x.dtype == dtype:
            return x
        name = CONVERT.get((x.dtype.name, dtype.name))
        if name is None:
            raise NotRecordedError(f"{x.dtype} to {dtype}")
        return self.step(name, [(x.index, x.step)], dtype)

    def program(self, rows: int, result: np.dtype[Any]) -> Program:
        """What was noted down, as a program with so many scratch rows."""
        return Program(self.steps, self.guards, rows, result, self.constants, self.objects)

    def place(self, value: Any, dtype: np.dtype[Any]) -> tuple[int, int]:
        """Where an operand is that a loop reads as ``dtype``."""
        if isinstance(value, _Traced):
            if value.dtype != dtype:
                raise NotRecordedError(f"{value.dtype} as {dtype}")
            return value.index, value.step
        array = np.asarray(value)
        if array.ndim or (isinstance(value, np.generic) and array.dtype != dtype):
            raise NotRecordedError("an array")
        memory = ctypes.create_string_buffer(array.astype(dtype).tobytes(), 16)
        self.constants.append(memory)
        address = ctypes.addressof(memory)
        assert address >= ADDRESS
        return address, 0


def _kind(value: Any) -> Any:
    """What NumPy looks at: the dtype, or the class of a Python number, which gives way to others."""
    if isinstance(value, _Traced | np.generic | np.ndarray):
        return value.dtype
    if type(value) in (int, float, complex):
        return type(value)
    raise NotRecordedError(type(value).__name__)


def record(meaning: Meaning, arguments: Sequence[Any]) -> Program | None:
    """The program for calls with row-major tensors of one size, and numbers, like these; None if there is none."""
    return _attempt(lambda: _recorded(meaning, arguments, is_spread=False))


def record_spread(meaning: Meaning, arguments: Sequence[Any], target: int | None) -> Program | None:
    """The program for calls with tensors that lie in any way; `target` is the number of the one that is written to."""
    return _attempt(lambda: _spread(meaning, arguments, target))


def record_row(meaning: RowsMeaning, arguments: Sequence[Any]) -> Program | None:
    """The program for calls of an operator on rows of the first argument."""
    return _attempt(lambda: _of_row(meaning, arguments))


def copy_of(dtype: np.dtype[Any]) -> str:
    """The loop that copies elements of a dtype. Raises NotRecordedError where there is none, as for complex128."""
    if dtype.itemsize not in COPY:
        raise NotRecordedError("elements of this size")
    return COPY[dtype.itemsize]


def _attempt(record: Callable[[], Program]) -> Program | None:
    try:
        return record()
    except NotRecordedError:
        return None


def _values(recorder: _Recorder, meaning: Meaning, arguments: Sequence[Any], *, is_spread: bool) -> tuple[Any, DType]:
    """What the meaning gives, and as which dtype."""
    if not 0 < len(arguments) <= MOST_INPUTS:
        raise NotRecordedError("too many arguments")
    fixed = [is_fixed(meaning, k, a) for k, a in enumerate(arguments)]
    described = [a if this_very else _described(a) for a, this_very in zip(arguments, fixed, strict=True)]
    compute, result = meaning.predict_compute(*described), meaning.predict_dtype(*described)
    if compute is None or result is None:
        raise NotRecordedError("the dtypes do not decide")
    values: list[Any] = []
    for k, argument in enumerate(arguments):
        if isinstance(argument, Tensor):
            as_dtype = None if k in meaning.raw else compute.numpy
            values.append(_tensor_row(recorder, k, argument, as_dtype, is_spread=is_spread))
        elif fixed[k]:
            values.append(_fixed_value(recorder, meaning, k, argument, compute))
        else:
            values.append(_number(recorder, k, argument, compute))
    return meaning.scalar(NUMPY, *values), result


def _tensor_row(
    recorder: _Recorder, k: int, tensor: Tensor, dtype: np.dtype[Any] | None, *, is_spread: bool
) -> _Traced:
    """The elements of argument number ``k``, converted to a dtype if there is one."""
    array = tensor._array
    step = 0 if not array.ndim else OWN if is_spread else array.dtype.itemsize
    row = _Traced(recorder, k + 1, step, array.dtype)
    if dtype is None or array.dtype == dtype:
        return row
    if not is_spread:
        raise NotRecordedError("a conversion")
    return recorder.converted(row, dtype)


def _fixed_value(recorder: _Recorder, meaning: Meaning, k: int, argument: Any, compute: DType) -> Any:
    """Argument number ``k``, which calls of the program must have too."""
    if type(argument) is int and argument in _SMALL:
        recorder.objects.append(k)
    elif type(argument) in _NUMBERS:
        recorder.guards.append((k + 1, _bits(argument)))
    return constant(argument, compute) if k in meaning.values and argument is not None else argument


def _recorded(meaning: Meaning, arguments: Sequence[Any], *, is_spread: bool) -> Program:
    recorder = _Recorder()
    last, result = _values(recorder, meaning, arguments, is_spread=is_spread)
    many = any(isinstance(a, Tensor) and a._array.ndim for a in arguments)
    if not isinstance(last, _Traced) or last.dtype != result.numpy or (many and not last.step):
        raise NotRecordedError("the result")
    return _delivered(recorder, last, len(arguments) + 1, last.step)


def _spread(meaning: Meaning, arguments: Sequence[Any], target: int | None) -> Program:
    recorder = _Recorder()
    inputs = arguments[:-1] if target == len(arguments) - 1 and target else arguments
    last, result = _values(recorder, meaning, inputs, is_spread=True)
    if isinstance(last, int):
        last = _Traced(recorder, recorder.place(last, result.numpy)[0], 0, result.numpy)
    if not isinstance(last, _Traced):
        raise NotRecordedError("the result")
    last = recorder.converted(last, result.numpy)
    rank = max((a._array.ndim for a in inputs if isinstance(a, Tensor)), default=0)
    if target is None:
        if last.index < SCRATCH or (rank and not last.step):
            last = _copied(recorder, last, OWN if rank else 0)
        program = _delivered(recorder, last, len(arguments) + 1, OWN if rank else 0)
        program.geometry = SPREAD
    else:
        into = arguments[target]._array
        last = recorder.converted(last, into.dtype)
        distance = OWN if into.ndim else 0
        copy = Step(copy_of(into.dtype), [(last.index, last.step), (target + 1, distance)], ALL if into.ndim else ONCE)
        if into.ndim != rank:
            raise NotRecordedError("the target is smaller")
        recorder.steps.append(copy)
        program = recorder.program(recorder.rows, into.dtype)
        program.geometry, program.target = WRITTEN, target
    program.axes = rank
    return program


def _of_row(meaning: RowsMeaning, arguments: Sequence[Any]) -> Program:
    recorder = _Recorder()
    array = arguments[0]._array
    row = meaning.describe(array.ndim, array.dtype, *arguments[1:])
    if row is None or not array.ndim:
        raise NotRecordedError("not along the last axes")
    last = row.compute(recorder, _Traced(recorder, 1, OWN, array.dtype))
    if not isinstance(last, _Traced) or last.index < SCRATCH:
        raise NotRecordedError("the result")
    program = _delivered(recorder, last, len(arguments) + 1, OWN if last.step else 0)
    program.geometry, program.axes, program.most = _WAYS[row.way], row.axes, row.most
    program.longest, program.target, program.beyond = row.longest, int(row.longest > 0), row.beyond
    return program


def _copied(recorder: _Recorder, last: _Traced, distance: int) -> _Traced:
    """A copy, as large as the result is."""
    row = recorder.row(last.dtype, distance)
    step = Step(copy_of(last.dtype), [(last.index, last.step), (row.index, distance)], ALL if distance else ONCE)
    recorder.steps.append(step)
    return row


def is_fixed(meaning: Meaning, index: int, argument: Any) -> bool:
    """Whether the program is for this very number or object: one that is the default, or that no array is computed
    from. Raises `NotRecordedError` for what no program takes."""
    if isinstance(argument, Tensor):
        return False
    if is_object(argument):
        return True
    if type(argument) not in _NUMBERS:
        raise NotRecordedError(f"an argument of type {type(argument).__name__}")
    declared = meaning.schema.arguments[index]
    is_default = declared.has_default and type(declared.default) is type(argument) and declared.default == argument
    return is_default or index not in meaning.values


def is_object(argument: Any) -> bool:
    """Whether native code knows an argument by being this very object: there are few of a kind."""
    return argument is None or argument is rows.EMPTY or type(argument) in (bool, str, DType, rows.Axes)


def _described(argument: Any) -> Any:
    if isinstance(argument, Tensor):
        return TensorType(dtype=argument.dtype, sizes=(None,) * argument._array.ndim)
    return FloatType() if type(argument) is float else IntType()


def _bits(number: float) -> int:
    """The machine word that native code reads a number into."""
    return int(np.array([number], _NUMBERS[type(number)]).view(np.int64)[0])


def _number(recorder: _Recorder, index: int, argument: Any, compute: DType) -> _Traced:
    return recorder.converted(_Traced(recorder, index + 1, 0, _NUMBERS[type(argument)]), compute.numpy)


def _delivered(recorder: _Recorder, last: _Traced, target: int, distance: int) -> Program:
    """The program, whose result goes to a word of the block."""
    if last.index < SCRATCH:
        raise NotRecordedError("the result is an argument")
    row = recorder.rows - 1
    for step in recorder.steps:
        step.operands = [
            (target, distance) if index == last.index else (last.index if index == SCRATCH + row else index, away)
            for index, away in step.operands
        ]
    return recorder.program(row, last.dtype)
