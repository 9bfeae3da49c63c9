"""Functions of NumPy on arrays: methods under another spelling, ufuncs with NumPy's dtypes, and what joins arrays.

np.sqrt(n)    with int64s in `n`    →    %x = aten::to(%n, float64)    aten::sqrt(%x)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from flambeau.frontend.emit.binary_operators import binary
from flambeau.frontend.emit.comparisons import compare
from flambeau.frontend.emit.implicit_conversions import pack_list, pack_tuple, unpack_tuple
from flambeau.frontend.emit.numpy import array_promotion as arrays
from flambeau.frontend.emit.numpy.array_products import product
from flambeau.frontend.emit.numpy.array_promotion import dtype_and_rank, is_array, promoted
from flambeau.frontend.emit.numpy.array_shapes import SHAPES, TAKEN
from flambeau.frontend.emit.numpy.complex_extremes import complex_extreme
from flambeau.frontend.emit.numpy.element_arithmetic import absolute, filling, positive, within
from flambeau.frontend.emit.numpy.function_calls import NO_KEYWORD, FunctionCall
from flambeau.frontend.emit.numpy.matrix_functions import matrix_call
from flambeau.frontend.emit.numpy.method_calls import Call, constant_int
from flambeau.frontend.emit.numpy.ndarray_methods import METHODS, call_method, part_of, shape_of
from flambeau.frontend.emit.numpy.sorting import sorted_copy
from flambeau.frontend.emit.numpy.spectra import ORDERING, ordered
from flambeau.frontend.emit.numpy.tensor_products import tensordot
from flambeau.frontend.emit.numpy.ufunc_dtypes import check_dtypes, of_whole_numbers
from flambeau.frontend.emit.refusals import raise_when
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.literal_value import literal_of
from flambeau.frontend.emit.values.sugared import Emitter, Given
from flambeau.ir.graph import Value
from flambeau.schema.array_type import array_of
from flambeau.schema.dtype import bool_, by_code, float64, int64
from flambeau.schema.types import FLOAT, INT, TENSOR, NoneType, is_number
from flambeau.util.errors import CompileError
from flambeau.util.source import SourceRange

_SPELLED: Final = {
    "amax": "max", "amin": "min", "around": "round", "conjugate": "conj", "ravel": "ravel",
}  # fmt: skip
"""Functions that are methods of another name."""
_METHODS: Final = (
    "std", "var", "max", "min", "amax", "amin", "round", "around", "argsort", "copy", "transpose", "nonzero", "repeat",
    "swapaxes", "take", "trace", "diagonal", "searchsorted", "cumprod", "sort", "empty_like", "full_like",
    "count_nonzero", "diff", "vstack", "hstack", "size", "shape", "ndim", "bincount", "invert",
    "tile", "pad", "column_stack", "dstack", "nan_to_num", "flatnonzero", "argwhere", "ptp",
    "real", "imag", "angle", "select", "einsum", "kron", "inner", "take_along_axis", "broadcast_to",
    "ascontiguousarray", "cross", "moveaxis", "tensordot", "divmod", "i0", "flip",
    "flipud", "fliplr", "rot90", "frexp", "rollaxis", "broadcast_arrays", "isreal", "iscomplex", "isrealobj",
    "iscomplexobj", "ldexp", "asfortranarray", "put_along_axis",
)  # fmt: skip
ARRAY_FUNCTIONS: Final[dict[Any, str]] = {getattr(np, name): name for name in _METHODS if hasattr(np, name)} | {
    np.lib.stride_tricks.sliding_window_view: "sliding_window_view"
}
if hasattr(np, "row_stack"):  # the older name
    ARRAY_FUNCTIONS[np.row_stack] = "vstack"
if hasattr(np.linalg, "tensordot"):  # a function of its own, since NumPy 2
    ARRAY_FUNCTIONS[np.linalg.tensordot] = "tensordot"
"""Functions that arrays alone have."""
_LIKE: Final = {"zeros_like": 0, "ones_like": 1, "empty_like": 0}
_COMPARISONS: Final = {
    "equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=",
}  # fmt: skip
_SIGNS: Final = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "true_divide": "/", "floor_divide": "//",
    "remainder": "%", "mod": "%", "power": "**", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^",
    "left_shift": "<<", "right_shift": ">>", "matmul": "@",
}  # fmt: skip
_OF_ONE: Final = {"positive": positive, "absolute": absolute}
CAST: Final = (
    "Cannot cast ufunc '{name}' output from dtype('{found}') to dtype('{wanted}') with casting rule 'same_kind'"
)
SIZES: Final = "np.{name}: the array of out= has other sizes than the result"
NOT_ON_ARRAYS: Final = "np.{name} has no form for such arrays in programs: call it outside and pass the result in"


def array_call(
    e: Emitter, where: SourceRange, name: str, operator: str, args: Sequence[Given], keywords: Sequence[Given]
) -> Value:
    """A call of `np.name` where arrays take part. Raises CompileError for what has no form."""
    args, keywords = _named_result(name, args, keywords)
    values = [ordered(e, where, a.value) if name in ORDERING else a.value for a in args]
    into = next((k for k in keywords if k.name == "out"), None)
    if into is not None:
        result = array_call(e, where, name, operator, args, [k for k in keywords if k is not into])
        return _written_into(e, where, name, result, into)
    of_complex = complex_extreme(e, where, name, [Given(v, where) for v in values], keywords)
    if of_complex is not None:
        return of_complex
    return _by_name(e, where, name, operator, values, args, keywords)


def _by_name(
    e: Emitter, where: SourceRange, name: str, operator: str, values: list[Value], args: Sequence[Given],
    keywords: Sequence[Given],
) -> Value:  # fmt: skip
    """What a function gives by a rule of its own, as a method, or as an operator."""
    check_dtypes(where, name, values)
    if name in _RULES:
        _check_arguments(where, name, len(args), keywords)
        return _RULES[name](FunctionCall(e, where, name, values, {k.name: k.value for k in keywords}))
    method = _SPELLED.get(name, name)
    if values and method in METHODS and is_array(values[0]):
        rest = [Given(k.value, k.where, {"a_min": "min", "a_max": "max"}.get(k.name, k.name)) for k in keywords]
        return call_method(e, where, method, values[0], args[1:], rest)
    if operator.startswith(("aten::linalg", "aten::fft")):
        return matrix_call(e, where, name, operator, values, keywords)
    if keywords:
        raise CompileError(NO_KEYWORD.format(name=name, keyword=keywords[0].name), keywords[0].where)
    return _by_operands(e, where, name, operator, values)


def _named_result(
    name: str, args: Sequence[Given], keywords: Sequence[Given]
) -> tuple[Sequence[Given], Sequence[Given]]:
    """Arguments in which the result that a ufunc is given behind its operands has its name."""
    function = getattr(np, name, None)
    if not isinstance(function, np.ufunc) or function.nout != 1 or len(args) != function.nin + 1:
        return args, keywords
    *operands, into = args
    return operands, [*keywords, Given(into.value, into.where, "out")]


def _check_arguments(where: SourceRange, name: str, count: int, keywords: Sequence[Given]) -> None:
    """Raise CompileError for arguments that the function's rule does not look at."""
    most, known = _TAKES.get(name, (1, ()))
    if count > most:
        raise CompileError(f"np.{name} takes at most {most} argument(s) by their places here", where)
    for keyword in keywords:
        if keyword.name not in known:
            raise CompileError(NO_KEYWORD.format(name=name, keyword=keyword.name), keyword.where)


