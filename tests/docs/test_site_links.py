"""The check of the site's links finds what is broken, and says where; pages of the repository get links that work."""

from __future__ import annotations

import ast
from itertools import pairwise
from pathlib import Path

from tests.source_tree import MODULES, NODES
from website import floors
from website.links import broken
from website.markup import left_over
from website.navigation import navigation
from website.stage import ROOT, relinked


def test_c08_broken_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.html").write_text('<h2 id="here">x</h2><a href="../a.html#gone">x</a>', encoding="utf-8")
    (tmp_path / "a.html").write_text(
        '<a href="sub/b.html#here">fine</a> <a href="sub/b.html#there">x</a> <a href="c.html">x</a>'
        '<a href="https://example.org/">fine</a><img src="no.png"><script src="https://cdn.example.org/x.js"></script>',
        encoding="utf-8",
    )
    assert list(broken(tmp_path)) == [
        "a.html: loads https://cdn.example.org/x.js from elsewhere",
        "a.html: sub/b.html#there: that page has no such anchor",
        "a.html: c.html: there is no such file",
        "a.html: no.png: there is no such file",
        "sub/b.html: ../a.html#gone: that page has no such anchor",
    ]


def test_marks_of_markdown_are_found_outside_of_code(tmp_path: Path) -> None:
    page = "<pre>`x` {#a}</pre><p>a <code>`</code> b</p><h2>__and__ {#<strong>and</strong>}</h2><p>a `while` loop</p>"
    (tmp_path / "a.html").write_text(page, encoding="utf-8")
    assert list(left_over(tmp_path)) == [
        "a.html: shows Markdown as it is written: __and__ {#",
        "a.html: shows Markdown as it is written: a `while` loop",
    ]


def test_c08_named_pages_become_links_but_not_in_programs() -> None:
    text = "`docs/errors.md`, `docs/language-table.md`\n```\n`docs/errors.md`\n```\n"
    text += "[x](../../CONTRIBUTING.md) [y](z.md#a)\n"
    assert relinked("sub/page.md", text) == (
        "[errors](../errors.md), [language-table](../language-table/index.md)\n"
        "```\n`docs/errors.md`\n```\n[x](../contributing.md) [y](z.md#a)\n"
    )


def test_c08_pages_are_in_order_and_folders_in_groups() -> None:
    names = ["reference/operators/b.md", "reference/nn.md", "reference/operators/index.md", "unlisted.md"]
    found = navigation(dict.fromkeys(names, ""))
    assert found == [
        {"Reference": ["reference/nn.md", {"Operators": ["reference/operators/index.md", "reference/operators/b.md"]}]}
    ]


def test_c08_imports_are_read_as_the_syntax_trees_have_them() -> None:
    compared = [name for name in MODULES if name.split(".")[1:2] in ([], ["jit"], ["tools"])]
    assert len(compared) > 100
    for name in compared:
        imported = []
        for node in NODES[name].of(ast.ImportFrom, ast.Import):
            if isinstance(node, ast.ImportFrom):
                imported += [f"{node.module}.{alias.name}" for alias in node.names]
            else:
                imported += [alias.name for alias in node.names]
        rooms = {path.split(".")[1] for path in imported if path.startswith("flambeau.")}
        assert floors.rooms_of(MODULES[name].read_text(encoding="utf-8")) == rooms, name


def test_c08_the_picture_of_the_floors_is_drawn_from_the_imports() -> None:
    counted = floors.imports()
    drawn = floors.picture()
    assert counted["jit", "executor"] > 3
    assert ("util", "jit") not in counted
    for room in ("jit", "codegen", "schema", "util"):
        assert f">{room}</text>" in drawn
    assert f"<title>jit imports executor: {counted['jit', 'executor']} modules</title>" in drawn


def test_pages_about_performance_say_what_holds_now() -> None:
    """A page is read in one go, and its tables have no columns of what was before: the history has that."""
    pages = sorted((ROOT / "docs" / "performance").glob("*.md"))
    assert len(pages) > 10
    for page in pages:
        lines = page.read_text(encoding="utf-8").splitlines()
        assert len(lines) <= 150, f"{page.name} has {len(lines)} lines"
        tables = [line for line, below in pairwise(lines) if below.startswith("|---")]
        assert not [line for line in tables if "before" in line], page.name
