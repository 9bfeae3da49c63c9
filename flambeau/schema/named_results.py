"""Results of operators that have names: tuples of a class for each operator, which is in `flambeau.return_types`.

>>> class_of("sort", ("values", "indices"))([3.0], [0]).indices
[0]
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any, Final

from flambeau.schema import registry
from flambeau.schema.function import FunctionSchema

_CLASSES: Final[dict[tuple[str, tuple[str, ...]], Any]] = {}
HOME: Final = "flambeau.return_types"


def class_of(name: str, fields: tuple[str, ...]) -> Any:
    """The class of an operator's results: always the same one.

    >>> class_of("max", ("values", "indices")) is class_of("max", ("values", "indices"))
    True
    """
    known = _CLASSES.get((name, fields))
    if known is None:
        base = namedtuple(name, fields)  # type: ignore[misc]  # names come from the schema
        known = type(name, (base,), {"__slots__": (), "__module__": HOME, "__repr__": _shown})
        _CLASSES[name, fields] = known
    return known


def _shown(results: Any) -> str:
    shown = ",\n".join(f"{field}={value!r}" for field, value in zip(results._fields, results, strict=True))
    return f"{HOME}.{type(results).__name__}(\n{shown})"


def fields_of(schema: FunctionSchema) -> tuple[str, ...] | None:
    """What the results of an operator are called; None if there is one alone, or not all have names.

    >>> fields_of(registry.get("aten::aminmax").schema)
    ('min', 'max')
    """
    fields = tuple(r.name for r in schema.returns)
    if len(fields) < 2 or not all(fields) or any(a.is_out for a in schema.arguments):
        return None
    return fields


def named(name: str) -> Any:
    """The class of the results of an operator; None if there is no such operator, or its results have no names.

    >>> named("sort")._fields
    ('values', 'indices')
    """
    for definition in registry.overloads(f"aten::{name}"):
        fields = fields_of(definition.schema)
        if fields is not None:
            return class_of(name, fields)
    return None
