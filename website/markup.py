"""Marks of Markdown that a built page still shows: what was meant as code, or as the name of a heading."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

WITHOUT_MARKS = re.compile(r"<(pre|code|script|style|svg)\b.*?</\1>|<!--.*?-->", re.DOTALL)
TAG = re.compile(r"<[^>]*>")
MARK = re.compile(r".{0,30}(?:`|\{#).{0,30}")


def left_over(site: Path) -> Iterator[str]:
    """Page and text of each mark that stands outside of code."""
    for path in sorted(site.rglob("*.html")):
        text = unescape(TAG.sub("\n", WITHOUT_MARKS.sub("", path.read_text(encoding="utf-8"))))
        for mark in MARK.findall(text):
            yield f"{path.relative_to(site)}: shows Markdown as it is written: {mark.strip()}"