def _written_into(e: Emitter, where: SourceRange, name: str, result: Value, into: Given) -> Value:
    """`out=`: the array holds the result, in its own dtype, if NumPy casts to that without being asked."""
    target = into.value
    if isinstance(target.static_type, NoneType):
        return result
    if not (is_array(target) and is_array(result)):
        raise CompileError(NO_KEYWORD.format(name=name, keyword="out"), into.where)
    actual, wanted = (dtype_and_rank(v, into.where)[0] for v in (result, target))
    if not np.can_cast(actual.numpy, wanted.numpy, "same_kind"):
        raise CompileError(CAST.format(name=name, found=actual.name, wanted=wanted.name), into.where)
    sizes = [call_operator(e, where, "aten::size", [v]) for v in (result, target)]
    raise_when(e, call_operator(e, where, "aten::ne", sizes), SIZES.format(name=name))
    call_operator(e, where, "aten::copy_", [target, result, e.constant(False)])
    return target


def _by_operands(e: Emitter, where: SourceRange, name: str, operator: str, values: list[Value]) -> Value:
    """A function without keywords: an operator of Python, a ufunc, or an operator of the package."""
    if name == "power":  # of bools, the function has another dtype than the operator
        dtype = arrays.dtype_of(where, np.power, *values)
        values = promoted(e, where, values, dtype)
    if name in _OF_ONE:
        return _OF_ONE[name](e, where, values[0])
    if name in _SIGNS:
        return binary(e, where, _SIGNS[name], *values)
    if name in _COMPARISONS:
        return compare(e, where, _COMPARISONS[name], *values)
    function = getattr(np, name, None)
    if isinstance(function, np.ufunc) and operator:
        return _ufunc(e, where, function, operator, values)
    if not operator:
        raise CompileError(NOT_ON_ARRAYS.format(name=name), where)
    return call_operator(e, where, operator, promoted(e, where, values) if all(map(is_array, values)) else values)


