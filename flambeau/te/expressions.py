"""Scalar expressions of loop nests: numbers, variables, operations and elements of buffers.

The operations are those of kernels (`codegen.kernel.opset`); operands of different dtypes are cast to the one that
both promote to, numbers take the dtype of what they stand beside.
"""

from __future__ import annotations

import itertools
from abc import abstractmethod
from typing import Any, TypeAlias

import numpy as np

from flambeau.codegen.kernel.dtypes import ELEMENT_TYPES, KernelError
from flambeau.codegen.kernel.opset import result_dtype
from flambeau.schema.dtype import DType, by_name, promote
from flambeau.te.errors import ScheduleError
from flambeau.util.record import dataclass, field

STORED = {"float16": "float32", "bfloat16": "float32"}
"""Dtypes that lie in memory only, each with the one that it is computed in."""
INDEX = "int64"
"""The dtype of sizes and indices."""
DTYPES = (*ELEMENT_TYPES, *STORED)


def dtype_name(dtype: Any, *, stored: bool = False) -> str:
    """The name of a dtype, given by name, as one of Flambeau's or as one of NumPy's. Raises ScheduleError."""
    if isinstance(dtype, DType):
        name = dtype.name
    elif isinstance(dtype, str):
        try:
            name = by_name(dtype).name
        except KeyError:
            name = dtype
    else:
        name = np.dtype(dtype).name
    if name not in ELEMENT_TYPES and not (stored and name in STORED):
        known = ", ".join(DTYPES if stored else ELEMENT_TYPES)
        hint = f"; {name} is for placeholders and results, and is computed in float32" if name in STORED else ""
        raise ScheduleError(f"loop nests do not compute in dtype {name!r}; write one of {known}{hint}")
    return name


Operand: TypeAlias = "Expr | int | float | bool"


class Expr:
    """A scalar with a dtype. Operators make further ones; `te.eq`, `te.where` and `te.exp` are functions.

    >>> from flambeau import te
    >>> i = te.var('i')
    >>> print((i + 1) * 2 % 3)
    (i + 1) * 2 % 3
    >>> (i / 2).dtype
    'float32'
    """

    __slots__ = ()
    dtype: str

    def __add__(self, other: Operand) -> Expr:
        return apply("add", self, other)

    def __radd__(self, other: Operand) -> Expr:
        return apply("add", other, self)

    def __sub__(self, other: Operand) -> Expr:
        return apply("sub", self, other)

    def __rsub__(self, other: Operand) -> Expr:
        return apply("sub", other, self)

    def __mul__(self, other: Operand) -> Expr:
        return apply("mul", self, other)

    def __rmul__(self, other: Operand) -> Expr:
        return apply("mul", other, self)

    def __truediv__(self, other: Operand) -> Expr:
        return divide(self, other)

    def __rtruediv__(self, other: Operand) -> Expr:
        return divide(other, self)

    def __floordiv__(self, other: Operand) -> Expr:
        return apply("floordiv", self, other)

    def __rfloordiv__(self, other: Operand) -> Expr:
        return apply("floordiv", other, self)

    def __mod__(self, other: Operand) -> Expr:
        return apply("remainder", self, other)

    def __rmod__(self, other: Operand) -> Expr:
        return apply("remainder", other, self)

    def __pow__(self, other: Operand) -> Expr:
        return apply("pow", self, other)

    def __rpow__(self, other: Operand) -> Expr:
        return apply("pow", other, self)

    def __and__(self, other: Operand) -> Expr:
        return _bits("and", self, other)

    def __rand__(self, other: Operand) -> Expr:
        return _bits("and", other, self)

    def __or__(self, other: Operand) -> Expr:
        return _bits("or", self, other)

    def __ror__(self, other: Operand) -> Expr:
        return _bits("or", other, self)

    def __xor__(self, other: Operand) -> Expr:
        return _bits("xor", self, other)

    def __lshift__(self, other: Operand) -> Expr:
        return apply("shl", self, other)

    def __rshift__(self, other: Operand) -> Expr:
        return apply("shr", self, other)

    def __lt__(self, other: Operand) -> Expr:
        return apply("lt", self, other)

    def __le__(self, other: Operand) -> Expr:
        return apply("le", self, other)

    def __gt__(self, other: Operand) -> Expr:
        return apply("gt", self, other)

    def __ge__(self, other: Operand) -> Expr:
        return apply("ge", self, other)

    def __neg__(self) -> Expr:
        return apply("neg", self)

    def __abs__(self) -> Expr:
        return apply("abs", self)

    def __invert__(self) -> Expr:
        return apply("logical_not" if self.dtype == "bool" else "bitnot", self)

    def __bool__(self) -> bool:
        raise ScheduleError(
            "an expression has a value for each iteration, so 'if', 'and', 'or' and 'not' cannot ask it; write "
            "te.where(condition, a, b), and & | ~ in place of and, or, not"
        )

    def astype(self, dtype: Any) -> Expr:
        """The value in another dtype."""
        return cast(self, dtype)

    @abstractmethod
    def text(self, strength: int = 0) -> str:
        """Its text, in brackets where what stands around binds more strongly."""

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__


