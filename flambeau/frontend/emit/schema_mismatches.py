"""What is said of arguments that do not fit the parameters of a schema."""

from __future__ import annotations

from collections.abc import Callable

from flambeau.program.classes import why_no_interface
from flambeau.schema import registry
from flambeau.schema.function import Argument
from flambeau.schema.match import Bindings, bind
from flambeau.schema.shown_type import shown_type
from flambeau.schema.types import DictType, FutureType, ListType, OptionalType, TensorType, Type, VarType

UNKNOWN_OPERATOR = "\nUnknown builtin op: {name}.\n"
SUGGESTIONS = "Here are some suggestions: \n{names}\nThe original call is"
NO_SUGGESTIONS = (
    "Could not find any similar ops to {name}. This op may not exist or may not be currently supported in "
    "TorchScript.\n"
)
WRONG_TYPE = "Expected a value of type '{wanted}' for argument '{name}' but instead found type '{found}'."
EMPTY_LIST = "Empty lists default to List[Tensor]. Annotate the variable that holds it to have another type"
BOUND_BEFORE = "Type variable '{name}' previously matched to type {before} is matched to type {after}"


class Mismatch(Exception):  # noqa: N818
    """One overload does not fit. The text says why: it is made when somebody asks, as most often another one fits."""

    def __init__(self, why: str | Callable[[], str]) -> None:
        super().__init__()
        self._why = why

    def __str__(self) -> str:
        return self._why if isinstance(self._why, str) else self._why()


def unknown_operator_text(name: str) -> str:
    """What is said of an operator that does not exist."""
    close = registry.similar(name)
    text = UNKNOWN_OPERATOR.format(name=name)
    if close:
        return text + SUGGESTIONS.format(names="".join(f"\t{n}\n" for n in close))
    return text + NO_SUGGESTIONS.format(name=name) + "The original call is"


def wrong_type(formal: Argument, actual: Type, converted: Type | None = None) -> str:
    """That an argument has another type than a parameter, and what may be behind it."""
    text = WRONG_TYPE.format(wanted=shown_type(formal.type), name=formal.name, found=shown_type(actual))
    text += why_no_interface(actual, formal.type)
    if isinstance(formal.type, TensorType) and formal.type.inferred:
        text += f"\nInferred '{formal.name}' to be of type 'Tensor' because it was not annotated with an explicit type."
        if not isinstance(actual, TensorType | VarType):
            text += f" Write `{formal.name}: {shown_type(actual)}` where it is declared."
    if isinstance(actual, TensorType) and actual.inferred:
        text += (
            f"\nInferred the value for argument '{formal.name}' to be of type 'Tensor' because it was not annotated "
            "with an explicit type."
        )
    if isinstance(actual, ListType) and actual == ListType(TensorType()):
        text += f"\n{EMPTY_LIST}"
    return text


def why_unbound(formal: Type, actual: Type, bindings: Bindings) -> str:
    """Why type variables could not be bound."""
    if isinstance(formal, VarType) and formal.name in bindings:
        bound = bindings[formal.name]
        return BOUND_BEFORE.format(name=formal.name, before=shown_type(bound), after=shown_type(actual))
    if isinstance(formal, OptionalType) and not isinstance(actual, OptionalType):
        return why_unbound(formal.element, actual, bindings)
    if type(formal) is type(actual) and isinstance(formal, ListType | DictType | FutureType | OptionalType):
        for inner, other in zip(formal.contained, actual.contained, strict=True):
            if not bind(inner, other, dict(bindings)):
                return why_unbound(inner, other, bindings)
    what = "a dict" if isinstance(formal, DictType) else formal.annotation
    return f"Cannot match {what} to {shown_type(actual)}"
