"""Calls that are no longer there say what to write; orders of axes are PyTorch's."""

from __future__ import annotations

import pytest

import flambeau
from flambeau.tensor import removed_calls


@pytest.mark.parametrize("name", sorted(removed_calls.INSTEAD))
def test_removed(name: str) -> None:
    x = flambeau.eye(2)
    with pytest.raises(RuntimeError, match=r"This function was deprecated since version 1.9 and is now removed. Write"):
        getattr(flambeau, name)(x, x)
    if name != "matrix_rank":
        with pytest.raises(RuntimeError, match=rf"linalg.{name.replace('symeig', 'eigh')}"):
            getattr(x, name)(x)


def test_older_forms() -> None:
    x = flambeau.arange(4)
    with pytest.warns(UserWarning, match="non-inplace resize is deprecated"):
        assert x.resize(2, 2).shape == (2, 2)
    with pytest.warns(UserWarning, match="non-inplace resize_as is deprecated"):
        assert x.resize_as(flambeau.ones(2, 2)).shape == (2, 2)
    with (
        pytest.warns(UserWarning, match="non-inplace"),
        pytest.raises(RuntimeError, match=r"requested resize to 3x1 .3 elements in total., but the given tensor has a"),
    ):
        x.resize([3, 1])
    with pytest.raises(RuntimeError, match=r"reinforce.. was removed"):
        x.reinforce(1)


FORMS = [
    ((2, 3), (3, 1)), ((2, 3), (1, 2)), ((2, 3, 4, 5), (60, 1, 15, 3)), ((1, 4), (3, 3)), ((2, 3), (1, 1)),
    ((3, 1, 3, 4), (12, 36, 4, 1)), ((4, 3, 1, 1, 4), (12, 1, 3, 3, 3)), ((2, 3), (0, 1)), ((2,), (0,)), ((), ()),
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_orders_of_axes(form: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    seen = []
    for lib in (flambeau, torch):
        x = lib.zeros(500).as_strided(*form)
        found = [x.dim_order()]
        for check in (True, [lib.contiguous_format, lib.channels_last], 3):
            try:
                found.append(x.dim_order(ambiguity_check=check) if len(form[0]) == 4 or check is True else None)
            except (RuntimeError, TypeError) as error:
                found.append(f"{type(error).__name__}: {str(error)[:60]}")
        seen.append(found)
    assert seen[0] == seen[1]
