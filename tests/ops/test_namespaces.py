"""`flambeau.linalg`, `fft` and `special` are modules that can be imported, with functions derived from operators."""

from __future__ import annotations

import pytest

import flambeau
import flambeau.fft as transforms
from flambeau.linalg import LinAlgError, det


def test_functions_of_namespaces() -> None:
    assert det(flambeau.eye(2) * 2).item() == 4.0
    assert transforms.fft(flambeau.ones(1)).tolist() == [1 + 0j]
    assert flambeau.linalg.det is det
    assert {"expit", "erf"} <= set(dir(flambeau.special))


def test_what_they_raise() -> None:
    with pytest.raises(LinAlgError, match="singular"):
        flambeau.linalg.inv(flambeau.zeros(2, 2))
    with pytest.raises(AttributeError, match=r"module 'flambeau\.linalg' has no attribute 'splork'"):
        _ = flambeau.linalg.splork
