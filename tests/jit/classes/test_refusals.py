"""What is said of programs with classes that cannot be compiled, and where."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau.jit import CompileError
from tests.jit.classes.refusals import CASES


@pytest.mark.parametrize(("value", "underlined", "message"), CASES, ids=[v.__name__ for v, _, _ in CASES])
def test_refused(value: Any, underlined: str, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        flambeau.script(value)
    assert message in str(caught.value)
    if underlined:
        assert caught.value.range is not None
        assert caught.value.range.text == underlined
        assert caught.value.range.file_line_col()[0].endswith("refusals.py")
