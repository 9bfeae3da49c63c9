"""Expressions as operations of one thread."""

from __future__ import annotations

from flambeau.codegen.cuda.build import Builder
from flambeau.codegen.cuda.mapped import Operand
from flambeau.codegen.cuda.threads import ERROR
from flambeau.codegen.kernel.dtypes import element_type
from flambeau.codegen.llvm.abi import OUTSIDE, ZERO_DIVISOR
from flambeau.te.errors import ScheduleError
from flambeau.te.expressions import INDEX, Buffer, Const, Expr, Load, Op, Var
from flambeau.te.linear import constant_of
from flambeau.te.proofs import Known, never_negative
from flambeau.te.statements import substituted

DIVISIONS = ("floordiv", "remainder", "truncdiv", "fmod")


class ThreadValues:
    """Writes expressions into the body of a kernel."""

    def __init__(self, memories: dict[Buffer, str]) -> None:
        self.b = Builder()
        self.memories = memories
        """What the buffers are called that threads share."""
        self.registers: dict[Buffer, dict[tuple[int, ...], str]] = {}
        """Of each buffer of one thread, its elements."""
        self.numbers: dict[Var, str] = {}
        self.fixed: dict[Var, Expr] = {}
        """What the indices of unrolled loops are."""
        self.may_fail = False

    def value(self, e: Expr, known: Known) -> str:
        """The name of an expression's value."""
        b = self.b
        if isinstance(e, Const):
            return b.const(e.value, e.dtype)
        if isinstance(e, Var):
            return self.numbers[e] if e in self.numbers else self.value(self.fixed[e], known)
        if isinstance(e, Load):
            return self.load(e, known)
        assert isinstance(e, Op)
        if e.op == "select":
            return self.choice(e, known)
        if e.op in DIVISIONS and element_type(e.dtype).is_integer:
            return self.division(e, known)
        args = [self.value(a, known) for a in e.args]
        return b.cast(args[0], e.dtype) if e.op == "cast" else b.let(e.op, *args)

    def division(self, e: Op, known: Known) -> str:
        """A division of integers: of indices, or one that may fail."""
        a, d = (self.value(x, known) for x in e.args)
        is_size = (constant_of(e.args[1]) or 0) > 0 or never_negative(e.args[1] - 1, known)
        if e.dtype == INDEX and e.op in ("floordiv", "remainder") and is_size and never_negative(e.args[0], known):
            quotient = self.b.index("div" if e.op == "floordiv" else "rem", a, d)
            assert isinstance(quotient, str)
            return quotient
        if not isinstance(e.args[1], Const) or not e.args[1].value:
            self.fail_where(self.b.let("eq", d, self.b.const(0, e.dtype)), ZERO_DIVISOR)
        return self.b.let(e.op, a, d)

    def fail_where(self, wrong: str, code: int) -> None:
        """Set the error flag where something is wrong."""
        self.may_fail = True
        with self.b.when(wrong):
            self.b.write(ERROR, self.b.const(code, "int32"), 0)

    def choice(self, e: Op, known: Known) -> str:
        """One of two values, of which only one is computed."""
        b, (asked, first, second) = self.b, e.args
        condition = self.value(asked, known)
        variable = b.var(b.const(zero_of(e.dtype), e.dtype), e.dtype)
        with b.when(condition):
            b.assign(variable, self.value(first, known.under(asked)))
        with b.when(b.let("logical_not", condition)):
            b.assign(variable, self.value(second, known.otherwise(asked)))
        return variable

    # --- elements

    def load(self, e: Load, known: Known) -> str:
        """An element."""
        if e.buffer in self.registers:
            return self.registers[e.buffer][self.place(e.buffer, e.indices)]
        at = tuple(self.value(i, known) for i in e.indices)
        name, dtype = self.memories[e.buffer], e.buffer.dtype
        if not e.checked:
            return self.b.read(name, dtype, *at)
        b = self.b
        inside = b.const(True, "bool")
        for d in e.checked:
            size = self.value(e.buffer.shape[d], known)
            inside = b.let("logical_and", inside, b.let("ge", at[d], b.const(0, INDEX)))
            inside = b.let("logical_and", inside, b.let("lt", at[d], size))
        self.fail_where(b.let("logical_not", inside), OUTSIDE)
        variable = b.var(b.const(zero_of(dtype), dtype), dtype)
        with b.when(inside):
            b.assign(variable, b.read(name, dtype, *at))
        return variable

    def write(self, buffer: Buffer, indices: tuple[Expr, ...], value: str, known: Known) -> None:
        """Store an element."""
        if buffer in self.registers:
            self.b.assign(self.registers[buffer][self.place(buffer, indices)], value)
            return
        at: list[Operand] = [self.value(i, known) for i in indices]
        self.b.write(self.memories[buffer], value, *at)

    def place(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[int, ...]:
        """The indices of an element in registers. Raises ScheduleError where they are not numbers."""
        constants = tuple(constant_of(substituted(i, self.fixed)) for i in indices)
        if any(i is None for i in constants):
            at = ", ".join(map(str, indices))
            raise ScheduleError(
                f"{buffer.name}[{at}] is memory of one thread, which is its registers: unroll the loops whose indices "
                f"stand there, or compute {buffer.name} outside the loop that is bound to threads"
            )
        return tuple(i for i in constants if i is not None)


def zero_of(dtype: str) -> int | float | bool:
    """The number zero of a dtype."""
    t = element_type(dtype)
    return 0.0 if t.is_float else False if t.kind == "bool" else 0
