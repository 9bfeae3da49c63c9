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
        members = {"__slots__": (), "__module__": HOME, "__repr__": _shown, "__new__": _maker(base)}
        known = type(name, (base,), members)
        _CLASSES[name, fields] = known
    return known


def _maker(base: Any) -> Any:
    """What makes an object of all values together, as `max((values, indices))`, or of each by itself."""

    def make(cls: Any, *values: Any, **named: Any) -> Any:
        if len(values) == 1 and not named and isinstance(values[0], tuple | list):
            values = tuple(values[0])
        return base.__new__(cls, *values, **named)

    return make


def _shown(results: Any) -> str:
    shown = ",\n".join(f"{field}={value!r}" for field, value in zip(results._fields, results, strict=True))
    return f"{HOME}.{type(results).__name__}(\n{shown})"


def fields_of(schema: FunctionSchema) -> tuple[str, ...] | None:
    """What the results of an operator are called; None if there is one alone, or not all have names.

    >>> fields_of(registry.get("aten::aminmax").schema)
    ('min', 'max')
    """
    fields = tuple(r.name for r in schema.returns)
    return fields if len(fields) > 1 and all(fields) else None


def name_of(schema: FunctionSchema) -> str:
    """What the class of the results of an operator is called: of those that go into given tensors, with `_out`.

    >>> name_of(registry.get("aten::sort").schema), name_of(registry.get("aten::sort.values").schema)
    ('sort', 'sort_out')
    """
    short = schema.name.rpartition("::")[2]
    return f"{short}_out" if any(a.is_out for a in schema.arguments) else short


def named(name: str) -> Any:
    """The class of the results of an operator; None if there is no such operator, or its results have no names.

    >>> named("sort")._fields
    ('values', 'indices')
    """
    short = name.removesuffix("_out")
    for definition in (*registry.overloads(f"aten::{name}"), *registry.overloads(f"aten::{short}")):
        fields = fields_of(definition.schema)
        if fields is not None and name_of(definition.schema) == name:
            return class_of(name, fields)
    return None
