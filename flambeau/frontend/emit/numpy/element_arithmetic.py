"""Arithmetic of numbers that were read from arrays, as NumPy's scalars do it: rounded, wrapped, promoted.

x[0] + x[1]    with float32s in `x`    →    %s = aten::add(%a, %b)    %t = python::as_float32(%s)
x[0] + 0.1     with float32s in `x`    →    %b = python::as_float32(%tenth) first, as a float of Python gives way

What NumPy makes of the dtypes is asked of NumPy, for each scalar that an operand may be (`schema.element_type`). Where
that makes a difference to the number, the program has to say what it means.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, Final

import numpy as np

from flambeau.frontend.emit.beginnings import begin_as_scalars
from flambeau.frontend.emit.numpy import unsigned_elements as unsigned
from flambeau.frontend.emit.numpy.array_promotion import BINARY as FUNCTIONS
from flambeau.frontend.emit.numpy.array_promotion import asked, constant_number, element_sample, samples
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.sugared import Emitter
from flambeau.ir.graph import Value
from flambeau.schema import registry
from flambeau.schema.dtype import DType, bool_, float64, int64, uint64
from flambeau.schema.element_type import PYTHON, element_of, is_element, kinds_of
from flambeau.schema.rule_tables import RuleTable
from flambeau.schema.types import BOOL, COMPLEX, FLOAT, INT, FloatType, IntType, NumberType, Type, is_number
from flambeau.util.errors import CompileError
from flambeau.util.source import SourceRange

AMBIGUOUS: Final = (
    "this number is {first} on one way here and {second} on another, and NumPy computes otherwise with one than with "
    "the other: start it as {dtype}(...), or make it a number of Python each time, with {python}(...)"
)
NARROW_INTS: Final = frozenset({"int8", "int16", "int32", "uint8", "uint16", "uint32"})
NARROW_FLOATS: Final = frozenset({"float16", "float32"})
_STAYS: Final = frozenset({"%", "&", "|", "^", ">>"})
"""Operators that do not leave the range of their operands."""
_LOGICAL: Final = {"+": "|", "*": "&"}
"""What arithmetic is on two bools of NumPy."""
_COMPLEX: Final = {"*": "mul", "/": "div", "**": "power"}
"""Operators of complex numbers that NumPy rounds otherwise than Python."""
_COMPARISONS: Final[dict[str, Callable[..., Any]]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
of_scalars: Final = RuleTable[Callable[..., Any]]("what NumPy computes of one scalar")
of_scalars("aten::neg")(operator.neg)
of_scalars("prim::abs")(operator.abs)
of_scalars("aten::bitwise_not")(operator.invert)
Emit = Callable[["Emitter", SourceRange, str, Value, Value], Value]


def are_elements(left: Value, right: Value) -> bool:
    """Whether two values are numbers of which one was read from an array."""
    are_numbers = all(is_number(v.static_type) and not isinstance(v.static_type, NumberType) for v in (left, right))
    return are_numbers and (is_element(left.static_type) or is_element(right.static_type))


def arithmetic(e: Emitter, where: SourceRange, op: str, left: Value, right: Value, plain: Emit) -> Value:
    """`left op right` of two numbers; `plain` emits it for numbers of Python.

    Raises CompileError for what NumPy refuses, and where it depends on the way what NumPy does.
    """
    function = FUNCTIONS.get(op)
    if function is None:  # `@`
        return plain(e, where, op, left, right)
    outcomes = _outcomes(where, function, left, right)
    dtypes = {d for d in outcomes if d is not None}
    if None in outcomes and any(not _is_wide(d) for d in dtypes):
        raise _ambiguous(e, where, left, right)
    if len(dtypes) > 1:
        raise _ambiguous(e, where, left, right)
    if not dtypes:
        return plain(e, where, op, left, right)
    (dtype,) = dtypes
    if dtype is uint64:
        if any(uint64 in kinds_of(v.static_type) and not unsigned.is_unsigned(v) for v in (left, right)):
            raise _ambiguous(e, where, left, right)
        return unsigned.arithmetic(e, where, op, left, right)
    result = _computed(e, where, op, left, right, dtype, plain)
    result.set_type(element_of(result.static_type, *outcomes))
    return result


def comparison(e: Emitter, where: SourceRange, op: str, left: Value, right: Value, plain: Emit) -> Value:
    """`left op right` for a comparison of two numbers: floats of Python give way to floats of 16 and 32 bits."""
    if uint64 in (*kinds_of(left.static_type), *kinds_of(right.static_type)):
        if not all(uint64 not in kinds_of(v.static_type) or unsigned.is_unsigned(v) for v in (left, right)):
            raise _ambiguous(e, where, left, right)
        if FLOAT not in (left.static_type, right.static_type):
            result = unsigned.comparison(e, where, op, left, right)
            result.set_type(element_of(BOOL, bool_))
            return result
        left, right = (unsigned.as_float(e, where, v) if unsigned.is_unsigned(v) else v for v in (left, right))
    dtypes = {_common(where, k, m, left, right) for k, m in _pairs(left, right)}
    narrow = _narrow_float(e, where, dtypes, left, right)
    if narrow is not None:
        left, right = (_as_float(e, where, v, narrow) for v in (left, right))
    if not _both_bool(left, right):
        left, right = (_as_int(e, where, v) for v in (left, right))
    result = plain(e, where, op, left, right)
    if result.static_type == BOOL:
        result.set_type(element_of(BOOL, *([bool_] if None not in dtypes else [bool_, None])))
    return result


def _narrow_float(
    e: Emitter, where: SourceRange, dtypes: set[DType | None], left: Value, right: Value
) -> DType | None:
    """The dtype of 16 or 32 bits in which numbers are compared, if it is one. Raises CompileError if that is open."""
    narrow = {d for d in dtypes if d is not None and d.name in NARROW_FLOATS}
    is_certain = dtypes == narrow or all(_is_exact(v, d) for v in (left, right) for d in narrow)
    if len(narrow) > 1 or not is_certain:
        raise _ambiguous(e, where, left, right)
    return narrow.pop() if narrow and dtypes == narrow else None


def negative(e: Emitter, where: SourceRange, value: Value, name: str = "aten::neg") -> Value:
    """`-x`, or another operator of one number that gives a number of the same kind."""
    kinds = kinds_of(value.static_type)
    if unsigned.is_unsigned(value):
        return unsigned.of_one(e, where, name, value)
    function = of_scalars[name]
    dtypes = {asked(where, function, element_sample(k, value)) for k in kinds if k is not None}
    if value.static_type == BOOL:
        if name != "prim::abs":
            result = call_operator(e, where, "aten::__not__", [value])
            result.set_type(value.static_type)
            return result
        return value
    if name == "aten::bitwise_not":
        result = call_operator(e, where, "aten::__xor__", [value, e.constant(-1)])
    else:
        result = call_operator(e, where, name, [value])
    is_cut = value.static_type == COMPLEX and result.static_type == FLOAT
    narrow = {d for d in dtypes if d.name in NARROW_INTS or (is_cut and d.name in NARROW_FLOATS)}
    if narrow and (len(dtypes) > 1 or None in kinds):
        raise _ambiguous(e, where, value, value)
    for dtype in narrow:
        result = call_operator(e, where, f"python::as_{dtype.name}", [result])
    result.set_type(element_of(result.static_type, *(dtypes | ({None} if None in kinds else set()))))
    return result


def part_of(e: Emitter, where: SourceRange, value: Value, name: str) -> Value:
    """`z.real` or `z.imag` of a complex number: a scalar with half as many bits where the number is one."""
    result = call_operator(e, where, f"python::{name}", [value])
    if is_element(value.static_type):
        kinds = [None if k is None else k.to_real() for k in kinds_of(value.static_type)]
        result.set_type(element_of(FLOAT, *kinds))
    return result


def positive(e: Emitter, where: SourceRange, array: Value) -> Value:
    """`+x` of an array: its copy. Raises CompileError for bools, which have none in NumPy."""
    asked(where, np.positive, *samples(array, where))
    return call_operator(e, where, "aten::clone", [array])


def absolute(e: Emitter, where: SourceRange, array: Value) -> Value:
    """`abs(x)` of an array; bools are what they are."""
    (sample,) = samples(array, where)
    return call_operator(e, where, "aten::clone" if sample.dtype == np.bool_ else "aten::abs", [array])


def rounded(e: Emitter, where: SourceRange, value: Value, dtype: DType) -> Value:
    """A number that was computed in 64 bits, as a scalar of a dtype."""
    if dtype is uint64 and value.static_type == INT:
        value = unsigned.of_bits(e, unsigned.bits_of(e, value))
    elif (dtype.name in NARROW_INTS and value.static_type == INT) or dtype.name in NARROW_FLOATS:
        value = call_operator(e, where, f"python::as_{dtype.name}", [value])
    elif dtype.name == "complex64":
        value = call_operator(e, where, "python::as_complex64", [value])
    elif dtype.is_floating_point and value.static_type != FLOAT:
        value = call_operator(e, where, "aten::Float", [value])
    else:
        value = fresh(e, value)
    value.set_type(element_of(value.static_type, dtype))
    return value


def fresh(e: Emitter, value: Value) -> Value:
    """Another value of the same number, whose type may say something else."""
    return e.emit("prim::unchecked_cast", (value,), element_of(value.static_type, None))


def as_python(e: Emitter, value: Value) -> Value:
    """A number as one of Python: `float(x[0])`."""
    return fresh(e, value) if is_element(value.static_type) else value


def stored(e: Emitter, where: SourceRange, value: Value, dtype: DType | None) -> Value:
    """A number that is about to be stored in an array: scalars of NumPy wrap, ints of Python have to fit."""
    kinds = kinds_of(value.static_type)
    if unsigned.is_unsigned(value):
        is_float = dtype is not None and not dtype.is_integral
        value = unsigned.as_float(e, where, value) if is_float else unsigned.bits_of(e, value)
        return rounded(e, where, value, dtype) if dtype is not None and dtype.name in NARROW_INTS else value
    if dtype is None or not dtype.is_integral or value.static_type != INT or kinds == (dtype,):
        return value
    if kinds == PYTHON:
        return value if dtype.is_signed else call_operator(e, where, f"python::within_{dtype.name}", [value])
    return value if dtype.name not in NARROW_INTS or None in kinds else rounded(e, where, value, dtype)


def within(e: Emitter, where: SourceRange, value: Value, dtype: DType) -> Value:
    """An int of Python that meets a dtype: one that does not fit is refused when the program runs, as NumPy does."""
    return filling(e, where, value, dtype) if constant_number(value) is None else value


def filling(e: Emitter, where: SourceRange, value: Value, dtype: DType) -> Value:
    """A number that fills an array: an int of Python for which its dtype has no room is refused, as by NumPy."""
    is_python = value.static_type == INT and None in kinds_of(value.static_type)
    if not is_python or (dtype.name not in NARROW_INTS and dtype is not uint64):
        return value
    return _asked(e, where, f"python::within_{dtype.name}", value)


def _asked(e: Emitter, where: SourceRange, operator: str, value: Value) -> Value:
    """An operator on a number; of one that a branch just chose, on each that it may be, which loops often leave as they
    are: `x[i] + (a if x[i] > 0 else b)`.
    """
    branch = value.defining_node
    if branch is None or branch.op != "prim::If" or e.graph.insertion_point.previous is not branch:
        return call_operator(e, where, operator, [value])
    for block in branch.nested_blocks:
        with e.inside(block):
            block.add_return(_asked(e, where, operator, block.returns[value.index]))
    return branch.add_result(value.static_type)


def _pairs(left: Value, right: Value) -> Iterator[tuple[DType | None, DType | None]]:
    return product(kinds_of(left.static_type), kinds_of(right.static_type))


def _outcomes(where: SourceRange, function: Callable[..., Any], left: Value, right: Value) -> set[DType | None]:
    """The dtypes of the result, None for Python's own, for all that the operands may be."""
    return {
        None if k is None and m is None
        else asked(where, function, element_sample(k, left), element_sample(m, right))
        for k, m in _pairs(left, right)
    }  # fmt: skip


