"""The language table as pages by topic: a section of `tests/language` is a page, a construct a heading."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

from flambeau.tools.language_table import INTRODUCTION, load, outcome, sections
from website.stage import ROOT, Pages

BEYOND = '<p class="facts">beyond TorchScript</p>\n\n'


def pages(_: Path) -> Pages:
    """`language-table/index.md` and a page for each topic."""
    modules = sections(ROOT)
    rows = [row for module in modules for row in module.ROWS]
    text = INTRODUCTION.format(count=len(rows), refused=sum(bool(row.error) for row in rows))
    text += "\n| topic | rows | refusals |\n|---|---|---|\n"
    found: Pages = {}
    for module in modules:
        name = re.sub(r"\W+", "-", module.TITLE.lower()).strip("-")
        refused = sum(bool(row.error) for row in module.ROWS)
        text += f"| [{module.TITLE}]({name}.md) | {len(module.ROWS)} | {refused or ''} |\n"
        found[f"language-table/{name}.md"] = f"# {module.TITLE}\n" + "".join(map(_row, module.ROWS))
    return {"language-table/index.md": text, **found}


def _row(row: Any) -> str:
    heading = re.sub(r"([*_<>|`\[\]])", r"\\\1", row.construct.replace("\n", " "))
    text = f"\n### {heading}\n\n" + ("" if row.torch or row.error else BEYOND)
    text += f"```python\n{row.source.strip(chr(10))}\n```\n\n"
    if row.error:
        call = f" when `{row.calls[-1]}` is called" if row.calls else ""
        return text + f"Refused{call}:\n\n```text\n{row.error}\n```\n"
    namespace = load(row.source)
    shown, notes = [], []
    for call, here in zip(row.calls, row.differs or [None] * len(row.calls), strict=True):
        python = outcome(call, namespace)
        shown += [f">>> {call}", here or python]
        if here is not None and here != python:
            notes.append(f"In Python `{call}` gives <code>{escape(python)}</code>: {escape(row.why)}.\n")
    return text + "```pycon\n" + "\n".join(shown) + "\n```\n\n" + "\n".join(notes)


def escape(text: str) -> str:
    """Text as HTML that Markdown leaves alone."""
    return html.escape(text, quote=False).replace("*", "&#42;").replace("_", "&#95;").replace("\n", " ")
