"""What is made while the garbage collector is off counts as old, unless the user has frozen objects."""

from __future__ import annotations

import gc

import pytest

from flambeau.util import no_collection


def in_a_block() -> list[list[int]]:
    with no_collection.no_collection():
        return [[] for _ in range(3000)]


def are_old(made: list[list[int]]) -> bool:
    old = {id(o) for o in gc.get_objects(generation=2)}
    return all(id(o) in old for o in made)


@pytest.mark.parametrize("count", [0, 375])
def test_objects_that_python_froze_itself_are_not_the_users(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(no_collection, "_user_freezes", False)
    monkeypatch.setattr(gc, "get_freeze_count", lambda: count)
    assert are_old(in_a_block())
    assert no_collection._user_freezes is False


def test_what_the_user_froze_stays_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(no_collection, "_user_freezes", False)
    gc.freeze()
    try:
        before = gc.get_freeze_count()
        made = in_a_block()
        assert gc.get_freeze_count() >= before - 10
        assert no_collection._user_freezes is True
        assert not are_old(made)
    finally:
        gc.unfreeze()
