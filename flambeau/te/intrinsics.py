"""Functions of scalars: `te.exp(x)`, `te.where(condition, a, b)`, comparisons and the like."""

from __future__ import annotations

from collections.abc import Callable

from flambeau.codegen.kernel.dtypes import ELEMENT_TYPES
from flambeau.te.errors import ScheduleError
from flambeau.te.expressions import Expr, Op, Operand, apply, as_expr, cast, together

_TEXT = """`{name}` of a number; integers become float32.

>>> from flambeau import te
>>> print(te.{name}(te.var("x", "float64")))
{name}(x)
"""


def _float_function(name: str) -> Callable[[Operand], Expr]:
    def function(x: Operand) -> Expr:
        e = as_expr(x)
        return apply(name, e if ELEMENT_TYPES[e.dtype].is_float else cast(e, "float32"))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = _TEXT.format(name=name)
    return function


exp, exp2, expm1 = map(_float_function, ("exp", "exp2", "expm1"))
log, log2, log10, log1p = map(_float_function, ("log", "log2", "log10", "log1p"))
sqrt, rsqrt, reciprocal, sigmoid = map(_float_function, ("sqrt", "rsqrt", "reciprocal", "sigmoid"))
sin, cos, tan, asin, acos, atan = map(_float_function, ("sin", "cos", "tan", "asin", "acos", "atan"))
sinh, cosh, tanh, asinh, acosh, atanh = map(_float_function, ("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"))
erf, erfc, lgamma = map(_float_function, ("erf", "erfc", "lgamma"))
floor, ceil, trunc, round, frac = map(_float_function, ("floor", "ceil", "trunc", "round", "frac"))
isnan, isinf, isfinite = map(_float_function, ("isnan", "isinf", "isfinite"))


def minimum(a: Operand, b: Operand) -> Expr:
    """The smaller of two; a nan stays.

    >>> from flambeau import te
    >>> print(te.minimum(te.var('i'), 3))
    min(i, 3)
    """
    return apply("minimum", a, b)


def maximum(a: Operand, b: Operand) -> Expr:
    """The larger of two; a nan stays.

    >>> from flambeau import te
    >>> print(te.maximum(te.var('i'), 0))
    max(i, 0)
    """
    return apply("maximum", a, b)


def power(a: Operand, b: Operand) -> Expr:
    """The first to the power of the second, as `a ** b` is.

    >>> from flambeau import te
    >>> print(te.power(te.var('x', 'float32'), 2.0))
    x ** 2.0
    """
    return apply("pow", a, b)


def eq(a: Operand, b: Operand) -> Expr:
    """Whether two are equal; `==` asks whether expressions are the same object.

    >>> from flambeau import te
    >>> print(te.where(te.eq(te.var('i'), 0), 1, 2))
    where(i == 0, 1, 2)
    """
    return apply("eq", a, b)


def ne(a: Operand, b: Operand) -> Expr:
    """Whether two differ.

    >>> from flambeau import te
    >>> print(te.where(te.ne(te.var('i'), 0), 1, 2))
    where(i != 0, 1, 2)
    """
    return apply("ne", a, b)


def where(condition: Operand, a: Operand, b: Operand) -> Expr:
    """`a` where the condition holds, else `b`; what is not taken is not read, so that it may lie outside.

    Raises ScheduleError for a condition that is no bool.

    >>> from flambeau import te
    >>> i = te.var("i")
    >>> print(te.where(i > 0, i - 1, 0))
    where(i > 0, i - 1, 0)
    """
    asked = as_expr(condition)
    if asked.dtype != "bool":
        raise ScheduleError(
            f"te.where takes a bool first, got {asked.dtype}: write a comparison, as x != 0 is te.ne(x, 0)"
        )
    x, y = together((a, b))
    return Op("select", (asked, x, y), x.dtype)
