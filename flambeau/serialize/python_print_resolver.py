"""Printed code read back: what `torch`, `ops`, `CONSTANTS`, `__torch__` and the words of printed code mean.

>>> import flambeau.ops
>>> from flambeau.serialize.python_print import print_code
>>> [function] = read_code("def f(n: int) -> int:\\n  return torch.mul(n, ops.prim.abs(n))\\n")
>>> print(print_code(function), end="")
def f(n: int) -> int:
  return torch.mul(n, ops.prim.abs(n))
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from flambeau.frontend.compile_function import compile_def
from flambeau.frontend.compile_text import compile_source
from flambeau.frontend.emit.builtins.language_forms import LANGUAGE_FORMS
from flambeau.frontend.emit.implicit_conversions import convert
from flambeau.frontend.emit.schema_matching import call_method
from flambeau.frontend.emit.values.operator_value import OperatorValue
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Given, Sugared
from flambeau.frontend.scopes.name_resolution import MISSING, Names
from flambeau.frontend.scopes.type_annotations import type_of_tree
from flambeau.frontend.trees.function_conversion import parse_source
from flambeau.frontend.trees.tree_views import Apply, StringLiteral
from flambeau.ir.constants import type_of
from flambeau.ir.graph import Graph, Value
from flambeau.ir.literals import EnumMember
from flambeau.ir.walk import blocks
from flambeau.program.function import Function
from flambeau.program.unit import CompilationUnit
from flambeau.schema.device import Device
from flambeau.schema.types import DEVICE, TENSOR, ClassType, EnumType, TupleType, Type
from flambeau.serialize.python_print_names import base_name, is_temporary
from flambeau.tensor.tensor import Tensor
from flambeau.util.errors import CompileError
from flambeau.util.names import ROOT
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

_NUMBERS = {"inf": math.inf, "nan": math.nan, "infj": complex(0, math.inf), "nanj": complex(0, math.nan)}
READ = "prim::GetAttr"


def read_code(
    text: str,
    constants: Sequence[Any] = (),
    *,
    unit: CompilationUnit | None = None,
    self_type: Type | None = None,
    filename: str = "<string>",
) -> list[Function]:
    """The functions of printed code.

    `constants` are what it reads from `CONSTANTS`, `unit` has the functions and types it names; with `self_type` the
    functions are methods of that type. Raises CompileError or FrontendError.

    >>> function, = read_code("def f(x: Tensor) -> Tensor:\\n  return torch.neg(x)\\n")
    >>> [node.kind() for node in function.graph.nodes()]
    ['aten::neg']
    """
    names = PrintedNames(constants, unit or CompilationUnit())
    if self_type is None:
        functions = compile_source(text, names, filename=filename)
    else:
        functions = [compile_def(tree, names, self_type=self_type) for tree in parse_source(text, filename)]
    for function in functions:
        forget_temporaries(function.graph)
    return functions


def forget_temporaries(graph: Graph) -> None:
    """Take the names `_0`, `_1`, ... away: they were given to values that had none.

    A submodule that is numbered is named after its number: `_0 = getattr(self, "0")`.
    """
    for block in blocks(graph.body):
        for value in [*block.parameters, *(output for node in block for output in node.results)]:
            if is_temporary(base_name(value)):
                field = (
                    value.defining_node.attribute("name")
                    if value.defining_node is not None and value.defining_node.op == READ
                    else ""
                )
                graph.rename(value, f"_{field}" if field.isdigit() else "")


class PrintedNames(Names):
    """Resolves the names of printed code. It reaches what is named here and nothing else of Python.

    >>> names = PrintedNames((), CompilationUnit())
    >>> function, = compile_source("def f(x: Tensor) -> Tensor:\\n  return torch.neg(x)\\n", names)
    >>> function.short_name
    'f'
    """

    reaches_python = False

    def __init__(self, constants: Sequence[Any], unit: CompilationUnit) -> None:
        super().__init__(
            {
                **_NUMBERS,
                **_FORMS,
                "torch": OperatorNamespace("aten"),
                "ops": OperatorNamespace(""),
                "CONSTANTS": ConstantNamespace(constants),
                ROOT: QualifiedName(unit, ROOT),
                "unwrap_optional": OperatorValue("aten::_unwrap_optional"),
            }
        )

    def member(self, owner: Any, name: str) -> Any:
        """Longer qualified names."""
        return longer(owner, name) if isinstance(owner, QualifiedName) else MISSING

    def sugared(self, value: Any, where: SourceRange) -> Sugared | None:
        """Qualified names, by what the unit has under them."""
        return Qualified(value) if isinstance(value, QualifiedName) else None


@dataclass(slots=True)
class OperatorNamespace(Sugared):
    """`torch` with all of `aten`, `ops` with a namespace per attribute, `ops.prim` with its operators."""

    name: str

    @property
    def kind(self) -> str:
        """What error messages call such a value."""
        return "namespace of operators"

    def attribute(self, e: Emitter, where: SourceRange, name: str) -> Sugared:
        """An operator, or the namespace in `ops`."""
        if not self.name:
            return OperatorNamespace(name)
        if (self.name, name) == ("aten", "device"):
            return DeviceForm()
        if (self.name, name) == ("aten", "autograd"):
            return self
        if (self.name, name) in _WORDS:
            return LANGUAGE_FORMS[_WORDS[self.name, name]]
        return OperatorValue(f"{self.name}::{name}")


@dataclass(slots=True)
class ConstantNamespace(Sugared):
    """`CONSTANTS`."""

    values: Sequence[Any]

    def attribute(self, e: Emitter, where: SourceRange, name: str) -> Sugared:
        """`c0`, `c1`, ..."""
        digits = name.removeprefix("c")
        if not digits.isdigit() or int(digits) >= len(self.values):
            raise CompileError(f"there is no constant {name}: the code came with {len(self.values)} constants", where)
        value = self.values[int(digits)]
        return SimpleValue(e.constant(value, TENSOR if isinstance(value, Tensor) else type_of(value)))


class QualifiedName:
    """`__torch__.a.b`: a function or type of the unit, or the way to one. Its attributes are the longer names.

    Every attribute but Python's own is such a name, so that code reaches nothing else of it.
    """

    __slots__ = ("_name", "_unit")

    def __init__(self, unit: CompilationUnit, name: str) -> None:
        self._unit = unit
        self._name = name

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            return object.__getattribute__(self, name)
        return longer(self, name)

    def __repr__(self) -> str:
        return str(object.__getattribute__(self, "_name"))


def longer(path: QualifiedName, name: str) -> Any:
    """What a name behind a qualified name means: a type, a function, or a longer qualified name."""
    unit: CompilationUnit = object.__getattribute__(path, "_unit")
    path_of_name = f"{path!r}.{name}"
    return unit.find_type(path_of_name) or unit.find_function(path_of_name) or QualifiedName(unit, path_of_name)


@dataclass(slots=True)
class Qualified(Sugared):
    """A qualified name inside an expression."""

    path: QualifiedName

    @property
    def kind(self) -> str:
        """What error messages call such a value."""
        return f"name '{self.path!r}'"

    def attribute(self, e: Emitter, where: SourceRange, name: str) -> Sugared:
        """What the longer name means."""
        path = longer(self.path, name)
        return NamedTypeValue(path) if isinstance(path, Type) else e.wrap(path, where)


@dataclass(slots=True)
class NamedTypeValue(Sugared):
    """A class, enum or named tuple of the unit."""

    type: Type

    @property
    def kind(self) -> str:
        """What error messages call such a value."""
        return f"type '{self.type.annotation}'"

    def attribute(self, e: Emitter, where: SourceRange, name: str) -> Sugared:
        """A member of an enum; `__new__` of a class; a hook of a module's class."""
        if isinstance(self.type, EnumType):
            known = self.type.python
            member = EnumMember(self.type.name, name) if known is None else known[name]
            return SimpleValue(e.emit("prim::Constant", (), self.type, value=member))
        if isinstance(self.type, ClassType) and name == "__new__":
            return NewObject(self.type)
        if isinstance(self.type, ClassType) and name in self.type.definition.methods:
            return UnboundMethod(self.type.definition.methods[name])
        raise CompileError(f"{self.kind} has no attribute '{name}' in printed code", where)

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A named tuple of its fields."""
        if not isinstance(self.type, TupleType) or len(args) != len(self.type.elements) or keywords:
            raise CompileError(f"cannot make a value of {self.kind} of {len(args)} arguments", where)
        return SimpleValue(e.emit("prim::TupleConstruct", [a.value for a in args], self.type))


@dataclass(slots=True)
class NewObject(Sugared):
    """`C.__new__`."""

    type: ClassType

    def call_tree(self, e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
        """`C.__new__(C)`: an object whose attributes are not set."""
        return SimpleValue(e.emit("prim::CreateObject", (), self.type))


@dataclass(slots=True)
class UnboundMethod(Sugared):
    """`C.method`: hooks are called that way, with their object as first argument."""

    function: Function

    @property
    def kind(self) -> str:
        """What error messages call such a value."""
        return "method"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A call of the method."""
        if not args or args[0].value.static_type != self.function.schema.arguments[0].type:
            raise CompileError(f"'{self.function.name}' is called without its object", where)
        name, owner = self.function.short_name, args[0].value
        return SimpleValue(call_method(e, where, self.function, name, owner, args[1:], keywords))