def _common(where: SourceRange, k: DType | None, m: DType | None, left: Value, right: Value) -> DType | None:
    if k is None and m is None:
        return None
    if INT == left.static_type == right.static_type or BOOL in (left.static_type, right.static_type):
        return int64  # compared as they are
    return asked(where, operator.add, element_sample(k, left, 1), element_sample(m, right, 1))


def _is_wide(dtype: DType) -> bool:
    """Whether numbers of Python compute as scalars of this dtype do."""
    return dtype in (float64, int64) or dtype.name == "complex128"


def _is_exact(value: Value, dtype: DType) -> bool:
    """Whether a number is the same in a narrow dtype."""
    kinds = kinds_of(value.static_type)
    if kinds == (dtype,) or (None not in kinds and value.static_type == FLOAT and dtype.name == "float32"
                             and all(k is not None and k.name == "float16" for k in kinds)):  # fmt: skip
        return True
    number = constant_number(value)
    if number is None or isinstance(number, complex):
        return False
    with np.errstate(all="ignore"):
        return bool(dtype.numpy.type(number) == np.float64(number))


def _both_bool(left: Value, right: Value) -> bool:
    return left.static_type == BOOL and right.static_type == BOOL


def _ambiguous(e: Emitter, where: SourceRange, left: Value, right: Value) -> CompileError:
    """The refusal of numbers of which only the run tells what they are. Raises InferenceRestart if that can be settled.
    """
    kinds = next(
        (kinds_of(v.static_type) for v in (left, right) if len(kinds_of(v.static_type)) > 1), kinds_of(left.static_type)
    )
    type_ = left.static_type if kinds == kinds_of(left.static_type) else right.static_type
    python = type_.annotation
    named = [f"np.{k.name}" if k is not None else f"a Python {python}" for k in kinds]
    dtype = next((f"np.{k.name}" for k in reversed(kinds) if k is not None), "np.float64")
    refusal = CompileError(AMBIGUOUS.format(first=named[0], second=named[-1], dtype=dtype, python=python), where)
    begin_as_scalars(e, refusal, left, right)
    return refusal


