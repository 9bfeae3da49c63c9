"""Versions compare as PyTorch's do."""

from __future__ import annotations

import operator
from itertools import product
from typing import Any

import pytest
from flambeau.torch_version import TorchVersion

import flambeau

VERSIONS = ["1.0", "1.0.0", "1.0a", "1.0.0a0+git", "1.0rc1", "1.0.post1", "1.0.dev3", "2", "1.10.1+cpu", "1.9", "none"]
OTHERS: list[Any] = [*VERSIONS, (1, 0), (2,), (1, 10, 1)]


def test_beside_pytorch() -> None:
    torch = pytest.importorskip("torch.torch_version", reason="torch is a peer, not a dependency")
    for compare in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq):
        for one, other in product(VERSIONS, OTHERS):
            if "none" in (one, other):
                continue
            theirs = compare(torch.TorchVersion(one), other)
            assert compare(TorchVersion(one), other) == theirs, (compare, one, other)


def test_of_the_package() -> None:
    assert isinstance(flambeau.__version__, str)
    assert flambeau.__version__ > (0, 0)
    assert TorchVersion("none") != "1.0"
    assert len({TorchVersion("1.0"), "1.0"}) == 1
