"""`slice(a, b, c)` held in a variable, and `a:b:c` in a subscript."""

from __future__ import annotations

from flambeau.frontend.emit.values.sugared import Sugared
from flambeau.ir.graph import Value
from flambeau.util.record import dataclass


@dataclass(slots=True)
class SliceValue(Sugared):
    """The bounds of a slice; None where they were left out."""

    start: Value | None
    stop: Value | None
    step: Value | None

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "slice"
