"""Machine code of other compilers that a compiled graph calls."""

from __future__ import annotations

from typing import Any

from flambeau.codegen.graph.representation import Representation
from flambeau.util.record import dataclass


@dataclass(frozen=True, slots=True)
class ForeignCode:
    """Where a function is, and what it takes and gives, for one way its arguments look."""

    address: int
    symbol: str
    """Names the function in the text; the address is bound to it when the code is linked."""
    arguments: tuple[str, ...]
    """The LLVM type of each argument that is a number; empty for an array."""
    result: Representation
    layout: str
    """The LLVM type of the memory that the result is written to."""
    owner: Any
    """Keeps the code alive."""
