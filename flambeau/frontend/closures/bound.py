"""What a call tells of a function that is compiled for it: types of parameters, and what is no value at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from flambeau.frontend.emit.type_variables import TypeVariables
from flambeau.frontend.emit.values.sugared import Sugared
from flambeau.frontend.scopes.captured_names import Name
from flambeau.frontend.scopes.scope_tree import Scope
from flambeau.frontend.trees.tree_views import Param
from flambeau.schema.types import Type
from flambeau.util.record import dataclass, field


@dataclass(frozen=True, slots=True)
class Bound:
    """Types and meanings of parameters by name."""

    types: Mapping[str, Type] = field(default_factory=dict)
    """The types of parameters that say none themselves."""
    constants: Mapping[Name, Sugared] = field(default_factory=dict)
    """Names that stand for functions and the like; they are no parameters of the compiled function."""
    params: tuple[Param, ...] = ()
    """Further parameters: what a nested function reads of the function around it, what `*args` gather."""
    type_variables: TypeVariables | None = None
    """The types of the calling function that are not known yet, where the call passes some."""
    cells: frozenset[str] = frozenset()
    """Parameters that are lists of one: variables of the function around it that it assigns."""
    aliases: Mapping[Name, str] = field(default_factory=dict)
    """Further names of parameters."""
    arrays: bool = False
    """Whether the caller is a program on arrays, so that what NumPy's functions make are some here too."""
    base: Type | None = None
    """The class that an inherited method was written in."""
    is_suspended: bool = False
    """Whether it is a generator that stops at each `yield`, and gives no list."""
    has_self: bool = False
    """Whether it is a method."""
    yielded: list[Type] = field(default_factory=list)
    """What such a generator turned out to yield."""
    symbols: Scope | None = None
    """The function in the scope tree of the one around it; None for one that is in no other."""
    own: TypeVariables | None = None
    """The types of the function itself that are not known yet, where what follows it tells them too."""


NOTHING_BOUND: Final = Bound()
