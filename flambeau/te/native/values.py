"""Expressions as instructions: what varies along the vector loop is a vector, all else a scalar."""

from __future__ import annotations

from collections.abc import Callable

from flambeau.codegen.kernel.dtypes import element_type
from flambeau.codegen.llvm.abi import ZERO_DIVISOR
from flambeau.codegen.llvm.casts import cast
from flambeau.codegen.llvm.emitter import Emitter, Target, Value, float_constant, int_constant
from flambeau.codegen.llvm.memory import iota
from flambeau.codegen.llvm.ops import lower
from flambeau.te.expressions import INDEX, Buffer, Const, Expr, Load, Op, Var
from flambeau.te.linear import constant_of, variables
from flambeau.te.native import accesses
from flambeau.te.native.frame import Frame, Scope
from flambeau.te.proofs import is_within, never_negative
from flambeau.te.statements import loads_in

FIRST_OUTSIDE = ZERO_DIVISOR + 1
"""Stands in the error flag where the first of the accesses that are looked at lies outside; further ones follow."""


class Values:
    """Writes expressions into the function at hand."""

    def __init__(self, target: Target) -> None:
        nowhere = Value("null", "ptr", 1)
        self.frame = Frame(Emitter(target), {}, {}, nowhere, nowhere)
        self.looked_at: list[Load] = []
        """Accesses that are looked at while the nest runs, in the order of their numbers."""

    @property
    def e(self) -> Emitter:
        """The text of the function at hand."""
        return self.frame.e

    def value(self, e: Expr, scope: Scope) -> Value:
        """An expression: a vector where it varies along the vector loop of a scope."""
        if isinstance(e, Const):
            t = element_type(e.dtype)
            return float_constant(e.value, t.llvm, 1) if t.is_float else int_constant(int(e.value), t.llvm, 1)
        if isinstance(e, Var):
            number = self.frame.numbers[e]
            if scope.vector is not e:
                return number
            return self.e.binary("add", self.e.splat(number, scope.lanes), iota(scope.lanes))
        if isinstance(e, Load):
            return self.load(e, scope)
        assert isinstance(e, Op)
        if e.op == "select":
            return self.choice(e, scope)
        if e.op in ("floordiv", "remainder") and e.dtype == INDEX and self._is_index_division(e, scope):
            a, b = self.same_lanes([self.value(a, scope) for a in e.args])
            return self.e.binary("udiv" if e.op == "floordiv" else "urem", a, b)
        args = self.same_lanes([self.value(a, scope) for a in e.args])
        operand = element_type(e.args[-1].dtype)
        if e.op == "cast":
            return cast(self.e, args[0], operand, element_type(e.dtype))
        return lower(self.e, e.op, args, operand, lambda zero: self.trap(zero, scope, ZERO_DIVISOR))

    def _is_index_division(self, e: Op, scope: Scope) -> bool:
        """Whether a division is one of numbers that are not negative, by a size."""
        divisor = e.args[1]
        is_size = (constant_of(divisor) or 0) > 0 or (
            not any(True for _ in loads_in(divisor)) and never_negative(divisor - 1, scope.known)
        )
        return is_size and never_negative(e.args[0], scope.known)

    def scalar(self, e: Expr, scope: Scope) -> Value:
        """An expression in the first lane."""
        return self.value(e, scope.first_lane())

    def same_lanes(self, args: list[Value]) -> list[Value]:
        """Scalars among vectors as vectors."""
        lanes = max((a.lanes for a in args), default=1)
        return [self.e.splat(a, lanes) for a in args]

    # --- conditions

    def choice(self, e: Op, scope: Scope) -> Value:
        """One of two values; elements of what is not taken are not read."""
        condition, first, second = e.args
        asked = self.value(condition, scope)
        if not _may_fail(first) and not _may_fail(second):
            return self._selected(asked, self.value(first, scope), self.value(second, scope))
        inside, outside = scope.under(condition), scope.otherwise(condition)
        if asked.lanes > 1:
            yes = self.value(first, inside.masked(self.e, asked))
            no = self.value(second, outside.masked(self.e, self.e.binary("xor", asked, self.e.like(asked, 1))))
            return self._selected(asked, yes, no)
        lanes = scope.lanes if self._varies(first, scope) or self._varies(second, scope) else 1
        return self.branched(
            asked, lambda: self.e.splat(self.value(first, inside), lanes),
            lambda: self.e.splat(self.value(second, outside), lanes),
        )  # fmt: skip

    def _selected(self, asked: Value, yes: Value, no: Value) -> Value:
        lanes = max(asked.lanes, yes.lanes, no.lanes)
        return self.e.select(*(self.e.splat(v, lanes) for v in (asked, yes, no)))

    def _varies(self, e: Expr, scope: Scope) -> bool:
        return scope.vector is not None and scope.vector in variables(e)

    def branched(self, asked: Value, first: Callable[[], Value], second: Callable[[], Value]) -> Value:
        """One of two values of one type, of which only one is computed."""
        e = self.e
        yes, no, after = e.label("yes"), e.label("no"), e.label("chosen")
        e.branch_if(asked, yes, no)
        e.start(yes)
        one, end_of_one = first(), e.block
        e.branch(after)
        e.start(no)
        other, end_of_other = second(), e.block
        e.branch(after)
        e.start(after)
        name = e.name()
        e.phi(name, one, [(one, end_of_one), (other, end_of_other)])
        return Value(name, one.type, one.lanes)

    def trap(self, wrong: Value, scope: Scope, code: int) -> None:
        """Write to the error flag if something is wrong in a lane that counts; elsewhere write to a dummy."""
        e, mask = self.e, scope.mask
        if mask is not None:
            wrong = e.binary("and", e.splat(wrong, mask.lanes), mask)
        dummy = e.slot("i32", 4)
        target = e.define(f"select i1 {e.any_lane(wrong)}, ptr {self.frame.error}, ptr {dummy}", "ptr", 1)
        e.raw(f"store i32 {code}, ptr {target}, align 4")

    # --- elements

    def load(self, e: Load, scope: Scope) -> Value:
        """An element, or one for each lane."""
        at = self.indices(e, scope)
        way = accesses.way_of(at, e.indices, scope)
        if way == accesses.ALL_ONE and scope.mask is not None and not self._is_safe(e, scope):
            zero = int_constant(0, element_type(e.dtype).llvm, 1)
            if element_type(e.dtype).is_float:
                zero = float_constant(0.0, zero.type, 1)
            some = self.e.any_lane(scope.mask)
            alone = scope.first_lane()
            return self.branched(some, lambda: accesses.load(self, e.buffer, at, way, alone), lambda: zero)
        return accesses.load(self, e.buffer, at, way, scope)

    def _is_safe(self, e: Load, scope: Scope) -> bool:
        """Whether an element that all lanes share is there even if no lane counts."""
        return bool(e.checked) or all(
            is_within(i, size, scope.known_of_all) for i, size in zip(e.indices, e.buffer.shape, strict=True)
        )

    def indices(self, e: Load, scope: Scope) -> list[Value | Expr]:
        """The indices of an element: those that are looked at as values, the others as they are written."""
        guarded: list[Value | Expr] = list(e.indices)
        for d in e.checked:
            if not any(known is e for known in self.looked_at):
                self.looked_at.append(e)
            number = next(k for k, known in enumerate(self.looked_at) if known is e)
            index = self.value(e.indices[d], scope)
            size = self.e.splat(self.scalar(e.buffer.shape[d], scope), index.lanes)
            is_outside = self.e.icmp("uge", index, size)
            self.trap(is_outside, scope, FIRST_OUTSIDE + number)
            guarded[d] = self.e.select(is_outside, self.e.like(index, 0), index)
        return guarded

    def offset(self, buffer: Buffer, at: list[Value | Expr], scope: Scope) -> Value:
        """Which element of a buffer indices mean, counted row by row."""
        total: Value | None = None
        for index, size in zip(at, buffer.shape, strict=True):
            here = index if isinstance(index, Value) else self.value(index, scope)
            if total is None:
                total = here
                continue
            scaled, step = self.same_lanes([total, self.scalar(size, scope)])
            both = self.same_lanes([self.e.binary("mul nsw", scaled, step), here])
            total = self.e.binary("add nsw", both[0], both[1])
        return int_constant(0, "i64", 1) if total is None else total


def _may_fail(e: Expr) -> bool:
    """Whether an expression reads memory, or may divide by zero."""
    if isinstance(e, Load):
        return True
    is_division = isinstance(e, Op) and e.op in ("floordiv", "remainder", "truncdiv", "fmod")
    return is_division or (isinstance(e, Op) and any(map(_may_fail, e.args)))


