"""Links of a built site: each leads to a file and an anchor that exist, and nothing is fetched from elsewhere.

MkDocs checks the links of Markdown; here the built pages are read, so that links of the theme, of pictures and of
HTML inside Markdown count as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

FETCHED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "video": "src"}
"""What a browser loads to show a page; all of it has to be part of the site."""
NO_TAGS = re.compile(r"<!--.*?-->|(?<=>)[^<]*</style>|(<script\b[^>]*>).*?</script>", re.DOTALL)
TAG = re.compile(r"""<([a-zA-Z][a-zA-Z0-9]*)\s((?:"[^"]*"|'[^']*'|[^>"'])*)>""")
ATTRIBUTE = re.compile(r"""([a-zA-Z-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")


class Page:
    """The links, loaded files and anchors of one page."""

    def __init__(self, text: str) -> None:
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.anchors: set[str] = set()
        for tag, attributes in TAG.findall(NO_TAGS.sub(r"\1", text)):
            self._note(tag.lower(), attributes)

    def _note(self, tag: str, text: str) -> None:
        """Note what a tag refers to, and what it can be referred to by."""
        if tag != "a" and tag not in FETCHED and "id" not in text and "name" not in text:
            return
        attributes = {n.lower(): unescape(a or b or c) for n, a, b, c in ATTRIBUTE.findall(text)}
        self.anchors.update(attributes[name] for name in ("id", "name") if name in attributes)
        if tag == "a" and "href" in attributes:
            self.links.append(attributes["href"])
        elif tag in FETCHED and FETCHED[tag] in attributes and attributes.get("rel") != "canonical":
            self.fetched.append(attributes[FETCHED[tag]])


def broken(site: Path) -> Iterator[str]:
    """What is wrong with the links of a site: page, link and reason, one text each."""

    @cache
    def page(path: Path) -> Page:
        return Page(path.read_text(encoding="utf-8"))

    for path in sorted(site.rglob("*.html")):
        shown = path.relative_to(site)
        if shown.name == "404.html":  # served at any address, so its links are absolute
            continue
        for link in page(path).fetched:
            parts = urlsplit(link)
            if parts.scheme in ("http", "https") or parts.netloc:
                yield f"{shown}: loads {link} from elsewhere"
        for link in dict.fromkeys([*page(path).links, *page(path).fetched]):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target = target / "index.html"
            if not target.is_file():
                yield f"{shown}: {link}: there is no such file"
            elif parts.fragment and target.suffix == ".html":
                anchor = unquote(parts.fragment)
                if anchor not in page(target).anchors and not anchor.startswith("__"):
                    yield f"{shown}: {link}: that page has no such anchor"
