"""`"{}".format(...)` and `"..." % (...)` as the language has them: `{}` alone is filled, and `%` knows no widths.

>>> percent_format("%s=%d, %f", "x", 3, 0.5), brace_format("{} and {}", 1.0, "a")
('x=3, 0.500000', '1. and a')
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from flambeau.ops.language import int64
from flambeau.ops.language.declare import declare
from flambeau.ops.language.text import value_text
from flambeau.schema.traits import Fails, Traits

KINDS = {str: "String", type(None): "None", list: "GenericList", tuple: "Tuple", dict: "GenericDict"}
"""The names of types other than numbers in error messages."""


def brace_format(text: str, *values: Any) -> str:
    """Each `{}` replaced by the next value; further values are ignored. Raises RuntimeError when there are too few."""
    pieces = text.split("{}")
    if len(pieces) - 1 > len(values):
        raise RuntimeError(f"Too few arguments for format string: {text}")
    filled = [pieces[0]]
    for piece, value in zip(pieces[1:], values, strict=False):
        filled += (value_text(value), piece)
    return "".join(filled)


def percent_format(text: str, *values: Any) -> str:
    """Each specifier replaced by the next value.

    Raises RuntimeError for a specifier other than `%s %d %i %f %F %e %E %c %%`, for a value it does not take, and for
    too few or too many values.
    """
    if len(values) == 1 and isinstance(values[0], tuple):
        values = values[0]
    keys, pieces = _parsed(text)
    result: list[str] = []
    used = 0
    for key, piece in zip(keys, pieces, strict=False):
        result.append(piece)
        if not key:
            raise RuntimeError("Incomplete format specifier")
        if key == "%":
            result.append("%")
            continue
        if used >= len(values):
            raise RuntimeError("Too few arguments for format string")
        result.append(_one(key, values[used]))
        used += 1
    result.append(pieces[-1])
    if used < len(values):
        raise RuntimeError("Too many arguments for format string")
    return "".join(result)


@lru_cache(256)
def _parsed(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The characters behind `%`, "" at the end of the text, and what is in front of each and behind the last."""
    keys: list[str] = []
    pieces: list[str] = []
    position = 0
    while (sign_at := text.find("%", position)) >= 0:
        pieces.append(text[position:sign_at])
        keys.append(text[sign_at + 1 : sign_at + 2])
        position = sign_at + 2
    return tuple(keys), (*pieces, text[position:])


def _one(key: str, value: Any) -> str:
    if key == "s":
        return value_text(value)
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
