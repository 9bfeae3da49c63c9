"""Random programs give the same where every call of theirs is profiled, specialised and guarded."""

from __future__ import annotations

import pytest

from flambeau import jit
from flambeau.executor.profiling.profiled_function import ProfiledFunction
from tests.random_programs.families import FAMILIES, check_seed


@pytest.mark.parametrize(("family", "seeds"), [("general", range(12)), ("tensors", range(5))])
def test_nothing_differs(family: str, seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    guards = []
    specialise = ProfiledFunction._specialise

    def counted(self: ProfiledFunction, base: object) -> object:
        made = specialise(self, base)  # type: ignore[arg-type]
        guards.extend(made.guards)
        return made

    monkeypatch.setattr(ProfiledFunction, "_specialise", counted)
    with jit.fuser("fuser1"):
        found = [text for seed in seeds if (text := check_seed(FAMILIES[family], seed))]
    assert found == []
    assert len(guards) >= 5
