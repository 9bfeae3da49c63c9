"""Dictionaries by the identity of keys that they do not keep alive."""

from __future__ import annotations

import copy
import gc
from typing import Any

import pytest

import flambeau
from flambeau.utils.weak import TensorWeakRef, WeakIdRef, WeakTensorKeyDictionary


def test_pairs_end_with_their_keys() -> None:
    x, y = flambeau.ones(2), flambeau.ones(2)
    known: Any = WeakTensorKeyDictionary({x: 1})
    known[y] = 2
    assert (len(known), known[x], known.get(flambeau.ones(2)), next(iter(known)) is x) == (2, 1, None, True)
    assert copy.copy(known) == known == copy.deepcopy(known)
    assert known != {x: 1}
    assert (known | {x: 5})[x] == 5
    assert ({x: 5, y: 0} | known)[x] == 1
    del y
    gc.collect()
    assert (len(known), [r() is x for r in known.keyrefs()], known.popitem()) == (1, [True], (x, 1))
    with pytest.raises(KeyError):
        known.popitem()
    assert 3 not in known


def test_references() -> None:
    x = flambeau.ones(2)
    reference = WeakIdRef(x)
    assert reference == WeakIdRef(x) != WeakIdRef(flambeau.ones(2))
    weak = TensorWeakRef(x)
    assert weak() is x
    del x
    assert (weak(), reference(), reference == reference) == (None, None, True)
    with pytest.raises(TypeError, match="got list"):
        TensorWeakRef([])  # type: ignore[arg-type]
