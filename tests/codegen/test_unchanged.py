"""What lists and tensors hold is looked at by machine code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau as fb
from flambeau.codegen import available
from flambeau.codegen.unchanged import unchanged

pytestmark = pytest.mark.skipif(not available(), reason="needs native code")


def looker(*tables: Any) -> Any:
    look = unchanged(*tables)
    assert look is not None
    return look


def test_each_place_counts() -> None:
    lists = [[object() for _ in range(n)] for n in (1, 5, 40)]
    rows = [(x, k) for x in lists for k in range(len(x))]
    owners, places = [x for x, _ in rows], [k for _, k in rows]
    look = looker(owners, places, [x[k] for x, k in rows], [], [])
    assert look()
    for x, k in rows:
        before, x[k] = x[k], object()
        assert not look()
        x[k] = before
        assert look()


def test_equal_is_not_the_same() -> None:
    value, other = 1000.5, float("1000.5")
    items: list[Any] = [value]
    look = looker([items], [0], [value], [], [])
    assert look()
    items[0] = other
    assert not look()


def test_lists_that_get_shorter_or_move() -> None:
    items: list[Any] = [object(), object()]
    look = looker([items], [1], [items[1]], [], [])
    kept = items.pop()
    assert not look()
    items += [object() for _ in range(1000)]  # the items move
    assert not look()
    items[1] = kept
    assert look()
    items.clear()
    assert not look()


def test_tensors_hold_arrays() -> None:
    tensors = [fb.ones(2), fb.nn.Parameter(fb.ones(3)), fb.tensor(1)]
    look = looker([], [], [], tensors, [t._array for t in tensors])
    assert look()
    for t in tensors:
        before = t._array
        t._array = np.array(before)
        assert not look()
        t._array = before
        assert look()
    tensors[1].data = fb.zeros(3)
    assert not look()


def test_nothing_is_unchanged() -> None:
    assert looker([], [], [], [], [])()
