"""Puts the pages of the site into a folder: those of `docs/` with links that work there, and those that are generated.

A page of `docs/` names another as `docs/name.md` in code style, as the README does; here that becomes a link. Of the
two tables that are one page each in the repository, the site has pages by topic.
"""

from __future__ import annotations

import posixpath
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
MOVED: Final = {"language-table.md": "language-table/index.md", "operators.md": "reference/operators/index.md"}
"""Pages of the repository in whose place the site has others."""
NAMED: Final = re.compile(r"(?<![\[`])`docs/([\w/-]+\.md)`(?!\])")
OUTSIDE: Final = re.compile(r"\[([^]]+)\]\(\.\./[\w./-]+\.py\)")
"""A link to a file of the repository that is no page: its text stays."""
LINKED: Final = re.compile(r"\]\((?!\w+:)([\w./-]+\.md)(#[\w-]+)?\)")
TOP: Final = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
"""Pages at the top of the repository, and what they are called here."""
Pages = dict[str, str]
"""Texts of pages by their path in the site."""
Maker = Callable[[Path], Pages]
"""Makes pages; what else they show is put into the folder that it is given."""


def stage(folder: Path, makers: tuple[Maker, ...]) -> Pages:
    """Fill a folder with all pages; the texts of all, by path. What was there before is removed."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copytree(ROOT / "docs" / "assets", folder / "assets")
    pages = hand_written()
    for maker in makers:
        pages.update(maker(folder))
    for path, text in pages.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return pages


def hand_written() -> Pages:
    """The pages of the repository, with links as the site needs them."""
    docs = ROOT / "docs"
    sources = {str(p.relative_to(docs)): p for p in sorted(docs.rglob("*.md"))}
    sources.update({name: ROOT / top for top, name in TOP.items()})
    return {n: relinked(n, p.read_text(encoding="utf-8")) for n, p in sources.items() if n not in MOVED}


def relinked(name: str, text: str) -> str:
    """The text of the page called `name`, with pages that it names as links.

    >>> relinked("tutorial/loops.md", "See `docs/errors.md` and [all](../operators.md#relu).")
    'See [errors](../errors.md) and [all](../reference/operators/index.md).'
    """
    folder = posixpath.dirname(name)

    def named(match: re.Match[str]) -> str:
        shown = posixpath.basename(match[1]).removesuffix(".md")
        return f"[{shown}]({posixpath.relpath(MOVED.get(match[1], match[1]), folder or '.')})"

    def linked(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, match[1]))
        if target.startswith("../") and target[3:] in TOP:
            return f"]({posixpath.relpath(TOP[target[3:]], folder or '.')})"
        if target in MOVED:
            return f"]({posixpath.relpath(MOVED[target], folder or '.')})"
        return match[0]

    parts = re.split(r"(^```.*?^```)", text, flags=re.MULTILINE | re.DOTALL)
    for at in range(0, len(parts), 2):
        parts[at] = OUTSIDE.sub(r"\1", LINKED.sub(linked, NAMED.sub(named, parts[at])))
        for top, page in TOP.items():
            link = f"[{page.removesuffix('.md')}]({posixpath.relpath(page, folder or '.')})"
            parts[at] = re.sub(rf"(?<!\[)`{top}`(?!\])", link, parts[at])
        parts[at] = parts[at].replace("][", "]\\[")  # an index, not a reference
    return "".join(parts)
