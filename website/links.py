"""Links of a built site: each leads to a file and an anchor that exist, and nothing is fetched from elsewhere.

MkDocs checks the links of Markdown; here the built pages are read, so that links of the theme, of pictures and of
HTML inside Markdown count as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

FETCHED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "video": "src"}
"""What a browser loads to show a page; all of it has to be part of the site."""


class Page(HTMLParser):
    """The links, loaded files and anchors of one page."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag refers to, and what it can be referred to by."""
        found = {name: value or "" for name, value in attrs}
        self.anchors.update(found[name] for name in ("id", "name") if name in found)
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif tag in FETCHED and FETCHED[tag] in found and found.get("rel") != "canonical":
            self.fetched.append(found[FETCHED[tag]])


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
