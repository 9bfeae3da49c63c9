"""From the meaning of a pointwise operator to the loops that NumPy would run for it, as a program of ``llvm.loops``.

The meaning is evaluated once on stand-ins for arrays. Each universal function that they meet is noted down with the
loop that NumPy takes for these dtypes; whatever else they meet, a question about values or a conversion of arrays, ends
it: such calls have no program.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from flambeau.codegen.llvm.loops import ADDRESS, CONVERT, OPERANDS, SCRATCH, SELECT
from flambeau.codegen.ufunc_loops import Loop, loop_of
from flambeau.ops.families.numpy_cast import constant
from flambeau.ops.families.numpy_scalar import NUMPY
from flambeau.schema.dtype import DType
from flambeau.schema.function import FunctionSchema
from flambeau.schema.types import FloatType, IntType, TensorType
from flambeau.tensor.tensor import Tensor
from flambeau.util.record import dataclass, field

MOST_STEPS, MOST_INPUTS = 24, 8
_NUMBERS: Final = {float: np.dtype(np.float64), int: np.dtype(np.int64)}
"""Python numbers, and how native code reads them."""


class Meaning(Protocol):
    """What is asked of a pointwise overload."""

    @property
    def schema(self) -> FunctionSchema: ...
    @property
    def values(self) -> tuple[int, ...]: ...
    @property
    def raw(self) -> tuple[int, ...]: ...
    @property
    def scalar(self) -> Callable[..., Any]: ...
    def predict_dtype(self, *args: Any) -> DType | None: ...
    def predict_compute(self, *args: Any) -> DType | None: ...


class NotRecordedError(Exception):
    """A call has no program of loops."""


@dataclass(slots=True)
class Step:
    """One loop."""

    loop: Loop | str
    """Of NumPy, or the name of one of our own."""
    places: list[tuple[int, int]]
    """Per operand, where it is and the distance of its elements in bytes."""
    is_single: bool
    """Whether it is for one element."""


@dataclass(slots=True)
class Program:
    """What ``llvm.loops`` runs for calls of one pattern."""

    steps: list[Step]
    guards: list[tuple[int, int]]
    """Words of the block, and the bits at the addresses there."""
    rows: int
    """Scratch rows."""
    result: np.dtype[Any]
    constants: list[Any]
    """What addresses in it point to."""

    def words(self, own: dict[str, int]) -> list[int]:
        """As ``llvm.loops`` reads it; ``own`` has the addresses of our own loops."""
        found = [len(self.guards), self.rows]
        for guard in self.guards:
            found += guard
        found.append(len(self.steps))
        for step in self.steps:
            loop = Loop(own[step.loop], 0) if isinstance(step.loop, str) else step.loop
            found += [loop.function, loop.data, len(step.places), int(step.is_single)]
            for place in (*step.places, *[(0, 0)] * (OPERANDS - len(step.places))):
                found += place
        return found


class _Traced(NDArrayOperatorsMixin):
    """Stands for an array of which the dtype is known."""

    def __init__(self, recorder: _Recorder, place: int, step: int, dtype: np.dtype[Any]) -> None:
        self.recorder, self.place, self.step, self.dtype = recorder, place, step, dtype

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
        places = [self.place(x, dtype) for x, dtype in zip(inputs, resolved, strict=False)]
        return self.step(loop, places, resolved[-1])

    def select(self, condition: Any, a: Any, b: Any) -> _Traced:
        """`numpy.where`."""
        dtypes = {x.dtype for x in (a, b) if isinstance(x, _Traced | np.generic | np.ndarray)}
        if len(dtypes) != 1:
            raise NotRecordedError("where")
        [dtype] = dtypes
        places = [self.place(condition, np.dtype(np.bool_)), self.place(a, dtype), self.place(b, dtype)]
        return self.step(SELECT[dtype.itemsize], places, dtype)

    def step(self, loop: Loop | str, places: list[tuple[int, int]], dtype: np.dtype[Any]) -> _Traced:
        """Note a loop down; its result, in a row of its own."""
        if len(self.steps) >= MOST_STEPS or dtype.itemsize > 8:
            raise NotRecordedError("too much")
        is_single = all(distance == 0 for _, distance in places)
        place, distance = SCRATCH + self.rows, 0 if is_single else dtype.itemsize
        self.rows += 1
        self.steps.append(Step(loop, [*places, (place, distance)], is_single))
        return _Traced(self, place, distance, dtype)

    def place(self, value: Any, dtype: np.dtype[Any]) -> tuple[int, int]:
        """Where an operand is that a loop reads as ``dtype``."""
        if isinstance(value, _Traced):
            if value.dtype != dtype:
                raise NotRecordedError(f"{value.dtype} as {dtype}")
            return value.place, value.step
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
    """The program for calls with tensors and numbers like these; None if there is none."""
    if not 0 < len(arguments) <= MOST_INPUTS:
        return None
    try:
        return _recorded(meaning, arguments)
    except NotRecordedError:
        return None


def _recorded(meaning: Meaning, arguments: Sequence[Any]) -> Program:
    recorder = _Recorder()
    fixed = [_is_fixed(meaning, k, a) for k, a in enumerate(arguments)]
    described = [a if is_fixed else _described(a) for a, is_fixed in zip(arguments, fixed, strict=True)]
    compute, result = meaning.predict_compute(*described), meaning.predict_dtype(*described)
    if compute is None or result is None:
        raise NotRecordedError("the dtypes do not decide")
    values: list[Any] = []
    for k, argument in enumerate(arguments):
        if isinstance(argument, Tensor):
            dtype = argument._array.dtype
            if k not in meaning.raw and dtype != compute.numpy:
                raise NotRecordedError("a conversion")
            values.append(_Traced(recorder, k + 1, dtype.itemsize if argument._array.ndim else 0, dtype))
        elif fixed[k]:
            recorder.guards.append((k + 1, _bits(argument)))
            values.append(constant(argument, compute) if k in meaning.values else argument)
        else:
            values.append(_number(recorder, k, argument, compute))
    return _finished(recorder, meaning.scalar(NUMPY, *values), result.numpy, arguments)


def _is_fixed(meaning: Meaning, place: int, argument: Any) -> bool:
    """Whether the program is for this very number: one that is the default, or that no array is computed from."""
    if isinstance(argument, Tensor):
        return False
    if type(argument) not in _NUMBERS:
        raise NotRecordedError(f"an argument of type {type(argument).__name__}")
    declared = meaning.schema.arguments[place]
    is_default = declared.has_default and type(declared.default) is type(argument) and declared.default == argument
    return is_default or place not in meaning.values


def _described(argument: Any) -> Any:
    if isinstance(argument, Tensor):
        return TensorType(dtype=argument.dtype, sizes=(None,) * argument._array.ndim)
    return FloatType() if type(argument) is float else IntType()


def _bits(number: float) -> int:
    """The machine word that native code reads a number into."""
    return int(np.array([number], _NUMBERS[type(number)]).view(np.int64)[0])


def _number(recorder: _Recorder, place: int, argument: Any, compute: DType) -> _Traced:
    source = _NUMBERS[type(argument)]
    if source == compute.numpy:
        return _Traced(recorder, place + 1, 0, source)
    name = CONVERT.get((source.name, compute.numpy.name))
    if name is None:
        raise NotRecordedError(f"{source} to {compute}")
    return recorder.step(name, [(place + 1, 0)], compute.numpy)


def _finished(recorder: _Recorder, last: Any, result: np.dtype[Any], arguments: Sequence[Any]) -> Program:
    """The program, whose result goes to the output."""
    many = any(isinstance(a, Tensor) and a._array.ndim for a in arguments)
    if not isinstance(last, _Traced) or last.dtype != result or last.place < SCRATCH or (many and not last.step):
        raise NotRecordedError("the result")
    target, row = len(arguments) + 1, recorder.rows - 1
    for step in recorder.steps:
        step.places = [
            (target if place == last.place else last.place if place == SCRATCH + row else place, distance)
            for place, distance in step.places
        ]
    return Program(recorder.steps, recorder.guards, row, result, recorder.constants)
