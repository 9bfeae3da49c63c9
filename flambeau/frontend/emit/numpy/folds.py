"""Sums, extremes and running sums of arrays, with NumPy's keywords `dtype`, `initial` and `where`.

np.max(x, initial=0.0)      →    constant_pad_nd by a place that holds 0.0, then amax: nothing has a maximum then
np.sum(x, where=x > 0)      →    sum of where(x > 0, x, 0)
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from flambeau.frontend.emit.implicit_conversions import pack_list
from flambeau.frontend.emit.numpy import array_promotion as arrays
from flambeau.frontend.emit.numpy.array_promotion import dtype_and_rank, is_array
from flambeau.frontend.emit.numpy.method_calls import Call, Method, constant_int
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.sugared import Given
from flambeau.ir.graph import Value
from flambeau.schema.array_type import ArrayType, array_of
from flambeau.schema.dtype import DType, bool_, by_code, from_numpy_dtype, uint8, uint64
from flambeau.schema.types import INT, FloatType, is_number
from flambeau.util.errors import CompileError

DTYPE: Final = "{name} takes a dtype that is written out, as in dtype=np.float64, so that the result's is known"
MEANS: Final = "a mean in whole numbers is rounded towards 0: np.trunc(x.mean()) says so"
SPREADS: Final = "{name} takes a dtype of floats here, and of complex numbers one of these"
SPREAD_PARTS: Final = (
    "{name} of complex numbers takes no where=, mean= or axis=() here: add those of x.real and of x.imag (of std their "
    "squares)"
)
INITIAL: Final = "{name} takes a number as initial="
MASK: Final = "{name} takes an array of bools as where=, with no more dimensions than the array has"
NEEDS_INITIAL: Final = "{name} with where= needs initial=: what it gives where nothing is left"
_NEUTRAL: Final[dict[str, Any]] = {"sum": 0, "mean": 0, "prod": 1, "any": False, "all": True}
_OF_BOOLS: Final = {"sum": "any", "prod": "all"}
"""What sums and products in bools are."""
_ONE_BY_ONE: Final = ("prod", "any", "all")
"""Operators that take one axis."""


def fold(name: str, whole: str = "", *, floats: bool = False) -> Method:
    """`x.sum(axis=None, dtype=None, keepdims=False, initial=0, where=True)`."""

    def emit(c: Call) -> Value:
        axes, dtype, initial, mask = c.axes(), named_dtype(c), _initial(c), _mask(c)
        dtype = unsigned_sum(c) if dtype is None and name in ("sum", "prod") else dtype
        _check_dtype(c, name, dtype)
        if dtype is bool_ and name in _OF_BOOLS:
            return fold(_OF_BOOLS[name])(c)
        array = _folded_array(c, name, dtype, floats=floats)
        array = array if mask is None else _left(c, name, array, mask, initial)
        if initial is not None and name not in _NEUTRAL:
            array = _with_place(c, array, axes, initial)
        result = _folded(c, name, whole, array, axes, dtype)
        if mask is not None and name == "mean":
            total, count = (_folded(c, "sum", "sum", part, axes, None) for part in (array, mask))
            return c.op("div", total, count)
        if initial is not None and name in _NEUTRAL:
            sign = "add" if name == "sum" else "mul"
            return c.op(sign, result, _scalar(c, initial, dtype_and_rank(result, c.where)[0]))
        return result

    return emit


def _folded_array(c: Call, name: str, dtype: DType | None, *, floats: bool) -> Value:
    """The array in the dtype that is folded."""
    if dtype is not None:
        return arrays.converted(c.e, c.array, dtype)
    if name in ("any", "all") and dtype_and_rank(c.array, c.where)[0] is uint8:  # of bytes, the operator gives bytes
        return arrays.converted(c.e, c.array, bool_)
    return c.floats() if floats else c.array


def _check_dtype(c: Call, name: str, dtype: DType | None) -> None:
    """Raise CompileError for means in whole numbers."""
    if name == "mean" and dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
        raise CompileError(MEANS, c.where)


def _left(c: Call, name: str, array: Value, mask: Value, initial: Value | None) -> Value:
    """The elements that take part, and what changes nothing in the place of the others."""
    neutral = c.value(_NEUTRAL[name]) if name in _NEUTRAL else initial
    if neutral is None:
        raise CompileError(NEEDS_INITIAL.format(name=c.name), c.where)
    return c.op("where", mask, array, _scalar(c, neutral, dtype_and_rank(array, c.where)[0]))


def _folded(c: Call, name: str, whole: str, array: Value, axes: list[int] | None, dtype: DType | None) -> Value:
    """The operator over some axes, or all."""
    options = {} if dtype is None or name not in ("sum", "prod") else {"dtype": c.e.constant(dtype.code, INT)}
    rank = dtype_and_rank(array, c.where)[1]
    keep = c.arguments.get("keepdims", c.value(False))
    if axes is None and "keepdims" not in c.arguments:
        return _typed(c.op(whole or name, array, **options), dtype)
    axes = list(range(rank)) if axes is None else axes
    if not axes and rank:  # to the operators no axes are all
        return _unfolded(c, name, array, dtype)
    if name not in _ONE_BY_ONE:
        return _typed(c.op(name, array, axes, keep, **options), dtype)
    for axis in sorted((a % rank if rank else a for a in axes), reverse=True):  # without dimensions, 0 and -1 are some
        array = _typed(c.op(name, array, axis, keep, **options), dtype)
    return array


def _unfolded(c: Call, name: str, array: Value, dtype: DType | None) -> Value:
    """Each element by itself, in the dtype of its fold."""
    own, _ = dtype_and_rank(array, c.where)
    if name in ("any", "all"):
        dtype = bool_
    elif dtype is None and name in ("sum", "prod"):
        dtype = from_numpy_dtype(getattr(np, name)(np.ones(1, own.numpy)).dtype)
    return c.op("clone", array) if dtype in (None, own) else arrays.converted(c.e, array, dtype or own)


def _typed(result: Value, dtype: DType | None) -> Value:
    """A result whose dtype the call says."""
    if dtype is not None and isinstance(result.static_type, ArrayType):
        result.set_type(array_of(dtype, result.static_type.rank))
    return result


def named_dtype(c: Call) -> DType | None:
    """What `dtype=` says. Raises CompileError where only the run tells it."""
    value = c.given("dtype")
    if value is None:
        return None
    code = constant_int(value)
    if code is None:
        raise CompileError(DTYPE.format(name=c.name), c.where)
    return by_code(code)


def _initial(c: Call) -> Value | None:
    value = c.given("initial")
    if value is not None and not is_number(value.static_type):
        raise CompileError(INITIAL.format(name=c.name), c.where)
    return value


def _mask(c: Call) -> Value | None:
    """Which elements take part, as an array of the array's sizes."""
    value = c.given("where")
    if value is None:
        return None
    most = dtype_and_rank(c.array, c.where)[1]
    dtype, rank = dtype_and_rank(value, c.where) if is_array(value) else (None, 0)
    if dtype is not bool_ or rank > most:
        raise CompileError(MASK.format(name=c.name), c.where)
    return c.op("expand_as", value, c.array)


