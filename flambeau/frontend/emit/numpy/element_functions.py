"""Functions of numbers that arrays gave: Python's, which keep NumPy's scalars, and NumPy's own, which make them.

abs(x[0])       of int8s    →    prim::abs, then python::as_int8: the least has no negative
np.sqrt(2.0)                →    aten::sqrt, and the result is a float64 of NumPy, which gives way to no float32
np.float32(s)               →    python::as_float32(%s)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from flambeau.frontend.emit.binary_operators import binary
from flambeau.frontend.emit.comparisons import compare
from flambeau.frontend.emit.implicit_conversions import pack_tuple
from flambeau.frontend.emit.numpy import array_promotion as arrays
from flambeau.frontend.emit.numpy import element_arithmetic as elements
from flambeau.frontend.emit.numpy.dtype_values import dtype_value
from flambeau.frontend.emit.numpy.ndarray_methods import call_method
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.operator_value import OperatorValue
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Given, Sugared
from flambeau.ir.graph import Value
from flambeau.schema import registry
from flambeau.schema.array_type import ArrayType
from flambeau.schema.dtype import DType, float64, int64
from flambeau.schema.element_type import is_element
from flambeau.schema.types import BOOL, COMPLEX, FLOAT, INT, FloatType, NumberType, is_number
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

OPERATORS: Final = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "true_divide": "/", "floor_divide": "//",
    "remainder": "%", "mod": "%", "power": "**", "float_power": "**", "bitwise_and": "&", "bitwise_or": "|",
    "bitwise_xor": "^", "left_shift": "<<", "right_shift": ">>",
}  # fmt: skip
COMPARISONS: Final = {
    "equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=",
}  # fmt: skip
_EXTREMES: Final = {"maximum": "max", "minimum": "min"}
_OF_NUMBERS: Final = {"aten::abs": "prim::abs"}
"""The operator of numbers where tensors have another."""
_OWN: Final = frozenset({"floor", "ceil", "trunc", "rint", "sign"})
"""Functions of floats that NumPy has otherwise than Python and PyTorch."""
OF_COMPLEX_NUMBERS: Final = ("real", "imag", "angle")
"""Functions of arrays that take a number as well, and are no ufuncs."""
_OF_ARRAYS: Final = {"aten::" + name: signs for name, signs in (("divmod", ("//", "%")), ("pow", ("**",)))}
"""Functions of Python on arrays: the operators that they are."""
_OF_FLOATS: Final = frozenset({"isnan", "isinf", "isfinite", "isclose"})


@dataclass(slots=True)
class NumberFunction(OperatorValue):
    """`abs`, `divmod` and `pow`, which keep what numbers of arrays are."""

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """The overload that fits; for numbers of arrays what NumPy's scalars do."""
        values = [a.value for a in args]
        if not keywords and self._is_of_arrays(values):
            return self._of_arrays(e, where, values)
        if self.name == "prim::abs" and len(values) == 1 and arrays.is_array(values[0]):
            return SimpleValue(elements.absolute(e, where, values[0]))
        are_elements = any(is_element(v.static_type) for v in values) or (e.arrays and self.name == "aten::pow")
        are_elements = are_elements and all(is_number(v.static_type) for v in values)
        of_elements = self._of_elements(e, where, values) if are_elements and not keywords else None
        return OperatorValue.call(self, e, where, args, keywords) if of_elements is None else of_elements

    def _of_elements(self, e: Emitter, where: SourceRange, values: Sequence[Value]) -> Sugared | None:
        if self.name == "prim::abs" and len(values) == 1:
            return SimpleValue(elements.negative(e, where, values[0], "prim::abs"))
        if self.name == "aten::divmod" and len(values) == 2:
            return SimpleValue(pack_tuple(e, [binary(e, where, op, *values) for op in ("//", "%")]))
        if self.name == "aten::pow" and len(values) == 2:
            return SimpleValue(binary(e, where, "**", *values))
        return None

    def _is_of_arrays(self, values: Sequence[Value]) -> bool:
        return self.name in _OF_ARRAYS and len(values) == 2 and any(map(arrays.is_array, values))

    def _of_arrays(self, e: Emitter, where: SourceRange, values: Sequence[Value]) -> Sugared:
        results = [binary(e, where, sign, *values) for sign in _OF_ARRAYS[self.name]]
        return SimpleValue(results[0] if len(results) == 1 else pack_tuple(e, results))


@dataclass(slots=True)
class ScalarClass(SimpleValue):
    """`np.float32`: a dtype as a value, and what makes such numbers when it is called."""

    dtype: DType

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return f"class np.{self.dtype.name}"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """The number, or an array of the dtype."""
        if len(args) != 1 or keywords:
            raise CompileError(f"np.{self.dtype.name}(...) takes one argument here", where)
        value = args[0].value
        if isinstance(value.static_type, ArrayType):
            return SimpleValue(call_method(e, where, "astype", value, [Given(self.value, where)], ()))
        result = elements.number_as(e, where, value, self.dtype)
        return SimpleValue(result if e.arrays else elements.as_python(e, result))


