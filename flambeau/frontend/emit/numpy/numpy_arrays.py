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
from flambeau.frontend.emit.numpy.array_lists import item_of, joined_list
from flambeau.frontend.emit.numpy.array_promotion import dtype_and_rank, is_array, promoted
from flambeau.frontend.emit.numpy.borders import BORDERS, with_borders
from flambeau.frontend.emit.numpy.element_arithmetic import positive
from flambeau.frontend.emit.numpy.matrix_functions import matrix_call
from flambeau.frontend.emit.numpy.method_calls import Call, constant_int, constant_text
from flambeau.frontend.emit.numpy.ndarray_methods import METHODS, SORTED, call_method, part_of, shape_of
from flambeau.frontend.emit.numpy.spectra import ORDERING, ordered, with_spectrum
from flambeau.frontend.emit.numpy.tensor_products import tensordot
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.sugared import Emitter, Given
from flambeau.ir.graph import Value
from flambeau.schema.array_type import array_of
from flambeau.schema.dtype import by_code, float64, int64
from flambeau.schema.types import FLOAT, INT, TENSOR, NoneType, TupleType, is_number
from flambeau.util.errors import CompileError
from flambeau.util.source import SourceRange

_SPELLED: Final = {
    "amax": "max", "amin": "min", "around": "round", "cumulative_sum": "cumsum", "conjugate": "conj", "ravel": "ravel",
}  # fmt: skip
"""Functions that are methods of another name."""
_METHODS: Final = (
    "std", "var", "max", "min", "amax", "amin", "round", "around", "argsort", "copy", "transpose", "nonzero", "repeat",
    "swapaxes", "take", "trace", "diagonal", "searchsorted", "cumprod", "sort", "empty_like", "full_like",
    "count_nonzero", "diff", "vstack", "hstack", "size", "shape", "ndim", "bincount", "invert",
    "tile", "pad", "column_stack", "dstack", "nan_to_num", "flatnonzero", "argwhere", "ptp",
    "real", "imag", "angle", "select", "einsum", "kron", "inner", "take_along_axis", "broadcast_to",
    "ascontiguousarray", "cross", "moveaxis", "tensordot", "divmod", "i0", "flip",
    "flipud", "fliplr", "rot90", "frexp",
)  # fmt: skip
ARRAY_FUNCTIONS: Final[dict[Any, str]] = {getattr(np, name): name for name in _METHODS if hasattr(np, name)} | {
    np.lib.stride_tricks.sliding_window_view: "sliding_window_view"
}
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
WIDTHS: Final = "np.pad takes one width, two for the ends of each axis, or a pair for each axis, written out"
MODES: Final = "np.pad takes the modes constant, edge, reflect, symmetric and wrap here, written out"
WINDOWS: Final = "sliding_window_view takes a size for each axis, or for those that axis= names, written out here"
NO_KEYWORD: Final = "np.{name}: the keyword '{keyword}' has no form for arrays in programs"
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
    if name in _RULES:
        _check_arguments(where, name, len(args), keywords)
        return _RULES[name](_Function(e, where, name, values, {k.name: k.value for k in keywords}))
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
    node = e.graph.insert("prim::If", (call_operator(e, where, "aten::ne", sizes),), ())
    with e.inside(node.add_block()):
        e.insert("prim::RaiseException", (e.constant(SIZES.format(name=name)), e.constant("builtins.ValueError")))
    node.add_block()
    call_operator(e, where, "aten::copy_", [target, result, e.constant(False)])
    return target


def _by_operands(e: Emitter, where: SourceRange, name: str, operator: str, values: list[Value]) -> Value:
    """A function without keywords: an operator of Python, a ufunc, or an operator of the package."""
    if name == "power":  # of bools, the function has another dtype than the operator
        dtype = arrays.dtype_of(where, np.power, *values)
        values = promoted(e, where, values, dtype)
    if name == "positive":
        return positive(e, where, values[0])
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
    result = arrays.dtype_of(where, function, *values)
    common = arrays.result_type(where, *values)
    target = common if result.name == "bool" or (common.is_complex and not result.is_complex) else result
    operands = promoted(e, where, values, target)
    if function in (np.maximum, np.minimum) and not all(map(is_array, operands)):
        array, number = operands if is_array(operands[0]) else reversed(operands)
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


