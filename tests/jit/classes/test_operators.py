"""Operators on objects do what CPython does with the same source, on every backend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.jit.classes.comparing import BACKENDS, assert_like_python
from tests.jit.classes.operators import CASES, R, V, prints


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("fn", "arguments"), CASES, ids=[fn.__name__ for fn, _ in CASES])
def test_like_python(fn: Callable[..., Any], arguments: Callable[[], tuple[Any, ...]], backend: str) -> None:
    assert_like_python(fn, arguments, backend)


def test_printing_uses_the_objects_own_text(capsys: pytest.CaptureFixture[str]) -> None:
    import flambeau

    flambeau.script(prints)(V(3), R(3))
    assert capsys.readouterr().out == "V(3) R! 3\n"
