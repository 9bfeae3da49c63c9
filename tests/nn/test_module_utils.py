"""One number as several, in Python and in programs."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import nn
from flambeau.nn.modules.utils import _pair, _quadruple, _reverse_repeat_tuple, _single, _triple


def numbers(n: int, given: list[int]) -> list[list[int]]:
    return [_single(n), _pair(n), _triple(n), nn.modules.utils._quadruple(n), _pair(given)]


@pytest.mark.parametrize("backend", ["native", "interpreter", "reference"])
def test_in_programs(backend: Any) -> None:
    expected = [[3], [3, 3], [3, 3, 3], [3, 3, 3, 3], [1, 2]]
    assert flambeau.script(numbers, backend=backend)(3, [1, 2]) == expected
    assert [list(x) for x in numbers(3, [1, 2])] == expected


def test_in_python() -> None:
    assert (_single(3), _pair((1, 2)), _quadruple([1, 2, 3, 4])) == ((3,), (1, 2), (1, 2, 3, 4))  # type: ignore[comparison-overlap]
    assert _reverse_repeat_tuple((1, 2, 3), 2) == (3, 3, 2, 2, 1, 1)