def _floats(e: Emitter, value: Value, where: SourceRange) -> Value:
    if not is_array(value):
        return value
    dtype, _ = dtype_and_rank(value, where)
    return value if dtype.is_floating_point or dtype.is_complex else arrays.converted(e, value, float64)


def _ufunc(e: Emitter, where: SourceRange, function: np.ufunc, operator: str, values: Sequence[Value]) -> Value:
    """A ufunc: operands in the dtype in which NumPy computes."""
    of_whole = of_whole_numbers(e, where, function, values)
    if of_whole is not None:
        return of_whole
    result = arrays.dtype_of(where, function, *values)
    common = arrays.result_type(where, *values)
    target = common if result.name == "bool" or (common.is_complex and not result.is_complex) else result
    operands = promoted(e, where, values, target)
    if function in (np.maximum, np.minimum) and not all(map(is_array, operands)):
        array, number = operands if is_array(operands[0]) else reversed(operands)
        number = within(e, where, number, target)
        bound = Given(number, where, "min" if function is np.maximum else "max")
        return call_operator(e, where, "aten::clamp", [array], [bound])
    if operands and not is_array(operands[0]):
        operands[0] = _full(e, where, operands[0], target.code)
    elif len(operands) > 1 and not is_array(operands[1]):
        operands[1] = _full(e, where, operands[1], target.code)
    return call_operator(e, where, operator, operands)


def _full(e: Emitter, where: SourceRange, number: Value, code: int) -> Value:
    """A number as an array without dimensions."""
    scalar = call_operator(e, where, "aten::tensor", [number], [Given(e.constant(code, INT), where, "dtype")])
    scalar.set_type(array_of(by_code(code), 0))
    return scalar


def _sign(f: FunctionCall) -> Value:
    """Of nan, nan; of complex numbers, the one of their direction whose absolute value is 1."""
    (array,) = f.values
    is_complex = dtype_and_rank(array, f.where)[0].is_complex
    signs = f.op("sgn" if is_complex else "sign", array)
    is_float = dtype_and_rank(array, f.where)[0].is_floating_point
    return f.op("where", f.op("isnan", array), array, signs) if is_float else signs


def _outer(f: FunctionCall) -> Value:
    """Arrays of any shape are taken as lists of numbers."""
    left, right = promoted(f.e, f.where, f.values)
    column = f.op("reshape", left, pack_list(f.e, [f.e.constant(-1), f.e.constant(1)], INT))
    return binary(f.e, f.where, "*", column, f.op("reshape", right, pack_list(f.e, [f.e.constant(-1)], INT)))


def _where(f: FunctionCall) -> Value:
    condition, *sides = f.values
    if not sides:
        return call_method(f.e, f.where, "nonzero", condition, (), ())
    dtype = arrays.result_type(f.where, *sides)
    if not any(map(is_array, sides)):
        dtype = (
            float64
            if FLOAT in [s.static_type for s in sides]
            else int64
            if INT in [s.static_type for s in sides]
            else dtype
        )
    sides = promoted(f.e, f.where, sides, dtype)
    sides = [_full(f.e, f.where, s, dtype.code) if is_number(s.static_type) else s for s in sides]
    if not is_array(condition):
        condition = _full(f.e, f.where, condition, bool_.code)
    return f.op("where", condition, *sides)


