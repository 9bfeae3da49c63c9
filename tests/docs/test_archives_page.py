"""The example on the page about archives runs."""

from __future__ import annotations

import doctest
from pathlib import Path


def test_example() -> None:
    page = Path(__file__).parents[2] / "docs" / "archives.md"
    found = doctest.testfile(str(page), module_relative=False)
    assert found.attempted > 4
    assert found.failed == 0
