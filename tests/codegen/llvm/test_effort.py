"""`FLAMBEAU_OPT`: code that is made with little work gives the same values but for rounding, and is kept apart."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen.llvm.effort import OPT, is_hasty
from flambeau.codegen.llvm.engine import available, engine

pytestmark = pytest.mark.skipif(not available(), reason="there is no LLVM here")


def waves(x: Tensor, n: int) -> Tensor:
    total = x.exp().sum()
    for i in range(n):
        total = total + float(x[i]) * i
    return total


def test_values_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    x = flambeau.from_numpy(np.linspace(-2, 2, 1000, dtype=np.float32))
    sums = []
    for level in "02":
        monkeypatch.setenv(OPT, level)
        function = flambeau.script(waves)
        function.compile(x, 50)
        sums.append(function(x, 50).item())
    assert sums[0] == pytest.approx(sums[1], rel=1e-6)
    assert sums[0] == pytest.approx(waves(x, 50).item(), rel=1e-6)


def test_code_of_each_level_has_keys_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OPT, "0")
    hasty = engine().identity
    monkeypatch.setenv(OPT, "2")
    full = engine().identity
    monkeypatch.delenv(OPT)
    assert hasty != full == engine().identity


def test_a_level_that_there_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OPT, "3")
    with pytest.raises(ValueError, match="FLAMBEAU_OPT is 0, for code that is made quickly, or 2, for code that runs"):
        is_hasty()