def _number(c: Call, number: Value, dtype: DType) -> Value:
    """A number as elements of whole numbers hold it."""
    is_whole = not (dtype.is_floating_point or dtype.is_complex)
    return c.op("Int", number) if is_whole and isinstance(number.static_type, FloatType) else number


def _scalar(c: Call, number: Value, dtype: DType) -> Value:
    """A number as an array without dimensions."""
    code = Given(c.e.constant(dtype.code, INT), c.where, "dtype")
    scalar = call_operator(c.e, c.where, "aten::tensor", [_number(c, number, dtype)], [code])
    scalar.set_type(array_of(dtype, 0))
    return scalar


def _with_place(c: Call, array: Value, axes: list[int] | None, initial: Value) -> Value:
    """The array with a place more along the axes, which holds a number that takes part in each fold."""
    dtype, rank = dtype_and_rank(array, c.where)
    if axes is None and "keepdims" not in c.arguments:
        array, rank = c.op("reshape", array, [-1]), 1
    taken = {a % rank for a in (range(rank) if axes is None else axes)}
    ends = [end for axis in reversed(range(rank)) for end in (0, int(axis in taken))]
    sizes = pack_list(c.e, [c.e.constant(end) for end in ends], INT)
    return c.op("constant_pad_nd", array, sizes, _number(c, initial, dtype))


