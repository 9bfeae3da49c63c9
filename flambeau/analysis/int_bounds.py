"""Between which bounds an int lies in every run, by what computed it.

>>> import flambeau.ops
>>> from flambeau.ir import parse_ir
>>> graph = parse_ir('''graph(%x : Byte(), %n : int):
...   %255 : int = prim::Constant[value=255]()
...   %2 : int = aten::Int(%x)
...   %3 : int = aten::sub(%2, %255)
...   %4 : int = prim::abs(%3)
...   %5 : int = prim::min(%n, %4)
...   return (%4, %5)''')
>>> [bounds_of(value) for value in graph.returns]
[Bounds(low=0, high=255), Bounds(low=-9223372036854775808, high=255)]
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from flambeau.ir import constants
from flambeau.ir.graph import Node, Value
from flambeau.schema import dtype as dtypes
from flambeau.schema.dtype import DType
from flambeau.schema.rule_tables import RuleTable
from flambeau.schema.types import BoolType, IntType, TensorType

_MOST_STEPS: Final = 300
"""How many operators are looked at for one answer."""


class Bounds(NamedTuple):
    """The least and the largest value, both included."""

    low: int
    high: int

    def is_within(self, dtype: DType) -> bool:
        """Whether a dtype of integers has them all."""
        return self.intersection(of_dtype(dtype)) == self

    def intersection(self, other: Bounds) -> Bounds:
        """What lies within both."""
        return Bounds(max(self.low, other.low), min(self.high, other.high))

    def union(self, other: Bounds) -> Bounds:
        """What holds all of both."""
        return Bounds(min(self.low, other.low), max(self.high, other.high))


ANY_INT: Final = Bounds(-(1 << 63), (1 << 63) - 1)
_TRUTH: Final = Bounds(0, 1)
Operands = tuple[Bounds, ...]
_bounds: Final = RuleTable[Callable[[Operands], "Bounds | None"]]("bounds of an int, by those of the operands")
_order: Final = RuleTable[Callable[[], tuple[int, int]]]("which operand of a comparison is less, and by how much")


def of_dtype(dtype: DType) -> Bounds:
    """The bounds of a dtype of integers."""
    info = np.iinfo(dtype.numpy)
    return Bounds(int(info.min), int(info.max))


def bounds_of(value: Value) -> Bounds:
    """The bounds of an int, or of a bool."""
    return _Search({}, [_MOST_STEPS]).bounds(value)


class _Search:
    """What is known of values on a way through branches."""

    def __init__(self, assumed: Mapping[Value, Bounds], steps: list[int]) -> None:
        """`assumed`: what the branches on the way here say; `steps`: how many are left."""
        self._assumed = assumed
        self._known: dict[Value, Bounds] = {}
        self._steps = steps

    def bounds(self, value: Value) -> Bounds:
        bounds = self._known.get(value)
        if bounds is None:
            self._steps[0] -= 1
            bounds = self._computed(value) if self._steps[0] > 0 else ANY_INT
            bounds = self._known[value] = bounds.intersection(self._assumed.get(value, ANY_INT))
        return bounds

    def _computed(self, value: Value) -> Bounds:
        if isinstance(value.static_type, BoolType):
            return _TRUTH
        node = value.defining_node
        if node is None or not isinstance(value.static_type, IntType):
            return ANY_INT
        if constants.is_constant(value):
            constant = constants.constant_value(value)
            return Bounds(constant, constant) if isinstance(constant, int) else ANY_INT
        if node.op == "prim::If":
            return self._of_branches(node, value.index)
        if node.op == "aten::Int":
            return self._of_element(node.operand(0))
        rule = _bounds.get(node.op)
        if rule is None or not all(isinstance(v.static_type, IntType | BoolType) for v in node.operands):
            return ANY_INT
        bounds = rule(tuple(map(self.bounds, node.operands)))
        return ANY_INT if bounds is None or bounds.intersection(ANY_INT) != bounds else bounds

    def _of_element(self, source: Value) -> Bounds:
        """Of a number, or of a tensor's element. Words of uint64 are ints of either sign."""
        if not isinstance(source.static_type, TensorType):
            return self.bounds(source)
        dtype = source.static_type.dtype
        if dtype is None or not dtype.is_integral or dtype in (dtypes.bool_, dtypes.uint64):
            return _TRUTH if dtype is dtypes.bool_ else ANY_INT
        return of_dtype(dtype)

    def _of_branches(self, node: Node, index: int) -> Bounds:
        """Of what one of two blocks gives: a block that cannot run gives nothing."""
        ways = [self._behind(node.operand(0), holds) for holds in (True, False)]
        blocks = zip(ways, node.nested_blocks, strict=True)
        results = [way.bounds(block.returns[index]) for way, block in blocks if way is not None]
        return results[0].union(results[-1]) if results else ANY_INT

    def _behind(self, condition: Value, holds: bool) -> _Search | None:
        """The same where a condition holds, or does not, which bounds what it compares; None where it never does."""
        node = condition.defining_node
        order = None if node is None else _order.get(node.op)
        if node is None or order is None or not all(isinstance(v.static_type, IntType) for v in node.operands):
            return _Search(self._assumed, self._steps)
        at, distance = order()
        if not holds:  # not a < b is b <= a
            at, distance = 1 - at, 1 - distance
        smaller, larger = node.operand(at), node.operand(1 - at)
        below, above = self.bounds(smaller), self.bounds(larger)
        below = below.intersection(Bounds(ANY_INT.low, above.high - distance))
        above = above.intersection(Bounds(self.bounds(smaller).low + distance, ANY_INT.high))
        if below.low > below.high or above.low > above.high:
            return None
        return _Search({**self._assumed, smaller: below, larger: above}, self._steps)


