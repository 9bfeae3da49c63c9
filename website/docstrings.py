"""Docstrings as the site shows them: sessions (`>>>`) become blocks of code, as Griffe extension `Sessions`."""

from __future__ import annotations

import re
from typing import Any

import griffe

SESSION = re.compile(r"(?:^[ ]*>>> .*\n?(?:^(?![ ]*>>> )[ ]*\S.*\n?)*)+", re.MULTILINE)
"""Lines from `>>>` on to the next empty one."""

SHAPE = re.compile(r"^Shape:((?:\n    .*)+|.*)\n*", re.MULTILINE)


class Sessions(griffe.Extension):
    """Puts fences around the sessions of every docstring."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite one docstring."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """A docstring whose sessions are blocks of code, and whose shapes are a paragraph.

    >>> print(fenced("Twice.\\n\\n>>> twice(2)\\n4\\n"))
    Twice.
    <BLANKLINE>
    ```pycon
    >>> twice(2)
    4
    ```
    <BLANKLINE>
    """
    text = SHAPE.sub(lambda m: f"**Shape:** {' '.join(m[1].split())}\n\n", text)
    return SESSION.sub(lambda m: f"```pycon\n{m[0].rstrip()}\n```\n", text)
