"""Matching the arguments of a Python call to a schema, with errors that name the argument, its position and the
declaration.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flambeau.jit.value_conversion import Converter, MismatchError, converter, type_name
from flambeau.schema.function import NO_DEFAULT, Argument, FunctionSchema
from flambeau.schema.shown_type import shown_type
from flambeau.schema.types import TensorType


class ArgumentError(RuntimeError, TypeError):
    """A call that the declaration does not admit. Nothing has run.

    >>> import flambeau
    >>> double = flambeau.CompilationUnit("def double(n: int):\\n  return 2 * n").double
    >>> try:
    ...     double("2")
    ... except ArgumentError as error:
    ...     print(str(error).partition("\\n")[0])
    double() Expected a value of type 'int' for argument 'n' but instead found type 'str'.
    """


class Signature:
    """A schema made ready for calls; `bind` gives the full tuple of converted arguments."""

    def __init__(self, schema: FunctionSchema, *, first: int = 0) -> None:
        """`first` leaves out the leading arguments that the callee supplies itself (`self`)."""
        self.schema = schema
        self._arguments = schema.arguments[first:]
        self._converters: tuple[Converter, ...] = tuple([_converter(a) for a in self._arguments])
        self._positional = sum([not a.kwarg_only for a in self._arguments])

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """All arguments in schema order, converted. Raises ArgumentError."""
        if kwargs or len(args) != len(self._converters) or self._positional != len(args):
            args = self._complete(args, kwargs)
        try:
            return tuple([convert(value) for convert, value in zip(self._converters, args, strict=True)])
        except MismatchError:
            raise self._mismatch(args) from None

    def _complete(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        name = self.schema.name.rpartition("::")[2]
        if len(args) > self._positional:
            if len(args) + len(kwargs) <= len(self._arguments):
                raise ArgumentError(
                    f"{name}() takes {self._positional} positional argument(s) but {len(args)} was/were given. "
                    f"Declaration: {self.schema}"
                )
            raise ArgumentError(
                f"{name}() expected at most {self._positional} argument(s) but received {len(args) + len(kwargs)} "
                f"argument(s). Declaration: {self.schema}"
            )
        by_place = [a.name for a in self._arguments if a.positional_only and a.name in kwargs]
        if by_place:
            raise ArgumentError(
                f"{name}() got some positional-only arguments passed as keyword arguments: '{', '.join(by_place)}'. "
                f"Declaration: {self.schema}"
            )
        left = dict(kwargs)
        complete = list(args)
        for position, argument in enumerate(self._arguments):
            if position < len(args):
                if argument.name in left:
                    raise ArgumentError(
                        f"{name}() got multiple values for argument '{argument.name}': by position {position} and "
                        "by name. "
                        f"Declaration: {self.schema}"
                    )
            elif argument.name in left:
                complete.append(left.pop(argument.name))
            elif argument.default is not NO_DEFAULT:
                complete.append(argument.default)
            else:
                raise ArgumentError(
                    f"{name}() is missing value for argument '{argument.name}'. Declaration: {self.schema}"
                )
        if left:
            known = ", ".join(a.name for a in self._arguments)
            raise ArgumentError(
                f"Unknown keyword argument '{next(iter(left))}' for operator '{name}'. It takes: {known}. "
                f"Declaration: {self.schema}"
            )
        return tuple(complete)

    def _mismatch(self, args: tuple[Any, ...]) -> ArgumentError:
        for position, (argument, convert, value) in enumerate(
            zip(self._arguments, self._converters, args, strict=True)
        ):
            try:
                convert(value)
            except MismatchError as reason:
                return ArgumentError(_explain(self.schema, position, argument, value, str(reason)))
        raise AssertionError("no argument mismatches")


def _converter(argument: Argument) -> Converter:
    """The converter of an argument; one value stands for a list of equal ones where the argument is declared so."""
    convert, count = converter(argument.type), argument.broadcast
    if count is None:
        return convert

    def spread(value: Any) -> Any:
        is_one = isinstance(value, int | float) and not isinstance(value, bool)
        return convert([value] * count if is_one else value)

    return spread


def _explain(schema: FunctionSchema, position: int, argument: Argument, value: Any, reason: str) -> str:
    declared, hint = shown_type(argument.type), ""
    if isinstance(argument.type, TensorType) and argument.type.inferred:
        hint = (
            f"Inferred '{argument.name}' to be of type 'Tensor' because it was not annotated with an explicit type.\n"
        )
    shown = repr(value)
    name = schema.name.rpartition("::")[2]
    return (
        f"{name}() Expected a value of type '{declared}' for argument '{argument.name}' but instead found type "
        f"'{type_name(value)}'.\n{hint}Position: {position}\nValue: "
        f"{shown if len(shown) < 200 else shown[:197] + '...'}\n"
        f"Declaration: {schema}\nCast error details: {reason}"
    )