def _like(f: FunctionCall) -> Value:
    array = f.values[0]
    value = f.values[1] if f.name == "full_like" else f.e.constant(_LIKE[f.name])
    code = f.named.pop("dtype", f.e.constant(dtype_and_rank(array, f.where)[0].code, INT))
    keywords, number = [Given(code, f.where, "dtype")], constant_int(code)
    value = value if number is None else filling(f.e, f.where, value, by_code(number))
    if "shape" in f.named:
        counts = f.counts(f.named["shape"])
        filled = call_operator(f.e, f.where, "aten::full", [pack_list(f.e, counts, INT), value], keywords)
        filled.set_type(array_of(None if number is None else by_code(number), len(counts)))
        return filled
    return call_operator(f.e, f.where, "aten::full_like", [array, value], keywords)


def _sort(f: FunctionCall) -> Value:
    if f.is_none(1):
        flat = f.op("reshape", f.values[0], pack_list(f.e, [f.e.constant(-1)], INT))
        return sorted_copy(Call(f.e, f.where, f.name, flat, {}))
    named = {"axis": f.e.constant(f.axis(1, -1))}
    return sorted_copy(Call(f.e, f.where, f.name, f.values[0], named))


def _dot(f: FunctionCall) -> Value:
    return call_method(f.e, f.where, "dot", f.values[0], [Given(f.values[1], f.where)], ())


def _folded(f: FunctionCall, array: Value, whole: str, along: str) -> Value:
    """A fold of all elements, or along the axis, or axes, of a call."""
    axes = f.axes(1)
    if axes is None and "keepdims" not in f.named:
        return f.op(whole, array)
    rank = dtype_and_rank(f.values[0], f.where)[1]
    numbers = [f.e.constant(axis) for axis in (range(rank) if axes is None else axes)]
    return f.op(along, array, pack_list(f.e, numbers, INT), f.keeps())


def _count(f: FunctionCall) -> Value:
    return _folded(f, compare(f.e, f.where, "!=", f.values[0], f.e.constant(0)), "sum", "sum")


def _range(f: FunctionCall) -> Value:
    if dtype_and_rank(f.values[0], f.where)[0].is_complex:
        args, keywords = [Given(v, f.where) for v in f.values], [Given(v, f.where, k) for k, v in f.named.items()]
        ends = [array_call(f.e, f.where, name, "", args, keywords) for name in ("amax", "amin")]
    else:
        ends = [_folded(f, f.values[0], *names) for names in (("max", "amax"), ("min", "amin"))]
    return binary(f.e, f.where, "-", *ends)


def _is_close(f: FunctionCall) -> Value:
    """Whether elements are about equal, as far as `rtol` of the second and `atol` say."""
    operands = promoted(f.e, f.where, [_floats(f.e, value, f.where) for value in f.values[:2]])
    dtype = dtype_and_rank(next(v for v in operands if is_array(v)), f.where)[0]
    left, right = (v if is_array(v) else _full(f.e, f.where, v, dtype.code) for v in operands)
    bounds = [f.argument(name, position) for name, position in (("rtol", 2), ("atol", 3))]
    tolerances = [f.e.constant(default) if v is None else v for v, default in zip(bounds, (1e-05, 1e-08), strict=True)]
    return f.op("isclose", left, right, *tolerances, f.named.get("equal_nan", f.e.constant(False)))


def _without_nans(f: FunctionCall) -> Value:
    """Numbers in the place of nans and infinities."""
    array = f.values[0]
    numbers = [f.named.get(name, f.e.constant(None)) for name in ("nan", "posinf", "neginf")]
    return f.op("nan_to_num", array, *numbers)


def _size(f: FunctionCall) -> Value:
    """How many elements, or how many along an axis."""
    axis = f.along(1)
    return f.op("numel", f.values[0]) if axis is None else f.op("size", f.values[0], axis)


def _times_power(f: FunctionCall) -> Value:
    """Numbers times powers of 2."""
    left, right = f.values
    power = right if is_array(right) else _full(f.e, f.where, right, int64.code)
    floats = promoted(f.e, f.where, [left], arrays.dtype_of(f.where, np.ldexp, left, power))
    return f.op("ldexp", floats[0], power)


def _bincount(f: FunctionCall) -> Value:
    weights = f.named.get("weights", f.values[1] if len(f.values) > 1 else f.e.constant(None))
    least = f.named.get("minlength", f.values[2] if len(f.values) > 2 else f.e.constant(0))
    return f.op("bincount", f.values[0], _doubles(f, weights), least)


