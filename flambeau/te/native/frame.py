"""A function that is being written, and what is known at a statement of it."""

from __future__ import annotations

from flambeau.codegen.llvm.emitter import Emitter, Value
from flambeau.te.expressions import Buffer, Expr, Var
from flambeau.te.proofs import Known
from flambeau.util.record import dataclass, field, replace


@dataclass(slots=True, eq=False)
class Frame:
    """A function's text, and the memory and numbers that it has."""

    e: Emitter
    pointers: dict[Buffer, Value]
    numbers: dict[Var, Value]
    """Of loops and calls; of the vector loop, that of its first lane."""
    error: Value
    """The address of the error flag."""
    run: Value
    """The address of what shares out the pieces of a parallel loop."""
    allocated: list[Value] = field(default_factory=list)
    """Memory that has to be given back in the scope that is written."""


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """What holds where a statement stands."""

    known: Known
    vector: Var | None = None
    """The index of the loop whose iterations are lanes."""
    lanes: int = 1
    mask: Value | None = None
    """The lanes that count; None where all do."""
    known_of_all: Known = Known({})
    """What is known whichever lanes count."""

    def inside(self, var: Var, start: Expr, stop: Expr) -> Scope:
        """The scope in a loop."""
        return replace(
            self, known=self.known.inside(var, start, stop), known_of_all=self.known_of_all.inside(var, start, stop)
        )

    def across(self, var: Var, start: Expr, stop: Expr, lanes: int) -> Scope:
        """The scope in a loop whose iterations are lanes."""
        return replace(self.inside(var, start, stop), vector=var, lanes=lanes)

    def under(self, condition: Expr) -> Scope:
        """The scope where a condition holds in the lanes that count."""
        return replace(self, known=self.known.under(condition))

    def under_all(self, condition: Expr) -> Scope:
        """The scope where a condition holds that is one for all lanes."""
        return replace(self, known=self.known.under(condition), known_of_all=self.known_of_all.under(condition))

    def otherwise(self, condition: Expr) -> Scope:
        """The scope where a condition does not hold."""
        return replace(self, known=self.known.otherwise(condition))

    def masked(self, e: Emitter, mask: Value) -> Scope:
        """The scope where only these lanes count, of those that did."""
        return replace(self, mask=mask if self.mask is None else e.binary("and", self.mask, mask))

    def first_lane(self) -> Scope:
        """The scope as the first lane sees it."""
        return replace(self, vector=None, lanes=1, mask=None)
