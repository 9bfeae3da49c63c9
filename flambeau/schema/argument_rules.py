"""What a parameter accepts from Python, and how each accepted kind of value becomes what programs hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import numpy as np

from flambeau.schema import dtype as dtypes
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType, is_dtype_code
from flambeau.schema.function import Argument, FunctionSchema
from flambeau.schema.opaque_type import OpaqueType
from flambeau.schema.symbolic import SymbolicFloat, SymbolicInt
from flambeau.schema.types import (
    AnyType,
    BoolType,
    ComplexType,
    DeviceType,
    FloatType,
    GeneratorType,
    IntType,
    ListType,
    NumberType,
    OptionalType,
    StringType,
    TensorType,
    Type,
    VarType,
)
from flambeau.util.record import dataclass

Converter = Callable[[Any], Any]
PYTHON_DTYPES: dict[Any, DType] = {
    float: dtypes.float64, int: dtypes.int64, bool: dtypes.bool_, complex: dtypes.complex128,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fit:
    """That a value is accepted: how much has to be done to it, and how."""

    cost: int
    convert: Converter | None = None


@dataclass(frozen=True, slots=True)
class RuntimeTypes:
    """The classes of the run-time, which schemas cannot know, and how to make and read them."""

    tensor: type[Any]
    generator: type
    from_number: Callable[[Any], Any]
    """A number to a 0-d tensor that stands for it."""
    from_array: Callable[[Any], Any]
    """A NumPy array to a tensor on the same memory."""
    to_number: Callable[[Any], Any]
    """A one-element tensor to a number, or to what stands for one while somebody records."""
    to_index: Callable[[Any], Any]
    """A tensor to an int, or to what stands for one while somebody records."""


EXACT = Fit(0)
NONE_FITS = Fit(0)
EMPTY_FITS = Fit(0, lambda none: [])


@dataclass(frozen=True, slots=True)
class Rule:
    """What one parameter accepts."""

    argument: Argument
    text: str
    """The kind of value it wants, as error messages say it."""
    fit_one: Callable[[Any], Fit | None]
    is_optional: bool
    takes_varargs: bool
    is_empty_by_default: bool = False
    """Whether it is a list that is empty unless it is passed, for which None stands too."""

    def fit(self, value: Any) -> Fit | None:
        """How `value` is accepted, or None if it is not."""
        if value is None and (self.is_optional or self.is_empty_by_default):
            return NONE_FITS if self.is_optional else EMPTY_FITS
        return self.fit_one(value)


def rule_of(argument: Argument, runtime: RuntimeTypes, number_as_tensor: bool = False) -> Rule:
    """The rule of a parameter."""
    type_ = argument.type
    optional = isinstance(type_, OptionalType)
    base = type_.element if isinstance(type_, OptionalType) else type_
    declared = argument.declared.partition("(")[0].rstrip("?")
    fitter = _fitter(base, declared, runtime, number_as_tensor)
    if isinstance(base, ListType) and argument.broadcast is not None:
        fitter = _broadcasting(fitter, _fitter(base.element, "", runtime, False), argument.broadcast)
    takes_varargs = isinstance(base, ListType) and isinstance(base.element, IntType | TensorType)
    is_empty = isinstance(base, ListType) and argument.has_default and argument.default == []
    return Rule(argument, describe(base, declared), fitter, optional, takes_varargs, is_empty)


def varargs_position(schema: FunctionSchema, rules: tuple[Rule, ...], args: Sequence[Any]) -> int:
    """The position at which `x.view(2, 3)` has its sizes; -1 unless a list is the only parameter besides `self`."""
    positional = schema.positional
    start = 1 if positional and positional[0].name == "self" and isinstance(positional[0].type, TensorType) else 0
    if len(positional) != start + 1 or len(args) <= start or not rules[start].takes_varargs:
        return -1
    if isinstance(args[start], list | tuple) or rules[start].fit(list(args[start:])) is None:
        return -1
    return start


def describe(base: Type, declared: str) -> str:
    """The kind of value a parameter of this type wants, in the words of error messages."""
    if declared.startswith("ScalarType"):
        return "torch.dtype"
    match base:
        case TensorType():
            return "Tensor"
        case NumberType():
            return "Number"
        case DeviceType():
            return "torch.device"
        case ListType(IntType()):
            return "tuple of ints"
        case ListType(FloatType()):
            return "tuple of floats"
        case ListType(element):
            return f"tuple of {describe(element.contained[0] if isinstance(element, OptionalType) else element, '')}s"
    return str(base)


def _fitter(base: Type, declared: str, runtime: RuntimeTypes, number_as_tensor: bool) -> Callable[[Any], Fit | None]:
    if declared.startswith("ScalarType"):
        return _fit_dtype
    match base:
        case TensorType():
            return _tensor_fitter(runtime, number_as_tensor)
        case ListType(element):
            inner_optional = isinstance(element, OptionalType)
            inner = element.element if isinstance(element, OptionalType) else element
            return _list_fitter(_fitter(inner, "", runtime, False), inner_optional)
        case DeviceType():
            return _fit_device
        case GeneratorType():
            return lambda value: EXACT if isinstance(value, runtime.generator) else None
        case AnyType() | VarType():
            return lambda value: Fit(20)
        case OpaqueType(name):
            return lambda value: EXACT if getattr(value, "type_name", None) == name else None
        case StringType():
            return lambda value: EXACT if isinstance(value, str) else None
        case BoolType():
            return _fit_bool
    return _number_fitter(base, runtime)


def _tensor_fitter(runtime: RuntimeTypes, number_as_tensor: bool) -> Callable[[Any], Fit | None]:
    tensor = runtime.tensor
    array, number = Fit(1, runtime.from_array), Fit(8, runtime.from_number)

    def fit(value: Any) -> Fit | None:
        if isinstance(value, tensor):
            return EXACT
        if isinstance(value, np.ndarray):
            return array
        if number_as_tensor and isinstance(value, int | float | complex | np.generic):
            return number
        return array if hasattr(type(value), "__dlpack__") else None

    return fit


@dataclass(frozen=True, slots=True)
class _NumberFitter:
    """Which numbers a parameter takes, by their class: Python's, NumPy's scalars, and tensors if nothing else does."""

    exact: tuple[type, ...]
    """Classes that are taken as they are."""
    near: tuple[type, ...]
    """Classes that are converted."""
    to: Callable[[Any], Any] | None
    """What numbers are converted with; None for a parameter that takes every kind."""
    runtime: RuntimeTypes
    from_tensor: Converter

    def __call__(self, value: Any) -> Fit | None:
        if isinstance(value, SymbolicInt | SymbolicFloat):
            return self._fit_symbolic(value)
        if self.to is int and isinstance(value, bool):
            return None
        if type(value) in self.exact:
            return EXACT
        if isinstance(value, np.generic):
            return self._fit_scalar(value)
        if isinstance(value, self.exact):
            return Fit(1, self.to or _plain)
        if isinstance(value, self.near):
            return Fit(2, self.to)
        if isinstance(value, self.runtime.tensor):
            return None if _has_several(value) else Fit(12, self.from_tensor)
        if self.to is int and hasattr(value, "__index__") and not isinstance(value, np.ndarray):
            return Fit(3, int)
        return None

    def _fit_symbolic(self, value: SymbolicInt | SymbolicFloat) -> Fit | None:
        """A number that stands for one while somebody records."""
        if (int if isinstance(value, SymbolicInt) else float) in self.exact:
            return EXACT
        return Fit(2, type(value).as_float) if isinstance(value, SymbolicInt) and float in self.exact else None

    def _fit_scalar(self, value: np.generic) -> Fit | None:
        """A NumPy scalar costs one more than the Python number that it is."""
        number = value.item()
        fit = self(number) if isinstance(number, int | float | complex) else None
        return None if fit is None else Fit(fit.cost + 1, self.to or np.generic.item)


def _has_several(tensor: Any) -> bool:
    """Whether a tensor has another number of elements than one; what stands for one while somebody records may have."""
    return bool(getattr(getattr(tensor, "_array", None), "size", 1) != 1)


def _number_fitter(base: Type, runtime: RuntimeTypes) -> Callable[[Any], Fit | None]:
    """The rule of a parameter of a number type; any value fits a type that says nothing."""
    read = runtime.to_number
    match base:
        case IntType():
            return _NumberFitter((int,), (), int, runtime, runtime.to_index)
        case FloatType():
            return _NumberFitter((float,), (int,), float, runtime, _reader(read, (bool, int, float), float))
        case ComplexType():
            kinds = (bool, int, float, complex)
            return _NumberFitter((complex,), (float, int), complex, runtime, _reader(read, kinds, complex))
        case NumberType():
            return _NumberFitter((int, float, complex, bool), (), None, runtime, read)
    return lambda value: Fit(20)


def _plain(value: Any) -> Any:
    """A number of a subclass as one of Python's own classes."""
    kinds: tuple[Any, ...] = (bool, int, float, complex)
    return next(kind(value) for kind in kinds if isinstance(value, kind))


