"""Ints that remember where they came from: sizes of traced tensors, and arithmetic on them.

`x.shape[0] * 2` stays an expression of the graph. Anything that needs the number itself (`range(n)`, a comparison, an
index) asks the recorder, which notes the value as baked in, warns and leaves a guard.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.ir.value import Value
from flambeau.schema.symbolic import SymbolicInt

Bake = Callable[["TracedInt", str], int]
Record = Callable[[str, "TracedInt | int", "TracedInt | int", int], "TracedInt"]
_NUMBERS: tuple[Any, ...] = (int, float, complex, SymbolicInt)


class TracedInt(SymbolicInt):
    """An int with the graph value that computes it."""

    __slots__ = ("_on_bake", "_record", "is_free", "number", "value")

    def __init__(self, number: int, value: Value, bake: Bake, record: Record, *, is_free: bool = False) -> None:
        self.number = number
        """What it is in the run being traced."""
        self.value = value
        """What it is in the graph."""
        self._on_bake = bake
        self._record = record
        self.is_free = is_free
        """Whether what Python does with the number holds for every other as well."""

    def _bake(self, traced: TracedInt, what: str) -> int:
        return self.number if self.is_free else self._on_bake(self, what)

    def free(self) -> TracedInt:
        """The same, and Python may look at the number."""
        return TracedInt(self.number, self.value, self._on_bake, self._record, is_free=True)

    def _binary(self, name: str, other: Any, result: Callable[[int, int], int], swap: bool = False) -> Any:
        if isinstance(other, bool) or not isinstance(other, int | TracedInt):
            return _with_plain(self, name, other, swap)
        mine, theirs = self.number, other.number if isinstance(other, TracedInt) else other
        if swap:
            return self._record(name, other, self, result(theirs, mine))
        return self._record(name, self, other, result(mine, theirs))

    def __add__(self, other: Any) -> Any:
        return self._binary("aten::add", other, lambda a, b: a + b)

    def __radd__(self, other: Any) -> Any:
        return self._binary("aten::add", other, lambda a, b: a + b, swap=True)

    def __sub__(self, other: Any) -> Any:
        return self._binary("aten::sub", other, lambda a, b: a - b)

    def __rsub__(self, other: Any) -> Any:
        return self._binary("aten::sub", other, lambda a, b: a - b, swap=True)

    def __mul__(self, other: Any) -> Any:
        return self._binary("aten::mul", other, lambda a, b: a * b)

    def __rmul__(self, other: Any) -> Any:
        return self._binary("aten::mul", other, lambda a, b: a * b, swap=True)

    def __floordiv__(self, other: Any) -> Any:
        return self._binary("aten::floordiv", other, lambda a, b: a // b)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._binary("aten::floordiv", other, lambda a, b: a // b, swap=True)

    def __mod__(self, other: Any) -> Any:
        return self._binary("aten::remainder", other, lambda a, b: a % b)

    def __rmod__(self, other: Any) -> Any:
        return self._binary("aten::remainder", other, lambda a, b: a % b, swap=True)

    def __neg__(self) -> Any:
        return 0 - self

    def __truediv__(self, other: Any) -> Any:
        return int(self) / other

    def __rtruediv__(self, other: Any) -> Any:
        return other / int(self)

    def __pow__(self, other: Any) -> Any:
        return int(self) ** other if isinstance(other, _NUMBERS) else NotImplemented

    def __rpow__(self, other: Any) -> Any:
        return other ** int(self) if isinstance(other, _NUMBERS) else NotImplemented

    def __eq__(self, other: object) -> bool:
        return bool(self._bake(self, "a comparison") == other)

    def __ne__(self, other: object) -> bool:
        return bool(self._bake(self, "a comparison") != other)

    def __lt__(self, other: Any) -> bool:
        return bool(self._bake(self, "a comparison") < other)

    def __le__(self, other: Any) -> bool:
        return bool(self._bake(self, "a comparison") <= other)

    def __gt__(self, other: Any) -> bool:
        return bool(self._bake(self, "a comparison") > other)

    def __ge__(self, other: Any) -> bool:
        return bool(self._bake(self, "a comparison") >= other)

    def __bool__(self) -> bool:
        return self._bake(self, "a Python boolean") != 0

    def __int__(self) -> int:
        return self._bake(self, "a Python integer")

    def __index__(self) -> int:
        return self._bake(self, "a Python index")

    def __float__(self) -> float:
        return float(self._bake(self, "a Python float"))

    def __hash__(self) -> int:
        return hash(self.number)

    def __repr__(self) -> str:
        return str(self.number)


def _with_plain(mine: TracedInt, name: str, other: Any, swap: bool) -> Any:
    """Arithmetic with what is no int: a float or bool bakes the number in; a tensor or array decides for itself."""
    if not isinstance(other, float | bool | complex):
        return NotImplemented
    number = int(mine)
    left, right = (other, number) if swap else (number, other)
    operations: dict[str, Callable[[Any, Any], Any]] = {
        "aten::add": lambda a, b: a + b, "aten::sub": lambda a, b: a - b, "aten::mul": lambda a, b: a * b,
        "aten::floordiv": lambda a, b: a // b, "aten::remainder": lambda a, b: a % b,
    }  # fmt: skip
    return operations[name](left, right)
