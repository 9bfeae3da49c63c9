"""What the names in an archive's code mean, and the literals of its classes."""

from __future__ import annotations

import ast
import cmath
import enum
import math
import sys
from typing import TYPE_CHECKING, Any, Final

from flambeau.frontend.resolver import MISSING
from flambeau.ir.literals import EnumMember
from flambeau.program.unit import demangle
from flambeau.schema.device import Device
from flambeau.schema.types import ANY, EnumType
from flambeau.serialize.archive_format import ROOT
from flambeau.serialize.archive_reader.special_operators import SPECIAL, MakesObject
from flambeau.serialize.archive_reader.upgrades import UpgradedOperator, upgrade_of
from flambeau.serialize.python_print_resolver import OperatorNamespace, PrintedNames

if TYPE_CHECKING:
    from flambeau.frontend.values.sugared import Emitter, Sugared
    from flambeau.serialize.archive_reader.code_file import CodeFile
    from flambeau.serialize.archive_reader.code_unit import CodeUnit
    from flambeau.util.source import SourceRange

_BUILTINS: Final = frozenset((
    "abs", "all", "any", "bin", "bool", "chr", "complex", "dict", "divmod", "enumerate", "float", "getattr",
    "hasattr", "hash", "hex", "id", "int", "isinstance", "len", "list", "max", "min", "oct", "ord", "pow", "print",
    "range", "reversed", "round", "set", "slice", "sorted", "str", "sum", "tuple", "zip",
))  # fmt: skip
_NUMBERS: Final = {"inf": math.inf, "nan": math.nan, "infj": cmath.infj, "nanj": cmath.nanj}


class ArchiveNames(PrintedNames):
    """Resolves the names of an archive's code: those of printed code, and operators as they were in its version."""

    def __init__(self, unit: CodeUnit) -> None:
        super().__init__(unit.constants, unit)
        self._unit = unit
        self.values["Capsule"] = ANY
        self.values["torch"] = _VersionedOperators("aten", unit.version)
        self.values["ops"] = _OperatorSpaces("", unit)

    def literal(self, file: CodeFile, node: ast.expr) -> Any:
        """The value of a literal in a class. Raises FrontendError for what is none."""
        file.check_nesting(node)
        return self._literal(file, node)

    def _literal(self, file: CodeFile, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=value) if isinstance(value, bool | float | complex | str | None):
                return value
            case ast.Constant(value=int(value)) if -(1 << 63) <= value < 1 << 63:
                return value
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                value = self._literal(file, operand)
                if isinstance(value, int | float | complex):
                    return -value
            case ast.List(elts=items):
                return [self._literal(file, item) for item in items]
            case ast.Tuple(elts=items):
                return tuple([self._literal(file, item) for item in items])
            case ast.Name(id=name) if name in _NUMBERS:
                return _NUMBERS[name]
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                parts = self._literal(file, left), self._literal(file, right)
                if all(isinstance(p, int | float | complex) for p in parts):
                    return parts[0] + parts[1]
            case ast.Attribute(value=ast.Name(id="CONSTANTS"), attr=name) if name[1:].isdigit():
                if int(name[1:]) < len(self._unit.constants):
                    return self._unit.constants[int(name[1:])]
            case ast.Call(func=ast.Name(id="annotate"), args=[_, value_node]):
                return self._literal(file, value_node)
            case ast.Call(func=ast.Attribute(attr="device"), args=[ast.Constant(value=str(place))]):
                try:
                    return Device(place)
                except RuntimeError as error:
                    raise file.error(str(error), node) from None
            case ast.Attribute(value=owner, attr=name):
                type_ = self._unit.find_type(file.text(owner))
                if isinstance(type_, EnumType) and name in dict(type_.members):
                    return EnumMember(type_.name, name) if type_.python is None else type_.python[name]
        raise file.error("expected a literal", node)

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

    def __init__(self, name: str, unit: CodeUnit) -> None:
        super().__init__(name)
        self._unit = unit

    def attribute(self, e: Emitter, where: SourceRange, name: str) -> Sugared:
        """A namespace, or an operator of it."""
        if not self.name:
            return _OperatorSpaces(name, self._unit)
        qualified = f"{self.name}::{name}"
        return MakesObject(qualified, self._unit) if qualified in SPECIAL else super().attribute(e, where, name)


def known_enum(name: str, members: list[tuple[str, Any]]) -> type[enum.Enum] | None:
    """The running program's own enum of that name, if it has the same members; nothing is imported for it."""
    module, _, short = demangle(name).removeprefix(ROOT).lstrip(".").rpartition(".")
    # Of a module, `vars` has what is there; `getattr` may call the module's own function, which may import.
    home = sys.modules.get(module or "__main__")
    found = None if home is None else vars(home).get(short)
    if not isinstance(found, type) or not issubclass(found, enum.Enum):
        return None
    return found if [(m.name, m.value) for m in found] == members else None
