"""Every program on the pages of the tutorial and on the first page runs, and prints what the page shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.running_pages import blocks, is_same, run_page

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [
    *[DOCS / name for name in ("index.md", "dispatch.md", "fx.md", "te.md", "transforms.md", "autograd.md")],
    *sorted((DOCS / "tutorial").glob("*.md")),
    *sorted((DOCS / "how-to").glob("*.md")),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_c08_programs_print_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    for block, printed in run_page(page, tmp_path):
        shown = block.body if block.language == "console" else block.shown
        assert shown is not None or not printed, f"{page.name}:{block.line} prints {printed!r}, which is not shown"
        assert shown is None or is_same(shown, printed, block.is_measured), (
            f"{page.name}:{block.line} shows\n{shown}\nand prints\n{printed}"
        )


def test_c08_the_tutorial_has_eight_pages() -> None:
    assert len(list((DOCS / "tutorial").glob("*.md"))) == 9, "the eight, and what they are"


def test_c08_a_page_that_shows_something_else_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text('```python title="a.py"\nprint(1 + 1)\n```\n\n```text\n3\n```\n\n```rust\n```\n', encoding="utf-8")
    steps = run_page(page, tmp_path)
    block, printed = next(steps)
    assert (block.shown, printed, is_same("3", printed, False)) == ("3\n", "2\n", False)
    with pytest.raises(AssertionError, match=r"page.md:9: a block of rust is not run"):
        next(steps)


@pytest.mark.parametrize(
    ("shown", "printed", "is_expected"),
    [
        ("took 3 ms, 2 calls", "took 1,250.5 us, 2 calls", True),
        ("took 3 ms, 2 calls", "took 1.5 ms, 3 calls", False),
        ("12% of the limit", "7% of the limit", True),
    ],
)
def test_c08_measured_figures_may_differ_and_nothing_else(shown: str, printed: str, is_expected: bool) -> None:
    assert is_same(shown, printed, True) is is_expected
    assert not is_same(shown, printed, False)


def test_c08_blocks_know_their_outputs() -> None:
    text = "```python\nx = 1\n```\n\n<!-- measured -->\n```text\n1 ms\n```\n<!-- needs: numba -->\n```python\n```\n"
    first, output, last = blocks(text)
    assert (first.shown, first.is_measured, output.language, last.needs) == ("1 ms\n", True, "text", "numba")
