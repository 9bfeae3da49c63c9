"""The programs of the page about devices print what it shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.docs.running_pages import is_same, run_page

pytestmark = pytest.mark.usefixtures("fresh_allocators")
PAGE = Path(__file__).parents[2] / "docs" / "cuda.md"


def test_programs_print_what_the_page_shows(cuda: Any, tmp_path: Path) -> None:
    for block, printed in run_page(PAGE, tmp_path):
        assert block.shown is not None or not printed, f"line {block.line} prints {printed!r}"
        assert block.shown is None or is_same(block.shown, printed, False), (
            f"line {block.line} shows\n{block.shown}\nand prints\n{printed}"
        )
