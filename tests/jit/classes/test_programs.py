"""Programs with classes do what CPython does with the same source, on every backend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.jit.classes.comparing import BACKENDS, assert_like_python
from tests.jit.classes.programs import CASES


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("fn", "arguments"), CASES, ids=[f"{fn.__name__}-{i}" for i, (fn, _) in enumerate(CASES)])
def test_like_python(fn: Callable[..., Any], arguments: Callable[[], tuple[Any, ...]], backend: str) -> None:
    assert_like_python(fn, arguments, backend)
