"""How the language shows values: `print`, `str`, `format` and the texts of errors.

Floats that are whole end in a point, other ones have 17 digits; strings are bare, inside containers too.

>>> value_text([1.0, 0.1]), value_text((1, "a")), value_text(-1 - 2.5j)
('[1., 0.10000000000000001]', '(1, a)', '-1.-2.5j')
"""

from __future__ import annotations

import enum
import math
from typing import Any

from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.tensor.script_format import script_text
from flambeau.tensor.tensor import Tensor

_PLAIN = (int, float, complex, str, list, tuple, dict, set, type(None), enum.Enum, Tensor, DType, Device)
"""What shows itself alike alone and in a container."""


def float_text(value: float) -> str:
    """The language's text of a float: `1.`, `0.10000000000000001`, `1e+20`, `inf`."""
    if value - value == 0 and abs(value) < 9223372036854775808.0 and value == math.trunc(value):
        return f"{int(value)}."
    return f"{value:.17g}"


def complex_text(value: complex) -> str:
    """The language's text of a complex number: `0.+1.j`."""
    imaginary = float_text(value.imag)
    sign = "" if imaginary.startswith("-") else "+"
    return f"{float_text(value.real)}{sign}{imaginary}j"


def value_text(value: Any) -> str:
    """The language's text of any value."""
    if type(value) is str:
        return value
    if type(value) is int:
        return str(value)
    match value:
        case str():
            return value
        case Tensor():
            return script_text(value)
        case enum.Enum():
            return f"{type(value).__name__}.{value.name}"
        case float():
            return float_text(value)
        case complex():
            return complex_text(value)
        case list() | tuple() | dict() | set():
            return _container_text(value)
        case DType():
            return str(value.code)
    return str(value)


def _container_text(value: list[Any] | tuple[Any, ...] | dict[Any, Any] | set[Any]) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_item_text(k)}: {_item_text(v)}" for k, v in value.items()) + "}"
    items = ", ".join(map(_item_text, value))
    match value:
        case list():
            return f"[{items}]"
        case tuple():
            return f"({items}{',' if len(value) == 1 else ''})"
    return f"{{{items}}}" if value else "set()"


def _item_text(value: Any) -> str:
    """The text of an item of a container: that of an object is what its `__repr__` says."""
    return value_text(value) if isinstance(value, _PLAIN) else repr(value)
