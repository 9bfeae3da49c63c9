"""Python values into a program, by the declared type of each parameter.

Lists and dicts are copied (a program's changes to them stay inside), tensors are shared, NumPy arrays become tensors
over the same memory, NumPy numbers become Python's. Objects go in as they are (`classes.object_conversion`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from flambeau.jit.classes.object_conversion import MismatchError as MismatchError
from flambeau.jit.classes.object_conversion import object_converter
from flambeau.program.named_tuples import tuple_class
from flambeau.program.shared import SharedDict, SharedList
from flambeau.schema import types as t
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.schema.opaque_type import OpaqueType
from flambeau.schema.remembered import remembered
from flambeau.schema.set_type import SetType
from flambeau.schema.symbolic import SymbolicInt, SymbolicNumber
from flambeau.tensor.bridge import from_array, from_numpy, is_foreign
from flambeau.tensor.observer import current
from flambeau.tensor.opaque_objects import OpaqueObject
from flambeau.tensor.tensor import Tensor

Converter = Callable[[Any], Any]
A_GENERATOR: Final = (
    "a generator of NumPy stays outside of programs: pass a seed, and write rng = np.random.default_rng(seed) inside, "
    "or pass what it drew"
)
BYTES: Final = (
    "programs have no bytes: pass np.frombuffer(b, dtype=np.uint8).astype(int), an array of their numbers, or "
    "list(b) where the parameter is annotated as list[int]"
)
INT_MIN, INT_MAX = -(1 << 63), (1 << 63) - 1


def _tensor(value: Any) -> Tensor:
    if isinstance(value, Tensor):
        return value
    if isinstance(value, np.ndarray):
        return from_numpy(value)
    if is_foreign(value):
        return _foreign(value)
    if isinstance(value, np.random.Generator | np.random.RandomState):
        raise MismatchError(A_GENERATOR)
    if isinstance(value, bytes | bytearray | memoryview):
        raise MismatchError(BYTES)
    raise MismatchError(f"{_shown(value)} is no tensor; flambeau.tensor(...) makes one of numbers and lists")


def _foreign(value: Any) -> Tensor:
    """A tensor on the memory of another library's."""
    try:
        return from_array(value)
    except TypeError as error:
        raise MismatchError(str(error)) from None


def _int(value: Any) -> Any:
    if type(value) is int or isinstance(value, int | np.integer | np.bool_):
        number = int(value)
        if not INT_MIN <= number <= INT_MAX:
            raise MismatchError(f"{number} does not fit into 64 bits: Overflow when unpacking long")
        return number
    if isinstance(value, DType):
        return value.code
    if isinstance(value, Tensor) and value.ndim == 0 and not value.dtype.is_floating_point:
        return int(value.item())
    if isinstance(value, SymbolicInt):
        return value
    raise MismatchError(f"{_shown(value)} is no int")


def _float(value: Any) -> Any:
    if isinstance(value, float | int | np.floating | np.integer | np.bool_):
        return float(value)
    if isinstance(value, Tensor) and value.ndim == 0 and not value.dtype.is_complex:
        return float(value.item())
    if isinstance(value, SymbolicNumber):
        return value.as_float()
    raise MismatchError(f"{_shown(value)} is no float")


def _bool(value: Any) -> bool:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, Tensor) and value.ndim == 0 and value.dtype.name == "bool":
        return bool(value.item())
    if isinstance(value, int | np.integer) and value in (0, 1):
        return bool(value)
    raise MismatchError(f"{_shown(value)} is no bool")


def _complex(value: Any) -> complex:
    if isinstance(value, complex | float | int | np.number) and not isinstance(value, bool):
        return complex(value)
    if isinstance(value, Tensor) and value.ndim == 0:
        return complex(value.item())
    raise MismatchError(f"{_shown(value)} is no complex number")


def _number(value: Any) -> Any:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return _int(value)
    if isinstance(value, float | np.floating):
        return float(value)
    if isinstance(value, complex | np.complexfloating):
        return complex(value)
    if isinstance(value, SymbolicNumber):
        return value
    if isinstance(value, Tensor) and value.ndim == 0:
        return value.item()
    raise MismatchError(f"{_shown(value)} is no number")


