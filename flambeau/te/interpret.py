"""Runs a nest in plain Python, an element at a time: slow, obvious, and what code is held to.

Operations mean what `codegen.reference_scalar` says. Loops run one iteration after another, however they are marked.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau.codegen import reference_scalar as scalar
from flambeau.te.arguments import Array, Bound, numpy_dtype
from flambeau.te.expressions import Buffer, Const, Expr, Load, Op, Var
from flambeau.te.statements import Allocate, Body, Loop, Statement, Store, When

FOLDS = {"sum": "add", "prod": "mul", "max": "maximum", "min": "minimum", "any": "logical_or", "all": "logical_and"}
"""The operation that puts two values of a reduction together."""


def run(body: Body, bound: Bound) -> None:
    """Run statements on the arrays and numbers of a call. Raises IndexError and ZeroDivisionError."""
    memory = {t.buffer: array for t, array in bound.arrays.items()}
    values = {v: np.int64(n) if v.dtype == "int64" else n for v, n in bound.numbers.items()}
    _Machine(memory, values).body(body)


class _Machine:
    def __init__(self, memory: dict[Buffer, Array], values: dict[Var, Any]) -> None:
        self.memory, self.values = memory, values

    def body(self, body: Body) -> None:
        for s in body:
            self.statement(s)

    def statement(self, s: Statement) -> None:
        if isinstance(s, Loop):
            for k in range(int(self.value(s.start)), int(self.value(s.stop))):
                self.values[s.var] = np.int64(k)
                self.body(s.body)
        elif isinstance(s, When):
            if self.value(s.condition):
                self.body(s.body)
        elif isinstance(s, Allocate):
            shape = tuple(max(0, int(self.value(e))) for e in s.buffer.shape)
            self.memory[s.buffer] = np.zeros(shape, numpy_dtype(s.buffer.dtype))
        else:
            self.store(s)

    def store(self, s: Store) -> None:
        array, at = self.memory[s.buffer], tuple(int(self.value(i)) for i in s.indices)
        value = self.value(s.value)
        if s.reducer:
            value = self.together(s.reducer, _computed(array[at], s.buffer), value, s.buffer.computed)
        with np.errstate(all="ignore"):
            array[at] = value

    def together(self, reducer: str, old: Any, new: Any, dtype: str) -> Any:
        if reducer == "maxnum":
            return new if old < new or old != old else old
        return scalar.evaluate(FOLDS[reducer], (old, new), dtype)

    def value(self, e: Expr) -> Any:
        if isinstance(e, Const):
            return scalar.make(e.value, e.dtype)
        if isinstance(e, Var):
            return self.values[e]
        if isinstance(e, Load):
            return self.element(e)
        assert isinstance(e, Op)
        if e.op == "select":
            return self.value(e.args[1] if self.value(e.args[0]) else e.args[2])
        args = tuple(self.value(a) for a in e.args)
        if e.op == "cast":
            return scalar.cast(args[0], e.dtype)
        return scalar.evaluate(e.op, args, e.args[-1].dtype)

    def element(self, e: Load) -> Any:
        array, at = self.memory[e.buffer], tuple(int(self.value(i)) for i in e.indices)
        for d in e.checked:
            if not 0 <= at[d] < array.shape[d]:
                raise IndexError(outside_text(e))
        return _computed(array[at], e.buffer)


def outside_text(e: Load) -> str:
    """What is said of an element that does not lie within its buffer."""
    return f"{e}: an index is out of range"


def _computed(element: Any, buffer: Buffer) -> Any:
    return element if buffer.computed == buffer.dtype else np.float32(element)
