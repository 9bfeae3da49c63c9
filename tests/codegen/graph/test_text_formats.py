"""f-strings of ints and texts in native code say what Python's do."""

from __future__ import annotations

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
