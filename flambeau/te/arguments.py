"""Between the arguments of a call and the memory and numbers of a nest."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Protocol, TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt

from flambeau.codegen import reference_scalar as scalar
from flambeau.te.errors import ScheduleError
from flambeau.te.expressions import INDEX, Const, Expr, Op, Var
from flambeau.te.nest import Nest
from flambeau.te.tensors import Tensor
from flambeau.tensor.bridge import from_numpy
from flambeau.tensor.tensor import Tensor as EagerTensor
from flambeau.util.record import dataclass

Array: TypeAlias = npt.NDArray[Any]
Argument: TypeAlias = "Tensor | Var"


@cache
def numpy_dtype(name: str) -> np.dtype[Any]:
    """The dtype of NumPy with a name that nests use."""
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)


def number_of(e: Expr, numbers: Mapping[Var, int]) -> int:
    """An integer expression of sizes, worked out."""
    if isinstance(e, Const):
        return int(e.value)
    if isinstance(e, Var):
        return numbers[e]
    assert isinstance(e, Op), e
    args = tuple(np.int64(number_of(a, numbers)) for a in e.args)
    return int(scalar.evaluate(e.op, args, "int64"))


class Memory(Protocol):
    """Where the arrays of calls lie."""

    def array(self, t: Tensor, value: Any, *, is_written: bool) -> Any:
        """An argument as an array there. Raises TypeError and ValueError for what cannot be taken."""

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """An array for a result."""

    def result(self, array: Any, arguments: tuple[Any, ...]) -> Any:
        """A result as calls with these arguments give it."""

    def may_overlap(self, a: Any, b: Any) -> bool:
        """Whether two arrays may share memory."""


class HostMemory:
    """Arrays of NumPy; tensors share theirs."""

    def array(self, t: Tensor, value: Any, *, is_written: bool) -> Array:
        """An argument as an array: copied where it is read and does not lie row by row."""
        return _array(t, value, is_written=is_written)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """An array for a result."""
        return np.empty(shape, dtype)

    def result(self, array: Array, arguments: tuple[Any, ...]) -> Any:
        """A tensor where a tensor is among the arguments."""
        return from_numpy(array) if any(isinstance(value, EagerTensor) for value in arguments) else array

    def may_overlap(self, a: Array, b: Array) -> bool:
        """Whether two arrays may share memory."""
        return np.may_share_memory(a, b)


@dataclass(slots=True, eq=False)
class Bound:
    """What a call works on."""

    arrays: dict[Tensor, Any]
    """Of placeholders and results, row-major."""
    numbers: dict[Var, Any]
    results: list[Any]
    """What the call gives, in order."""


class Arguments:
    """What calls of a nest take, in order, and which sizes follow from it."""

    def __init__(self, nest: Nest, args: Sequence[Argument] | None) -> None:
        self.nest = nest
        self.sizes = nest.sizes()
        in_shapes = {e for t in nest.inputs for e in t.shape if isinstance(e, Var)}
        if args is None:
            args = [*nest.inputs, *(v for v in self.sizes if v not in in_shapes)]
        self.args = list(args)
        self._check(in_shapes)
        self._taken = [(a, any(a is t for t in nest.outputs)) for a in self.args]
        self._is_given_results = any(is_written for _, is_written in self._taken)
        """Only arrays that calls give can share memory with others."""
        self._is_checked = any(isinstance(a, Var) and a.dtype == INDEX for a in self.args) or any(
            not isinstance(e, Var | Const) for t in nest.tensors for e in t.shape
        )
        """Whether sizes do not follow from shapes alone."""

    def _check(self, in_shapes: set[Var]) -> None:
        known = [*self.nest.inputs, *self.nest.outputs]
        for a in self.args:
            if isinstance(a, Tensor) and not any(a is t for t in known):
                raise ScheduleError(f"{a.name} is neither read nor given by the nest: args takes {_names(known)}")
        missing = [t for t in self.nest.inputs if not any(t is a for a in self.args)]
        missing += [v for v in self.sizes if v not in in_shapes and not any(v is a for a in self.args)]  # type: ignore[misc]
        if missing:
            raise ScheduleError(f"args lacks {_names(missing)}, which the nest needs")

    def bind(self, values: tuple[Any, ...], memory: Memory) -> Bound:
        """Arrays and numbers of a call, in that memory. Raises TypeError and ValueError that say what was expected."""
        if len(values) != len(self.args):
            raise TypeError(f"expected {len(self.args)} arguments ({_names(self.args)}), got {len(values)}")
        arrays: dict[Tensor, Any] = {}
        numbers: dict[Var, Any] = {}
        for (a, is_written), value in zip(self._taken, values, strict=True):
            if isinstance(a, Tensor):
                arrays[a] = memory.array(a, value, is_written=is_written)
            else:
                numbers[a] = _number(a, value)
        are_plain = True
        for t, array in arrays.items():
            are_plain = _meets(t, array, numbers) and are_plain
        if not are_plain or self._is_checked:
            for t, array in arrays.items():
                self._check_shape(t, array, numbers)
            for t in self.nest.tensors:
                self.shape_of(t, numbers)
        results: list[Any] = []
        for t in self.nest.outputs:
            if t not in arrays:
                arrays[t] = memory.empty(self.shape_of(t, numbers), numpy_dtype(t.dtype))
            results.append(arrays[t])
        if self._is_given_results:
            self._check_apart(arrays, memory)
        return Bound(arrays, numbers, results)

    def shape_of(self, t: Tensor, numbers: Mapping[Var, Any]) -> tuple[int, ...]:
        """The shape of a tensor. Raises ValueError for a size below zero."""
        shape = tuple([numbers[e] if type(e) is Var else number_of(e, numbers) for e in t.shape])
        if shape and min(shape) < 0:
            raise ValueError(f"{t.name} would have shape {shape}; its sizes are {_shape_text(t)}")
        return shape

    def _check_shape(self, t: Tensor, array: Any, numbers: Mapping[Var, Any]) -> None:
        expected = self.shape_of(t, numbers)
        if array.shape != expected:
            sizes = ", ".join(f"{v.name} = {numbers[v]}" for v in self.sizes if v in numbers)
            where = f" with {sizes}" if sizes else ""
            raise ValueError(f"{t.name} has shape {_shape_text(t)}{where}, which is {expected}; got {array.shape}")

    def _check_apart(self, arrays: Mapping[Tensor, Any], memory: Memory) -> None:
        """Results share no memory with anything else: the code relies on that."""
        for t in self.nest.outputs:
            for other, array in arrays.items():
                if other is not t and memory.may_overlap(arrays[t], array):
                    raise ValueError(f"{t.name} and {other.name} share memory: give the result an array of its own")


def _meets(t: Tensor, array: Any, numbers: dict[Var, Any]) -> bool:
    """Take the sizes of an array as numbers; whether they are the ones known, and no expressions of others."""
    if array.ndim != t.ndim:
        raise ValueError(f"{t.name} has {t.ndim} dimensions, {_shape_text(t)}; got an array of shape {array.shape}")
    is_plain = True
    for e, size in zip(t.shape, array.shape, strict=True):
        known = numbers.setdefault(e, size) if type(e) is Var else e.value if type(e) is Const else None
        is_plain = is_plain and known == size
    return is_plain


def _names(args: Sequence[Argument]) -> str:
    return ", ".join(a.name for a in args) or "nothing"


def _shape_text(t: Tensor) -> str:
    return f"({', '.join(map(str, t.shape))}{',' if t.ndim == 1 else ''})"


def _array(t: Tensor, value: Any, *, is_written: bool) -> Array:
    """The memory of an argument: copied where it is read and does not lie row by row."""
    dtype = numpy_dtype(t.dtype)
    if type(value) is np.ndarray and value.dtype == dtype and value.flags.c_contiguous and not is_written:
        return value
    if isinstance(value, EagerTensor):
        value = value.detach().numpy()
    if not isinstance(value, np.ndarray):
        if is_written:
            raise TypeError(
                f"{t.name} is written: expected an array or a tensor of {t.dtype}, got {type(value).__name__}"
            )
        value = np.asarray(value, dtype) if not hasattr(value, "dtype") else np.asarray(value)
    if value.dtype != dtype:
        raise TypeError(f"{t.name} has dtype {t.dtype}, got {value.dtype}: convert it, as x.astype({t.dtype!r})")
    array: Array = value
    if array.flags.c_contiguous and (array.flags.writeable or not is_written):
        return array
    if is_written:
        what = "is read-only" if value.flags.c_contiguous else "does not lie row by row in memory"
        raise ValueError(f"{t.name} is written, and the array {what}: give one as np.empty makes it")
    copied: Array = np.ascontiguousarray(value).reshape(value.shape)
    return copied


def _number(v: Var, value: Any) -> Any:
    if isinstance(value, EagerTensor):
        value = value.item()
    is_float = v.dtype.startswith("float")
    if isinstance(value, bool | np.bool_) != (v.dtype == "bool") or not isinstance(
        value, bool | np.bool_ | int | np.integer | (float if is_float else int) | np.floating
    ) or (not is_float and isinstance(value, float | np.floating)):  # fmt: skip
        raise TypeError(f"{v.name} is a number of dtype {v.dtype}, got {type(value).__name__}")
    if not is_float and not math.isfinite(value):
        raise TypeError(f"{v.name} is a number of dtype {v.dtype}, got {value}")
    return scalar.make(value, v.dtype)
