"""Operators that give objects of classes which PyTorch has in C++: `with record_function(name):` enters one.

The classes are the archive's own, so the operators' types are too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Builtin, Given, Sugared
from flambeau.program.unit import CompilationUnit
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass

if TYPE_CHECKING:
    from flambeau.frontend.emit.values.sugared import Emitter
    from flambeau.util.source import SourceRange

SPECIAL: Final[dict[str, str]] = {
    "profiler::_record_function_enter_new": "__torch__.torch.classes.profiler._RecordFunction",
}
"""The class of what an operator gives, by its name."""


@dataclass(slots=True)
class MakesObject(Builtin):
    """An operator that gives an object of a class of the archive."""

    name: str
    unit: CompilationUnit

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """The node, whose result is of that class."""
        if keywords:
            raise CompileError(f"{self.name} takes no keywords", where)
        type_ = self.unit.find_type(SPECIAL[self.name])
        if type_ is None:
            raise CompileError(f"the archive has no class {SPECIAL[self.name]}", where)
        with e.graph.at_range(where):
            return SimpleValue(e.emit(self.name, tuple(a.value for a in args), type_))
