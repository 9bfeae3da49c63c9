"""Declarations of operators as TorchScript's users handle them: `s.arguments[0].has_default_value()`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.ir.torchscript.types import Type
from flambeau.schema import function, registry
from flambeau.schema.alias import AliasInfo
from flambeau.schema.subtype import unify_all
from flambeau.tensor import dispatch


class Argument:
    """A parameter or result of a declaration."""

    def __init__(self, ours: function.Argument) -> None:
        self.ours = ours
        self.name = ours.name
        self.kwarg_only = ours.kwarg_only
        self.is_out = ours.is_out
        self.N = ours.broadcast
        self.type = Type.of(ours.type)
        """What programs hold: an int for a dtype."""
        self.alias_info: AliasInfo | None = ours.alias
        self.default_value = ours.default_value

    @property
    def real_type(self) -> Any:
        """The type as it is declared: a text where it says more than `type`."""
        return self.ours.declared or self.type

    @property
    def is_write(self) -> bool:
        """Whether the operator writes to it."""
        return self.alias_info is not None and self.alias_info.is_write

    def has_default_value(self) -> bool:
        """Whether a call may leave it out."""
        return self.ours.has_default


class FunctionSchema:
    """A declaration. Equal declarations are equal, whatever they were read from."""

    def __init__(self, ours: function.FunctionSchema) -> None:
        self.ours = ours
        self.name = ours.name
        self.overload_name = ours.overload
        self.arguments = [Argument(a) for a in ours.arguments]
        self.returns = [Argument(r) for r in ours.returns]
        self.is_mutable = ours.is_mutable

    def is_backward_compatible_with(self, old: FunctionSchema) -> bool:
        """Whether every call of the older declaration is a call of this one and means the same."""
        return self.ours.is_backward_compatible_with(old.ours)

    def check_forward_compatible_with(self, old: FunctionSchema) -> tuple[bool, str]:
        """Whether this adds to `old` nothing but arguments with defaults; else why not."""
        return self.ours.check_forward_compatible_with(old.ours)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionSchema) and self.ours == other.ours

    def __hash__(self) -> int:
        return hash(str(self.ours))

    def __repr__(self) -> str:
        return str(self.ours)


def parse_schema(text: str) -> FunctionSchema:
    """The declaration that a text is. Raises ParseError.

    >>> parse_schema("my::op(Tensor x, int n=3) -> Tensor").arguments[1].default_value
    3
    """
    return FunctionSchema(function.parse_schema(text))


def unify_type_list(types: Sequence[Type]) -> Type:
    """The type of a variable that is of each of some types. Raises RuntimeError where there is none.

    >>> from flambeau.ir.torchscript.types import IntType, NoneType
    >>> unify_type_list([IntType.get(), NoneType.get()])
    Optional[int]
    """
    unified = unify_all([one.ours for one in types])
    if unified is None:
        shown = ", ".join(one.annotation_str for one in types) or "none at all"
        raise RuntimeError(f"Could not unify type list: no type stands for all of {shown}, but Any and a Union")
    return Type.of(unified)


def _jit_get_all_schemas() -> list[FunctionSchema]:
    """The declarations of all operators."""
    return [FunctionSchema(d.schema) for d in registry.all_definitions()]


def _jit_get_schemas_for_operator(name: str) -> list[FunctionSchema]:
    """The declarations of all overloads of `aten::add`."""
    return [FunctionSchema(d.schema) for d in registry.overloads(name)]


def _jit_get_operation(name: str) -> tuple[Any, list[str] | None]:
    """What runs an operator, and the names of its overloads; None twice for an unknown one."""
    overloads = registry.overloads(name)
    if not overloads:
        return None, None
    return dispatch.function(name), [d.schema.overload for d in overloads]
