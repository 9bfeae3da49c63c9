"""The types of Python values, where nobody declared one.

>>> str(type_of_value([1, None])), str(type_of_value({"a": (1, 2.5)}))
('int?[]', 'Dict(str, (int, float))')
"""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from flambeau.frontend.scopes.python_constants import constant_type, enum_type
from flambeau.frontend.scopes.type_annotations import try_type_of
from flambeau.program.instances import definition_or_compiled
from flambeau.schema.subtype import unify_all
from flambeau.schema.types import GENERATOR, STRING, TENSOR, DictType, ListType, TupleType, Type
from flambeau.tensor.random import Generator
from flambeau.tensor.tensor import Tensor

NO_COMMON = "the {what} of a {kind} have no common type, but {types}. Declare the type, or pass values of one type"
NO_TYPE = "a value of type {kind} has no type in a program"


def type_of_value(value: Any) -> Type:
    """The type of a value; empty lists are of tensors, empty dicts from str to Tensor.

    Raises TypeError for what has no type in programs, and for containers of values without a common type.
    """
    if isinstance(value, Tensor | np.ndarray):
        return TENSOR
    if isinstance(value, Generator):
        return GENERATOR
    if isinstance(value, enum.Enum):
        return enum_type(type(value))
    if isinstance(value, list):
        return ListType(_common([type_of_value(v) for v in value], "elements", "list") or TENSOR)
    if isinstance(value, dict):
        keys = _common([type_of_value(k) for k in value], "keys", "dict")
        values = _common([type_of_value(v) for v in value.values()], "values", "dict")
        return DictType(keys or STRING, values or TENSOR)
    if isinstance(value, tuple):
        named = try_type_of(type(value), None, None) if hasattr(value, "_fields") else None
        return named or TupleType(tuple(type_of_value(v) for v in value))
    try:
        return constant_type(value)
    except TypeError:
        definition = definition_or_compiled(getattr(value, "script_object", value))
        if definition is not None:
            return definition.type
        raise TypeError(NO_TYPE.format(kind=type(value).__name__)) from None


def _common(types: list[Type], what: str, kind: str) -> Type | None:
    if not types:
        return None
    found = unify_all(types)
    if found is None:
        shown = ", ".join(dict.fromkeys(t.annotation for t in types))
        raise TypeError(NO_COMMON.format(what=what, kind=kind, types=shown))
    return found
