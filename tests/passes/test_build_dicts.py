"""Dicts of constants that loops look into: built before the loops, and looked into natively."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flambeau


def translated(dna):
    table = {"ATG": "M", "GCC": "A", "TGA": "*"}
    out = ""
    for i in range(0, len(dna) - 2, 3):
        codon = dna[i : i + 3]
        if codon in table:
            out += table[codon]
    return out


def scored(a, b):
    scores = {("A", "A"): 2.5, ("C", "C"): 2.0, ("A", "G"): 1.0}
    total = 0.0
    for i in range(min(len(a), len(b))):
        total += scores.get((a[i], b[i]), -1.0)
    return total


def summed(n):
    table = {1: True, 3: False}
    k = 0
    for i in range(1, n, 2):
        k += 10 if table[i] else 1
    for key, value in table.items():
        k += key if value else -key
    return k, len(table)


CALLS: list[tuple[Callable[..., Any], list[tuple[Any, ...]]]] = [
    (translated, [("ATGGCCAAATGAATG",), ("",)]),
    (scored, [("AACG", "AGCC"), ("", "A")]),
    (summed, [(4,), (0,)]),
]


@pytest.mark.parametrize(("fn", "calls"), CALLS)
def test_constant_dicts_are_native_in_loops(fn: Callable[..., Any], calls: list[tuple[Any, ...]]) -> None:
    scripted, interpreted = flambeau.script(fn), flambeau.script(fn, backend="interpreter")
    for arguments in calls:
        for _ in range(2):
            assert scripted(*arguments) == fn(*arguments)
        assert interpreted(*arguments) == fn(*arguments)
    assert "native from end to end" in str(scripted.explain())
    assert scripted.graph_for(*calls[0]).find("prim::DictConstruct") is not None


def test_keys_that_are_not_there_fail_as_in_python() -> None:
    scripted = flambeau.script(summed)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="KeyError: 5"):
            scripted(7)


def test_what_no_loop_looks_into_stays_a_constant() -> None:
    @flambeau.script
    def once(key: str, n: int) -> int:
        table = {"a": 1, "b": 2}
        for _ in range(n):
            n += 1
        return table[key] + n

    assert once("a", 0) == 1
    assert once.graph_for("a", 0).find("prim::DictConstruct") is None
