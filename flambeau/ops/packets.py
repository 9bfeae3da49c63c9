"""`flambeau.ops.aten.add`: all overloads of an operator, for Python values of any kind; `.Tensor` is one of them.

The functions of the package, `flambeau.add`, take tensors. These take whatever a declaration takes, and say for each
overload why it does not fit.

>>> add = OperatorPacket("aten::add")
>>> add("a", "b"), add(2, 0.5), str(add.Scalar)
('ab', 2.5, 'aten.add.Scalar')
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from flambeau.schema import registry
from flambeau.schema.bind import CallBinding
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.schema.function import Argument, FunctionSchema
from flambeau.schema.opdef import OpDef
from flambeau.schema.set_type import SetType
from flambeau.schema.tags import Tag, tags_of
from flambeau.schema.types import (
    AnyType,
    BoolType,
    ComplexType,
    DeviceType,
    DictType,
    FloatType,
    IntType,
    ListType,
    NoneType,
    NumberType,
    OptionalType,
    StringType,
    TensorType,
    Type,
    VarType,
)
from flambeau.tensor import dispatch, kernels
from flambeau.tensor.binding import binder
from flambeau.tensor.interceptors import changed, stack
from flambeau.tensor.overrides import NOT_OVERRIDDEN, answer, may_be
from flambeau.tensor.tensor import Tensor
from flambeau.util.inversions import OVERLOAD

NONE_FITS = "Overloaded operator invoked from Python failed to match any schema:\n{reasons}"
TOO_MANY = "{name}() expected at most {wanted} argument(s) but received {given} argument(s). Declaration: {schema}"
BY_NAME = "{name}() takes {wanted} positional argument(s) but {given} was/were given. Declaration: {schema}"
MISSING = "{name}() is missing value for argument '{argument}'. Declaration: {schema}"
UNKNOWN = "Unknown keyword argument '{argument}' for operator '{name}'. Schema: {schema}"
WRONG_TYPE = (
    "{name}() Expected a value of type '{wanted}' for argument '{argument}' but instead found type '{found}'.\n"
    "Position: {position}\nDeclaration: {schema}"
)
NO_OVERLOAD = "The underlying op of '{name}' has no overload name '{overload}'; it has {known}"
DEFAULT: Final = "default"
"""The name in Python of an overload that has none."""

_CLASSES: Final[Mapping[type[Type], tuple[type, ...]]] = {
    BoolType: (bool,), IntType: (int, DType), FloatType: (float,), ComplexType: (complex,), StringType: (str,),
    NumberType: (int, float, complex), DeviceType: (Device, str), TensorType: (Tensor,), NoneType: (type(None),),
}  # fmt: skip


class OverloadError(RuntimeError, TypeError):
    """A call that no overload admits. Nothing has run."""


class _Callable:
    """An operator as Python sees it."""

    def __init__(self, name: str, shown: str, definitions: Sequence[OpDef]) -> None:
        self.operator_name = name
        """How the compiler knows it."""
        self.__name__ = self.__qualname__ = shown.rpartition(".")[2]
        self.__module__ = f"flambeau.ops.{name.partition('::')[0]}"
        self.__doc__ = dispatch.documentation(dispatch.operator(name))
        self._shown = shown
        self._definitions = tuple(definitions)
        self._of_values = [d for d in definitions if not d.schema.concerns_tensors and d.family != "custom"]

    def _binding(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> CallBinding:
        """How to run a call of tensors. Raises TypeError."""
        return dispatch.operator(self.operator_name).binding(args, kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if may_be():
            answered = answer(self, args, kwargs)
            if answered is not NOT_OVERRIDDEN:
                return answered
        has_tensor = any(isinstance(a, Tensor) for a in args)
        if not has_tensor:
            for definition in self._of_values:
                full = _complete(definition.schema, args, kwargs)
                if not isinstance(full, str):
                    return dispatch.run(definition, full)
        try:
            binding = self._binding(args, kwargs)
        except TypeError as error:
            raise self._refusal(args, kwargs, str(error)) from None
        schema = binding.definition.schema
        if not has_tensor and _has_dict(schema) and isinstance(_complete(schema, args, kwargs), str):
            raise self._refusal(args, kwargs, "")  # the binding takes any object for a dict
        result = dispatch.run(binding.definition, binding.arguments(args, kwargs))
        return result if binding.finish is None else binding.finish(result)

    def _refusal(self, args: Sequence[Any], kwargs: Mapping[str, Any], otherwise: str) -> OverloadError:
        problems = [_complete(d.schema, args, kwargs) for d in self._definitions]
        reasons = [f if isinstance(f, str) else otherwise for f in problems]
        return OverloadError(reasons[0] if len(reasons) == 1 else NONE_FITS.format(reasons="\n\n".join(reasons)))

    def __str__(self) -> str:
        return self._shown

    def __repr__(self) -> str:
        space, short, *overload = self._shown.split(".")
        if overload:
            return f"<OpOverload(op='{space}.{short}', overload='{overload[0]}')>"
        return f"<OpOverloadPacket(op='{self._shown}')>"


class OperatorOverload(_Callable):
    """One overload of an operator: `flambeau.ops.aten.add.Tensor`."""

    def __init__(self, definition: OpDef) -> None:
        space, _, short = definition.name.partition("::")
        overload = definition.schema.overload or DEFAULT
        super().__init__(definition.name, f"{space}.{short}.{overload}", [definition])
        self._schema = definition.schema
        self._definition = definition

    @property
    def definition(self) -> OpDef:
        """The declaration of the overload."""
        return self._definition

    @property
    def overloadpacket(self) -> OperatorPacket:
        """All overloads of its name."""
        return packet_of(self.operator_name)

    @property
    def namespace(self) -> str:
        """What its name begins with: `aten`."""
        return self.operator_name.partition("::")[0]

    @property
    def is_view(self) -> bool:
        """Whether its result shows the memory of an argument."""
        schema = self._schema
        return any(r.alias is not None and not r.alias.is_write for r in schema.returns)

    @property
    def _overloadname(self) -> str:
        return self._definition.schema.overload or DEFAULT

    @property
    def _opname(self) -> str:
        return self.operator_name.rpartition("::")[2]

    @property
    def tags(self) -> list[Tag]:
        """Words for what the declaration says of it: `Tag.pointwise`, `Tag.nondeterministic_seeded`."""
        return tags_of(self._definition)

    def name(self) -> str:
        """The name with the overload: `aten::add.Tensor`."""
        return self._definition.full_name

    def redispatch(self, keyset: Any, *args: Any, **kwargs: Any) -> Any:
        """The call as it goes on to keys that are left: past all others."""
        passed = {key for key in kernels.KEYS if not keyset.has(key)}
        binding = self._binding(args, kwargs)
        with changed(excluded=stack().excluded | passed):
            return dispatch.run(binding.definition, binding.arguments(args, kwargs))

    def decompose(self, *args: Any, **kwargs: Any) -> Any:
        """The same computed by the operators that it is written in terms of; NotImplemented where it is not."""
        if self._definition.family != "composite":
            return NotImplemented
        binding = self._binding(args, kwargs)
        return binding.definition.kernel(*binding.arguments(args, kwargs))

    def _binding(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> CallBinding:
        return binder.bind(self.operator_name, self._definitions, args, kwargs)


class OperatorPacket(_Callable):
    """All overloads of an operator; each is an attribute, the one without a name as `default`."""

    def __init__(self, name: str) -> None:
        super().__init__(name, name.replace("::", "."), registry.overloads(name))

    def is_outdated(self) -> bool:
        """Whether overloads came or went since."""
        return self._definitions != registry.overloads(self.operator_name)

    def overloads(self) -> list[str]:
        """The names of the overloads."""
        return [d.schema.overload or DEFAULT for d in self._definitions]

    def __getattr__(self, overload: str) -> OperatorOverload:
        for definition in self.__dict__.get("_definitions", ()):
            if (definition.schema.overload or DEFAULT) == overload:
                return overload_of(definition)
        known = ", ".join(self.overloads()) if "_definitions" in self.__dict__ else "none"
        raise AttributeError(NO_OVERLOAD.format(name=self.__dict__.get("_shown"), overload=overload, known=known))

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.overloads()]


_overloads: dict[OpDef, OperatorOverload] = {}
_packets: dict[str, OperatorPacket] = {}


def overload_of(definition: OpDef) -> OperatorOverload:
    """The overload as Python calls it: one object for each."""
    overload = _overloads.get(definition)
    if overload is None:
        overload = _overloads[definition] = OperatorOverload(definition)
    return overload


OVERLOAD.provide(overload_of)


def packet_of(name: str) -> OperatorPacket:
    """All overloads of a name, as Python calls them."""
    packet = _packets.get(name)
    if packet is None or packet.is_outdated():
        packet = _packets[name] = OperatorPacket(name)
    return packet


def _has_dict(schema: FunctionSchema) -> bool:
    return any(isinstance(a.type, DictType) for a in schema.arguments)


def _complete(schema: FunctionSchema, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any] | str:
    """All arguments in the order of a declaration; or why they do not fit it."""
    name, wanted = schema.name, len(schema.positional)
    if len(args) + len(kwargs) > len(schema.arguments) and not schema.is_vararg:
        count = len(args) + len(kwargs)
        return TOO_MANY.format(name=name, wanted=len(schema.arguments), given=count, schema=schema)
    if len(args) > wanted and not schema.is_vararg:
        return BY_NAME.format(name=name, wanted=wanted, given=len(args), schema=schema)
    full: list[Any] = []
    for position, argument in enumerate(schema.arguments):
        if position < len(args):
            value = args[position]
        elif argument.name in kwargs:
            value = kwargs[argument.name]
        elif argument.has_default:
            full.append(argument.default)
            continue
        else:
            return MISSING.format(name=name, argument=argument.name, schema=schema)
        converted = _converted(value, argument)
        if converted is _NO:
            return WRONG_TYPE.format(
                name=name, wanted=argument.type.annotation, argument=argument.name, found=type(value).__name__,
                position=position, schema=schema,
            )  # fmt: skip
        full.append(converted)
    unknown = [k for k in kwargs if k not in schema.index or schema.index[k] < len(args)]
    if unknown:
        return UNKNOWN.format(argument=unknown[0], name=name, schema=schema)
    return [*full, *args[len(full) :]]


_NO: Any = object()


def _converted(value: Any, argument: Argument) -> Any:
    """The value as the declaration takes it; `_NO` if it does not."""
    if argument.broadcast is not None and isinstance(value, int | float) and not isinstance(value, bool):
        return [value] * argument.broadcast
    if not _is_of(value, argument.type):
        return _NO
    converters: Mapping[type[Type], Callable[[Any], Any]] = {FloatType: float, ComplexType: complex}
    if isinstance(value, DType):
        return value.code
    if isinstance(value, str) and isinstance(argument.type, DeviceType):
        return Device(value)
    if isinstance(value, tuple) and isinstance(argument.type, ListType):
        return list(value)
    return converters.get(type(argument.type), lambda v: v)(value)


def _is_of(value: Any, type_: Type) -> bool:
    match type_:
        case AnyType() | VarType():
            return True
        case OptionalType(element):
            return value is None or _is_of(value, element)
        case ListType(element) | SetType(element):
            classes = (list, tuple) if isinstance(type_, ListType) else (set, frozenset)
            return isinstance(value, classes) and all(_is_of(v, element) for v in value)
        case DictType(key, item):
            return isinstance(value, dict) and all(_is_of(k, key) and _is_of(v, item) for k, v in value.items())
        case IntType() | FloatType() | ComplexType():
            return isinstance(value, _CLASSES[type(type_)]) and not isinstance(value, bool)
    return isinstance(value, _CLASSES.get(type(type_), (object,)))