def _doubles(f: FunctionCall, value: Value) -> Value:
    """An array as float64s; None as it is."""
    return arrays.converted(f.e, value, float64) if is_array(value) else value


def _select(f: FunctionCall) -> Value:
    """The first choice whose condition holds, element by element."""
    conditions, choices = (f.items(value) for value in f.values[:2])
    if len(conditions) != len(choices):
        raise CompileError("np.select takes as many conditions as choices", f.where)
    result = f.named.get("default", f.values[2] if len(f.values) > 2 else f.e.constant(0))
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        result = _where(FunctionCall(f.e, f.where, "where", [condition, choice, result], {}))
    return result


def _einsum(f: FunctionCall) -> Value:
    text, *operands = f.values
    return f.op("einsum", text, pack_list(f.e, promoted(f.e, f.where, operands), TENSOR))


def _of_two(f: FunctionCall) -> Value:
    """An operator of the same name on two arrays of one dtype."""
    return f.op(f.name, *promoted(f.e, f.where, f.values))


def _tensordot(f: FunctionCall) -> Value:
    axes = f.named.get("axes", f.values[2] if len(f.values) > 2 else None)
    return tensordot(f.e, f.where, f.values[0], f.values[1], axes)


def _along(f: FunctionCall, position: int) -> tuple[Value, Value, int]:
    """The array, indices along an axis of it, counted from the front and as large as the array elsewhere, and the axis;
    of axis None, both in one line.
    """
    array, indices = f.values[:2]
    if f.is_none(position):
        flat = pack_list(f.e, [f.e.constant(-1)], INT)
        array, indices, axis = f.op("reshape", array, flat), f.op("reshape", indices, flat), 0
    else:
        axis = f.axis(position, -1)
    rank = dtype_and_rank(array, f.where)[1]
    counted = f.op("where", f.op("lt", indices, 0), f.op("add", indices, f.op("size", array, axis)), indices)
    counted = arrays.converted(f.e, counted, int64)
    sizes = [f.op("size", counted if k == axis % rank else array, k) for k in range(rank)]
    return array, f.op("expand", counted, pack_list(f.e, sizes, INT)), axis


def _take_along(f: FunctionCall) -> Value:
    array, indices, axis = _along(f, 2)
    return f.op("gather", array, axis, indices)


def _put_along(f: FunctionCall) -> Value:
    """Numbers written at indices along an axis, as `np.take_along_axis` reads them."""
    array, indices, axis = _along(f, 3)
    dtype = dtype_and_rank(array, f.where)[0]
    value = f.values[2]
    value = arrays.converted(f.e, value, dtype) if is_array(value) else _full(
        f.e, f.where, filling(f.e, f.where, value, dtype), dtype.code
    )
    f.op("scatter_", array, axis, indices, f.op("expand_as", value, indices))
    return f.e.constant(None)


def _by_columns(f: FunctionCall) -> Value:
    """The array column by column in memory."""
    (array,) = f.values
    axes = [f.e.constant(k) for k in reversed(range(dtype_and_rank(array, f.where)[1]))]
    turned = f.op("contiguous", f.op("permute", array, pack_list(f.e, axes, INT)))
    return f.op("permute", turned, pack_list(f.e, axes, INT))


def _flatnonzero(f: FunctionCall) -> Value:
    flat = f.op("reshape", f.values[0], pack_list(f.e, [f.e.constant(-1)], INT))
    return unpack_tuple(f.e, call_method(f.e, f.where, "nonzero", flat, (), ()))[0]


def _argwhere(f: FunctionCall) -> Value:
    indices = f.op("nonzero", f.values[0])
    indices.set_type(array_of(int64, 2))
    return indices


def _frexp(f: FunctionCall) -> Value:
    """Parts from 0.5 up to 1, and powers of 2."""
    (array,) = f.values
    dtype = arrays.dtype_of(f.where, lambda x: np.frexp(x)[0], array)
    return pack_tuple(f.e, unpack_tuple(f.e, f.op("frexp", arrays.converted(f.e, array, dtype))))


def _conjugate(f: FunctionCall) -> Value:
    """A new array, of bools int8s."""
    (array,) = f.values
    dtype = arrays.dtype_of(f.where, np.conjugate, array)
    return f.op("conj_physical", arrays.converted(f.e, array, dtype))


