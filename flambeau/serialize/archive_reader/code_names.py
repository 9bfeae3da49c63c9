"""What the names in an archive's code mean."""

from __future__ import annotations

import enum
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from flambeau.frontend.scopes.name_resolution import MISSING
from flambeau.program.gradients import GRADIENT
from flambeau.program.unit import CompilationUnit, demangle
from flambeau.schema.types import ANY
from flambeau.serialize.archive_reader.special_operators import SPECIAL, MakesObject, TakesGradient
from flambeau.serialize.archive_reader.upgrades import UpgradedOperator, upgrade_of
from flambeau.serialize.python_print_resolver import OperatorNamespace, PrintedNames
from flambeau.util.names import without_root

if TYPE_CHECKING:
    from flambeau.frontend.emit.values.sugared import Emitter, Sugared
    from flambeau.util.source import SourceRange

_BUILTINS: Final = frozenset((
    "abs", "all", "any", "bin", "bool", "chr", "complex", "dict", "divmod", "enumerate", "float", "getattr",
    "hasattr", "hash", "hex", "id", "int", "isinstance", "len", "list", "max", "min", "oct", "ord", "pow", "print",
    "range", "reversed", "round", "set", "slice", "sorted", "str", "sum", "tuple", "zip",
))  # fmt: skip


class ArchiveNames(PrintedNames):
    """Resolves the names of an archive's code: those of printed code, and operators as they were in its version."""

    def __init__(self, constants: Sequence[Any], unit: CompilationUnit, version: int) -> None:
        super().__init__(constants, unit)
        self.values["Capsule"] = ANY
        self.values["torch"] = _VersionedOperators("aten", version)
        self.values["ops"] = _OperatorSpaces("", unit)

    def resolve(self, name: str) -> Any:
        """The value of a name; of Python's builtins only those that programs have."""
        return super().resolve(name) if name in self.values or name in _BUILTINS else MISSING


class _VersionedOperators(OperatorNamespace):
    """`torch`: `aten` with the operators of the archive's version."""

    def __init__(self, name: str, version: int) -> None:
        super().__init__(name)
        self._version = version

    def attribute(self, e: Emitter, where: SourceRange, name: str) -> Sugared:
        """An operator, as it was."""
        function = upgrade_of(name, self._version)
        return super().attribute(e, where, name) if function is None else UpgradedOperator(f"aten::{name}", function)


class _OperatorSpaces(OperatorNamespace):
    """`ops` and its attributes, with the operators whose types are classes of the archive."""

    def __init__(self, name: str, unit: CompilationUnit) -> None:
        super().__init__(name)
        self._unit = unit

    def attribute(self, e: Emitter, where: SourceRange, name: str) -> Sugared:
        """A namespace, or an operator of it."""
        if not self.name:
            return _OperatorSpaces(name, self._unit)
        qualified = f"{self.name}::{name}"
        if qualified == GRADIENT:
            return TakesGradient()
        return MakesObject(qualified, self._unit) if qualified in SPECIAL else super().attribute(e, where, name)


def known_enum(name: str, members: list[tuple[str, Any]]) -> type[enum.Enum] | None:
    """The running program's own enum of that name, if it has the same members; nothing is imported for it."""
    module, _, short = without_root(demangle(name)).rpartition(".")
    # Of a module, `vars` has what is there; `getattr` may call the module's own function, which may import.
    defining_module = sys.modules.get(module or "__main__")
    own = None if defining_module is None else vars(defining_module).get(short)
    if not isinstance(own, type) or not issubclass(own, enum.Enum):
        return None
    return own if [(m.name, m.value) for m in own] == members else None
