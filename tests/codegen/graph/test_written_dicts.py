"""Dicts and sets that a program writes out and looks into while it runs: native."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau


def complement(s: str) -> tuple[str, int]:
    of = {"A": "T", "C": "G", "G": "C", "T": "A"}
    return "".join([of[c] for c in s if c in of]), len(of)


def lists_by_number(s: str) -> tuple[int, dict[int, list[int]]]:
    of = {1: [1, 2], 2: [3], 3: [4, 5, 6]}
    total = 0
    for i in range(len(s)):
        for x in of.get(i, [9]):
            total += x
    return total, of


def pairs(s: str) -> float:
    of = {(0, 1): 1.5, (1, 0): 2.5}
    total = 0.0
    for i in range(len(s)):
        key = (i % 2, (i + 1) % 2)
        if key in of:
            total += of[key]
    for key, value in of.items():
        total += value * key[0]
    return total


def vowels(s: str) -> tuple[int, list[str]]:
    return sum([1 for c in s if c in {"a", "e", "i"}]), [c for c in s if c not in {"A", "C"}]


def or_none(s: str) -> str:
    word = {0: "zero", 5: "five"}.get(len(s))
    return "?" if word is None else word


def missing(s: str) -> str:
    of = {0: "nothing", 5: "five"}
    try:
        return of[len(s)]
    except KeyError:
        return "none"


PROGRAMS = [complement, lists_by_number, pairs, vowels, or_none, missing]


@pytest.mark.parametrize("program", PROGRAMS)
def test_dicts_are_pythons(program: Any) -> None:
    """And native from end to end."""
    scripted = flambeau.script(program)
    for text in ("", "ACGTX", "eieio" * 30, "ACX"):
        assert scripted(text) == program(text), text
    assert scripted.explain().is_native


def test_a_key_that_is_missing_is_an_error_that_names_it() -> None:
    """As Python's."""

    def looked_up(n: int) -> str:
        return {0: "zero", 1: "one"}[n]

    scripted = flambeau.script(looked_up)
    assert scripted(1) == "one"
    with pytest.raises(KeyError, match="7"):
        scripted(7)