class DeviceForm(Sugared):
    """`torch.device`."""

    def call_tree(self, e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
        """A device: a constant if it is a literal."""
        if len(tree.args) == 1 and isinstance(tree.args[0], StringLiteral):
            return SimpleValue(e.constant(Device(tree.args[0].value), DEVICE))
        arguments = [Given(e.value(a), a.range) for a in tree.args]
        return OperatorValue("aten::device").call(e, tree.range, arguments, ())


@dataclass(slots=True)
class TypedForm(Sugared):
    """`annotate(T, value)`, `unchecked_cast(T, value)`, `uninitialized(T)`: a word, a type, what it makes of both."""

    word: str
    count: int
    make: Callable[[Emitter, Apply, Type], Value]

    @property
    def kind(self) -> str:
        """What error messages call such a value."""
        return self.word

    def call_tree(self, e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
        """The value."""
        if len(tree.args) != self.count or tree.keywords:
            raise CompileError(f"{self.word} expected {self.count} arguments, got {len(tree.args)}", tree.callee.range)
        with e.graph.at_range(tree.range):
            return SimpleValue(self.make(e, tree, type_of_tree(tree.args[0], e.scope.resolver)))


def _annotate(e: Emitter, tree: Apply, type_: Type) -> Value:
    value = e.value(tree.args[1], type_)
    return convert(e, value, type_, implicit=True)


def _cast(e: Emitter, tree: Apply, type_: Type) -> Value:
    return e.emit("prim::unchecked_cast", (e.value(tree.args[1]),), type_)


def _uninitialized(e: Emitter, tree: Apply, type_: Type) -> Value:
    return e.emit("prim::Uninitialized", (), type_)


_WORDS = {("aten", "wait"): "wait", ("prim", "awaitable_wait"): "awaitable_wait"}
"""Operators that are words of the language: their results have the types of what was asked for."""
_FORMS = {
    "annotate": TypedForm("annotate", 2, _annotate),
    "unchecked_cast": TypedForm("unchecked_cast", 2, _cast),
    "uninitialized": TypedForm("uninitialized", 1, _uninitialized),
    "fork": LANGUAGE_FORMS["fork"],
    "awaitable": LANGUAGE_FORMS["awaitable"],
}