class _Function:
    """A call of a function that has a rule of its own."""

    def __init__(self, e: Emitter, where: SourceRange, name: str, values: Sequence[Value], named: dict[str, Value]):
        self.e, self.where, self.name, self.values, self.named = e, where, name, list(values), named

    def axis(self, position: int, default: int) -> int:
        """The axis, which has to be a literal number."""
        value = self.named.pop("axis", self.values[position] if len(self.values) > position else None)
        number = default if value is None else constant_int(value)
        if number is None:
            raise CompileError(NO_KEYWORD.format(name=self.name, keyword="axis"), self.where)
        return number

    def along(self, position: int) -> int | None:
        """The axis, if there is one that is not None."""
        value = self.named.get("axis", self.values[position] if len(self.values) > position else None)
        return None if value is None or isinstance(value.static_type, NoneType) else self.axis(position, 0)

    def op(self, name: str, *operands: Any) -> Value:
        """An operator on values and constants."""
        operands_ = [o if isinstance(o, Value) else self.e.constant(o) for o in operands]
        return call_operator(self.e, self.where, f"aten::{name}", operands_)

    def parts(self) -> list[Value]:
        """The arrays of a tuple or list, in one dtype."""
        value = self.values[0]
        if isinstance(value.static_type, TupleType):
            return promoted(self.e, self.where, unpack_tuple(self.e, value))
        if value.defining_node is not None and value.defining_node.op == "prim::ListConstruct":
            return promoted(self.e, self.where, list(value.defining_node.operands))
        raise CompileError(f"np.{self.name} takes a tuple of arrays that is written out here", self.where)

    def is_literal(self) -> bool:
        """Whether the arrays are in a tuple, or in a literal list."""
        value = self.values[0]
        node = value.defining_node
        is_list = node is not None and node.op == "prim::ListConstruct" and bool(node.operands)  # else a comprehension
        return isinstance(value.static_type, TupleType) or is_list

    def joined(self, name: str, axis: int) -> Value:
        """`cat` or `stack` of arrays."""
        if item_of(self.values[0]) is not None and not self.is_literal():
            return joined_list(self.e, self.where, name, self.values[0], axis)
        parts = self.parts()
        return with_spectrum(self.op(name, pack_list(self.e, parts, TENSOR), axis), *parts)


def _sign(f: _Function) -> Value:
    """Of nan, nan."""
    (array,) = f.values
    signs = f.op("sign", array)
    is_float = dtype_and_rank(array, f.where)[0].is_floating_point
    return f.op("where", f.op("isnan", array), array, signs) if is_float else signs


def _outer(f: _Function) -> Value:
    """Arrays of any shape are taken as lists of numbers."""
    left, right = promoted(f.e, f.where, f.values)
    column = f.op("reshape", left, pack_list(f.e, [f.e.constant(-1), f.e.constant(1)], INT))
    return binary(f.e, f.where, "*", column, f.op("reshape", right, pack_list(f.e, [f.e.constant(-1)], INT)))


def _where(f: _Function) -> Value:
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
    return f.op("where", condition, *sides)


def _stacked(rank_one: str, axis: int, otherwise: int) -> Callable[[_Function], Value]:
    def emit(f: _Function) -> Value:
        item = item_of(f.values[0])
        is_flat = (dtype_and_rank(f.parts()[0], f.where)[1] if item is None or f.is_literal() else item.rank) == 1
        return f.joined(rank_one if is_flat else "cat", axis if is_flat else otherwise)

    return emit


