"""Names of variables outside of the function that defines them, where another function may have one of the same name.

def outer(x):
    return apply(lambda v: v * x)    →    `apply` gets what the lambda captures as CapturedName("x", "outer1")
"""

from __future__ import annotations

from flambeau.frontend.trees.statement_trees import Def
from flambeau.util.record import dataclass


@dataclass(frozen=True, slots=True)
class CapturedName:
    """A name of a defining scope, as other functions have it."""

    name: str
    defining_scope: str
    """The function that defines it, told apart from others of its name."""

    def __str__(self) -> str:
        """What parameters and variables of the graph that hold it are called."""
        return f"{self.name}__{self.defining_scope}"


Name = str | CapturedName
"""What a frame finds meanings by."""


def unique_name(tree: Def, taken: set[str]) -> str:
    """A function's name and line, with a number if that is taken already; it is taken from now on."""
    plain = name = f"{tree.name}{tree.range.file_line_col()[1]}"
    number = 1
    while name in taken:
        number += 1
        name = f"{plain}_{number}"
    taken.add(name)
    return name