def _angle(f: FunctionCall) -> Value:
    """Of real numbers 0 or pi, which -0.0 has too; in degrees where `deg` says so, which has to be written out."""
    said = f.argument("deg", 1)
    in_degrees = None if said is None else literal_of(said)
    if said is not None and in_degrees is None:
        raise CompileError("np.angle takes deg=True or deg=False here, written out", f.where)
    (array, *_) = f.values
    if dtype_and_rank(array, f.where)[0].is_complex:
        angles = f.op("angle", array)
    else:
        angles = _ufunc(f.e, f.where, np.arctan2, "aten::atan2", [f.e.constant(0), array])
    return f.op("rad2deg", angles) if in_degrees is not None and in_degrees.literal else angles


_TAKES: Final[dict[str, tuple[int, tuple[str, ...]]]] = {
    **TAKEN, "where": (3, ()), "zeros_like": (1, ("dtype", "shape")), "ones_like": (1, ("dtype", "shape")),
    "empty_like": (1, ("dtype", "shape")), "full_like": (2, ("dtype", "shape")), "sort": (3, ("axis", "kind")),
    "dot": (2, ()), "bincount": (3, ("weights", "minlength")), "outer": (2, ()), "select": (3, ("default",)),
    "einsum": (9, ("optimize",)), "kron": (2, ()), "cross": (2, ()), "inner": (2, ()),
    "take_along_axis": (3, ("axis",)), "put_along_axis": (4, ("axis",)),
    "count_nonzero": (2, ("axis", "keepdims")), "ptp": (2, ("axis", "keepdims")),
    "tensordot": (3, ("axes",)), "divmod": (2, ()), "isclose": (4, ("rtol", "atol", "equal_nan")),
    "nan_to_num": (2, ("copy", "nan", "posinf", "neginf")), "angle": (2, ("deg",)), "ldexp": (2, ()),
    "size": (2, ("axis",)),
}  # fmt: skip
"""How many arguments a rule looks at by their places, and which by name; of others it is the first alone."""
_RULES: Final[dict[str, Callable[[FunctionCall], Value]]] = {
    **SHAPES, "where": _where, "zeros_like": _like, "ones_like": _like, "empty_like": _like, "full_like": _like,
    "sort": _sort, "dot": _dot, "count_nonzero": _count, "isclose": _is_close,
    "cross": lambda f: f.op("linalg_cross", *promoted(f.e, f.where, f.values)),
    "select": _select, "einsum": _einsum, "kron": _of_two, "inner": lambda f: product(f.e, f.where, "inner", f.values),
    "take_along_axis": _take_along, "put_along_axis": _put_along, "asfortranarray": _by_columns,
    "ascontiguousarray": lambda f: f.op("contiguous", f.values[0]),
    "bincount": _bincount, "shape": lambda f: shape_of(f.e, f.where, f.values[0]), "size": _size,
    "ndim": lambda f: f.e.constant(dtype_and_rank(f.values[0], f.where)[1]),
    "sign": _sign, "outer": _outer, "nan_to_num": _without_nans, "flatnonzero": _flatnonzero, "argwhere": _argwhere,
    "ptp": _range, "i0": lambda f: f.op("i0", _floats(f.e, f.values[0], f.where)),
    "divmod": lambda f: pack_tuple(f.e, [binary(f.e, f.where, sign, *f.values) for sign in ("//", "%")]),
    "tensordot": _tensordot,
    "invert": lambda f: f.op("bitwise_not", f.values[0]),
    "real": lambda f: part_of(f.e, f.where, f.values[0], "real"),
    "imag": lambda f: part_of(f.e, f.where, f.values[0], "imag"),
    "isreal": lambda f: compare(f.e, f.where, "==", part_of(f.e, f.where, f.values[0], "imag"), f.e.constant(0)),
    "iscomplex": lambda f: compare(f.e, f.where, "!=", part_of(f.e, f.where, f.values[0], "imag"), f.e.constant(0)),
    "isrealobj": lambda f: f.e.constant(not dtype_and_rank(f.values[0], f.where)[0].is_complex),
    "iscomplexobj": lambda f: f.e.constant(dtype_and_rank(f.values[0], f.where)[0].is_complex),
    "angle": _angle, "frexp": _frexp, "conjugate": _conjugate,
    "ldexp": _times_power,
}  # fmt: skip
