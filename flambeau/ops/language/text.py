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
    if isinstance(value, str):
        return value
    if isinstance(value, Tensor):
        return script_text(value)
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, complex):
        return complex_text(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_item_text, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(_item_text, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_item_text(k)}: {_item_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, set):
        return f"{{{', '.join(map(_item_text, value))}}}" if value else "set()"
    if isinstance(value, DType):
        return str(value.code)
    return str(value)


def _item_text(value: Any) -> str:
    """The text of an item of a container: that of an object is what its `__repr__` says."""
    return value_text(value) if isinstance(value, _PLAIN) else repr(value)