def _reader(read: Converter, allowed: tuple[type, ...], to: type) -> Converter:
    def convert(tensor: Any) -> Any:
        number = read(tensor)
        if isinstance(number, SymbolicInt | SymbolicFloat) and to is not complex:
            return number.as_float() if isinstance(number, SymbolicInt) else number
        if type(number) not in allowed:
            raise TypeError(f"expected a tensor holding {to.__name__}, got one of dtype {tensor.dtype}")
        return to(number)

    return convert


def _list_fitter(element: Callable[[Any], Fit | None], optional: bool) -> Callable[[Any], Fit | None]:
    def fit(value: Any) -> Fit | None:
        if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "iufb":
            return Fit(3, np.ndarray.tolist) if all(element(v) is not None for v in value.tolist()) else None
        if not isinstance(value, list | tuple):
            return None
        fits = [NONE_FITS if optional and v is None else element(v) for v in value]
        cost = 0
        converts = False
        for one in fits:
            if one is None:
                return None
            cost += one.cost
            converts = converts or one.convert is not None
        if converts:
            return Fit(cost, _each(element, optional))
        return Fit(cost) if type(value) is list else Fit(cost, list)

    return fit


def _each(element: Callable[[Any], Fit | None], optional: bool) -> Converter:
    def convert_one(value: Any) -> Any:
        if optional and value is None:
            return None
        fit = element(value)
        return value if fit is None or fit.convert is None else fit.convert(value)

    return lambda values: [convert_one(v) for v in values]


