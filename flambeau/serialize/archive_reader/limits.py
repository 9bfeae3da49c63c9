"""How much of a file is read before it is refused: a small file can describe a large amount of work.

Each number is checked before the work is done that it limits. The largest of some 200 archives of PyTorch's and of
well-known models have 7,100 lines, 60,000 tokens, 860 records and 50 kB of pickle.
"""

from __future__ import annotations

from typing import Final

from flambeau.util.record import dataclass, fields

WRONG: Final = "LoadLimits({name}=...) takes a number from 0 on, got {value!r}"
_WORDS: Final = {
    "records": "records", "inflated_bytes": "bytes when inflated", "code_bytes": "bytes of code", "lines": "lines",
    "tokens": "words and signs", "code_nesting": "levels of nested code", "pickle_bytes": "bytes of pickle",
    "pickle_opcodes": "instructions", "pickle_nesting": "levels of nested values",
    "expanded_bytes": "bytes of elements",
}  # fmt: skip
"""What the limits count."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadLimits:
    """The limits of `jit.load` and `load`. What goes beyond one is refused with `ArchiveError`, which names it.

    >>> LoadLimits(lines=1_000_000).lines
    1000000
    """

    records: int = 50_000
    """Records of the file."""
    inflated_bytes: int = 128 << 20
    """What its deflated records come to in all, besides `inflated_ratio` times the size of the file."""
    inflated_ratio: int = 20
    """How much more than its own size a file may be inflated to without counting towards `inflated_bytes`."""
    code_bytes: int = 16 << 20
    """Code, in all records together."""
    lines: int = 50_000
    """Lines of code, in all records together."""
    tokens: int = 300_000
    """Words and signs of code, in all records together."""
    code_nesting: int = 1_000
    """How deeply expressions of code may be nested: `a + b + c` is two deep."""
    pickle_bytes: int = 64 << 20
    """Pickled values, in one record."""
    pickle_opcodes: int = 1_000_000
    """Instructions of one pickle."""
    pickle_nesting: int = 100_000
    """How deeply lists, dicts, tuples and objects of a pickle may be nested."""
    expanded_bytes: int = 1 << 40
    """The elements of one tensor, if each was there for itself: strides can repeat a few elements many times."""

    def __post_init__(self) -> None:
        for name in fields(self):
            value = getattr(self, name.name)
            if type(value) is not int or value < 0:
                raise ValueError(WRONG.format(name=name.name, value=value))


DEFAULT = LoadLimits()


def exceeded(limits: LoadLimits, name: str) -> str:
    """What to say of something that is beyond the limit of that name.

    >>> exceeded(DEFAULT, "lines")
    'more than 50,000 lines. If you trust the file, pass limits=LoadLimits(lines=...) with a larger number'
    """
    what = f"{getattr(limits, name):,} {_WORDS[name]}"
    return f"more than {what}. If you trust the file, pass limits=LoadLimits({name}=...) with a larger number"
