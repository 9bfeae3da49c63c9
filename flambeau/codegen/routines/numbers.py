"""Numbers of a recording: what is computed of sizes and strides while a launch is made, as a program for other sizes.

A number knows what it is for the call that is recorded, so that Python goes on as always. Arithmetic becomes
instructions. A decision, that one number is less than another, becomes a condition of the program, as does all that
takes a number for what it is: an index, a hash, a count of iterations. So a program is never used where Python would
have gone another way.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from operator import add, eq, floordiv, le, lt, mod, mul, sub
from typing import Any, Final

from flambeau.codegen.llvm.recorded_launches import AREAS, STRIDES, Op

_FLOATS: Final = {
    Op.ADD: Op.FLOAT_ADD, Op.SUB: Op.FLOAT_SUB, Op.MUL: Op.FLOAT_MUL, Op.LESS: Op.FLOAT_LESS,
    Op.LESS_OR_EQUAL: Op.FLOAT_LESS_OR_EQUAL, Op.EQUAL: Op.FLOAT_EQUAL,
}  # fmt: skip
"""The operation on floats for each that ints have, too."""
_WORD: Final = 1 << 63


class NotRecordedError(Exception):
    """What only Python can compute of sizes."""


class Recording:
    """The instructions so far, over registers: those of inputs, then of results; constants are the last ones, and have
    numbers below 0 until it is known how many others there are.
    """

    def __init__(self) -> None:
        self.inputs: list[tuple[int, int]] = []
        """Of each which input, and which of its numbers."""
        self.constants: dict[int, int] = {}
        """The register of each constant."""
        self.registers = AREAS
        """How many there are, constants left aside."""
        self.instructions: list[tuple[int, int, int, int, int]] = []
        """The operation, the register of its result, its operands."""
        self._pinned: set[int] = set()
        self.known: dict[tuple[int, ...], Number] = {}
        """The results, by operation and operands."""
        self.zero = self.register(0)
        self._conditions: set[int] = set()

    def input(self, index: int, number: int, value: int) -> Number:
        """A number of an input; all come before the first instruction."""
        self.inputs.append((index, number))
        self.registers += 1
        return Number(self, self.registers - 1, value)

    def pin(self, number: Number) -> Any:
        """What a number is, which is a condition from now on."""
        self._pinned.add(number.register)
        self.require(number)
        return number.value

    @property
    def serves_one_size(self) -> bool:
        """Whether all dimensions among the inputs were taken for what they are."""
        dims = [AREAS + k for k, (_, number) in enumerate(self.inputs) if number < STRIDES]
        return bool(dims) and self._pinned.issuperset(dims)

    def register(self, value: Any) -> int:
        """The register that holds a number."""
        if type(value) is Number:
            return value.register
        word = _bits(value, 8) if type(value) is float else int(value)
        known = self.constants.get(word)
        if known is None:
            if not -_WORD <= word < _WORD:
                raise NotRecordedError("a number of more than 64 bits")
            known = self.constants[word] = -1 - len(self.constants)
        return known

    def computed(self, op: Op, value: Any, a: Any, b: Any = 0, c: Any = 0) -> Number:
        """The result of an instruction, which is this for the call that is recorded."""
        key = op, self.register(a), self.register(b), self.register(c)
        known = self.known.get(key)
        if known is None:
            known = self.known[key] = Number(self, self.registers, value)
            self.instructions.append((op, self.registers, *key[1:]))
            self.registers += 1
        return known

    def copied(self, values: Sequence[Any]) -> int:
        """The first of so many registers in a row, which hold these numbers."""
        first, zero = self.registers, self.register(0)
        for value in values:
            self.instructions.append((Op.ADD, self.registers, self.register(value), zero, zero))
            self.registers += 1
        return first

    def done(self, op: Op, a: Any = 0, b: Any = 0) -> None:
        """An instruction without a result."""
        self.instructions.append((op, 0, self.register(a), self.register(b), self.register(0)))

    def require(self, number: Number) -> None:
        """A program is only for calls of which a number is what it is for this one."""
        if number.register not in self._conditions:
            self._conditions.add(number.register)
            self.done(Op.REQUIRE, number, number.value)

    def float_of(self, value: Any) -> Any:
        """A number as a float."""
        if type(value) is not Number:
            return float(value)
        return value if type(value.value) is float else self.computed(Op.FLOAT, float(value.value), value)

    def arithmetic(self, op: Op, meaning: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
        """An operation on numbers, of which one is of this recording."""
        left, right = _value(a), _value(b)
        value = meaning(left, right)
        if type(left) is float or type(right) is float:
            if op not in _FLOATS:
                raise NotRecordedError(f"{op.name} of floats")
            return self.computed(_FLOATS[op], value, self.float_of(a), self.float_of(b))
        return self.computed(op, value, a, b)

    def words(self) -> list[int]:
        """The instructions with the registers as they are when all are known."""
        last = self.registers - 1  # the first constant is -1
        return [
            n if n >= 0 else last - n
            for op, *registers in self.instructions
            for n in (op, *registers)
        ]  # fmt: skip


def _value(number: Any) -> Any:
    return number.value if type(number) is Number else number


class Number:
    """A number that follows from sizes and strides."""

    __slots__ = ("recording", "register", "value")

    def __init__(self, recording: Recording, register: int, value: Any) -> None:
        self.recording, self.register, self.value = recording, register, value

    def __repr__(self) -> str:
        return f"Number({self.value})"

    def _of(self, op: Op, meaning: Callable[[Any, Any], Any], other: Any, *, is_turned: bool = False) -> Any:
        if type(other) not in _NUMBERS:
            return NotImplemented
        a, b = (other, self) if is_turned else (self, other)
        left, right, recording = self.value, _value(other), self.recording
        if type(left) is float or type(right) is float:
            return recording.arithmetic(op, meaning, a, b)
        # What `arithmetic` does for ints, which most are, without further calls.
        own, others = self.register, other.register if type(other) is Number else recording.register(other)
        key = (op, others, own, recording.zero) if is_turned else (op, own, others, recording.zero)
        known = recording.known.get(key)
        if known is None:
            value = meaning(right, left) if is_turned else meaning(left, right)
            known = recording.known[key] = Number(recording, recording.registers, value)
            recording.instructions.append((op, recording.registers, key[1], key[2], key[3]))
            recording.registers += 1
        return known

    def __add__(self, other: Any) -> Any:
        return self if _is(other, 0) else self._of(Op.ADD, add, other)

    def __radd__(self, other: Any) -> Any:
        return self + other

    def __sub__(self, other: Any) -> Any:
        return self if _is(other, 0) else self._of(Op.SUB, sub, other)

    def __rsub__(self, other: Any) -> Any:
        return self._of(Op.SUB, sub, other, is_turned=True)

    def __mul__(self, other: Any) -> Any:
        if _is(other, 1):
            return self
        return 0 if _is(other, 0) else self._of(Op.MUL, mul, other)

    def __rmul__(self, other: Any) -> Any:
        return self * other

    def __neg__(self) -> Any:
        return self._of(Op.SUB, sub, 0, is_turned=True)

    def __abs__(self) -> Any:
        return chosen(self < 0, -self, self)

    def __floordiv__(self, other: Any) -> Any:
        return self if _is(other, 1) else self._of(Op.FLOOR_DIVIDE, floordiv, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._of(Op.FLOOR_DIVIDE, floordiv, other, is_turned=True)

    def __mod__(self, other: Any) -> Any:
        return 0 if _is(other, 1) else self._of(Op.MODULO, mod, other)

    def __rmod__(self, other: Any) -> Any:
        return self._of(Op.MODULO, mod, other, is_turned=True)

    def __truediv__(self, other: Any) -> Any:
        return self._divided(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._divided(other, self)

    def _divided(self, a: Any, b: Any) -> Any:
        if type(b) is Number:
            bool(b != 0)
        value = _value(a) / _value(b)
        return self.recording.computed(
            Op.FLOAT_DIVIDE, value, self.recording.float_of(a), self.recording.float_of(b)
        )

    # -- comparisons: numbers that are true or not ---------------------------------------------------------------------

    def __lt__(self, other: Any) -> Any:
        return self._of(Op.LESS, lt, other)

    def __le__(self, other: Any) -> Any:
        return self._of(Op.LESS_OR_EQUAL, le, other)

    def __gt__(self, other: Any) -> Any:
        return self._of(Op.LESS, lt, other, is_turned=True)

    def __ge__(self, other: Any) -> Any:
        return self._of(Op.LESS_OR_EQUAL, le, other, is_turned=True)

    def __eq__(self, other: object) -> Any:
        return self._of(Op.EQUAL, eq, other)

    def __ne__(self, other: object) -> Any:
        is_equal = self._of(Op.EQUAL, eq, other)
        return is_equal if is_equal is NotImplemented else self.recording.arithmetic(
            Op.EQUAL, eq, is_equal, False
        )  # fmt: skip

    def __bool__(self) -> bool:
        if isinstance(self.value, bool):
            self.recording.require(self)
            return self.value
        return bool(self != 0)

    # -- what takes a number for what it is ---------------------------------------------------------------------------

    def __index__(self) -> int:
        return int(self.recording.pin(self))

    def __int__(self) -> int:
        return int(self.recording.pin(self))

    def __float__(self) -> float:
        return float(self.recording.pin(self))

    def __hash__(self) -> int:
        return hash(self.recording.pin(self))


def bits_of(value: Any, size: int) -> Any:
    """The bits of a float of 4 or 8 bytes as a number, of any number.

    >>> hex(bits_of(1, 4))
    '0x3f800000'
    """
    if type(value) is Number:
        recording = value.recording
        number = recording.float_of(value)
        if size == 4:
            return recording.computed(Op.BITS_OF_SINGLE, _bits(number.value, 4), number)
        return Number(recording, number.register, _bits(number.value, 8))
    return _bits(float(value), size)


def _bits(value: float, size: int) -> int:
    return int.from_bytes(struct.pack("<f" if size == 4 else "<d", value), "little", signed=True)


_NUMBERS: Final = (Number, int, float, bool)


def _is(value: Any, constant: int) -> bool:
    return type(value) is int and value == constant


def chosen(condition: Any, yes: Any, no: Any) -> Any:
    """One of two numbers, of which both can be computed; not a condition of a recording.

    >>> chosen(2 < 3, 10, 20)
    10
    """
    if type(condition) is not Number:
        return yes if condition else no
    recording = condition.recording
    if type(_value(yes)) is float or type(_value(no)) is float:
        yes, no = recording.float_of(yes), recording.float_of(no)
    value = _value(yes) if condition.value else _value(no)
    return recording.computed(Op.SELECT, value, condition, yes, no)


def least(first: Any, *others: Any) -> Any:
    """The least of some numbers, as `min` says it; of a recording without a condition.

    >>> least(3, 2, 4)
    2
    """
    for other in others:
        is_less = other < first
        first = (other if is_less else first) if type(is_less) is bool else chosen(is_less, other, first)
    return first


def most(first: Any, *others: Any) -> Any:
    """The largest of some numbers.

    >>> most(3, 2, 4)
    4
    """
    for other in others:
        is_more = other > first
        first = (other if is_more else first) if type(is_more) is bool else chosen(is_more, other, first)
    return first


def best(candidates: Sequence[Sequence[Any]]) -> list[Any]:
    """What has the least cost, which comes first in each row of equally many numbers; the first of equals.

    >>> best([(3.0, 1), (2.0, 5), (2.0, 7)])
    [2.0, 5]
    """
    if all(type(cost) is not Number for cost, *_ in candidates):
        return [*min(candidates, key=lambda candidate: candidate[0])]
    first, *others = candidates
    result = list(first)
    for other in others:
        is_less = other[0] < result[0]
        result = [chosen(is_less, a, b) for a, b in zip(other, result, strict=True)]
    return result