def spread(name: str) -> Method:
    """`x.std(axis=None, dtype=None, ddof=0, keepdims=False, where=True, mean=None, correction=0)`."""

    def emit(c: Call) -> Value:
        _, rank = dtype_and_rank(c.array, c.where)
        axes = c.axes()
        ddof = c.given("correction") or c.arguments.get("ddof", c.value(0))
        keep = c.arguments.get("keepdims", c.value(False))
        if c.given("where") is not None or c.given("mean") is not None or (axes == [] and rank):
            return _spread_of(c, name, ddof)
        array = c.floats()
        dtype = named_dtype(c)
        if dtype is not None:
            array = arrays.converted(c.e, array, _inexact(c, dtype))
            if dtype_and_rank(c.array, c.where)[0].is_complex and not dtype.is_complex:
                raise CompileError(SPREADS.format(name=c.name), c.where)
        return c.op(name, array, list(range(rank)) if axes is None else axes, correction=ddof, keepdim=keep)

    return emit


def _inexact(c: Call, dtype: DType) -> DType:
    """The dtype that is computed in. Raises CompileError for whole numbers."""
    if not (dtype.is_floating_point or dtype.is_complex):
        raise CompileError(SPREADS.format(name=c.name), c.where)
    return dtype


def _spread_of(c: Call, name: str, ddof: Value) -> Value:
    """The spread of the elements where a mask holds, around a mean that may be given.

    Raises CompileError for complex numbers, whose parts say it.
    """
    array, dtype = c.floats(), named_dtype(c)
    if dtype_and_rank(array, c.where)[0].is_complex:
        raise CompileError(SPREAD_PARTS.format(name=c.name), c.where)
    if dtype is not None:
        array = arrays.converted(c.e, array, _inexact(c, dtype))
    own, _ = dtype_and_rank(array, c.where)
    folds = {key: value for key, value in c.arguments.items() if key in ("axis", "where")}
    keeps = {**folds, "keepdims": c.value(True)}

    def folded(fold_name: str, value: Value, arguments: dict[str, Value]) -> Value:
        return fold(fold_name)(Call(c.e, c.where, fold_name, value, arguments))

    mean = c.given("mean")
    ones = c.op("ones_like", array)
    if mean is None:
        mean = c.op("div", folded("sum", array, keeps), folded("sum", ones, keeps))
    apart = c.op("sub", array, mean)
    last = {**folds, **({"keepdims": c.arguments["keepdims"]} if "keepdims" in c.arguments else {})}
    total, count = folded("sum", c.op("mul", apart, apart), last), folded("sum", ones, last)
    least = c.op("clamp", c.op("sub", count, ddof), 0)
    variance = arrays.converted(c.e, c.op("div", total, least), own)
    return c.op("sqrt", variance) if name == "std" else variance


def unsigned_sum(c: Call) -> DType | None:
    """The dtype in which NumPy adds unsigned integers up; None for other elements."""
    dtype, _ = dtype_and_rank(c.array, c.where)
    return uint64 if dtype.is_integral and not dtype.is_signed else None


def scan(name: str) -> Method:
    """`x.cumsum(axis=None, dtype=None)`."""

    def emit(c: Call) -> Value:
        dtype, axis = named_dtype(c) or unsigned_sum(c), c.number("axis")
        array = c.array if dtype is None else arrays.converted(c.e, c.array, dtype)
        array, axis = (c.op("reshape", array, [-1]), 0) if axis is None else (array, axis)
        options = {} if dtype is None else {"dtype": c.e.constant(dtype.code, INT)}
        return _typed(c.op(name, array, axis, **options), dtype)

    return emit