def scalar_class(e: Emitter, dtype: DType) -> ScalarClass:
    """What a class of NumPy's scalars is in a program."""
    return ScalarClass(dtype_value(e, dtype) if e.arrays else e.constant(dtype.code, INT), dtype)


def of_numbers(e: Emitter, where: SourceRange, function: Any, name: str, operator: str, values: list[Value]) -> Value:
    """A ufunc of numbers, whose result is a scalar of NumPy. Raises CompileError for what has no form."""
    if name in OPERATORS:
        return _numpys(e, where, function, values, binary(e, where, OPERATORS[name], *_typed(e, where, values)))
    if name in COMPARISONS:
        return compare(e, where, COMPARISONS[name], *_typed(e, where, values))
    dtype = arrays.dtype_of(where, function, *values)
    if name == "conjugate":
        return _conjugate(e, where, *values)
    if len(values) == 1 and (scalars := _OF_NUMBERS.get(operator, operator)) in elements.of_scalars:
        return elements.negative(e, where, _typed(e, where, values)[0], scalars)
    if name in _EXTREMES and len(values) == 2:
        return _extreme(e, where, _EXTREMES[name], values, dtype)
    operands = [_as(e, where, v, dtype if name not in _OF_FLOATS else None) for v in values]
    return elements.rounded(e, where, _computed(e, where, name, operator, operands, dtype), dtype)


def _computed(e: Emitter, where: SourceRange, name: str, operator: str, operands: list[Value], dtype: DType) -> Value:
    """A function of numbers before it is rounded."""
    if name == "positive" or (name in _OWN and name != "sign" and not dtype.is_floating_point):
        return operands[0]
    if name in _OWN and dtype.is_floating_point:
        operator = f"python::element_{name}"
    return _of_operator(e, where, operator, operands)


def _conjugate(e: Emitter, where: SourceRange, value: Value) -> Value:
    result = call_operator(e, where, "python::conjugate", [value])
    result.set_type(value.static_type)
    return result


def of_complex_number(e: Emitter, where: SourceRange, name: str, value: Value) -> Value:
    """`np.real`, `np.imag` or `np.angle` of a number, which may have no imaginary part."""
    if name == "angle":
        operand = value if value.static_type in (COMPLEX, FLOAT) else call_operator(e, where, "aten::Float", [value])
        result = call_operator(e, where, "aten::angle", [operand])
        return elements.rounded(e, where, result, arrays.dtype_of(where, np.angle, value))
    if value.static_type == COMPLEX:
        return elements.part_of(e, where, value, name)
    if name == "real":
        return value
    return e.constant(0.0 if value.static_type == FLOAT else 0)


def _of_operator(e: Emitter, where: SourceRange, operator: str, operands: list[Value]) -> Value:
    """An operator of numbers; where it has tensors alone, of tensors without dimensions."""
    if any(isinstance(d.schema.arguments[0].type, FloatType | NumberType) for d in registry.overloads(operator)):
        return call_operator(e, where, operator, operands)
    is_whole = all(v.static_type == INT for v in operands)
    dtype = [Given(e.constant((int64 if is_whole else float64).code, INT), where, "dtype")]
    result = call_operator(e, where, operator, [call_operator(e, where, "aten::tensor", [v], dtype) for v in operands])
    return call_operator(e, where, "aten::Int" if is_whole else "aten::Float", [result])


def _typed(e: Emitter, where: SourceRange, values: Sequence[Value]) -> list[Value]:
    """Operands of which one is a scalar of NumPy: a ufunc of numbers of Python makes one of the first."""
    if any(is_element(v.static_type) for v in values):
        return list(values)
    first, *rest = values
    dtype = (
        arrays.dtype_of(where, np.positive, first)
        if first.static_type != BOOL
        else arrays.asked(where, np.asarray, True)
    )
    return [elements.number_as(e, where, first, dtype), *rest]


def _numpys(e: Emitter, where: SourceRange, function: Any, values: Sequence[Value], result: Value) -> Value:
    """The result, of which the function's dtype is known."""
    if is_element(result.static_type):
        return result
    return elements.rounded(e, where, result, arrays.dtype_of(where, function, *values))


def _as(e: Emitter, where: SourceRange, value: Value, dtype: DType | None) -> Value:
    if dtype is None or dtype.is_floating_point:
        return call_operator(e, where, "aten::Float", [value]) if value.static_type != FLOAT else value
    return value


def _extreme(e: Emitter, where: SourceRange, name: str, values: Sequence[Value], dtype: DType) -> Value:
    """The greater or lesser of two numbers; of floats, nan where one is."""
    if not dtype.is_floating_point:
        return elements.rounded(e, where, call_operator(e, where, f"prim::{name}", values), dtype)
    result = call_operator(e, where, f"python::element_{name}", [_as(e, where, v, dtype) for v in values])
    return elements.rounded(e, where, result, dtype)


def are_numbers(args: Sequence[Given]) -> bool:
    """Whether a ufunc is called with numbers alone."""
    return bool(args) and all(
        is_number(a.value.static_type) and not isinstance(a.value.static_type, NumberType) for a in args
    )