_INFIX = {
    "eq": ("==", 1), "ne": ("!=", 1), "lt": ("<", 1), "le": ("<=", 1), "gt": (">", 1), "ge": (">=", 1),
    "logical_or": ("|", 2), "bitor": ("|", 2), "logical_xor": ("^", 3), "bitxor": ("^", 3), "logical_and": ("&", 4),
    "bitand": ("&", 4), "shl": ("<<", 5), "shr": (">>", 5), "add": ("+", 6), "sub": ("-", 6), "mul": ("*", 7),
    "div": ("/", 7), "floordiv": ("//", 7), "remainder": ("%", 7), "pow": ("**", 9),
}  # fmt: skip
"""Signs of operations, and how strongly they bind."""
_CALLED = {"select": "where", "minimum": "min", "maximum": "max"}
_UNARY = {"neg": "-", "logical_not": "~", "bitnot": "~"}
_UNARY_STRENGTH, _TIGHT = 8, 10


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Const(Expr):
    """A number."""

    value: int | float | bool
    dtype: str

    def text(self, strength: int = 0) -> str:
        written = repr(self.value)
        return f"({written})" if written.startswith("-") and strength > 6 else written


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Var(Expr):
    """An index of a loop, a size, or a number that calls give; each is itself alone, whatever it is called.

    >>> from flambeau import te
    >>> i = te.var('i')
    >>> i.name, i.dtype
    ('i', 'int64')
    """

    name: str
    dtype: str = INDEX
    number: int = field(default_factory=itertools.count().__next__)
    """Later ones have greater numbers."""

    def text(self, strength: int = 0) -> str:
        return self.name


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Op(Expr):
    """An operation of kernels; `cast` takes its type from `dtype`."""

    op: str
    args: tuple[Expr, ...]
    dtype: str

    def text(self, strength: int = 0) -> str:
        if self.op in _INFIX:
            sign, own = _INFIX[self.op]
            keeps = own + 1 if own == 1 else own  # comparisons do not chain
            written = f"{self.args[0].text(keeps)} {sign} {self.args[1].text(own + 1)}"
        elif self.op in _UNARY:
            own, written = _UNARY_STRENGTH, _UNARY[self.op] + self.args[0].text(_UNARY_STRENGTH)
        else:
            name = self.dtype if self.op == "cast" else _CALLED.get(self.op, self.op)
            own, written = _TIGHT, f"{name}({', '.join(a.text() for a in self.args)})"
        return f"({written})" if own < strength else written