def _str(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise MismatchError(f"{_shown(value)} is no str")


def _none(value: Any) -> None:
    if value is not None:
        raise MismatchError(f"{_shown(value)} is not None")


def _device(value: Any) -> Device:
    if isinstance(value, Device):
        return value
    if isinstance(value, str):
        return Device(value)
    raise MismatchError(f"{_shown(value)} is no device")


def _any(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return from_numpy(value)
    if isinstance(value, np.str_):
        return str(value)
    return _number(value) if isinstance(value, np.generic) else value


_SIMPLE: Final[Mapping[type[t.Type], Converter]] = {
    t.TensorType: _tensor, t.IntType: _int, t.FloatType: _float, t.BoolType: _bool, t.ComplexType: _complex,
    t.NumberType: _number, t.StringType: _str, t.NoneType: _none, t.DeviceType: _device, t.AnyType: _any,
}  # fmt: skip


@remembered(maxsize=1024)
def converter(type_: t.Type) -> Converter:
    """The function that takes Python values to values of `type_`, or raises `MismatchError`."""
    simple = _SIMPLE.get(type(type_))
    if simple is not None:
        return simple
    match type_:
        case t.OptionalType(element):
            return _optional(converter(element))
        case t.ListType(element):
            return _list(converter(element), _PLAIN.get(type(element)))
        case t.DictType(key, value):
            return _dict(converter(key), converter(value))
        case SetType(element):
            return _set(converter(element))
        case t.TupleType():
            return _tuple(type_)
        case t.UnionType(members):
            return _union(type_, [(m, converter(m)) for m in members])
        case t.EnumType():
            return _enum(type_)
        case t.NamedType():
            return object_converter(type_, converter)
        case OpaqueType(name):
            return _opaque(name)
    return _as_it_is


def outliving(value: Any) -> Any:
    """A converted value that stays when a trace is over: numbers that the trace knows are fixed in it."""
    if isinstance(value, SymbolicNumber):
        return int(value) if isinstance(value, SymbolicInt) else float(value)
    if isinstance(value, list | tuple | dict) and current() is not None:
        if isinstance(value, dict):
            return {k: outliving(v) for k, v in value.items()}
        parts = [outliving(v) for v in value]
        return parts if isinstance(value, list) else tuple(parts)
    return value


def _as_it_is(value: Any) -> Any:
    return value


def _opaque(name: str) -> Converter:
    def convert(value: Any) -> Any:
        if isinstance(value, OpaqueObject) and value.type_name == name:
            return value
        raise MismatchError(f"{_shown(value)} is no {name}")

    return convert


def _optional(element: Converter) -> Converter:
    def convert(value: Any) -> Any:
        return None if value is None else element(value)

    return convert


def _set(element: Converter) -> Converter:
    def convert(value: Any) -> set[Any]:
        if not isinstance(value, set | frozenset):
            raise MismatchError(f"{_shown(value)} is no set")
        return {element(item) for item in value}

    return convert


_PLAIN: Final[Mapping[type[t.Type], type]] = {t.StringType: str, t.FloatType: float, t.BoolType: bool, t.IntType: int}
"""Classes whose very instances are values of a type, ints as long as they have 64 bits."""


def _are_plain(items: Sequence[Any], plain: type) -> bool:
    """Whether all items are instances of a class itself, which need no conversion."""
    if set(map(type, items)) - {plain}:
        return False
    return plain is not int or not items or (min(items) >= -(1 << 63) and max(items) < 1 << 63)


def _list(element: Converter, plain: type | None = None) -> Converter:
    def convert(value: Any) -> list[Any]:
        if plain is not None and isinstance(value, list | tuple) and _are_plain(value, plain):
            return list(value)
        shared = getattr(value, "shared", None)
        if isinstance(shared, SharedList):
            for i, item in enumerate(shared):
                shared[i] = element(item)
            return shared
        if not isinstance(value, list | tuple | range):
            hint = "; value.tolist() makes one" if hasattr(value, "tolist") else ""
            raise MismatchError(f"{_shown(value)} is no list{hint}")
        items = []
        for i, item in enumerate(value):
            try:
                items.append(element(item))
            except MismatchError as error:
                raise MismatchError(f"element {i}: {error}") from None
        return items

    return convert


def _dict(key: Converter, value: Converter) -> Converter:
    def convert(mapping: Any) -> dict[Any, Any]:
        shared = getattr(mapping, "shared", None)
        if isinstance(shared, SharedDict):
            for k, v in shared.items():
                key(k)
                shared[k] = value(v)
            return shared
        if not isinstance(mapping, Mapping):
            raise MismatchError(f"{_shown(mapping)} is no dict")
        entries = {}
        for k, v in mapping.items():
            try:
                entries[key(k)] = value(v)
            except MismatchError as error:
                raise MismatchError(f"entry {k!r}: {error}") from None
        return entries

    return convert


def _tuple(type_: t.TupleType) -> Converter:
    elements = [converter(e) for e in type_.elements]

    def convert(value: Any) -> Any:
        if not isinstance(value, tuple | list):
            raise MismatchError(f"{_shown(value)} is no tuple")
        fields = getattr(value, "_fields", None)
        if type_.name is not None and fields is not None and fields != type_.fields:
            raise MismatchError(f"its fields are {', '.join(fields)}, not {', '.join(type_.fields)}")
        if len(value) != len(elements):
            raise MismatchError(f"the tuple has {len(value)} elements, not {len(elements)}")
        items = []
        for i, (item, element) in enumerate(zip(value, elements, strict=True)):
            try:
                items.append(element(item))
            except MismatchError as error:
                raise MismatchError(f"element {i}: {error}") from None
        if type_.name is not None and fields is None:
            return tuple_class(type_)(*items)
        make = getattr(type(value), "_make", tuple)
        return make(items)

    return convert


def _union(type_: t.Type, members: list[tuple[t.Type, Converter]]) -> Converter:
    exact: dict[type[t.Type], type] = {
        t.IntType: int, t.FloatType: float, t.BoolType: bool, t.ComplexType: complex, t.StringType: str,
    }  # fmt: skip

    def convert(value: Any) -> Any:
        for member, inner in members:
            if exact.get(type(member)) is type(value):
                return inner(value)
        for member, inner in members:
            if (
                type(member) in exact
                and type(member) is not t.StringType
                and isinstance(value, bool | int | float | complex)
            ):
                continue
            if isinstance(member, t.TupleType) and isinstance(value, list):
                continue  # a list is a tuple only where nothing else can be meant
            try:
                return inner(value)
            except MismatchError:
                continue
        raise MismatchError(f"Expected a member of {type_.annotation} but instead found type {type_name(value)}")

    return convert


def _enum(type_: t.EnumType) -> Converter:
    def convert(value: Any) -> Any:
        if type_.python is not None and isinstance(value, type_.python):
            return value
        raise MismatchError(f"{_shown(value)} is no member of {type_.name}")

    return convert


def type_name(value: Any) -> str:
    """A Python value's type as messages name it, element types included: `List[int]`, `Dict[str, Tensor]`."""
    if isinstance(value, Tensor):
        return "Tensor"
    if value is None:
        return "NoneType"
    if isinstance(value, list) and value:
        return f"List[{type_name(value[0])}]"
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return f"{type(value).__name__} (aka NamedTuple({', '.join(value._fields)}))"
    if isinstance(value, tuple):
        return f"Tuple[{', '.join(map(type_name, value))}]"
    if isinstance(value, dict) and value:
        key, item = next(iter(value.items()))
        return f"Dict[{type_name(key)}, {type_name(item)}]"
    return type(value).__name__


def _shown(value: Any) -> str:
    text = repr(value)
    return f"{text if len(text) <= 60 else text[:57] + '...'} ({type_name(value)})"
