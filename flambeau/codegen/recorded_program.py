"""Programs of loops that stand in for calls of operators, as native code reads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from flambeau.codegen.llvm.loop_words import OPERANDS
from flambeau.codegen.ufunc_loops import Loop
from flambeau.schema.dtype import DType
from flambeau.schema.function import FunctionSchema
from flambeau.util.record import dataclass


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
    operands: list[tuple[int, int]]
    """Per operand, where it is and the distance of its elements in bytes."""
    iterations: int
    """For how many elements it is: `ALL`, `ONCE` or `REST`."""


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
    objects: list[int]
    """Numbers of arguments that must be the very objects that they were: small ints, told apart as objects are."""
    geometry: int = 0
    """How it goes over its arrays: see ``llvm.entry_geometry``; 0 for arrays that all lie row-major in one size."""
    axes: int = 0
    """How many the result has, or how many of the argument are a row."""
    target: int = 0
    """The argument that is written to."""
    most: int = 1 << 62
    """Elements up to which it gives NumPy's results."""
    longest: int = 0
    """Elements of a column up to which it does, if its rows are columns."""
    beyond: int = 0
    """Elements of another row from which on, these excepted, it does."""

    def words(self, own: dict[str, int]) -> list[int]:
        """As ``llvm.loops`` reads it; ``own`` has the addresses of our own loops."""
        numbers = [len(self.guards), self.rows]
        for guard in self.guards:
            numbers += guard
        numbers.append(len(self.steps))
        for step in self.steps:
            loop = Loop(own[step.loop], 0) if isinstance(step.loop, str) else step.loop
            numbers += [loop.function, loop.data, len(step.operands), step.iterations]
            for operand in (*step.operands, *[(0, 0)] * (OPERANDS - len(step.operands))):
                numbers += operand
        return numbers
