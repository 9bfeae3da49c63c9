"""Switches that ask for the same bits each time, and for precise products."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import flambeau
from flambeau import backends


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    flambeau.use_deterministic_algorithms(False)
    flambeau.set_float32_matmul_precision("highest")


def test_deterministic_algorithms() -> None:
    flambeau.use_deterministic_algorithms(True, warn_only=True)
    assert flambeau.are_deterministic_algorithms_enabled()
    assert flambeau.is_deterministic_algorithms_warn_only_enabled()
    assert flambeau.get_deterministic_debug_mode() == 1
    assert (backends.cuda.sums.deterministic, backends.cudnn.deterministic) == (True, True)
    flambeau.set_deterministic_debug_mode("error")
    assert flambeau.get_deterministic_debug_mode() == 2
    flambeau.set_deterministic_debug_mode(0)
    assert not flambeau.are_deterministic_algorithms_enabled()
    assert (backends.cuda.sums.deterministic, backends.cudnn.deterministic) == (False, False)


@pytest.mark.parametrize("mode", ["loud", 3, True, None])
def test_modes_that_there_are_not(mode: object) -> None:
    with pytest.raises(ValueError, match=r"a mode is one of 'default', 'warn' and 'error', or 0, 1 and 2, but got"):
        flambeau.set_deterministic_debug_mode(mode)
    with pytest.raises(TypeError, match="takes True or False, not int"):
        flambeau.use_deterministic_algorithms(1)  # type: ignore[arg-type]


def test_precision_of_products() -> None:
    flambeau.set_float32_matmul_precision("medium")
    assert flambeau.get_float32_matmul_precision() == "medium"
    with pytest.raises(ValueError, match="a precision is one of 'highest', 'high' and 'medium', but got 'low'"):
        flambeau.set_float32_matmul_precision("low")
    assert flambeau.set_flush_denormal(True) is False
    assert flambeau.tensor(1e-40).item() > 0
