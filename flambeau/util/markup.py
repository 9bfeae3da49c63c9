"""Text that people look at: inside HTML and SVG, and at the prompt.

The standard library's `html` loads a table of two thousand names to do the same as `escape`.
"""

from __future__ import annotations


class Listing(str):
    """Text of several lines, which shows itself at the prompt.

    >>> Listing("mov eax, 1\\nret")
    mov eax, 1
    ret
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def escape(text: str) -> str:
    """The text with the characters that mean something in markup replaced.

    >>> escape('a < "b"')
    'a &lt; &quot;b&quot;'
    """
    for plain, written in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#x27;")):
        text = text.replace(plain, written)
    return text