def _like(f: _Function) -> Value:
    array = f.values[0]
    value = f.values[1] if f.name == "full_like" else f.e.constant(_LIKE[f.name])
    code = f.named.pop("dtype", f.e.constant(dtype_and_rank(array, f.where)[0].code, INT))
    return call_operator(f.e, f.where, "aten::full_like", [array, value], [Given(code, f.where, "dtype")])


def _expand(f: _Function) -> Value:
    return f.op("unsqueeze", f.values[0], f.axis(1, 0))


def _sort(f: _Function) -> Value:
    named = {"axis": f.e.constant(f.axis(1, -1))}
    return SORTED(Call(f.e, f.where, f.name, f.values[0], named))


def _dot(f: _Function) -> Value:
    return call_method(f.e, f.where, "dot", f.values[0], [Given(f.values[1], f.where)], ())


def _count(f: _Function) -> Value:
    nonzero = compare(f.e, f.where, "!=", f.values[0], f.e.constant(0))
    axis = f.along(1)
    return f.op("sum", nonzero) if axis is None else f.op("sum", nonzero, pack_list(f.e, [f.e.constant(axis)], INT))


def _range(f: _Function) -> Value:
    axis = f.along(1)
    ends = [f.op(name, f.values[0]) for name in ("max", "min")] if axis is None else [
        f.op(name, f.values[0], pack_list(f.e, [f.e.constant(axis)], INT)) for name in ("amax", "amin")
    ]  # fmt: skip
    return binary(f.e, f.where, "-", *ends)


def _diff(f: _Function) -> Value:
    times = f.named.get("n", f.values[1] if len(f.values) > 1 else f.e.constant(1))
    return f.op("diff", f.values[0], times, f.axis(2, -1))


def _roll(f: _Function) -> Value:
    value = f.named.get("axis", f.values[2] if len(f.values) > 2 else None)
    if value is None:
        return f.op("roll", f.values[0], f.values[1])
    shifts = pack_list(f.e, [f.values[1]], INT)
    return f.op("roll", f.values[0], shifts, pack_list(f.e, [f.e.constant(f.axis(2, 0))], INT))


def _bincount(f: _Function) -> Value:
    weights = f.named.get("weights", f.values[1] if len(f.values) > 1 else f.e.constant(None))
    least = f.named.get("minlength", f.values[2] if len(f.values) > 2 else f.e.constant(0))
    return f.op("bincount", f.values[0], _doubles(f, weights), least)


def _doubles(f: _Function, value: Value) -> Value:
    """An array as float64s; None as it is."""
    return arrays.converted(f.e, value, float64) if is_array(value) else value


def _select(f: _Function) -> Value:
    """The first choice whose condition holds, element by element."""
    conditions, choices = (_items(f, value) for value in f.values[:2])
    if len(conditions) != len(choices):
        raise CompileError("np.select takes as many conditions as choices", f.where)
    result = f.named.get("default", f.values[2] if len(f.values) > 2 else f.e.constant(0))
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        result = _where(_Function(f.e, f.where, "where", [condition, choice, result], {}))
    return result


def _items(f: _Function, value: Value) -> list[Value]:
    """The items of a literal tuple or list."""
    if isinstance(value.static_type, TupleType):
        return unpack_tuple(f.e, value)
    if value.defining_node is not None and value.defining_node.op == "prim::ListConstruct":
        return list(value.defining_node.operands)
    raise CompileError(f"np.{f.name} takes lists that are written out here", f.where)


def _einsum(f: _Function) -> Value:
    text, *operands = f.values
    return f.op("einsum", text, pack_list(f.e, promoted(f.e, f.where, operands), TENSOR))


def _of_two(f: _Function) -> Value:
    """An operator of the same name on two arrays of one dtype."""
    return f.op(f.name, *promoted(f.e, f.where, f.values))