def _broadcasting(
    many: Callable[[Any], Fit | None], one: Callable[[Any], Fit | None], times: int
) -> Callable[[Any], Fit | None]:
    """A list, or one element that is repeated `times` times."""

    def fit(value: Any) -> Fit | None:
        whole = many(value)
        if whole is not None:
            return whole
        single = one(value)
        if single is None:
            return None
        convert = single.convert
        if convert is None:
            return Fit(single.cost + 1, lambda v: [v] * times)
        return Fit(single.cost + 1, lambda v: [convert(v)] * times)

    return fit


def _fit_bool(value: Any) -> Fit | None:
    if isinstance(value, bool):
        return EXACT
    return Fit(1, bool) if isinstance(value, np.bool_) else None


def _fit_dtype(value: Any) -> Fit | None:
    if isinstance(value, DType):
        return Fit(0, _code_of)
    if type(value) is int:
        return EXACT if is_dtype_code(value) else None
    if isinstance(value, type | np.dtype | str):
        try:
            to_dtype(value)
        except TypeError:
            return None
        return Fit(1, lambda v: to_dtype(v).code)
    return None


def _code_of(dtype: DType) -> int:
    return dtype.code


def to_dtype(value: Any) -> DType:
    """A dtype from a dtype, its number, a Python number class, a NumPy dtype, or a name. Raises TypeError."""
    if isinstance(value, DType):
        return value
    if isinstance(value, Enum) or not isinstance(value, int | str | type | np.dtype):
        raise TypeError(f"expected a dtype, got {type(value).__name__}")
    try:
        if isinstance(value, int):
            return dtypes.by_code(value)
        if isinstance(value, str):
            return dtypes.by_name(value.rpartition(".")[2])
        return PYTHON_DTYPES[value] if value in PYTHON_DTYPES else dtypes.from_numpy_dtype(np.dtype(value))
    except (KeyError, dtypes.NoDTypeError):
        raise TypeError(f"no dtype is called {value!r}") from None


def _fit_device(value: Any) -> Fit | None:
    if isinstance(value, Device):
        return EXACT
    return Fit(1, Device) if isinstance(value, str) else None
