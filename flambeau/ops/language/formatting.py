"""`"{}".format(...)` and `"..." % (...)` as the language has them: `{}` alone is filled, and `%` knows no widths.

>>> percent_format("%s=%d, %f", "x", 3, 0.5), brace_format("{} and {}", 1.0, "a")
('x=3, 0.500000', '1. and a')
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from flambeau.ops.language import int64
from flambeau.ops.language.declare import declare
from flambeau.ops.language.text import value_text
from flambeau.schema.traits import Fails, Traits

KINDS = {str: "String", type(None): "None", list: "GenericList", tuple: "Tuple", dict: "GenericDict"}
"""The names of types other than numbers in error messages."""
_INCOMPLETE: Final = "Incomplete format specifier"


def brace_format(text: str, *values: Any) -> str:
    """Each `{}` replaced by the next value; further values are ignored. Raises RuntimeError when there are too few."""
    template, count = _braces(text)
    if count > len(values):
        raise RuntimeError(f"Too few arguments for format string: {text}")
    return template % tuple([value_text(v) for v in values[:count]])


@lru_cache(256)
def _braces(text: str) -> tuple[str, int]:
    """A text with `{}` as Python's `%` takes it, and how many values go in."""
    return text.replace("%", "%%").replace("{}", "%s"), text.count("{}")


def percent_format(text: str, *values: Any) -> str:
    """Each specifier replaced by the next value.

    Raises RuntimeError for a specifier other than `%s %d %i %f %F %e %E %c %%`, for a value it does not take, and for
    too few or too many values.
    """
    if len(values) == 1 and isinstance(values[0], tuple):
        values = values[0]
    keys, template = _parsed(text)
    texts = [_one(key, value) for key, value in zip(keys, values, strict=False)]
    if len(keys) > len(values):
        raise RuntimeError("Too few arguments for format string" if keys[len(values)] else _INCOMPLETE)
    if len(keys) < len(values):
        raise RuntimeError("Too many arguments for format string")
    return template % tuple(texts)


@lru_cache(256)
def _parsed(text: str) -> tuple[tuple[str, ...], str]:
    """The characters behind each `%` but `%%`, "" at the end of the text, and the text with `%s` for all of them."""
    keys: list[str] = []
    template = ""
    position = 0
    while (sign_at := text.find("%", position)) >= 0:
        key = text[sign_at + 1 : sign_at + 2]
        template += text[position:sign_at] + ("%%" if key == "%" else "%s")
        keys += [] if key == "%" else [key]
        position = sign_at + 2
    return tuple(keys), template + text[position:]


def _one(key: str, value: Any) -> str:
    if key == "s":
        return value_text(value)
    if not key:
        raise RuntimeError(_INCOMPLETE)
    if key in "di":
        number = _number(key, value)
        return str(int64.from_float(number) if isinstance(number, float) else int(number))
    if key in "fFeE":
        return f"%{key}" % _number(key, value)
    if key == "c":
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 0x110000:
            return chr(value)
        if isinstance(value, str) and len(value) == 1:
            return value
        raise RuntimeError(f"%c requires an int or char for formatting, but got {_kind(value)}")
    raise RuntimeError(
        f"The specifier %{key} is not supported in TorchScript format strings; use %s, %d, %i, %f, %F, %e, %E, %c or %%"
    )


def _number(key: str, value: Any) -> float:
    if not isinstance(value, int | float):
        raise RuntimeError(f"%{key} requires a number for formatting, but got {_kind(value)}")
    return value


def _kind(value: Any) -> str:
    return KINDS.get(type(value)) or type(value).__name__.capitalize()


declare("aten::format(str self, ...) -> str", brace_format, traits=Traits(fails=Fails.ON_FORM))
declare("aten::percentFormat(str self, ...) -> str", percent_format)
