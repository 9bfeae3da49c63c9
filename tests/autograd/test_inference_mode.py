"""`inference_mode` beside PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flambeau


def _modes(library: Any) -> list[Callable[[], Any]]:
    return [
        library.no_grad,
        library.enable_grad,
        lambda: library.inference_mode(True),
        lambda: library.inference_mode(False),
    ]


def _state(library: Any) -> tuple[bool, bool, bool]:
    x = library.ones(2, requires_grad=True)
    return library.is_inference_mode_enabled(), (x * 2).requires_grad, (x * 2).is_inference()


def _nested(library: Any) -> list[Any]:
    found = []
    for outer in _modes(library):
        for inner in range(4):
            with outer():
                with _modes(library)[inner]():
                    found.append(_state(library))
                found.append(_state(library)[:2])
    return [*found, _state(library)]


def test_modes_nest_as_in_torch() -> None:
    torch = pytest.importorskip("torch")
    assert _nested(flambeau) == _nested(torch)


def test_decorated_functions_run_within_the_mode() -> None:
    torch = pytest.importorskip("torch")
    for library in (torch, flambeau):

        @library.inference_mode()
        def inner(depth: int, library: Any = library) -> list[Any]:
            return [_state(library), *(inner(depth - 1) if depth else [])]

        assert inner(2) == [(True, False, True)] * 3
        assert _state(library) == (False, True, False)


def test_the_decorator_takes_no_parentheses_either() -> None:
    torch = pytest.importorskip("torch")
    for library in (torch, flambeau):
        assert library.inference_mode(_state)(library) == (True, False, True)


def test_a_decorated_generator_runs_within_the_mode_and_stops_outside() -> None:
    torch = pytest.importorskip("torch")
    for library in (torch, flambeau):

        @library.inference_mode()
        def twice(library: Any = library) -> Any:
            yield library.ones(2).is_inference()
            yield library.ones(2).is_inference()

        running = twice()
        assert [next(running), library.is_inference_mode_enabled(), next(running)] == [True, False, True]


def test_an_error_inside_leaves_the_mode() -> None:
    with pytest.raises(KeyError), flambeau.inference_mode():
        raise KeyError
    assert _state(flambeau) == (False, True, False)
