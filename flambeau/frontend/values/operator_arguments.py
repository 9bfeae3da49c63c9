"""What operators make of arguments that are no values of their types: objects as texts, whatever can be looped over.

any(seen)    →    aten::any of the list of what is in the set        "".join(words)    →    aten::join of their list
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from flambeau.frontend.values.container_methods import listed
from flambeau.frontend.values.object_methods import as_text, check_sortable
from flambeau.frontend.values.sugared import Emitter, Given, Sugared
from flambeau.ir.value import Value
from flambeau.schema.set_type import SetType
from flambeau.schema.types import DictType, NamedType, StringType, TupleType
from flambeau.util.record import replace
from flambeau.util.source import SourceRange

TEXTUAL: Final = frozenset({"aten::format", "aten::str"})
SORTING: Final = frozenset({"aten::sort", "aten::sorted"})
LISTING: Final = {"aten::any": 0, "aten::all": 0, "aten::join": 1}
"""Operators that take a list, and which argument it is."""


def adapted(
    e: Emitter, where: SourceRange, name: str, bound: Sequence[Given], wrap: Callable[[Value], Sugared]
) -> Sequence[Given]:
    """The arguments as the operator takes them. Raises CompileError for what cannot be sorted."""
    if name in TEXTUAL:
        formatted = name == "aten::format"
        return [replace(g, value=as_text(e, where, g.value, formatted=formatted)) for g in bound]
    at = LISTING.get(name)
    if at is not None and at < len(bound):
        kinds = SetType | DictType | NamedType if at == 0 else SetType | DictType | NamedType | StringType | TupleType
        if isinstance(bound[at].value.static_type, kinds):
            items = listed(e, where, wrap(bound[at].value))
            return [replace(g, value=items) if i == at else g for i, g in enumerate(bound)]
    if name in SORTING and bound:
        check_sortable(e, where, bound[0].value)
    return bound
