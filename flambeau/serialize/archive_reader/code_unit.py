"""The classes and functions of an archive, by qualified name: each is made of its code when something first names it.

A class is known before its attributes are, so that classes may name each other. Signatures are read with the class,
the bodies of methods when they are first run or looked at. Where an earlier process left the outline of a class, its
code is not even parsed until then.
"""

from __future__ import annotations

import ast
import contextlib
import enum
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from flambeau.executor.executor import attach_late
from flambeau.executor.records import RecordError
from flambeau.frontend.compile_function import compile_def
from flambeau.frontend.scopes.parameter_defaults import as_declared
from flambeau.frontend.scopes.python_constants import enum_type
from flambeau.frontend.scopes.type_annotations import type_of_tree
from flambeau.ir.graph import Graph
from flambeau.program.classes import ClassDefinition, InterfaceDefinition
from flambeau.program.function import Function
from flambeau.program.origin import Origin, Provenance
from flambeau.program.unit import CompilationUnit
from flambeau.schema.function import NO_DEFAULT, Argument, FunctionSchema
from flambeau.schema.opaque_type import OpaqueType
from flambeau.schema.types import TENSOR, ClassType, TensorType, TupleType, Type
from flambeau.serialize.archive_format import CODE, code_record
from flambeau.serialize.archive_reader.class_outlines import Outline, OutlinedClass, Outlines, StoredOutlines
from flambeau.serialize.archive_reader.code_file import CodeFile
from flambeau.serialize.archive_reader.code_names import ArchiveNames, known_enum
from flambeau.serialize.archive_reader.code_origin import code_key, origin_of
from flambeau.serialize.archive_reader.container_reader import Container
from flambeau.serialize.archive_reader.equal_code import EqualCode, MethodCode
from flambeau.serialize.archive_reader.finish import compile_callees, finish
from flambeau.serialize.archive_reader.literal_reader import LiteralReader
from flambeau.serialize.archive_reader.older_packing import packed_attribute
from flambeau.serialize.archive_reader.permissions import Permissions
from flambeau.serialize.archive_reader.source_ranges import SourceRanges, to_original
from flambeau.serialize.archive_reader.stored_graphs import StoredGraphs
from flambeau.serialize.archive_reader.written_code import WrittenCode, WrittenFunction
from flambeau.tensor.opaque_objects import MAKERS
from flambeau.util.depth import deep_recursion
from flambeau.util.errors import ArchiveError, CompileError
from flambeau.util.locks import NoForkLock
from flambeau.util.names import OPAQUE_CLASSES, is_qualified, without_root
from flambeau.util.source import Source

TYPE_SIZE: Final = 10_000
"""Types that a named tuple may consist of: a few short definitions can double it each."""
MODULE, NAMED_TUPLE, ENUM = "Module", "NamedTuple", "Enum"
INTERFACES: Final = {"Interface": False, "ModuleInterface": True}
"""Base classes of interfaces, and whether modules alone have them."""


