"""Weak sets whose members are asked for while somebody else changes them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from weakref import WeakSet

import pytest

from flambeau.util.weak_sets import members


class Member:
    """Something that a weak set may hold."""


def _asked_while_members_come(ask: Callable[[WeakSet[Member]], Iterable[Member]]) -> bool:
    """Whether all members are given, though another one comes in wherever another thread might run."""
    kept = [Member() for _ in range(3)]
    weak = WeakSet(kept)

    def add(*_: object) -> None:
        kept.append(Member())
        weak.add(kept[-1])

    sys.setprofile(add)
    try:
        answer = ask(weak)
    finally:
        sys.setprofile(None)
    return set(answer).issuperset(kept[:3])


def test_c10_members_come_in_while_they_are_asked_for() -> None:
    assert _asked_while_members_come(members)
    with pytest.raises(RuntimeError, match="changed size"):
        _asked_while_members_come(list)


def test_what_is_gone_is_no_member() -> None:
    weak: WeakSet[Member] = WeakSet()
    weak.add(Member())
    assert members(weak) == []
