"""Texts taken apart and put together in native code: what Python gives, for any characters and limits."""

from __future__ import annotations

import itertools

import pytest

import flambeau
from tests.codegen.graph.one_meaning import agree

TEXTS = (
    "", " ", "a", "  a b\t\nc  ", "a,b,,c,", ",", ",,", "aXbXX", "é,ü b", "\u2003a\u2003b ", "abcabcab", "Ab", "AB1",
    "ab-", "--a-b--", "\x1ca\x1d b", "x" * 70,
)  # fmt: skip


def split(s: str, limit: int) -> tuple[list[str], list[str], list[str], list[str], list[str]]:
    a, b, c, d, e = s.split(), s.split(","), s.split("ab"), s.split(None, limit), s.split(",", limit)
    for _ in range(2):
        a = s.split()
        b = s.split(",")
    return a, b, c, d, e


def stripped(s: str, limit: int) -> list[str]:
    parts = [""]
    for _ in range(2):
        parts = [s.strip(), s.lstrip(), s.rstrip(), s.strip("-"), s.lstrip("a-,"), s.rstrip("X ")]
    return parts


def replaced(s: str, limit: int) -> list[str]:
    parts = [""]
    for _ in range(2):
        parts = [s.replace("a", "bb"), s.replace("ab", ""), s.replace("X", "é", limit), s.replace(s, "!")]
    return [p.replace(",", ";") for p in parts]


def joined(s: str, limit: int) -> tuple[str, str, str]:
    a, b = "", ""
    for _ in range(2):
        a = "".join([c + c for c in s])
        b = ", ".join(s.split(","))
    return a, b, s.join(["x", s, "é"]) + "-".join([s])


def told(s: str, limit: int) -> tuple[bool, bool, tuple[str, str, str], tuple[str, str, str]]:
    upper, lower = False, False
    for _ in range(2):
        upper, lower = s.isupper(), s.islower()
    return upper, lower, s.partition(","), s.partition("ab")


@pytest.mark.parametrize("program", [split, stripped, replaced, joined, told])
def test_as_python(program):
    script = flambeau.script(program)
    for s, limit in itertools.product(TEXTS, (-1, 0, 1, 2)):
        assert script(s, limit) == program(s, limit), (s, limit)
    assert "native from end to end" in str(script.explain())


def test_parts_outlive_the_text():
    source = """
def f(s: str, n: int):
    kept: List[str] = []
    counts: Dict[str, int] = {}
    for i in range(n):
        line = s + "," + str(i)
        parts = line.split(",")
        kept.append(parts[-1].strip())
        kept.append(parts[0])
        counts[parts[1]] = counts.get(parts[1], 0) + 1
    return kept, counts
"""
    agree(source, lambda: ("a,é", 30))


def test_empty_separators_raise():
    def parts(s: str, by: str) -> int:
        count = 0
        for _ in range(3):
            count += len(s.split(by))
        return count

    script = flambeau.script(parts)
    assert script("a.b", ".") == 6
    with pytest.raises(Exception, match="empty separator"):
        script("a.b", "")


def floats(s: str) -> float:
    x = 0.0
    for _ in range(2):
        x = float(s)
    return x


def ints(s: str) -> int:
    x = 0
    for _ in range(2):
        x = int(s)
    return x


NUMBERS = (
    "0", "-0", "+7", "007", "12", "-123456789012345678", "9223372036854775807", "-9223372036854775808", "1.", ".5",
    "-.5", "0.1", "3.14159265358979", "-0.0", "9007199254740992", "9007199254740993", "900719925474099.3", "1e5",
    "-2.5E-3", "inf", "nan", " 1.5 ", "0.000000000000000001", "123456789012345678.5", "5e-324", "0.30000000000000004",
)  # fmt: skip


def test_numbers_that_texts_show():
    as_float, as_int = flambeau.script(floats), flambeau.script(ints)
    for s in NUMBERS:
        assert repr(as_float(s)) == repr(floats(s)), s
    for s in (s for s in NUMBERS if s.strip("+-").isdigit()):
        assert as_int(s) == ints(s), s
    for script in (as_float, as_int):
        assert script.explain().is_native
        for wrong in ("", "-", ".", "1.2.3", "a", "1_", "--1", "1-"):
            with pytest.raises(Exception, match=r"invalid literal|could not convert"):
                script(wrong)
