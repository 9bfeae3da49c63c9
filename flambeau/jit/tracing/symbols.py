"""Numbers that remember where they came from: sizes of traced tensors, and arithmetic on them.

`x.shape[0] * 2` stays an expression of the graph, and so does `1 / x.shape[0] ** 0.5`. Anything that needs the number
itself (`range(n)`, `float(n)`, an index) asks the recorder, which notes the value as baked in, warns and leaves a
guard. Of a comparison only the outcome is fixed.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, Final, Protocol

from flambeau.ir.graph import Value
from flambeau.schema.symbolic import SymbolicFloat, SymbolicInt, SymbolicNumber

MOST_FACTORS: Final = 8
"""Up to which exponent a power of an int is written as a product."""
COMPARISONS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "eq": operator.eq, "ne": operator.ne,
}  # fmt: skip


class NumberRecorder(Protocol):
    """Who turns arithmetic into nodes, and is told what Python learns."""

    def bake(self, traced: Any, what: str) -> Any:
        """Python needs the number itself."""

    def compared(self, name: str, left: Any, right: Any, outcome: bool) -> bool:
        """Python compared two numbers, of which one at least is traced."""

    def computed(self, name: str, operands: tuple[Any, ...], number: float, *, is_free: bool) -> Any:
        """The traced number that an operator gives for these operands."""


class TracedNumber(SymbolicNumber):
    """A number with the graph value that computes it."""

    __slots__ = ("is_free", "number", "recorder", "value")

    def __init__(self, number: Any, value: Value, recorder: NumberRecorder, *, is_free: bool = False) -> None:
        self.number = number
        """What it is in the run being traced."""
        self.value = value
        """What it is in the graph."""
        self.recorder = recorder
        self.is_free = is_free
        """Whether what Python does with the number holds for every other as well."""

    def free(self) -> Any:
        """This number in a form whose value Python may look at."""
        return type(self)(self.number, self.value, self.recorder, is_free=True)

    def _bake(self, what: str) -> Any:
        return self.number if self.is_free else self.recorder.bake(self, what)

    def _record(self, name: str, *operands: Any, number: Any) -> Any:
        free = any(isinstance(x, TracedNumber) and x.is_free for x in operands)
        return self.recorder.computed(name, operands, number, is_free=free)

    def _binary(self, name: str, other: Any, result: Callable[[Any, Any], Any], *, swap: bool = False) -> Any:
        if not isinstance(other, int | float | TracedNumber):
            return self._with_plain(other, result, swap)
        other = int(other) if isinstance(other, bool) else other
        left, right = (other, self) if swap else (self, other)
        return self._record(name, left, right, number=result(plain(left), plain(right)))

    def _with_plain(self, other: Any, result: Callable[[Any, Any], Any], swap: bool) -> Any:
        """Arithmetic with what is no real number: a complex number bakes this in; tensors and arrays decide."""
        if not isinstance(other, complex):
            return NotImplemented
        number = self._bake("a Python number")
        return result(other, number) if swap else result(number, other)

    def __add__(self, other: Any) -> Any:
        return self._binary("aten::add", other, operator.add)

    def __radd__(self, other: Any) -> Any:
        return self._binary("aten::add", other, operator.add, swap=True)

    def __sub__(self, other: Any) -> Any:
        return self._binary("aten::sub", other, operator.sub)

    def __rsub__(self, other: Any) -> Any:
        return self._binary("aten::sub", other, operator.sub, swap=True)

    def __mul__(self, other: Any) -> Any:
        return self._binary("aten::mul", other, operator.mul)

    def __rmul__(self, other: Any) -> Any:
        return self._binary("aten::mul", other, operator.mul, swap=True)

    def __floordiv__(self, other: Any) -> Any:
        return self._binary("aten::floordiv", other, operator.floordiv)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._binary("aten::floordiv", other, operator.floordiv, swap=True)

    def __mod__(self, other: Any) -> Any:
        return self._binary("aten::remainder", other, operator.mod)

    def __rmod__(self, other: Any) -> Any:
        return self._binary("aten::remainder", other, operator.mod, swap=True)

    def __truediv__(self, other: Any) -> Any:
        return self._binary("aten::div", other, operator.truediv)

    def __rtruediv__(self, other: Any) -> Any:
        return self._binary("aten::div", other, operator.truediv, swap=True)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __pow__(self, other: Any) -> Any:
        return self._power(other, swap=False)

    def __rpow__(self, other: Any) -> Any:
        return self._power(other, swap=True)

    def _power(self, other: Any, *, swap: bool) -> Any:
        base, exponent = (other, self) if swap else (self, other)
        if isinstance(plain(base), int) and isinstance(plain(exponent), int):
            if isinstance(exponent, int) and 1 <= exponent <= MOST_FACTORS:
                return math.prod([base] * exponent, start=1)
            number = self._bake("a Python integer")  # a graph has no power of ints that is an int
            return other**number if swap else number**other
        if isinstance(other, float | TracedNumber | int) and plain(base) <= 0:
            number = self._bake("a Python number")  # complex, an error, or an infinity
            return other**number if swap else number**other
        return self._binary("aten::pow", other, operator.pow, swap=swap)

    def __neg__(self) -> Any:
        return self._record("aten::neg", self, number=-self.number)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self._record("prim::abs", self, number=abs(self.number))

    def _compare(self, name: str, other: Any) -> Any:
        if isinstance(other, bool | int | float | TracedNumber):
            outcome = COMPARISONS[name](self.number, plain(other))
            if self.is_free and (not isinstance(other, TracedNumber) or other.is_free):
                return outcome
            return self.recorder.compared(f"aten::{name}", self, other, outcome)
        return NotImplemented

    def __eq__(self, other: object) -> Any:
        return self._compare("eq", other)

    def __ne__(self, other: object) -> Any:
        return self._compare("ne", other)

    def __lt__(self, other: Any) -> Any:
        return self._compare("lt", other)

    def __le__(self, other: Any) -> Any:
        return self._compare("le", other)

    def __gt__(self, other: Any) -> Any:
        return self._compare("gt", other)

    def __ge__(self, other: Any) -> Any:
        return self._compare("ge", other)

    def __bool__(self) -> bool:
        return bool(self._compare("ne", 0))

    def __int__(self) -> int:
        return int(self._bake("a Python integer"))

    def __float__(self) -> float:
        return float(self._bake("a Python float"))

    def __hash__(self) -> int:
        return hash(self.number)

    def __repr__(self) -> str:
        return str(self.number)

    def as_float(self) -> Any:
        """The same as a float."""
        return self


class TracedInt(TracedNumber, SymbolicInt):
    """An int with the graph value that computes it."""

    __slots__ = ()

    def __index__(self) -> int:
        return int(self._bake("a Python index"))

    def __trunc__(self) -> TracedInt:
        return self

    __floor__ = __ceil__ = __trunc__

    def __round__(self, digits: int = 0) -> Any:
        return self if digits >= 0 else round(int(self), digits)

    def as_float(self) -> Any:
        """The same as a float."""
        return self._record("aten::Float", self, number=float(self.number))

    def __lshift__(self, other: Any) -> Any:
        return int(self) << int(other) if isinstance(other, int | TracedInt) else NotImplemented

    def __rshift__(self, other: Any) -> Any:
        return int(self) >> int(other) if isinstance(other, int | TracedInt) else NotImplemented

    def __and__(self, other: Any) -> Any:
        return int(self) & other if isinstance(other, int | TracedInt) else NotImplemented

    def __or__(self, other: Any) -> Any:
        return int(self) | other if isinstance(other, int | TracedInt) else NotImplemented

    def __xor__(self, other: Any) -> Any:
        return int(self) ^ other if isinstance(other, int | TracedInt) else NotImplemented

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__


class TracedFloat(TracedNumber, SymbolicFloat):
    """A float with the graph value that computes it."""

    __slots__ = ()

    def __floor__(self) -> Any:
        return self._record("aten::floor", self, number=math.floor(self.number))

    def __ceil__(self) -> Any:
        return self._record("aten::ceil", self, number=math.ceil(self.number))

    def __trunc__(self) -> Any:
        return self._record("aten::Int", self, number=math.trunc(self.number))

    def __round__(self, digits: int | None = None) -> Any:
        if digits is not None:
            return round(float(self), digits)
        whole = self._record("aten::round", self, number=float(round(self.number)))
        return whole.__trunc__()


def plain(number: Any) -> Any:
    """What a number is in the run being traced."""
    return number.number if isinstance(number, TracedNumber) else number
