"""How much LLVM does for code: all that makes it quick, or as little as it can.

FLAMBEAU_OPT=0      code is made two to five times as quickly and is slower: for tests, and programs of many short parts
FLAMBEAU_OPT=2      all passes, as without the variable
"""

from __future__ import annotations

import os

OPT = "FLAMBEAU_OPT"
_LEVELS = {"": False, "0": True, "2": False}


def is_hasty() -> bool:
    """Whether code is to be made with as little work as possible. Raises ValueError for a level that there is not."""
    level = os.environ.get(OPT, "")
    if level not in _LEVELS:
        raise ValueError(f"{OPT} is 0, for code that is made quickly, or 2, for code that runs quickly, not {level!r}")
    return _LEVELS[level]
