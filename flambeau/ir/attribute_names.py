"""Values that are read of an object have the attribute's name, as far as a graph's text can have it.

>>> from flambeau.ir.parser import parse_ir
>>> graph = parse_ir('graph(%self):\\n  %1 = prim::GetAttr[name="weight"](%self)\\n  return (%1)')
>>> name_after_attribute(graph.body.first.result(), "weight").name
'weight'
"""

from __future__ import annotations

from flambeau.ir.graph import Value


def name_after_attribute(value: Value, attribute: str) -> Value:
    """Name a value after the attribute that it was read from: `_0` after the one called "0"."""
    name = f"_{attribute}" if attribute.isdigit() else attribute
    return value.set_name(name) if name.isascii() and name.isidentifier() else value
