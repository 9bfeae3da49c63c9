"""f-strings of ints and texts, and texts read as numbers, in native code say what Python's do."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

import flambeau


def labels(names: list[str], k: int) -> tuple[list[str], str]:
    out = [f"{i}:{name}={i * k}%" for i, name in enumerate(names)]
    for name in names:
        out.append(f"{name}")
        out.append(f"<{name}>{-k}")
    return out, f"{k}{k}"


def logged(names: list[str], k: int) -> str:
    line = ""
    for i in range(len(names)):
        line = f"{line}{names[i]}, " if i % 2 else f"[{line}]"
    return f"no {{braces}} {line}"


@pytest.mark.parametrize("program", [labels, logged])
def test_texts_are_pythons(program: Any) -> None:
    """And native from end to end."""
    scripted = flambeau.script(program)
    for names in ([], ["a"], ["", "b", "\u00e9\U0001f600", "%s{}"], ["word"] * 50):
        for k in (0, -7, 2**63 - 1 if len(names) < 2 else 3, -(2**63) if not names else 1):
            assert scripted(names, k) == program(names, k), (names, k)
    assert scripted.explain().is_native


def read(texts: list[str]) -> list[float]:
    out = [0.5]
    for text in texts:
        try:
            out.append(float(int(text)))
        except ValueError:
            out.append(-99.0)
        try:
            out.append(float(text))
        except ValueError:
            out.append(-99.0)
    return out


def test_texts_that_are_no_numbers_are_found_as_python_finds_them() -> None:
    """At once where a character is in no number, else Python is asked."""
    odd = ["", "+1", " 1 ", "1_0", "_1", "1_", "\u0663", "\u00a01", "\x1c5", "0x10", "--1", "1\x00", "NaN", "tiny"]
    texts = odd + ["".join(characters) for characters in product("1-_. ei", repeat=3)]
    scripted = flambeau.script(read)
    for _ in range(2):
        assert repr(scripted(texts)) == repr(read(texts))
    assert scripted.explain().is_native
