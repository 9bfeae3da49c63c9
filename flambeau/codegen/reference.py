"""Runs a kernel in plain Python, one iteration at a time: slow, obvious, and the meaning that native code is held
to.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from flambeau.codegen import reference_scalar as scalar
from flambeau.codegen.kernel import nest
from flambeau.codegen.kernel.dtypes import element_type
from flambeau.codegen.kernel.nest import ONE, Kernel, Statement
from flambeau.codegen.shapes import broadcast_sizes, refuse_empty

Array = npt.NDArray[Any]


def run(kernel: Kernel, *inputs: Any) -> tuple[Array, ...]:
    """The outputs of ``kernel``; inputs broadcast to their buffers' axes. Raises as a compiled kernel would."""
    return _Machine(kernel, inputs).run()


class _Machine:
    def __init__(self, kernel: Kernel, inputs: tuple[Any, ...]) -> None:
        self.kernel = kernel
        arrays = [np.asarray(x, dtype=b.dtype) for x, b in zip(inputs, kernel.inputs, strict=True)]
        self.sizes = broadcast_sizes(kernel, [a.shape for a in arrays])
        self.memory: dict[str, Array] = {}
        for buffer, array in zip(kernel.inputs, arrays, strict=True):
            self.memory[buffer.name] = np.broadcast_to(array, self.shape(buffer.axes))
        for buffer in kernel.outputs + kernel.scratch:
            self.memory[buffer.name] = np.zeros(self.shape(buffer.axes), dtype=buffer.dtype)
        self.axes = {b.name: b.axes for b in kernel.buffers}
        self.at: dict[str, int] = {ONE: 0}
        self.values: dict[str, Any] = {}
        self.open: dict[str, nest.Carry] = {}
        self.carried: dict[str, list[tuple[Any, Any]]] = {}

    def shape(self, axes: tuple[str, ...]) -> tuple[int, ...]:
        return tuple(1 if a == ONE else self.sizes[a] for a in axes)

    def run(self) -> tuple[Array, ...]:
        refuse_empty(self.kernel, self.sizes)
        self.body(self.kernel.body)
        return tuple(self.memory[b.name] for b in self.kernel.outputs)

    def body(self, body: tuple[Statement, ...]) -> None:
        for statement in body:
            _MEANINGS[type(statement)](self, statement)

    def loop(self, loop: nest.Loop) -> None:
        for carry in loop.carries:
            self.carried[carry.name] = []
            self.open[carry.name] = carry
        for iteration in itertools.product(*(range(self.sizes[a]) for a in loop.axes)):
            self.at.update(zip(loop.axes, iteration, strict=True))
            self.body(loop.body)
        for carry in loop.carries:
            self.values[carry.name] = reduce_values(carry, self.carried[carry.name])

    def index(self, buffer: str, at: tuple[tuple[str, str], ...]) -> tuple[int, ...]:
        here = self.at | {axis: int(self.values[value]) for axis, value in at}
        return tuple(here[a] for a in self.axes[buffer])

    # --- statements, each as `_MEANINGS` says

    def const(self, s: nest.Const) -> None:
        self.values[s.name] = scalar.make(s.value, s.dtype)

    def position(self, s: nest.Position) -> None:
        row_major = 0
        for axis in s.axes:
            row_major = row_major * self.sizes[axis] + self.at[axis]
        self.values[s.name] = np.int64(row_major)

    def extent(self, s: nest.Extent) -> None:
        self.values[s.name] = np.int64(math.prod(self.sizes[a] for a in s.axes))

    def load(self, s: nest.Load) -> None:
        self.values[s.name] = self.memory[s.buffer][self.index(s.buffer, s.at)]

    def running(self, s: nest.Running) -> None:
        self.values[s.name] = reduce_values(self.open[s.carry], self.carried[s.carry])

    def within(self, s: nest.Within) -> None:
        if not 0 <= self.values[s.value] < self.sizes[s.axis]:
            raise IndexError(f"{self.values[s.value]} is not within {s.axis} of size {self.sizes[s.axis]}")
        self.values[s.name] = self.values[s.value]

    def let(self, s: nest.Let) -> None:
        args = tuple(self.values[a] for a in s.args)
        if s.op == "cast":
            self.values[s.name] = scalar.cast(args[0], s.dtype)
        else:
            self.values[s.name] = scalar.evaluate(s.op, args, args[-1].dtype.name)

    def seldom(self, s: nest.Seldom) -> None:
        if self.values[s.when]:
            self.body(s.body)
        self.values[s.name] = self.values[s.value if self.values[s.when] else s.otherwise]

    def store(self, s: nest.Store) -> None:
        memory, index, value = self.memory[s.buffer], self.index(s.buffer, s.at), self.values[s.value]
        memory[index] = scalar.evaluate(s.op, (memory[index], value), memory.dtype.name) if s.op else value

    def accumulate(self, s: nest.Accumulate) -> None:
        position = self.values[s.position] if s.position is not None else None
        self.carried[s.carry].append((self.values[s.value], position))


_MEANINGS: dict[type[Statement], Callable[[_Machine, Any], None]] = {
    nest.Const: _Machine.const,
    nest.Position: _Machine.position,
    nest.Extent: _Machine.extent,
    nest.Load: _Machine.load,
    nest.Running: _Machine.running,
    nest.Within: _Machine.within,
    nest.Let: _Machine.let,
    nest.Seldom: _Machine.seldom,
    nest.Store: _Machine.store,
    nest.Accumulate: _Machine.accumulate,
    nest.Loop: _Machine.loop,
}
"""What each kind of statement does."""


def reduce_values(carry: nest.Carry, met: list[tuple[Any, Any]]) -> Any:
    """What a carried state is after it has met these (value, position) pairs."""
    values = [v for v, _ in met]
    if carry.reducer in _FOLDS:
        return _FOLDS[carry.reducer](values, carry.dtype)
    if not values:
        raise ValueError(f"{carry.reducer}: no values to choose from and the reduction has no identity")
    best = _first_extreme(values, is_largest=carry.reducer in ("max", "argmax"))
    return met[best][1] if carry.reducer.startswith("arg") else values[best]


def _sum(values: list[Any], dtype: str) -> Any:
    """Of floats the exact sum, rounded once; of integers the sum, wrapped round."""
    t = element_type(dtype)
    if not t.is_float:
        return scalar.make(sum(int(v) for v in values), dtype)
    exact = math.fsum(values) if all(map(np.isfinite, values)) else sum(map(t.numpy.type, values))
    return scalar.make(exact, dtype)


def _product(values: list[Any], dtype: str) -> Any:
    number = float if element_type(dtype).is_float else int
    with np.errstate(all="ignore"):
        return scalar.make(math.prod(map(number, values)), dtype)


def _largest_number(values: list[Any], dtype: str) -> Any:
    """The largest that is not nan; of none, -inf."""
    return max([v for v in values if v == v], default=element_type(dtype).numpy.type(-math.inf))


_FOLDS: dict[str, Callable[[list[Any], str], Any]] = {
    "sum": _sum,
    "prod": _product,
    "any": lambda values, _: np.bool_(any(values)),
    "all": lambda values, _: np.bool_(all(values)),
    "maxnum": _largest_number,
}
"""Reducers that have a value for nothing, by name."""


def _first_extreme(values: list[Any], *, is_largest: bool) -> int:
    """The index of the first of the largest or the smallest; that of the first nan, if there is one."""
    best = 0
    for k, value in enumerate(values):
        if values[best] != values[best]:
            break
        if value != value or (value > values[best] if is_largest else value < values[best]):
            best = k
    return best