def _tensordot(f: _Function) -> Value:
    axes = f.named.get("axes", f.values[2] if len(f.values) > 2 else None)
    return tensordot(f.e, f.where, f.values[0], f.values[1], axes)


def _take_along(f: _Function) -> Value:
    return f.op("gather", f.values[0], f.axis(2, -1), f.values[1])


def _broadcast_to(f: _Function) -> Value:
    return f.op("expand", f.values[0], pack_list(f.e, _counts(f, f.values[1]), INT))


def _counts(f: _Function, value: Value) -> list[Value]:
    """A number, or the numbers of a literal tuple."""
    is_tuple = isinstance(value.static_type, TupleType)
    return unpack_tuple(f.e, value) if is_tuple else [value]


def _tile(f: _Function) -> Value:
    repeats = f.named.pop("reps", f.values[-1])
    return f.op("tile", f.values[0], pack_list(f.e, _counts(f, repeats), INT))


def _pad(f: _Function) -> Value:
    """`constant_pad_nd`, which begins at the last axis, or the elements of borders."""
    mode = f.named.pop("mode", f.values[2] if len(f.values) > 2 else None)
    text = "constant" if mode is None else constant_text(mode)
    if text != "constant" and text not in BORDERS:
        raise CompileError(MODES, f.where)
    value = f.named.pop("constant_values", f.e.constant(0))
    pairs = _widths(f)
    if text in BORDERS:
        return with_borders(f.e, f.where, f.values[0], pairs, text)
    ends = [end for pair in reversed(pairs) for end in pair]
    return f.op("constant_pad_nd", f.values[0], pack_list(f.e, ends, INT), value)


def _widths(f: _Function) -> list[list[Value]]:
    """The two ends of each axis: of one width, of one for each of two ends, or of a pair an axis."""
    _, rank = dtype_and_rank(f.values[0], f.where)
    widths = _counts(f, f.named.pop("pad_width", f.values[1] if len(f.values) > 1 else f.e.constant(0)))
    pairs = [_counts(f, width) for width in widths]
    if len(pairs) <= 2 and all(len(pair) == 1 for pair in pairs):
        pairs = [[*pairs[0], *pairs[-1]]]
    if len(pairs) == 1:
        pairs *= rank
    if len(pairs) != rank or any(len(pair) != 2 for pair in pairs):
        raise CompileError(WIDTHS, f.where)
    return pairs


def _column_stack(f: _Function) -> Value:
    return f.op(f.name, pack_list(f.e, f.parts(), TENSOR))


def _flatnonzero(f: _Function) -> Value:
    flat = f.op("reshape", f.values[0], pack_list(f.e, [f.e.constant(-1)], INT))
    return unpack_tuple(f.e, call_method(f.e, f.where, "nonzero", flat, (), ()))[0]


def _argwhere(f: _Function) -> Value:
    indices = f.op("nonzero", f.values[0])
    indices.set_type(array_of(int64, 2))
    return indices


def _windows(f: _Function) -> Value:
    """A view of the windows of one size for each axis that is named, in axes behind all others."""
    axes = f.named.get("axis", f.values[2] if len(f.values) > 2 else None)
    sizes = _counts(f, f.values[1])
    rank = dtype_and_rank(f.values[0], f.where)[1]
    if axes is None or isinstance(axes.static_type, NoneType):
        numbers: list[int | None] = list(range(rank))
    else:
        numbers = [constant_int(v) for v in _counts(f, axes)]
    if len(numbers) != len(sizes) or None in numbers:
        raise CompileError(WINDOWS, f.where)
    windows = f.values[0]
    for number, size in zip(numbers, sizes, strict=True):
        assert number is not None
        windows = f.op("unfold", windows, number if number >= 0 else number + rank, size, 1)
    return windows


def _frexp(f: _Function) -> Value:
    """Parts from 0.5 up to 1, and powers of 2."""
    return pack_tuple(f.e, unpack_tuple(f.e, f.op("frexp", _floats(f.e, f.values[0], f.where))))


