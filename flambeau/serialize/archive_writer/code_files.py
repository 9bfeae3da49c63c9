"""The code of an archive: its classes, interfaces, enums, named tuples and functions, a file for each namespace.

```
class Net(Module):
  __parameters__ = ["weight", ]
  __buffers__ = []
  weight : Tensor
  training : bool
  fc : __torch__.layers.Linear
  size : Final[int] = 4
  def forward(self: __torch__.Net,
    x: Tensor) -> Tensor:
    return torch.mul(x, self.weight)
```
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flambeau.frontend.scopes.python_constants import constant_value
from flambeau.ir.constant_text import quoted
from flambeau.program.classes import ClassDefinition, InterfaceDefinition
from flambeau.program.function import Function
from flambeau.schema.function import Argument
from flambeau.schema.types import NONE, ClassType, EnumType, InterfaceType, TupleType, Type
from flambeau.serialize.archive_format import code_record
from flambeau.serialize.archive_writer.archive_names import ArchiveNames
from flambeau.serialize.archive_writer.contents import Contents, type_of_constant
from flambeau.serialize.archive_writer.pickled_objects import (
    FULL_BACKWARD_HOOK,
    FULL_BACKWARD_HOOK_TYPE,
    has_full_backward_hook,
    none_constants,
)
from flambeau.serialize.python_print import print_with_marks, result_type
from flambeau.serialize.python_print_literals import ConstantTable, literal
from flambeau.serialize.python_print_names import is_plain_name
from flambeau.serialize.python_print_text import INDENT, Mark
from flambeau.util.record import dataclass, field


@dataclass(slots=True)
class CodeFile:
    """The text of one namespace, and where it came from."""

    pieces: list[str] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    length: int = 0

    @property
    def text(self) -> str:
        """All that was added."""
        return "".join(self.pieces)

    def add(self, text: str, marks: Iterable[Mark] = ()) -> None:
        """Append text; what has no marks is of nowhere."""
        constants = [Mark(self.length + m.offset, m.range) for m in marks] or [Mark(self.length, None)]
        for mark in constants:
            if not self.marks or self.marks[-1].range != mark.range:
                self.marks.append(mark)
        self.pieces.append(text)
        self.length += len(text)

    def line(self, text: str, depth: int = 1) -> None:
        """Append a line."""
        self.add(f"{INDENT * depth}{text}\n")


class CodeFiles:
    """Writes the types and functions of a program."""

    def __init__(self, contents: Contents, names: ArchiveNames) -> None:
        self.files: dict[str, CodeFile] = {}
        """By record."""
        self.table = ConstantTable()
        """What the code of all files reads as `CONSTANTS.c0`."""
        self._contents = contents
        self._names = names

    def write(self) -> None:
        """All types and functions."""
        for type_ in self._contents.types:
            renamed = self._names.renamed(type_)
            name = str(getattr(renamed, "name", ""))
            self._named(self._file(name), name.rpartition(".")[2], renamed)
        for function in self._contents.functions.values():
            name = self._names.of_function(function)
            self._function(self._file(name), function, name.rpartition(".")[2], depth=0)

    def _file(self, name: str) -> CodeFile:
        return self.files.setdefault(code_record(name), CodeFile())

    def _named(self, file: CodeFile, short: str, type_: Type) -> None:
        match type_:
            case ClassType():
                self._class(file, short, type_.definition)
            case InterfaceType():
                self._interface(file, short, type_.definition)
            case EnumType():
                file.line(f"class {short}(Enum):", 0)
                for member, value in type_.members:
                    file.line(f"{member} = {literal(value, type_.value_type, self.table)}")
            case TupleType():
                file.line(f"class {short}(NamedTuple):", 0)
                for name, element in zip(type_.fields, type_.elements, strict=True):
                    file.line(f"{name} : {element.annotation}")
                if not type_.fields:
                    file.line("pass")

    # -- classes -------------------------------------------------------------------------------------------------------

    def _class(self, file: CodeFile, short: str, definition: ClassDefinition) -> None:
        start = file.length
        file.line(f"class {short}{'(Module)' if definition.is_module else ''}:", 0)
        body = file.length
        if definition.is_module:
            self._lists(file, definition)
        self._attributes(file, definition)
        for name, value in definition.constants.items():
            if value is not None:
                type_ = self._names.renamed(type_of_constant(value))
                shown = [constant_value(v) for v in value] if isinstance(value, list) else constant_value(value)
                file.line(f"{name} : Final[{type_.annotation}] = {literal(shown, type_, self.table)}")
        for name, method in definition.methods.items():
            self._function(file, method, name, depth=1)
        if file.length == body:
            file.line("pass")
        assert file.length > start

    def _lists(self, file: CodeFile, definition: ClassDefinition) -> None:
        """Which tensors are parameters and which buffers, and the methods around calls."""
        attributes = definition.attributes
        before, after = definition.hooks
        for title, names, is_shown in (
            ("__parameters__", [a.name for a in attributes if a.is_parameter], True),
            ("__buffers__", [a.name for a in attributes if a.is_buffer], True),
            ("__forward_pre_hooks__", before, bool(before)),
            ("__forward_hooks__", after, bool(after)),
        ):
            if is_shown:
                file.line(f"{title} = [{''.join(f'{quoted(n)}, ' for n in names)}]")

    def _attributes(self, file: CodeFile, definition: ClassDefinition) -> None:
        attributes: list[tuple[str, Type]] = []
        for attribute in definition.attributes:
            attributes.append((attribute.name, attribute.type))
            if attribute.name == "training" and has_full_backward_hook(definition):
                attributes.append((FULL_BACKWARD_HOOK, FULL_BACKWARD_HOOK_TYPE))
        attributes += [(name, NONE) for name in none_constants(definition)]
        for index, (name, type_) in enumerate(attributes):
            annotation = self._names.renamed(type_).annotation
            if is_plain_name(name):
                file.line(f"{name} : {annotation}")
                continue
            if index == 0:
                file.line("__annotations__ = []")
            file.line(f"__annotations__[{quoted(name)}] = {annotation}")

    def _interface(self, file: CodeFile, short: str, definition: InterfaceDefinition) -> None:
        file.line(f"class {short}({'ModuleInterface' if definition.is_module else 'Interface'}):", 0)
        for name, schema in definition.methods.items():
            renamed = self._names.schema(schema)
            parameters = ", ".join(["self", *(self._parameter(a) for a in renamed.arguments[1:])])
            file.line(f"def {name}({parameters}) -> {result_type(renamed).annotation}:")
            file.line("pass", 2)
        if not definition.methods:
            file.line("pass")

    def _parameter(self, argument: Argument) -> str:
        default: Any = f"={literal(argument.default, argument.type, self.table)}" if argument.has_default else ""
        return f"{argument.name}: {argument.type.annotation}{default}"

    # -- functions -----------------------------------------------------------------------------------------------------

    def _function(self, file: CodeFile, function: Function, name: str, *, depth: int) -> None:
        printed = print_with_marks(
            self._names.graph(self._contents.graphs[function]), name=name, depth=depth,
            schema=self._names.schema(function.schema),
            table=self.table,
        )  # fmt: skip
        file.add(printed.text, printed.marks)
