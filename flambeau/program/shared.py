"""Lists and dicts that a Python caller and a program share: what the program changes, the caller sees.

Native code works on copies of containers, so a call with one of these is interpreted.
"""

from __future__ import annotations

from typing import Any


class SharedList(list[Any]):
    """A list that is passed by reference."""

    __slots__ = ()


class SharedDict(dict[Any, Any]):
    """A dict that is passed by reference."""

    __slots__ = ()


SHARED = (SharedList, SharedDict)
