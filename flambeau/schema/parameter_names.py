"""Which parameter a keyword of a Python call means: its own name, PyTorch's `input`, or NumPy's spelling.

>>> from flambeau.schema.function import parse_schema
>>> schema = parse_schema("aten::sum(Tensor self, int dim) -> Tensor")
>>> parameter_name(schema, "axis"), parameter_name(schema, "input"), parameter_name(schema, "other")
('dim', 'self', None)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from flambeau.schema.function import FunctionSchema

ALIASES: Final[Mapping[str, tuple[str, ...]]] = {
    "self": ("input", "x", "a", "x1"),
    "input": ("self", "x", "a", "x1"),
    "dim": ("axis",),
    "keepdim": ("keepdims",),
    "other": ("x2",),
}
"""Other names by which Python callers may pass a parameter."""


def parameter_name(schema: FunctionSchema, keyword: str) -> str | None:
    """The parameter that a keyword means, or None."""
    if keyword in schema.index:
        return keyword
    for name, aliases in ALIASES.items():
        if keyword in aliases and name in schema.index:
            return name
    return None