class CodeUnit(CompilationUnit):
    """The code of one archive. Raises ArchiveError for names that it does not define, and for broken code."""

    def __init__(self, container: Container, version: int, texts: Mapping[str, str], permissions: Permissions) -> None:
        super().__init__()
        self.container = container
        self._texts = texts
        self._permissions = permissions
        self.version = version
        self.constants: list[Any] = []
        """What code reads as `CONSTANTS.c0` and so on."""
        self._files: dict[str, CodeFile] = {}
        self._ranges: dict[str, SourceRanges] = {}
        self._sizes: dict[str, int] = {}
        """How many types named tuples consist of."""
        self._annotations: dict[str, Type] = {}
        """The types of attributes by what is written for them."""
        self._lock = NoForkLock()
        self._graphs = StoredGraphs()
        self._equal_code = EqualCode(self.types)
        key = code_key(texts, version, permissions, container.limits)
        self.key = key
        """A hash over the code, and over what its reader allows."""
        self.outlines = StoredOutlines(Origin(key, self))
        self.names = ArchiveNames(self.constants, self, version)
        self._literals = LiteralReader(self.constants, self)
        self._written = WrittenCode(self, self.names, self.constants, version, self._lock)
        self._provenance = Provenance(
            lambda: origin_of(self.container, key, self.constants, self)
        )

    # -- by name ------------------------------------------------------------------------------------------------------

    def find_type(self, name: str) -> Type | None:
        """A class, interface, enum or named tuple by its qualified name; None if there is none."""
        type_ = self.types.get(name)
        if type_ is None and name in MAKERS:
            type_ = self.types[name] = OpaqueType(name)
        if type_ is None:
            known = self.outlines.find(name)
            if known is not None:
                try:
                    return self._outlined(name, *known)
                except RecordError:  # something else lies where the outline should: the code says what it would
                    self.types.pop(name, None)
            node = self._definition(name)
            if isinstance(node, ast.ClassDef):
                type_ = self._defined(name, node)
        return type_

    def find_function(self, name: str) -> Function | None:
        """A function by its qualified name; None if there is none."""
        function = self.functions.get(name)
        if function is None:
            node = self._definition(name)
            if isinstance(node, ast.FunctionDef):
                file = self._file(code_record(name))
                assert file is not None
                with self._located():
                    schema = self._schema(file, node, None)
                function = self.functions[name] = self._function(name, schema, partial(_given, file, node), None)
        return function

    def needed(self, name: str) -> Type:
        """A type that the archive names. Raises ArchiveError if there is none."""
        type_ = self.find_type(name)
        if type_ is None:
            is_custom = name.startswith(OPAQUE_CLASSES)
            why = "it is a class of PyTorch's own C++" if is_custom else "the archive has no code for it"
            raise self.container.error(f"there is no class {name}: {why}", code_record(name))
        return type_

    def check_around(self, record: str, line: int) -> None:
        """Compile what stands around a line of a code record. Raises ArchiveError if that reaches the world.

        What does not compile is refused when something needs it.
        """
        file = self._file(record)
        module = record.removeprefix(CODE).removesuffix(".py").replace("/", ".")
        for name, node in file.definitions.items() if file is not None else ():
            if not node.lineno <= line <= (node.end_lineno or node.lineno):
                continue
            if isinstance(node, ast.FunctionDef):
                functions = [self.find_function(f"{module}.{name}")]
            else:
                type_ = self.find_type(f"{module}.{name}")
                methods = type_.definition.methods if isinstance(type_, ClassType) else {}
                around = [p for p in node.body if p.lineno <= line <= (p.end_lineno or p.lineno)]
                functions = [methods.get(p.name) for p in around if isinstance(p, ast.FunctionDef)]
            for function in functions:
                with contextlib.suppress(CompileError):
                    _ = function.graph if function is not None else None

    def _definition(self, name: str) -> ast.ClassDef | ast.FunctionDef | None:
        file = self._file(code_record(name))
        return None if file is None else file.definitions.get(name.rpartition(".")[2])

    def _file(self, record: str) -> CodeFile | None:
        file = self._files.get(record)
        text = self._texts.get(record)
        if file is None and text is not None:
            with self._located():
                file = self._files[record] = CodeFile(text, record, self.container.limits)
        return file

    def _ranges_of(self, source: Source) -> SourceRanges | None:
        """Where the text of a code record came from; None for a text that is no such record."""
        record = source.filename
        if record not in self._texts or source.is_local:
            return None
        if record not in self._ranges:
            self._ranges[record] = SourceRanges(self.container, record)
        return self._ranges[record]

    def _method(self, name: str, method: str) -> tuple[CodeFile, ast.FunctionDef]:
        """The code of a method, and the file that it is in. Raises ArchiveError if there is none."""
        node = self._definition(name)
        parts = node.body if isinstance(node, ast.ClassDef) else ()
        tree = next((p for p in parts if isinstance(p, ast.FunctionDef) and p.name == method), None)
        file = self._file(code_record(name))
        if tree is None or file is None:
            raise self.container.error(f"there is no method {name}.{method}", code_record(name))
        return file, tree

    # -- classes ------------------------------------------------------------------------------------------------------

    def _defined(self, name: str, node: ast.ClassDef) -> Type:
        file = self._file(code_record(name))
        assert file is not None
        base = node.bases[0].id if node.bases and isinstance(node.bases[0], ast.Name) else ""
        if len(node.bases) > 1 or (node.bases and not base):
            raise self._error(file.error("a class has one base or none, by its plain name", node))
        with self._located():
            if base == NAMED_TUPLE:
                type_ = self._named_tuple(name, file, node)
            elif base == ENUM:
                type_ = self._enum(name, file, node)
            elif base in INTERFACES:
                type_ = self._interface(name, file, node, is_module=INTERFACES[base])
            elif base in (MODULE, ""):
                type_ = self._class(name, file, node, is_module=base == MODULE)
            else:
                raise file.error(f"expected Module, NamedTuple, Enum, Interface or no base, got {base}", node)
        return type_

    def _outlined(self, name: str, outlines: Outlines, outline: Outline) -> Type:
        """A class of which only the outline was read."""
        methods = partial(self._outlined_methods, name, outlines, outline)
        definition = OutlinedClass(name, outline.is_module, methods, self._lock)
        self.types[name] = definition.type
        for method, *_ in outline.methods:
            self._equal_code.count(f"{name}.{method}")
        definition.add_attributes(outlines.attributes(outline, self))
        for constant, value in outline.constants:
            definition.add_constant(constant, value)
        definition.hooks = outline.hooks
        return definition.type

    def _outlined_methods(self, name: str, outlines: Outlines, outline: Outline) -> dict[str, Function]:
        """The methods of such a class."""
        type_ = self.types[name]
        try:
            schemas = [outlines.signature(*method, self) for method in outline.methods]
        except RecordError:  # something else lies where the outline should: the code says what they take
            schemas = [self._schema(*self._method(name, method), type_) for method, *_ in outline.methods]
        codes = {schema.name: partial(self._method, name, schema.name) for schema in schemas}
        return {s.name: self._function(f"{name}.{s.name}", s, codes[s.name], type_) for s in schemas}

    def _class(self, name: str, file: CodeFile, node: ast.ClassDef, *, is_module: bool) -> Type:
        definition = ClassDefinition(name, is_module=is_module)
        self.types[name] = definition.type
        lists: dict[str, dict[str, None]] = {}
        methods = []
        for part in node.body:
            match part:
                case ast.FunctionDef():
                    methods.append(part)
                case ast.AnnAssign(target=ast.Name(id=attribute)):
                    self._attribute(definition, file, attribute, part.annotation, part.value, lists)
                case ast.Assign(targets=[ast.Subscript(value=ast.Name(id="__annotations__"), slice=key)]):
                    attribute = self._literals.read(file, key)
                    self._attribute(definition, file, attribute, part.value, None, lists)
                case ast.Assign(targets=[ast.Name(id=listed)]):
                    names = self._literals.read(file, part.value)
                    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                        raise file.error("expected a list of names", part)
                    lists[listed] = dict.fromkeys(names)
                case ast.Pass():
                    pass
                case _:
                    raise file.error("expected an attribute or a method in a class", part)
        definition.hooks = tuple(lists.get("__forward_pre_hooks__", ())), tuple(lists.get("__forward_hooks__", ()))
        for method in methods:
            schema, code = self._schema(file, method, definition.type), partial(_given, file, method)
            function = self._function(f"{name}.{method.name}", schema, code, definition.type)
            self._equal_code.count(f"{name}.{method.name}")
            try:
                definition.add_method(method.name, function)
            except RuntimeError as error:
                raise file.error(str(error), method) from None
        for hook in (*definition.hooks[0], *definition.hooks[1]):
            if hook not in definition.methods:
                raise file.error(f"there is no method for the hook '{hook}'", node)
        return definition.type

    def _attribute(
        self,
        definition: ClassDefinition,
        file: CodeFile,
        name: Any,
        annotation: ast.expr,
        value: ast.expr | None,
        lists: Mapping[str, Mapping[str, None]],
    ) -> None:
        if not isinstance(name, str):
            raise file.error("the name of an attribute is no text", annotation)
        if value is not None:
            constant = self._literals.read(file, value)
            try:
                definition.add_constant(name, constant)
            except RuntimeError as error:
                raise file.error(str(error), annotation) from None
            return
        type_ = self._type(file, annotation)
        if isinstance(type_, TensorType):
            type_ = packed_attribute(definition.name, name) or type_
        is_parameter = name in lists.get("__parameters__", ())
        is_buffer = name in lists.get("__buffers__", ())
        try:
            definition.add_attribute(name, type_, is_parameter=is_parameter, is_buffer=is_buffer)
        except RuntimeError as error:
            raise file.error(str(error), annotation) from None

    def _type(self, file: CodeFile, annotation: ast.expr) -> Type:
        text = _name_of(annotation) or file.text(annotation)
        type_ = self._annotations.get(text)
        if type_ is None:
            is_class = isinstance(annotation, ast.Attribute) and is_qualified(text)
            type_ = self.find_type(text) if is_class else None
            if type_ is None:
                type_ = type_of_tree(file.expression(annotation), self.names)
            self._annotations[text] = type_
        return type_

    def _named_tuple(self, name: str, file: CodeFile, node: ast.ClassDef) -> Type:
        fields: dict[str, Type] = {}
        for part in node.body:
            match part:
                case ast.AnnAssign(target=ast.Name(id=field), value=None):
                    fields[field] = self._type(file, part.annotation)
                case ast.Pass():
                    pass
                case _:
                    raise file.error("expected a field with its type and no default in a named tuple", part)
        type_ = TupleType(tuple(fields.values()), name, tuple(fields))
        self._sizes[name] = size = 1 + sum(map(self._size, fields.values()))
        if size > TYPE_SIZE:
            raise file.error(f"it consists of more than {TYPE_SIZE:,} types, each as often as it is in it", node)
        self.types[name] = type_
        return type_

    def _size(self, type_: Type) -> int:
        """How many types a type consists of, each as often as it is in it: the length of its text."""
        if isinstance(type_, TupleType) and type_.name in self._sizes:
            return self._sizes[type_.name]
        return 1 + sum(map(self._size, type_.contained))

    def _enum(self, name: str, file: CodeFile, node: ast.ClassDef) -> Type:
        members: list[tuple[str, Any]] = []
        for part in node.body:
            match part:
                case ast.Assign(targets=[ast.Name(id=member)]):
                    value = self._literals.read(file, part.value)
                    if not isinstance(value, int | float | str):
                        raise file.error("expected a number or a text as the value of a member of an enum", part)
                    members.append((member, value))
                case _:
                    raise file.error("expected a member and its value in an enum", part)
        module, _, short = name.rpartition(".")
        try:
            make: Any = enum.Enum
            known = known_enum(name, members)
            kind = make(short, members, module=without_root(module)) if known is None else known
            type_ = self.types[name] = enum_type(kind)
        except (TypeError, ValueError) as error:
            raise file.error(str(error), node) from None
        return type_

    def _interface(self, name: str, file: CodeFile, node: ast.ClassDef, *, is_module: bool) -> Type:
        definition = InterfaceDefinition(name, is_module=is_module)
        self.types[name] = definition.type
        for part in node.body:
            if isinstance(part, ast.FunctionDef):
                definition.methods[part.name] = self._schema(file, part, definition.type)
            elif not isinstance(part, ast.Pass):
                raise file.error("expected methods in an interface", part)
        return definition.type

    # -- functions ----------------------------------------------------------------------------------------------------

    def _schema(self, file: CodeFile, node: ast.FunctionDef, self_type: Type | None) -> FunctionSchema:
        written = node.args
        if written.vararg is not None or written.kwarg is not None or written.posonlyargs or node.returns is None:
            raise file.error(f"function '{node.name}' does not say what it takes and returns", node)
        names = [parameter.arg for parameter in (*written.args, *written.kwonlyargs)]
        if len(set(names)) < len(names):
            raise file.error(f"function '{node.name}' has two parameters of one name", node)
        defaults = self._defaults(file, written)
        arguments = []
        for index, parameter in enumerate((*written.args, *written.kwonlyargs)):
            if self_type is not None and index == 0:
                type_ = self_type
            elif parameter.annotation is None:
                type_ = TENSOR
            else:
                type_ = self._type(file, parameter.annotation)
            default = as_declared(defaults.get(parameter.arg, NO_DEFAULT), type_)
            by_name = index >= len(written.args)
            arguments.append(Argument(parameter.arg, type_, default=default, kwarg_only=by_name))
        result = self._type(file, node.returns)
        return FunctionSchema(node.name, "", tuple(arguments), (Argument("", result),))

    def _defaults(self, file: CodeFile, written: ast.arguments) -> dict[str, Any]:
        last = written.args[len(written.args) - len(written.defaults) :]
        pairs = [*zip(last, written.defaults, strict=True), *zip(written.kwonlyargs, written.kw_defaults, strict=True)]
        return {argument.arg: self._literals.read(file, value) for argument, value in pairs if value is not None}

    def _function(
        self,
        name: str,
        schema: FunctionSchema,
        code: Callable[[], tuple[CodeFile, ast.FunctionDef]],
        self_type: Type | None,
    ) -> Function:
        """A function whose body is compiled when something asks for its graph."""
        compiled: list[Graph] = []
        function: Function

        def graph() -> Graph:
            with self._lock:
                if compiled:  # by another thread that asked too
                    return compiled[0]
                known = self._graphs.read(function)
                if known is not None:
                    to_original(known, self._ranges_of)
                    compiled.append(known)
                    return known
                with self._located():
                    file, node = code()
                comparable = self._comparable(name, file, node, self_type)
                body = None if comparable is None else self._equal_code.copy(*comparable)
                is_copy = body is not None  # of one that was looked at
                if body is None:
                    body = self._body(name, file, node, self_type)
                to_original(body, self._ranges_of)
                if not is_copy:
                    self._permissions.check(body, self.container.title)
                    if comparable is not None:
                        self._equal_code.keep(*comparable, body)
                compiled.append(body)
                with self._graphs.compiling(function):
                    compile_callees(body, name)
                return body

        function = Function(name, graph, schema)
        function.provenance = self._provenance.part(name)
        function.as_written = WrittenFunction(function, code, self._written)
        attach_late(function)
        return function

    def _comparable(
        self, name: str, file: CodeFile, node: ast.FunctionDef, self_type: Type | None
    ) -> tuple[Any, MethodCode] | None:
        """What a method shares with equal ones, and its code; None where there is no other, or none that may be copied.
        """
        if self._equal_code.is_single(name) or self._provenance.is_over or not isinstance(self_type, ClassType):
            return None
        where = file.range(node)
        code = MethodCode(name, where.text, where.source, where.start, self_type)
        return self._equal_code.key(code), code

    def _body(self, name: str, file: CodeFile, node: ast.FunctionDef, self_type: Type | None) -> Graph:
        """The graph of a body, whose nodes are where the archive has them. Raises CompileError."""
        with self._located():
            file.check_nesting(node)
        try:
            with deep_recursion():
                body = compile_def(file.function(node), self.names, name=name, self_type=self_type).graph
        except CompileError as error:
            error.message = f"{self.container.title}: {error.message}"
            raise
        finish(body)
        return body

    # -- errors -------------------------------------------------------------------------------------------------------

    def _located(self) -> _AsArchiveError:
        return _AsArchiveError(self._error, self.container.title)

    def _error(self, error: CompileError) -> ArchiveError:
        return ArchiveError(f"{self.container.title}: {error}")


class _AsArchiveError:
    """Within it, what is refused of the code is an error of the archive."""

    def __init__(self, error: Callable[[CompileError], ArchiveError], title: str) -> None:
        self._error = error
        self._title = title

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, CompileError):
            raise self._error(error) from None
        if isinstance(error, RecursionError):
            text = "its code is nested too deeply, or its classes refer to each other so"
            raise ArchiveError(f"{self._title}: {text}") from None


def _given(file: CodeFile, node: ast.FunctionDef) -> tuple[CodeFile, ast.FunctionDef]:
    """Code that was parsed when its function was made."""
    return file, node


def _name_of(annotation: ast.expr) -> str:
    """A name with its dots as it is written; empty for what is no name."""
    parts = []
    while isinstance(annotation, ast.Attribute):
        parts.append(annotation.attr)
        annotation = annotation.value
    return ".".join([annotation.id, *reversed(parts)]) if isinstance(annotation, ast.Name) else ""
