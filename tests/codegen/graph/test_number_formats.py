"""Formats that native code writes are CPython's: of floats, ints and texts, in loops."""

from __future__ import annotations

import linecache
import math
from typing import Any

import numpy as np
import pytest

import flambeau

RANDOM = np.random.default_rng(0)
FLOATS = [
    0.0, -0.0, 1.0, -1.5, 2.675, 1.005, 0.125, 0.375, -0.001, 1e-300, 5e-324, 123456.789, 1e15, -1e15, 4.5e13, 1e22,
    1e300, math.inf, -math.inf, math.nan, 0.5, 1.5, 2.5, 999.9996, -999.9995,
    *(RANDOM.standard_normal(60) * 10.0 ** RANDOM.integers(-8, 12, 60)).tolist(),
    *(RANDOM.integers(-(10**6), 10**6, 40) / 1000).tolist(), *(RANDOM.integers(-(10**6), 10**6, 40) / 64).tolist(),
]  # fmt: skip
INTS = [0, 1, -1, 42, -42, 10**9, 2**63 - 1, -(2**63), 99999, -100000]
TEXTS = ["", "a", "abc", "h\u00e9llo", "abcdefgh"]


def program(kind: str, spec: str) -> Any:
    """A program that writes a value twice by a format."""
    body = "    out = ''\n    for _ in range(2):\n"
    text = f"def fn(v: {kind}) -> str:\n{body}        out += f'[{{v:{spec}}}]'\n    return out\n"
    name = f"<{kind}{spec}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope: dict[str, Any] = {}
    exec(compile(text, name, "exec"), scope)
    return scope["fn"]


DECIMALS = (".2f", ".0f", "8.3f", "<9.1f", ">12.4f", "+.2f", "010.2f", "+08.1f", ".10f")
CASES = [
    *[("float", spec, FLOATS) for spec in DECIMALS],
    *[("int", spec, INTS) for spec in ("d", "5d", "05d", "<6d", ">6", "+d", "+06d", "3", ".2f")],
    *[("str", spec, TEXTS) for spec in (">5", "<5", "5", "s", "7s")],
]


@pytest.mark.parametrize(("kind", "spec", "values"), CASES)
def test_texts(kind: str, spec: str, values: list[Any]) -> None:
    fn = program(kind, spec)
    scripted = flambeau.script(fn)
    for value in values * 2:
        assert scripted(value) == fn(value)
    assert "native from end to end" in str(scripted.explain())


@pytest.mark.parametrize(("kind", "spec", "values"), [
    ("float", "e", FLOATS), ("float", ".3g", FLOATS), ("float", "8", FLOATS), ("float", "^9.2f", FLOATS),
    ("float", ".30f", FLOATS), ("int", "x", INTS), ("int", ",", INTS), ("int", "*>8d", INTS), ("str", "^7", TEXTS),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore::flambeau.PerformanceWarning")
def test_others_are_pythons(kind: str, spec: str, values: list[Any]) -> None:
    fn = program(kind, spec)
    scripted = flambeau.script(fn)
    for value in values * 2:
        assert scripted(value) == fn(value)
