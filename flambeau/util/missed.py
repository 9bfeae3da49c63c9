"""What a short way gives for a call that must be made the long way.

>>> missed(1, 2) is MISSED
True
"""

from __future__ import annotations

from typing import Final

MISSED: Final = object()
"""Given in place of a result."""
UNDECIDED: Final = object()
"""Given in place of a short way by who is to be asked again soon."""


def missed(*arguments: object) -> object:
    """A short way that serves nothing."""
    return MISSED
