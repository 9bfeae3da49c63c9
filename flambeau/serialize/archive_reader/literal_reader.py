"""The literals in an archive's code: attributes of its classes, members of its enums, defaults of its parameters."""

from __future__ import annotations

import ast
import cmath
import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.frontend.scopes.name_resolution import MISSING
from flambeau.ir.literals import EnumMember
from flambeau.program.unit import CompilationUnit
from flambeau.schema.device import Device
from flambeau.schema.types import EnumType
from flambeau.serialize.archive_reader.code_file import CodeFile

_NUMBERS: Final = {"inf": math.inf, "nan": math.nan, "infj": cmath.infj, "nanj": cmath.nanj}


class LiteralReader:
    """Evaluates literals. A literal may name the archive's constants and the members of its enums."""

    def __init__(self, constants: Sequence[Any], unit: CompilationUnit) -> None:
        self._constants = constants
        self._unit = unit

    def read(self, file: CodeFile, node: ast.expr) -> Any:
        """The value of a literal. Raises FrontendError for what is none."""
        file.check_nesting(node)
        return self._read(file, node)

    def _read(self, file: CodeFile, node: ast.expr) -> Any:
        reader = _READERS.get(type(node))
        value = MISSING if reader is None else reader(self, file, node)
        if value is MISSING:
            raise file.error("expected a literal", node)
        return value

    # Each of these gives MISSING for a node that is no literal after all.

    def _constant(self, file: CodeFile, node: ast.Constant) -> Any:
        match node.value:
            case bool() | float() | complex() | str() | None:
                return node.value
            case int(value) if -(1 << 63) <= value < 1 << 63:
                return value
        return MISSING

    def _negative(self, file: CodeFile, node: ast.UnaryOp) -> Any:
        if not isinstance(node.op, ast.USub):
            return MISSING
        value = self._read(file, node.operand)
        return -value if isinstance(value, int | float | complex) else MISSING

    def _list(self, file: CodeFile, node: ast.List) -> Any:
        return [self._read(file, item) for item in node.elts]

    def _tuple(self, file: CodeFile, node: ast.Tuple) -> Any:
        return tuple([self._read(file, item) for item in node.elts])

    def _name(self, file: CodeFile, node: ast.Name) -> Any:
        return _NUMBERS.get(node.id, MISSING)

    def _sum(self, file: CodeFile, node: ast.BinOp) -> Any:
        """A complex number: its real and its imaginary part."""
        if not isinstance(node.op, ast.Add):
            return MISSING
        left, right = self._read(file, node.left), self._read(file, node.right)
        are_numbers = isinstance(left, int | float | complex) and isinstance(right, int | float | complex)
        return left + right if are_numbers else MISSING

    def _call(self, file: CodeFile, node: ast.Call) -> Any:
        """`annotate(T, value)` or `torch.device("cpu")`."""
        match node:
            case ast.Call(func=ast.Name(id="annotate"), args=[_, value]):
                return self._read(file, value)
            case ast.Call(func=ast.Attribute(attr="device"), args=[ast.Constant(value=str(name))]):
                try:
                    return Device(name)
                except RuntimeError as error:
                    raise file.error(str(error), node) from None
        return MISSING

    def _attribute(self, file: CodeFile, node: ast.Attribute) -> Any:
        """`CONSTANTS.c0`, or a member of an enum."""
        name = node.attr
        if isinstance(node.value, ast.Name) and node.value.id == "CONSTANTS" and name[1:].isdigit():
            index = int(name[1:])
            if index < len(self._constants):
                return self._constants[index]
        type_ = self._unit.find_type(file.text(node.value))
        if isinstance(type_, EnumType) and name in dict(type_.members):
            return EnumMember(type_.name, name) if type_.python is None else type_.python[name]
        return MISSING


_READERS: Final[dict[type[ast.expr], Callable[[LiteralReader, CodeFile, Any], Any]]] = {
    ast.Constant: LiteralReader._constant,
    ast.UnaryOp: LiteralReader._negative,
    ast.List: LiteralReader._list,
    ast.Tuple: LiteralReader._tuple,
    ast.Name: LiteralReader._name,
    ast.BinOp: LiteralReader._sum,
    ast.Call: LiteralReader._call,
    ast.Attribute: LiteralReader._attribute,
}
