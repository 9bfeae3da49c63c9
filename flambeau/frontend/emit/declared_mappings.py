"""What annotations of variables say of `collections.defaultdict` and `Counter`: the dict that these keep.

d: Dict[str, int] = defaultdict(int)           →    a `defaultdict` of such a dict, which makes what is missing
d: defaultdict[str, int] = defaultdict(int)    →    the same
"""

from __future__ import annotations

import typing
from collections import Counter, defaultdict
from collections.abc import Hashable
from typing import Any, Final

from flambeau.frontend.emit.values.sugared import Emitter
from flambeau.frontend.library.mappings import is_mapping
from flambeau.frontend.scopes.type_annotations import type_of_tree
from flambeau.frontend.trees.tree_views import Expr, Select, Subscript, Var
from flambeau.ir.graph import Value
from flambeau.schema.types import INT, DictType, NamedType, Type

_COUNTS: Final[dict[Any, int]] = {
    defaultdict: 2, typing.DefaultDict: 2, Counter: 1, typing.Counter: 1,  # noqa: UP006
}  # fmt: skip
"""Classes of mappings as annotations name them, and how many types these take."""


def declared_table(e: Emitter, annotation: Expr) -> DictType | None:
    """The dict in a mapping that is annotated as one; None for other annotations."""
    if not isinstance(annotation, Subscript) or not isinstance(annotation.value, Var | Select):
        return None
    named = e.python_value(annotation.value)
    count = _COUNTS.get(named) if isinstance(named, Hashable) else None
    if count is None or len(annotation.indices) != count:
        return None
    types = [type_of_tree(tree, e.scope.resolver) for tree in annotation.indices]
    return DictType(types[0], types[1] if count > 1 else INT)


def is_of_table(value: Value, annotation: Type | None) -> bool:
    """Whether a value is a mapping of the dicts that an annotation says: it is more than such a dict."""
    type_ = value.static_type
    if not isinstance(annotation, DictType) or not isinstance(type_, NamedType):
        return False
    definition: Any = type_.definition
    table = definition.attribute("table") if is_mapping(getattr(definition, "python", None)) else None
    return table is not None and table.type == annotation
