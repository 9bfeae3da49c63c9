"""Whether one declaration of an operator may take the place of an older one.

*Backward*: every call written for the old declaration means the same with the new one. *Forward*: every call written
for the new declaration that leaves new arguments out means the same with the old one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any, Protocol

from flambeau.schema.alias import AliasInfo
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import Type

OTHER_SHAPE = "Function schemas have different names, overloads or numbers of results"
OUT_COUNT = "Function schema should have the same number of out arguments"
CHANGED = "'{name}' is not forward compatible with the older version of the schema"
CHANGED_OUT = "Out argument '{name}' is not forward compatible with the older version of the schema"
NO_DEFAULT = (
    "Function schema is not forward compatible since the new argument '{name}' of type {type} did not provide a "
    "default value."
)
CONTAINER = (
    "Function schema is not forward compatible since the new argument '{name}' of type {type} has a container type as "
    "its default value."
)


class Argument(Protocol):
    """What is looked at of a parameter or result; `flambeau.schema.function.Argument` is it."""

    @property
    def name(self) -> str: ...
    @property
    def type(self) -> Type: ...
    @property
    def default(self) -> Any: ...
    @property
    def has_default(self) -> bool: ...
    @property
    def is_out(self) -> bool: ...
    @property
    def kwarg_only(self) -> bool: ...
    @property
    def alias(self) -> AliasInfo | None: ...
    @property
    def broadcast(self) -> int | None: ...


class Schema(Protocol):
    """What is looked at of a declaration; `flambeau.schema.function.FunctionSchema` is it."""

    @property
    def full_name(self) -> str: ...
    @property
    def arguments(self) -> Sequence[Argument]: ...
    @property
    def returns(self) -> Sequence[Argument]: ...
    @property
    def is_vararg(self) -> bool: ...
    @property
    def is_varret(self) -> bool: ...


def is_backward_compatible(new: Schema, old: Schema) -> bool:
    """Whether calls of `old` are calls of `new`: wider types, more defaults, further arguments with defaults."""
    if not _same_outside(new, old) or len(new.arguments) < len(old.arguments):
        return False
    if not all(_may_replace(o, n) for n, o in zip(new.returns, old.returns, strict=True)):
        return False
    plain, outs = _split(old.arguments)
    new_plain, new_outs = _split(new.arguments)
    if len(new_plain) < len(plain) or len(new_outs) < len(outs):
        return False
    pairs = [*zip(new_plain, plain, strict=False), *zip(new_outs, outs, strict=False)]
    return all(_may_replace(n, o) for n, o in pairs) and all(a.has_default for a in new_plain[len(plain) :])


def forward_compatibility(new: Schema, old: Schema) -> tuple[bool, str]:
    """Whether calls of `new` that use nothing new are calls of `old`; else why not."""
    if not _same_outside(new, old):
        return False, OTHER_SHAPE
    plain, outs = _split(old.arguments)
    new_plain, new_outs = _split(new.arguments)
    if len(outs) != len(new_outs):
        return False, OUT_COUNT
    for n, o in zip(new_plain, plain, strict=False):
        if not _may_be_replaced_by(n, o):
            return False, CHANGED.format(name=n.name)
    for argument in new_plain[len(plain) :]:
        if not argument.has_default:
            return False, NO_DEFAULT.format(name=argument.name, type=argument.type)
        if isinstance(argument.default, list | dict):
            return False, CONTAINER.format(name=argument.name, type=argument.type)
    for n, o in zip(new_outs, outs, strict=True):
        if not _may_be_replaced_by(n, o):
            return False, CHANGED_OUT.format(name=n.name)
    return True, ""


def _same_outside(new: Schema, old: Schema) -> bool:
    return (
        new.full_name == old.full_name
        and (new.is_vararg, new.is_varret) == (old.is_vararg, old.is_varret)
        and len(new.returns) == len(old.returns)
    )


def _split(arguments: Sequence[Argument]) -> tuple[list[Argument], list[Argument]]:
    """The arguments, and the out arguments at their end."""
    plain = list(takewhile(lambda a: not a.is_out, arguments))
    return plain, list(arguments[len(plain) :])


def _is_same_place(new: Argument, old: Argument) -> bool:
    """Whether both have one name and meaning, and `new` can be given wherever `old` could."""
    same = (new.name, new.broadcast, new.alias) == (old.name, old.broadcast, old.alias)
    return same and not (new.kwarg_only and not old.kwarg_only)


def _may_replace(new: Argument, old: Argument) -> bool:
    """Whether `new` takes whatever `old` took."""
    if not _is_same_place(new, old) or not is_subtype(old.type, new.type):
        return False
    return not old.has_default or (new.has_default and new.default == old.default)


def _may_be_replaced_by(new: Argument, old: Argument) -> bool:
    """Whether `old` takes whatever `new` takes, and neither has a default that the other has not."""
    if not _is_same_place(new, old) or not is_subtype(new.type, old.type):
        return False
    if new.has_default != old.has_default:
        return False
    return not new.has_default or bool(new.default == old.default)
