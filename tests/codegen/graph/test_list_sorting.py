"""`sort`, `sorted` and `sorted(key=)` of lists in native code: Python's order, of equal items and of nan too."""

from __future__ import annotations

import math
import random

import pytest

import flambeau

SIZES = (0, 1, 2, 31, 32, 33, 200)


def ints(x: list[int], last_first: bool) -> tuple[list[int], list[int], int]:
    y = list(x)
    y.sort(reverse=last_first)
    total = 0
    for i in range(2):
        total += len(sorted(y)) + i
    return y, sorted(x), total


def floats(x: list[float], last_first: bool) -> tuple[list[float], list[float], list[float]]:
    y = list(x)
    for _ in range(2):
        y.sort(reverse=last_first)
    return y, sorted(x), sorted(x, reverse=True)


Items = list[tuple[int, float, bool]]


def tuples(x: Items, last_first: bool) -> tuple[Items, Items, Items, Items]:
    y = list(x)
    for _ in range(2):
        y.sort(reverse=last_first)
    by_one = sorted(x, key=lambda t: t[1])
    by_two = sorted(x, key=lambda t: (t[2], -t[0]), reverse=True)
    return y, sorted(x), by_one, by_two


def texts(x: list[str], last_first: bool) -> tuple[list[str], list[str], list[str]]:
    y, z = list(x), list(x)
    for _ in range(2):
        y = sorted(y, key=lambda s: len(s), reverse=last_first)
        z.sort(reverse=last_first)
    return y, sorted(x), z


Named = list[tuple[float, str]]


def named(x: Named, last_first: bool) -> tuple[Named, Named, list[str]]:
    by_name = sorted(x, key=lambda t: (t[1], -t[0]), reverse=last_first)
    return sorted(x), by_name, sorted({t[1] for t in x}, reverse=last_first)


def _samples(n: int, r: random.Random) -> dict[str, list]:
    wide = [r.choice([r.randint(-5, 5), r.randint(-(2**63), 2**63 - 1)]) for _ in range(n)]
    hostile = [r.choice([0.0, -0.0, 1.5, math.inf, -math.inf, r.gauss(0, 1), 5e-324]) for _ in range(n)]
    with_nan = [r.choice([math.nan, 1.0, -0.0, 0.0, 3.0]) for _ in range(n)]
    mixed = [(r.randint(0, 3), r.choice([0.0, -0.0, 1.0]), r.random() < 0.5) for _ in range(n)]
    words = ["".join(r.choice("ab") for _ in range(r.randint(0, 4))) for _ in range(n)]
    unlike = [float(str(x)) for x in with_nan]  # as tuples are compared, one nan is equal to itself
    pairs = {"named": _named(hostile, words), "named nan": _named(unlike, words)}
    return {"ints": wide, "floats": hostile, "nan": with_nan, "tuples": mixed, "texts": words, **pairs}


def _named(numbers: list[float], words: list[str]) -> Named:
    return list(zip(numbers, words, strict=True))


@pytest.mark.parametrize(
    ("program", "kinds"), [(ints, ["ints"]), (floats, ["floats", "nan"]), (tuples, ["tuples"]), (texts, ["texts"]),
     (named, ["named", "named nan"])]
)
def test_as_python(program, kinds):
    script, r = flambeau.script(program), random.Random(4)
    for n in SIZES:
        for kind in kinds:
            for last_first in (False, True):
                items = _samples(n, r)[kind]
                assert repr(script(items, last_first)) == repr(program(items, last_first)), (n, kind)
    assert "native from end to end" in str(script.explain())