def _as_int(e: Emitter, where: SourceRange, value: Value) -> Value:
    return call_operator(e, where, "aten::Int", [value]) if value.static_type == BOOL else value


def _as_float(e: Emitter, where: SourceRange, value: Value, dtype: DType) -> Value:
    """An operand as a float of a dtype."""
    value = unsigned.as_float(e, where, value) if unsigned.is_unsigned(value) else _as_int(e, where, value)
    if dtype.name in NARROW_FLOATS and not _is_exact(value, dtype):
        return call_operator(e, where, f"python::as_{dtype.name}", [value])
    return call_operator(e, where, "aten::Float", [value]) if value.static_type == INT else value


def _computed(
    e: Emitter, where: SourceRange, op: str, left: Value, right: Value, dtype: DType, plain: Emit
) -> Value:  # fmt: skip
    """What NumPy computes in a dtype."""
    if dtype is bool_:
        return call_operator(e, where, registry.spelled(_LOGICAL.get(op, op)), [left, right])
    if dtype.is_complex:
        left, right = (_as_int(e, where, v) for v in (left, right))
        if op in _COMPLEX and (op != "*" or dtype.name == "complex64"):
            left, right = (v if v.static_type == COMPLEX else call_operator(e, where, "aten::Complex", [v])
                           for v in (left, right))  # fmt: skip
            return call_operator(e, where, f"python::{dtype.name}_{_COMPLEX[op]}", [left, right])
        result = plain(e, where, op, left, right)
        return call_operator(e, where, "python::as_complex64", [result]) if dtype.name == "complex64" else result
    return (_float if dtype.is_floating_point else _whole)(e, where, op, left, right, dtype, plain)


