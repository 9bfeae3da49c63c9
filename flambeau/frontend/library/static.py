"""Parameters that are part of what a library function is compiled for, where calls write them out.

def nansum(a: Any, axis: Static = None)      nansum(x, axis=0)    →    compiled for axis 0, so that ranks are known
"""

from __future__ import annotations

from typing import Any

Static = Any
