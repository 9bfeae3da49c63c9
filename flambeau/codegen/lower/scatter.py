"""Operators that change a copy of a tensor at the places that an index names: scatter, index_add and their like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.codegen.kernel.dtypes import element_type
from flambeau.codegen.lower.folds import dims_over
from flambeau.codegen.lower.gather import places_of, spread
from flambeau.codegen.lower.recorder import apply, cast, constant, dtype_named
from flambeau.codegen.lower.rows import Arguments
from flambeau.codegen.lower.values import Dims, Expr, LoweringError, view
from flambeau.ops.families.scalars import exact_scalar

OLD_NAMES = {"add": "add", "multiply": "mul"}
NAMES = {"sum": "add", "prod": "mul", "amax": "maximum", "amin": "minimum"}
_ON_BOOLS = {"add": "logical_or", "mul": "logical_and"}
_REPRESENTED_EXACTLY = {"float64": ("float64", "int64", "bool"), "int64": ("int64", "bool"), "bool": ("bool",)}
"""Element types and the numbers that all of them hold; others may be refused once they are known."""


def changed(x: Expr, at: int, index: Expr, value: Expr, op: str = "") -> Expr:
    """A copy of `x` where, in order, each value goes to the index that is said for it, together with what is there."""
    if x.dtype == "bool":
        op = _ON_BOOLS.get(op, op)
    if element_type(x.dtype).kind == "complex":
        raise LoweringError("complex numbers at places that values say")
    if op and element_type(x.dtype).kind == "half":
        raise LoweringError(f"{op} at places of {x.dtype}, which is put together in float32")
    return Expr("changed", x.dtype, (x, index, value), x.dims, (at, op))


def scatter(arguments: Arguments) -> Expr:
    """Values at the places that an index of as many dimensions names along one; the others are equal."""
    x, index = arguments["self"], places_of(arguments["index"])
    at = _along(x, arguments["dim"])
    if len(index.dims) != len(x.dims):
        raise LoweringError("as many dimensions of indices as of what they change")
    _meet(index.dims, x.dims, at)
    if "value" in arguments:
        return changed(x, at, index, _number(arguments["value"], x.dtype), _operation(arguments))
    value = _tensor(arguments["src"], x)
    if len(value.dims) != len(index.dims):
        raise LoweringError("as many dimensions of values as of indices")
    _meet(value.dims, index.dims)
    return changed(x, at, index, value, _operation(arguments))


def scatter_add(arguments: Arguments) -> Expr:
    """`scatter` that adds."""
    return scatter({**arguments, "reduce": "add"})


def index_add(arguments: Arguments) -> Expr:
    """Slices added to those that a vector names."""
    x = arguments["self"]
    at, index, value = _slices(arguments)
    alpha = arguments["alpha"]
    if isinstance(alpha, Expr) or alpha != 1:
        value = apply("mul", value, _number(alpha, x.dtype))
    return changed(x, at, index, value, "add")


def index_copy(arguments: Arguments) -> Expr:
    """Slices in the place of those that a vector names."""
    at, index, value = _slices(arguments)
    return changed(arguments["self"], at, index, value)


def _slices(arguments: Arguments) -> tuple[int, Expr, Expr]:
    """The dimension, the places with dimensions of size 1 around them, the slices."""
    x, index = arguments["self"], places_of(arguments["index"])
    value = _tensor(arguments["source"], x)
    at = _along(x, arguments["dim"])
    if len(index.dims) != 1 or len(value.dims) != len(x.dims):
        raise LoweringError("places along one dimension, and slices of as many dimensions as what they change")
    _meet(value.dims, x.dims, at)
    _meet(index.dims, (value.dims[at],))
    return at, spread(index, at, len(x.dims) - at - 1), value


def _along(x: Expr, dim: Any) -> int:
    if not x.dims or not isinstance(dim, int):
        raise LoweringError("places along a dimension that is not known")
    [at] = dims_over(x, dim)
    if x.dims[at] is None:
        raise LoweringError("places along a dimension of size 1")
    return at


def _meet(mine: Dims, theirs: Dims, at: int = -1) -> None:
    """Make dimensions one, but for that at one place; none broadcasts."""
    for k, (a, b) in enumerate(zip(mine, theirs, strict=True)):
        if k == at:
            continue
        if (a is None) != (b is None):
            raise LoweringError("other sizes of indices or values than of what they change")
        if a is not None and b is not None:
            a.unify(b)


def _tensor(values: Any, x: Expr) -> Expr:
    if not isinstance(values, Expr) or values.dtype != x.dtype:
        raise LoweringError("values of another dtype than what they change")
    return view(values, values.dims, (None,) * len(values.dims))


def _number(number: Any, dtype: str) -> Expr:
    """A number as an element of a dtype, if it is sure to be one."""
    if isinstance(number, Expr):
        if number.dims or number.dtype not in _REPRESENTED_EXACTLY.get(dtype, ()):
            raise LoweringError(f"a number that {dtype} may not hold")
        return cast(number, dtype)
    try:
        return constant(exact_scalar(number, dtype_named(dtype)).item(), dtype)
    except RuntimeError as error:
        raise LoweringError(str(error)) from None


def _operation(arguments: Arguments) -> str:
    """What puts a value together with what is there."""
    if "reduce" not in arguments:
        return ""
    names = NAMES if "include_self" in arguments else OLD_NAMES
    if arguments["reduce"] not in names or arguments.get("include_self") is False:
        raise LoweringError(f"scatter with {arguments['reduce']}")
    return names[arguments["reduce"]]


CHANGES: dict[str, Callable[[Arguments], Expr]] = {
    "scatter": scatter,
    "scatter_add": scatter_add,
    "index_add": index_add,
    "index_copy": index_copy,
}
"""By accumulator."""
