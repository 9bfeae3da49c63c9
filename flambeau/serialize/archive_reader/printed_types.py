"""Types of printed code that consist of types of the language alone, read without Python's parser.

>>> str(plain_type("Dict[str, List[Optional[Tensor]]]")), plain_type("List[__torch__.Point]"), plain_type("List[int")
('Dict(str, Tensor?[])', None, None)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from flambeau.schema.types import (
    BOOL,
    COMPLEX,
    DEVICE,
    FLOAT,
    INT,
    STRING,
    TENSOR,
    DictType,
    ListType,
    OptionalType,
    TupleType,
    Type,
)

_NAMED: Final[Mapping[str, Type]] = {
    "Tensor": TENSOR, "int": INT, "float": FLOAT, "bool": BOOL, "str": STRING, "complex": COMPLEX, "Device": DEVICE,
}  # fmt: skip
_KEYS: Final = (STRING, INT)


def plain_type(text: str) -> Type | None:
    """The type that is written; None for one that has to be read as code is, or is none."""
    known = _NAMED.get(text)
    if known is not None or not text.endswith("]"):
        return known
    name, _, inner = text[:-1].partition("[")
    if name not in ("Optional", "List", "Dict", "Tuple"):
        return None
    parts: list[Type] = []
    for item in _items(inner):
        type_ = plain_type(item)
        if type_ is None:
            return None
        parts.append(type_)
    return _composed(name, parts)


def _items(text: str) -> list[str]:
    """What stands between commas that are in no brackets."""
    items, depth = [""], 0
    for piece in text.split(", "):
        items[-1] += piece
        depth += piece.count("[") - piece.count("]")
        if depth:
            items[-1] += ", "
        else:
            items.append("")
    return items[:-1] if not items[-1] else items


def _composed(name: str, parts: list[Type]) -> Type | None:
    if name == "Tuple":
        return TupleType(tuple(parts))
    if name == "Dict":
        return DictType(*parts) if len(parts) == 2 and parts[0] in _KEYS else None
    if len(parts) != 1 or (name == "Optional" and isinstance(parts[0], OptionalType)):
        return None
    return ListType(parts[0]) if name == "List" else OptionalType(parts[0])