def _pair(at: int, distance: int) -> tuple[int, int]:
    return at, distance


for _name, _less in (("lt", (0, 1)), ("le", (0, 0)), ("gt", (1, 1)), ("ge", (1, 0))):
    _order(f"aten::{_name}")(partial(_pair, *_less))

# -- operators --------------------------------------------------------------------------------------------------------


def _of_corners(function: Callable[[int, int], int]) -> Callable[[Operands], Bounds]:
    """Of a function that has its extremes where the operands have theirs."""

    def rule(operands: Operands) -> Bounds:
        results = [function(a, b) for a in operands[0] for b in operands[1]]
        return Bounds(min(results), max(results))

    return rule


for _name, _function in (("add", operator.add), ("sub", operator.sub), ("mul", operator.mul)):
    _bounds(f"aten::{_name}")(_of_corners(_function))
for _name, _extreme in (("min", min), ("max", max)):
    _bounds(f"prim::{_name}")(_of_corners(_extreme))
def _within(own: Bounds, operands: Operands) -> Bounds:
    return operands[0].intersection(own)


def _wrapped(own: Bounds, operands: Operands) -> Bounds:
    within = operands[0].intersection(own)
    return within if within == operands[0] else own


for _dtype in (dtypes.int8, dtypes.int16, dtypes.int32, dtypes.uint8, dtypes.uint16, dtypes.uint32):
    _bounds(f"python::within_{_dtype.name}")(partial(_within, of_dtype(_dtype)))
    _bounds(f"python::as_{_dtype.name}")(partial(_wrapped, of_dtype(_dtype)))


@_bounds("prim::abs")
def _absolute(operands: Operands) -> Bounds:
    low, high = operands[0]
    return Bounds(0 if low <= 0 <= high else min(abs(low), abs(high)), max(abs(low), abs(high)))


@_bounds("aten::neg")
def _negative(operands: Operands) -> Bounds:
    return Bounds(-operands[0].high, -operands[0].low)


@_bounds("aten::floordiv")
def _quotient(operands: Operands) -> Bounds | None:
    return _of_corners(operator.floordiv)(operands) if operands[1].low > 0 else None


@_bounds("aten::remainder")
def _remainder(operands: Operands) -> Bounds | None:
    x, divisor = operands
    if divisor.low <= 0:
        return None
    return x if x.low >= 0 and x.high < divisor.low else Bounds(0, divisor.high - 1)


@_bounds("aten::__and__")
def _and(operands: Operands) -> Bounds | None:
    highs = [bounds.high for bounds in operands if bounds.low >= 0]
    return Bounds(0, min(highs)) if highs else None


@_bounds("aten::__or__", "aten::__xor__")
def _or(operands: Operands) -> Bounds | None:
    if min(bounds.low for bounds in operands) < 0:
        return None
    return Bounds(0, (1 << max(bounds.high for bounds in operands).bit_length()) - 1)


@_bounds("aten::__lshift__")
def _shifted_left(operands: Operands) -> Bounds | None:
    return _of_corners(operator.lshift)(operands) if 0 <= operands[1].low <= operands[1].high < 63 else None


@_bounds("aten::__rshift__")
def _shifted_right(operands: Operands) -> Bounds | None:
    return _of_corners(operator.rshift)(operands) if 0 <= operands[1].low <= operands[1].high < 63 else None
