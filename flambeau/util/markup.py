"""Text inside HTML and SVG. The standard library's `html` loads a table of two thousand names for the same."""

from __future__ import annotations


def escape(text: str) -> str:
    """The text with the characters that mean something in markup replaced.

    >>> escape('a < "b"')
    'a &lt; &quot;b&quot;'
    """
    for plain, written in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#x27;")):
        text = text.replace(plain, written)
    return text
