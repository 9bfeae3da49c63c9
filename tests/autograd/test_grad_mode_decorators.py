"""Grad modes above functions: with parentheses and without, and what holds after."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import flambeau


@pytest.mark.parametrize("mode", [flambeau.no_grad, flambeau.no_grad()])
def test_nothing_is_recorded_in_a_decorated_function(mode: Any) -> None:
    @mode
    def doubled(x: flambeau.Tensor) -> flambeau.Tensor:
        """Two times."""
        return x * 2

    @mode
    def states() -> Iterator[bool]:
        yield flambeau.is_grad_enabled()
        yield flambeau.is_grad_enabled()

    assert not doubled(flambeau.ones(2, requires_grad=True)).requires_grad
    assert (doubled.__name__, doubled.__doc__) == ("doubled", "Two times.")
    assert [(inside, flambeau.is_grad_enabled()) for inside in states()] == [(False, True), (False, True)]


def test_enable_grad_decorates_without_parentheses() -> None:
    @flambeau.enable_grad
    def state() -> bool:
        return flambeau.is_grad_enabled()

    with flambeau.no_grad():
        assert state()


def test_a_decorated_function_is_compiled_in_its_mode() -> None:
    @flambeau.script
    @flambeau.no_grad
    def doubled(x: flambeau.Tensor) -> flambeau.Tensor:
        return x * 2

    assert not doubled(flambeau.ones(2, requires_grad=True)).requires_grad


def test_set_grad_enabled_above_a_function_holds_for_its_calls_alone() -> None:
    @flambeau.set_grad_enabled(False)
    def state() -> bool:
        return flambeau.is_grad_enabled()

    assert (state(), flambeau.is_grad_enabled()) == (False, True)
    assert repr(flambeau.set_grad_enabled(True)) == "flambeau.autograd.grad_mode.set_grad_enabled(mode=True)"


@pytest.mark.parametrize("mode", [flambeau.no_grad, flambeau.enable_grad])
def test_modes_decorate_functions(mode: Any) -> None:
    with pytest.raises(TypeError, match=rf"{mode.__name__}\(\) takes a function to decorate, or nothing, but got int"):
        mode(3)
