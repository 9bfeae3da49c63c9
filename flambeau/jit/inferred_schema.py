"""The schema that the annotations of a Python function say.

>>> from flambeau import Tensor
>>> def scaled(x: Tensor, times: int = 2) -> Tensor:
...     return x * times
>>> infer_schema(scaled, mutates_args=())
'(Tensor x, SymInt times=2) -> Tensor'
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from flambeau.frontend.scopes.type_annotations import try_type_of
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.schema.lexer import escape
from flambeau.schema.types import (
    BoolType,
    ComplexType,
    DeviceType,
    FloatType,
    GeneratorType,
    IntType,
    ListType,
    NoneType,
    NumberType,
    OptionalType,
    StringType,
    TensorType,
    TupleType,
    Type,
)

Function = Callable[..., Any]
UNKNOWN: Final = "unknown"
"""In the place of names: any of the tensors may be written."""
_SIMPLE = (
    TensorType, IntType, FloatType, BoolType, ComplexType, StringType, NoneType, NumberType, DeviceType, GeneratorType,
)  # fmt: skip
NO_SUCH: Final = (
    "{unknown} in mutates_args were not found in the custom op's signature. mutates_args should contain the names of "
    "all args that the custom op mutates, or just the string 'unknown' if you don't know: it names {name!r}, which is "
    "no parameter of {function}"
)
NOT_A_TENSOR: Final = "Parameter {name} is in mutable_args but only Tensors or collections of Tensors can be mutated"
STARRED: Final = (
    "We do not support positional-only args, varargs, or varkwargs: parameter {parameter} takes any number of "
    "arguments, or has no name; an operator's are counted, and named"
)
NO_ANNOTATION: Final = "Parameter {name} must have a type annotation: write {name}: Tensor"
NO_RESULT: Final = "No return type annotation was provided. Please add one: {function} gives ..., or None for nothing"
NO_TYPE: Final = "{what} has unsupported type {shown}: operators take tensors, numbers, texts, and lists of these"
NO_DEFAULT: Final = (
    "Parameter {name} has an unsupported default value type {kind}: a number, a text, a dtype, a device or None can be "
    "one, and this is {default!r}"
)


def infer_schema(
    prototype_function: Function, /, *, mutates_args: Iterable[str] | str, op_name: str | None = None
) -> str:
    """The schema that a function's annotations say, as text: behind `op_name`, if that is given.

    Args:
        prototype_function: a function with annotations of all its parameters and of what it gives.
        mutates_args: the names of the tensors that it writes; `"unknown"` for any of them.
        op_name: the operator's name.

    Raises ValueError for what no schema has.

    >>> from flambeau import Tensor
    >>> def fill(x: Tensor, value: float) -> None: ...
    >>> infer_schema(fill, mutates_args={"x"}, op_name="mine::fill")
    'mine::fill(Tensor(a0!) x, float value) -> ()'
    """
    declaration = _Declaration(prototype_function, mutates_args)
    arguments = ", ".join(declaration.arguments())
    return f"{op_name or ''}({arguments}) -> {declaration.results()}"


class _Declaration:
    """What a function says of its parameters and results. Its methods raise ValueError for what no schema has."""

    def __init__(self, function: Function, mutates_args: Iterable[str] | str) -> None:
        self.function = function
        self.signature = inspect.signature(function)
        self.hints = typing.get_type_hints(function)
        self.written = {mutates_args} if isinstance(mutates_args, str) else set(mutates_args)
        unknown = sorted(self.written - self.signature.parameters.keys() - {UNKNOWN})
        if unknown:
            raise self.refusal(NO_SUCH, unknown=set(unknown), name=unknown[0])

    def refusal(self, text: str, **parts: Any) -> ValueError:
        """An error with the reason, and how the function is declared."""
        reason = text.format(function=self.function.__name__, **parts)
        return ValueError(f"infer_schema(func): {reason}. Got func with signature {self.signature}")

    def arguments(self) -> Iterator[str]:
        """Each argument as a schema has it; a star before those that are given by name alone."""
        starred = False
        for position, parameter in enumerate(self.signature.parameters.values()):
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                raise self.refusal(STARRED, parameter=parameter)
            if parameter.kind is parameter.KEYWORD_ONLY and not starred:
                yield "*"
                starred = True
            yield f"{self.type_at(position, parameter)} {parameter.name}{self.default(parameter)}"

    def type_at(self, position: int, parameter: inspect.Parameter) -> str:
        """The type of a parameter, with a mark if it is written."""
        name = parameter.name
        if name not in self.hints:
            raise self.refusal(NO_ANNOTATION, name=name)
        text = _text_of(self.hints[name])
        if text is None:
            raise self.refusal(NO_TYPE, what=f"Parameter {name}", shown=_shown(self.hints[name]))
        is_tensor = text.startswith("Tensor")
        if name in self.written and not is_tensor:
            raise self.refusal(NOT_A_TENSOR, name=name)
        is_written = is_tensor and (name in self.written or self.written == {UNKNOWN})
        return text.replace("Tensor", f"Tensor(a{position}!)", 1) if is_written else text

    def default(self, parameter: inspect.Parameter) -> str:
        """How a default is written."""
        value = parameter.default
        if value is parameter.empty:
            return ""
        if isinstance(value, DType):
            return f"={value.code}"
        if isinstance(value, bool | int | float | None):
            return f"={value!r}"
        if isinstance(value, str | Device):
            return f"={escape(str(value))}"
        raise self.refusal(NO_DEFAULT, name=parameter.name, kind=type(value).__name__, default=value)

    def results(self) -> str:
        """What the function gives, `()` for nothing."""
        if "return" not in self.hints:
            raise self.refusal(NO_RESULT)
        text = _results(self.hints["return"])
        if text is None:
            raise self.refusal(NO_TYPE, what="Return", shown=_shown(self.hints["return"]))
        return text


def _shown(hint: Any) -> str:
    return getattr(hint, "__name__", str(hint))


def _results(hint: Any) -> str | None:
    if hint is None or hint is type(None):
        return "()"
    type_ = _type(hint)
    if not isinstance(type_, TupleType):
        return _text_of(hint)
    texts = [_text_of(inner) for inner in typing.get_args(hint)]
    return None if None in texts else f"({', '.join(map(str, texts))})"


def _text_of(hint: Any) -> str | None:
    """A type as schemas spell it; None for one that they do not have."""
    if hint is DType:
        return "ScalarType"
    if typing.get_origin(hint) in (typing.Union, types.UnionType) and set(typing.get_args(hint)) == {int, float, bool}:
        return "Scalar"
    type_ = _type(hint)
    return None if type_ is None else str(type_).replace("int", "SymInt")


def _type(hint: Any) -> Type | None:
    type_ = try_type_of(_with_lists(hint), None, None)
    return type_ if type_ is not None and _has_schema(type_) else None


def _has_schema(type_: Type) -> bool:
    if isinstance(type_, OptionalType | ListType):
        return _has_schema(type_.element)
    if isinstance(type_, TupleType):
        return type_.name is None and all(map(_has_schema, type_.elements))
    return isinstance(type_, _SIMPLE)


def _with_lists(hint: Any) -> Any:
    """An annotation with lists in the place of sequences."""
    origin, inner = typing.get_origin(hint), tuple(map(_with_lists, typing.get_args(hint)))
    if origin is Sequence and len(inner) == 1:
        return list[inner[0]]  # type: ignore[valid-type]
    if origin in (typing.Union, types.UnionType):
        return typing.Union[inner]  # noqa: UP007 - of a tuple
    return hint