@dataclass(slots=True, eq=False)
class Buffer:
    """Memory, row-major."""

    name: str
    shape: tuple[Expr, ...]
    dtype: str
    """As it lies in memory."""
    definition: object = None
    """The tensor whose elements it has; None for memory that schedules made."""

    @property
    def computed(self) -> str:
        """The dtype that its elements have in expressions."""
        return STORED.get(self.dtype, self.dtype)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Load(Expr):
    """An element of a buffer."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    checked: tuple[int, ...] = field(default=())
    """The dimensions whose index is compared with the size while the nest runs, as nothing proves it within."""

    @property
    def dtype(self) -> str:  # type: ignore[override]
        return self.buffer.computed

    def text(self, strength: int = 0) -> str:
        return f"{self.buffer.name}[{', '.join(i.text() for i in self.indices)}]"


def as_expr(value: Operand, like: str | None = None) -> Expr:
    """A number as an expression: of the dtype `like`, if that holds it, else of its own."""
    if isinstance(value, Expr):
        return value
    if getattr(value, "ndim", None) == 0 and hasattr(value, "as_expr"):  # a tensor without dimensions
        element: Expr = value.as_expr()
        return element
    if isinstance(value, bool | np.bool_):
        kind, number = "bool", bool(value)
    elif isinstance(value, int | np.integer):
        kind, number = "int64", int(value)  # type: ignore[assignment]
    elif isinstance(value, float | np.floating):
        kind, number = "float32", float(value)  # type: ignore[assignment]
    else:
        raise ScheduleError(
            f"expected an expression or a number, got {type(value).__name__}: index tensors, as A[i, j]"
        )
    if like is not None:
        wanted = promote(by_name(kind), by_name(like)).category
        if wanted == by_name(like).category:
            kind = like
    t = ELEMENT_TYPES[kind]
    return Const(float(number) if t.is_float else number, kind)


def together(values: tuple[Operand, ...]) -> tuple[Expr, ...]:
    """Operands in the one dtype that all promote to."""
    known = [v.dtype for v in values if isinstance(v, Expr)]
    like = None
    for name in known:
        like = name if like is None else promote(by_name(like), by_name(name)).name
    expressions = tuple(as_expr(v, like) for v in values)
    common = by_name(expressions[0].dtype)
    for e in expressions[1:]:
        common = promote(common, by_name(e.dtype))
    return tuple(cast(e, common.name) for e in expressions)


def apply(op: str, *values: Operand) -> Expr:
    """An operation on operands in their common dtype. Raises ScheduleError where it has no meaning for that."""
    args = together(values)
    try:
        dtype = result_dtype(op, tuple(a.dtype for a in args))
    except KernelError as error:
        raise ScheduleError(f"{error}; write te.cast(x, dtype)") from None
    return Op(op, args, dtype)


def cast(value: Operand, dtype: Any) -> Expr:
    """The value in another dtype; float to integer drops the fraction.

    >>> cast(3, "float32").dtype
    'float32'
    """
    name, e = dtype_name(dtype), as_expr(value)
    if e.dtype == name:
        return e
    if isinstance(e, Const):
        t = ELEMENT_TYPES[name]
        if t.is_float:
            return Const(float(e.value), name)
        if t.is_integer and not isinstance(e.value, float):
            return Const(int(e.value), name)
    return Op("cast", (e,), name)


def divide(a: Operand, b: Operand) -> Expr:
    """`a / b`; integers become float32."""
    x, y = together((a, b))
    if not ELEMENT_TYPES[x.dtype].is_float:
        x, y = cast(x, "float32"), cast(y, "float32")
    return apply("div", x, y)


def _bits(op: str, a: Operand, b: Operand) -> Expr:
    x, y = together((a, b))
    return apply(f"logical_{op}" if x.dtype == "bool" else f"bit{op}", x, y)


def integer(value: int) -> Const:
    """An index."""
    return Const(value, INDEX)


def var(name: str, dtype: Any = INDEX) -> Var:
    """A size, or a number that calls give, by name.

    >>> var("n").dtype, var("alpha", "float32").dtype
    ('int64', 'float32')
    """
    return Var(name, dtype_name(dtype))
