"""TorchScript's inner names that programs use."""

from __future__ import annotations

import pytest

import flambeau
from flambeau import jit
from flambeau.jit import _pickle


@jit._overload
def doubled(x: int) -> int: ...
@jit._overload
def doubled(x: list[int]) -> list[int]: ...  # noqa: F811
def doubled(x):  # type: ignore[no-untyped-def]  # noqa: F811
    return x + x


def test_overloads_of_a_function() -> None:
    found = jit._script._get_overloads(doubled)
    assert found is not None
    whole, several = found
    assert (whole(3), several([1, 2])) == (6, [1, 2, 1, 2])
    assert jit._script._get_overloads(doubled)[0].graph is whole.graph  # type: ignore[index]
    assert jit._script._get_overloads(flambeau.script) is None


def test_names_of_pickles() -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    import torch.jit._pickle as theirs

    for name in ("build_intlist", "build_tensorlist", "build_doublelist", "build_boollist", "build_tensor_from_id"):
        for value in ([1], 3):
            assert getattr(_pickle, name)(value) == getattr(theirs, name)(value)
    assert _pickle.restore_type_tag({"a": 1}, "Dict[str, int]") == {"a": 1}
    assert torch is not None
