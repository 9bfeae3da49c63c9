"""Functions of NumPy that make arrays, in programs: tensors, of the dtypes that NumPy gives.

np.zeros((2, n))    →    aten::zeros(%sizes, dtype=7)    (float64, where flambeau.zeros gives the default dtype)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from flambeau.frontend.emit.conversions import pack_list
from flambeau.frontend.emit.emission import Emission
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.values.simple_value import SimpleValue
from flambeau.frontend.values.sugared import Given, Sugared
from flambeau.ir.value import Value
from flambeau.schema.dtype import DType, bool_, complex128, float64, from_numpy_dtype, int64
from flambeau.schema.types import INT, BoolType, ComplexType, FloatType, IntType, ListType, NoneType, TupleType, Type
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

_DTYPES: Final[dict[type[Type], DType]] = {
    FloatType: float64, IntType: int64, BoolType: bool_, ComplexType: complex128,
}  # fmt: skip
_SHAPED: Final = ("shape", "dtype")
PARAMETERS: Final[dict[Any, tuple[str, ...]]] = {
    np.zeros: _SHAPED, np.ones: _SHAPED, np.empty: _SHAPED, np.full: ("shape", "fill_value", "dtype"),
    np.eye: ("N", "M", "dtype"), np.identity: ("n", "dtype"), np.arange: ("start", "stop", "step", "dtype"),
    np.linspace: ("start", "stop", "num", "dtype"), np.array: ("object", "dtype"), np.asarray: ("a", "dtype"),
}  # fmt: skip
"""Each function with the parameters that it has in programs; those of `linspace` after `num` by name only."""


@dataclass(slots=True)
class NumpyCreation(Sugared):
    """A function of NumPy that makes an array."""

    name: str
    parameters: tuple[str, ...]

    @property
    def kind(self) -> str:
        """As messages call it."""
        return f"function np.{self.name}"

    def call(self, e: Emission, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """The tensor."""
        given = self._bound(where, args, keywords)
        dtype = given.pop("dtype", None)
        if dtype is not None and isinstance(dtype.type, NoneType):
            dtype = None
        return SimpleValue(_MAKERS[self.name](e, where, given, dtype))

    def _bound(self, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> dict[str, Value]:
        if len(args) > len(self.parameters):
            raise CompileError(f"np.{self.name}() takes at most {len(self.parameters)} arguments here", where)
        found = dict(zip(self.parameters, (a.value for a in args), strict=False))
        for keyword in keywords:
            if keyword.name not in self.parameters:
                text = f"np.{self.name}: the keyword '{keyword.name}' has no form in programs. Use the operator's own"
                raise CompileError(text, keyword.where)
            if keyword.name in found:
                raise CompileError(f"np.{self.name}() got multiple values for '{keyword.name}'", keyword.where)
            found[keyword.name] = keyword.value
        missing = self.parameters[0]
        if missing not in found:
            raise CompileError(f"np.{self.name}() is missing '{missing}'", where)
        return found


Bound = dict[str, Value]


def _operator(
    e: Emission, where: SourceRange, name: str, operands: Sequence[Value], dtype: Value | None, usual: DType | None
) -> Value:
    if dtype is None and usual is not None:
        dtype = e.constant(usual.code, INT)
    options = [] if dtype is None else [Given(dtype, where, "dtype")]
    return call_operator(e, where, f"aten::{name}", operands, options)


def _sizes(e: Emission, shape: Value) -> Value:
    return pack_list(e, [shape], INT) if isinstance(shape.type, IntType) else shape


def _shaped(name: str) -> Callable[[Emission, SourceRange, Bound, Value | None], Value]:
    return lambda e, where, given, dtype: _operator(e, where, name, [_sizes(e, given["shape"])], dtype, float64)


def _full(e: Emission, where: SourceRange, given: Bound, dtype: Value | None) -> Value:
    value = given.get("fill_value")
    if value is None:
        raise CompileError("np.full() is missing 'fill_value'", where)
    return _operator(e, where, "full", [_sizes(e, given["shape"]), value], dtype, _DTYPES.get(type(value.type)))


def _eye(e: Emission, where: SourceRange, given: Bound, dtype: Value | None) -> Value:
    return _operator(e, where, "eye", list(given.values()), dtype, float64)


def _arange(e: Emission, where: SourceRange, given: Bound, dtype: Value | None) -> Value:
    values = [given[name] for name in ("start", "stop", "step") if name in given]
    usual = float64 if any(isinstance(v.type, FloatType) for v in values) else int64
    return _operator(e, where, "arange", values, dtype, usual)


def _linspace(e: Emission, where: SourceRange, given: Bound, dtype: Value | None) -> Value:
    if "stop" not in given:
        raise CompileError("np.linspace() is missing 'stop'", where)
    operands = [given["start"], given["stop"], given.get("num", e.constant(50))]
    return _operator(e, where, "linspace", operands, dtype, float64)


def _array(e: Emission, where: SourceRange, given: Bound, dtype: Value | None) -> Value:
    value = next(iter(given.values()))
    element: Type = value.type
    while isinstance(element, ListType) or (isinstance(element, TupleType) and element.elements):
        element = element.element if isinstance(element, ListType) else element.elements[0]
    return _operator(e, where, "tensor", [value], dtype, _DTYPES.get(type(element)))


_MAKERS: Final[dict[str, Callable[[Emission, SourceRange, Bound, Value | None], Value]]] = {
    "zeros": _shaped("zeros"), "ones": _shaped("ones"), "empty": _shaped("empty"), "full": _full, "eye": _eye,
    "identity": _eye, "arange": _arange, "linspace": _linspace, "array": _array, "asarray": _array,
}  # fmt: skip


def numpy_creation(value: Any) -> NumpyCreation | None:
    """What a function of NumPy that makes arrays is in a program; None for other values."""
    try:
        parameters = PARAMETERS.get(value)
    except TypeError:
        return None
    return None if parameters is None else NumpyCreation(value.__name__, parameters)


def numpy_dtype(value: Any) -> DType | None:
    """The dtype that `np.float32` or `np.dtype("float32")` is in a program; None for other values."""
    if not isinstance(value, np.dtype) and not (isinstance(value, type) and issubclass(value, np.generic)):
        return None
    try:
        return from_numpy_dtype(np.dtype(value))
    except TypeError:
        return None