def _float(e: Emitter, where: SourceRange, op: str, left: Value, right: Value, dtype: DType, plain: Emit) -> Value:
    """Arithmetic of floats; what is narrow is rounded behind each operation."""
    is_narrow = dtype.name in NARROW_FLOATS
    has_unsigned = unsigned.is_unsigned(left) or unsigned.is_unsigned(right)
    if is_narrow or op == "**" or has_unsigned or BOOL in (left.static_type, right.static_type):
        left, right = (_as_float(e, where, v, dtype) for v in (left, right))
    result = _float_power(e, where, left, right) if op == "**" else plain(e, where, op, left, right)
    return call_operator(e, where, f"python::as_{dtype.name}", [result]) if is_narrow else result


def _whole(e: Emitter, where: SourceRange, op: str, left: Value, right: Value, dtype: DType, plain: Emit) -> Value:
    """Arithmetic of integers; narrow ones wrap around."""
    left, right = (within(e, where, _as_int(e, where, v), dtype) for v in (left, right))
    result = _whole_power(e, where, left, right) if op == "**" else plain(e, where, op, left, right)
    if dtype.name in NARROW_INTS and op not in _STAYS:
        return call_operator(e, where, f"python::as_{dtype.name}", [result])
    return result


def _float_power(e: Emitter, where: SourceRange, left: Value, right: Value) -> Value:
    """A power that never raises: 0.0 to a negative one is infinite."""
    exponent = constant_number(right)
    is_plain = isinstance(exponent, int | float) and exponent >= 0
    return call_operator(e, where, "aten::pow" if is_plain else "python::element_power", [left, right])


def _whole_power(e: Emitter, where: SourceRange, left: Value, right: Value) -> Value:
    """A power of integers, which is one; a negative exponent raises ValueError when the program runs."""
    return call_operator(e, where, "python::element_power", [left, right])


def number_as(e: Emitter, where: SourceRange, value: Value, dtype: DType) -> Value:
    """`np.float32(x)` of a number. Raises CompileError for what no such scalar is made of."""
    type_: Type = value.static_type
    if not is_number(type_):
        raise CompileError(f"np.{dtype.name}(...) takes a number or an array here", where)
    if dtype is uint64:
        return unsigned.from_number(e, where, value)
    if dtype is bool_:
        result = value if type_ == BOOL else call_operator(e, where, "aten::Bool", [value])
    elif dtype.is_complex:
        result = value if type_ == COMPLEX else call_operator(e, where, "aten::Complex", [value])
    elif dtype.is_floating_point:
        result = _as_float(e, where, value, dtype)
    elif unsigned.is_unsigned(value):
        result = unsigned.bits_of(e, value)
    else:
        result = value
        if isinstance(type_, IntType):
            result = within(e, where, value, dtype)
            if constant_number(value) is not None:
                asked(where, dtype.numpy.type, element_sample(None, value))
        elif isinstance(type_, FloatType):
            result = call_operator(e, where, "aten::Int", [value])
        else:
            result = _as_int(e, where, value)
    return rounded(e, where, result, dtype)
