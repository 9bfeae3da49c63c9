"""Small functions whose bodies LLVM gets behind its passes, with forms for vectors that its loop vectoriser knows of.

A function with a way that is rarely taken, a call of the C library, keeps a loop from becoming vectors. While the
passes run such a function is only declared: without effects, with the name of its form for vectors. What the passes
made of the calls is inlined afterwards.

>>> text = "define i64 @f() {...}\\n" + late_text({"g": LateText("define i64 @g() {...}")})
>>> split_late(text)[1].strip()
'define i64 @g() {...}'
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from flambeau.codegen.llvm.emitter import Emitter, Value, vector_type
from flambeau.util.record import dataclass

_BEGIN: Final = "; behind LLVM's passes, from here"
_END: Final = "; behind LLVM's passes, up to here"
_PURE: Final = "nounwind willreturn memory(none)"


@dataclass(frozen=True, slots=True)
class LateFunction:
    """A function of doubles and its form for vectors, as calls name them."""

    name: str
    lanes: int
    """Of the form for vectors that loops may become; 1 for none."""
    arity: int = 1
    """How many numbers it takes."""

    def symbol(self, lanes: int) -> str:
        """The name of the form for so many lanes."""
        return self.name if lanes == 1 else f"{self.name}.{lanes}"

    def declaration(self, lanes: int) -> str:
        """Its declaration."""
        vt = vector_type("double", lanes)
        return f"declare {vt} @{self.symbol(lanes)}({', '.join([vt] * self.arity)}) {_PURE}"

    def call(self, e: Emitter, *xs: Value) -> Value:
        """A call of the form for as many lanes as the arguments have, each as many."""
        x = xs[0]
        e.declare(self.declaration(x.lanes))
        variant = ""
        if x.lanes == 1 and self.lanes > 1:
            e.declare(self.declaration(self.lanes))
            form = f"N{self.lanes}{'v' * self.arity}_{self.name}({self.symbol(self.lanes)})"
            variant = f' "vector-function-abi-variant"="_ZGV_LLVM_{form}"'
        vt = x.full_type
        passed = ", ".join(f"{vt} {each}" for each in xs)
        return e.define(f"call {vt} @{self.symbol(x.lanes)}({passed}) {_PURE}{variant}", "double", x.lanes)


@dataclass(frozen=True, slots=True)
class LateText:
    """The definition of one such function, and what it declares."""

    definition: str
    declarations: tuple[str, ...] = ()


def late_text(functions: Mapping[str, LateText]) -> str:
    """The part of a module's text that comes behind the passes, of functions by symbol; empty where there are none."""
    if not functions:
        return ""
    names = ", ".join(f"ptr @{name}" for name in functions)
    kept = f'@llvm.compiler.used = appending global [{len(functions)} x ptr] [{names}], section "llvm.metadata"'
    declarations = dict.fromkeys(d for f in functions.values() for d in f.declarations)
    return "\n".join((kept, _BEGIN, *declarations, *(f.definition for f in functions.values()), _END, ""))


def split_late(text: str) -> tuple[str, str]:
    """A module's text without that part, and the part: empty where there is none."""
    before, _, rest = text.partition(_BEGIN)
    late, _, after = rest.partition(_END)
    return before + after, late
