"""Strings: Python's, by character.

Differing from it: `end=-1` stands for the end, and methods take what their schema says.
"""

from __future__ import annotations

import operator
from typing import Any

from flambeau.ops.language import int64
from flambeau.ops.language.declare import NEVER, declare


def getitem(text: str, index: int) -> str:
    """One character. Raises RuntimeError when there is none at `index`."""
    try:
        return text[index]
    except IndexError:
        raise RuntimeError("string index out of range") from None


def slice_(text: str, start: int | None, end: int | None, step: int) -> str:
    """text[start:end:step]. Raises RuntimeError for the steps 0 and -2**63."""
    if step == 0:
        raise RuntimeError("String slice should have non-zero step")
    if step == int64.MIN:
        raise RuntimeError("String slice step is out of bounds")
    return text[start:end:step]


def ord_(text: str) -> int:
    """The code point. Raises RuntimeError unless there is exactly one character."""
    if len(text) != 1:
        raise RuntimeError(f"String for ord() must be 1 character, found {len(text)}")
    return ord(text)


def chr_(code: int) -> str:
    """The character. Raises RuntimeError outside Unicode."""
    if not 0 <= code < 0x110000:
        raise RuntimeError(f"chr() arg not in range(0x110000), found {code}")
    return chr(code)


def _end(end: int) -> int | None:
    """-1, the default of schemas, is the end of the string."""
    return None if end == -1 else end


def _stripping(name: str) -> Any:
    """All white space, carriage returns too, where the schema's default stands."""
    method = getattr(str, name)

    def kernel(text: str, chars: str) -> Any:
        return method(text, None if chars == " \n\t\f\v" else chars)

    return kernel


def _searching(name: str) -> Any:
    method = getattr(str, name)

    def kernel(text: str, part: str, start: int, end: int) -> Any:
        try:
            return method(text, part, start, _end(end))
        except ValueError:
            raise RuntimeError("ValueError: substring not found") from None

    return kernel


def _splitting(name: str) -> Any:
    method = getattr(str, name)

    def kernel(text: str, separator: str | None, limit: int) -> list[str]:
        if separator == "":
            raise RuntimeError("ValueError: empty separator")
        return list(method(text, separator, limit))

    return kernel


def _partitioning(name: str) -> Any:
    method = getattr(str, name)

    def kernel(text: str, separator: str) -> tuple[str, str, str]:
        if separator == "":
            raise RuntimeError("ValueError: empty separator")
        before, middle, after = method(text, separator)
        return before, middle, after

    return kernel


def _justifying(name: str) -> Any:
    method = getattr(str, name)

    def kernel(text: str, width: int, fill: str) -> str:
        if len(fill) != 1:
            raise RuntimeError("TypeError: The fill character must be exactly one character long")
        return str(method(text, width, fill))

    return kernel


def replace(text: str, old: str, new: str, limit: int) -> str:
    """The text with the first `limit` occurrences replaced; all when it is negative."""
    return text.replace(old, new, limit)


declare("aten::add.str(str a, str b) -> str", operator.add, traits=NEVER)
declare("aten::len.str(str s) -> int", len, traits=NEVER)
declare("aten::list(str t) -> str[]", list)
declare("aten::__getitem__.str(str s, int index) -> str", getitem)
declare("prim::StringIndex(str string, int index) -> str", getitem)
declare("aten::slice.str(str string, int? start=None, int? end=None, int step=1) -> str", slice_)
declare("aten::ord(str string) -> int", ord_)
declare("aten::chr(int i) -> str", chr_)
declare("aten::hex(int i) -> str", hex)
declare("aten::oct(int i) -> str", oct)
declare("aten::bin(int i) -> str", bin)
declare("aten::join(str self, str[] values) -> str", str.join)
declare("aten::replace(str self, str old, str new, int max=-1) -> str", replace)
declare("aten::expandtabs(str self, int tabsize=8) -> str", str.expandtabs)
declare("aten::splitlines(str self, bool keepends=False) -> str[]", str.splitlines)
declare("aten::zfill(str self, int width) -> str", str.zfill)
declare("aten::split.str(str self, str? separator=None, int max=-1) -> str[]", _splitting("split"))
declare("aten::rsplit.none(str self, str? separator=None, int max=-1) -> str[]", _splitting("rsplit"))
declare('aten::rsplit(str self, str separator=" ", int max=-1) -> str[]', _splitting("rsplit"))
for _name in (
    "isalnum", "isalpha", "isdecimal", "isdigit", "isidentifier", "islower", "isnumeric", "isprintable", "isspace",
    "istitle", "isupper",
):  # fmt: skip
    declare(f"aten::{_name}(str self) -> bool", getattr(str, _name))
for _name in ("capitalize", "lower", "swapcase", "title", "upper"):
    declare(f"aten::{_name}(str self) -> str", getattr(str, _name))
for _name in ("find", "rfind", "index.str", "rindex", "count"):
    declare(f"aten::{_name}(str self, str substr, int start=0, int end=-1) -> int", _searching(_name.partition(".")[0]))
for _name in ("startswith", "endswith"):
    declare(f"aten::{_name}(str self, str substr, int start=0, int end=-1) -> bool", _searching(_name))
for _name in ("partition", "rpartition"):
    declare(f"aten::{_name}(str self, str separator) -> (str, str, str)", _partitioning(_name))
for _name in ("center", "ljust", "rjust"):
    declare(f'aten::{_name}(str self, int width, str fillchar=" ") -> str', _justifying(_name))
for _name in ("strip", "lstrip", "rstrip"):
    declare(f'aten::{_name}(str self, str chars=" \\n\\t\\f\\v") -> str', _stripping(_name))