def _angle(f: _Function) -> Value:
    """Of ints, float64s."""
    if len(f.values) != 1 or f.named:
        raise CompileError("np.angle takes one argument here: degrees are np.rad2deg(np.angle(z))", f.where)
    return f.op("angle", _floats(f.e, f.values[0], f.where))


_TAKES: Final[dict[str, tuple[int, tuple[str, ...]]]] = {
    "where": (3, ()), "concatenate": (2, ("axis",)), "stack": (2, ("axis",)), "zeros_like": (1, ("dtype",)),
    "ones_like": (1, ("dtype",)), "empty_like": (1, ("dtype",)), "full_like": (2, ("dtype",)),
    "expand_dims": (2, ("axis",)), "sort": (3, ("axis", "kind")), "dot": (2, ()), "diff": (3, ("n", "axis")),
    "roll": (3, ("axis",)), "bincount": (3, ("weights", "minlength")), "outer": (2, ()), "tile": (2, ("reps",)),
    "pad": (3, ("pad_width", "mode", "constant_values")), "select": (3, ("default",)), "einsum": (9, ()),
    "kron": (2, ()), "cross": (2, ()), "moveaxis": (3, ()), "inner": (2, ()), "take_along_axis": (3, ("axis",)),
    "broadcast_to": (2, ()), "count_nonzero": (2, ("axis",)), "ptp": (2, ("axis",)),
    "tensordot": (3, ("axes",)), "divmod": (2, ()), "sliding_window_view": (3, ("axis",)),
}  # fmt: skip
"""How many arguments a rule looks at by their places, and which by name; of others it is the first alone."""
_RULES: Final[dict[str, Callable[[_Function], Value]]] = {
    "where": _where, "concatenate": lambda f: f.joined("cat", f.axis(1, 0)),
    "stack": lambda f: f.joined("stack", f.axis(1, 0)),
    "vstack": _stacked("stack", 0, 0), "hstack": _stacked("cat", 0, 1),
    "zeros_like": _like, "ones_like": _like, "empty_like": _like, "full_like": _like, "expand_dims": _expand,
    "sort": _sort, "dot": _dot, "count_nonzero": _count, "diff": _diff, "roll": _roll,
    "cross": lambda f: f.op("linalg_cross", *promoted(f.e, f.where, f.values)),
    "moveaxis": lambda f: f.op("movedim", *f.values),
    "select": _select, "einsum": _einsum, "kron": _of_two, "inner": _of_two, "take_along_axis": _take_along,
    "broadcast_to": _broadcast_to, "ascontiguousarray": lambda f: f.op("contiguous", f.values[0]),
    "bincount": _bincount, "shape": lambda f: shape_of(f.e, f.where, f.values[0]),
    "size": lambda f: f.op("numel", f.values[0]),
    "ndim": lambda f: f.e.constant(dtype_and_rank(f.values[0], f.where)[1]),
    "sign": _sign, "outer": _outer, "tile": _tile, "pad": _pad, "column_stack": _column_stack, "dstack": _column_stack,
    "nan_to_num": lambda f: f.op("nan_to_num", f.values[0]), "flatnonzero": _flatnonzero, "argwhere": _argwhere,
    "ptp": _range, "i0": lambda f: f.op("i0", _floats(f.e, f.values[0], f.where)),
    "divmod": lambda f: pack_tuple(f.e, [binary(f.e, f.where, sign, *f.values) for sign in ("//", "%")]),
    "tensordot": _tensordot,
    "invert": lambda f: f.op("bitwise_not", f.values[0]),
    "real": lambda f: part_of(f.e, f.where, f.values[0], "real"),
    "imag": lambda f: part_of(f.e, f.where, f.values[0], "imag"),
    "angle": _angle, "sliding_window_view": _windows, "frexp": _frexp,
    "conjugate": lambda f: f.op("conj_physical", f.values[0]),
}  # fmt: skip
