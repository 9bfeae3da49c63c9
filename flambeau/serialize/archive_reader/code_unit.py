"""The classes and functions of an archive, by qualified name: each is made of its code when something first names it.

A class is known before its attributes are, so that classes may name each other. Signatures are read with the class,
the bodies of methods when they are first run or looked at. Where an earlier process left the outline of a class, its
code is not even parsed until then.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from flambeau.executor.executor import attach_late
from flambeau.executor.records import RecordError
from flambeau.frontend.compile_function import compile_def
from flambeau.ir.graph import Graph
from flambeau.program.function import Function
from flambeau.program.origin import Origin, Provenance
from flambeau.program.unit import CompilationUnit
from flambeau.schema.function import FunctionSchema
from flambeau.schema.opaque_type import OpaqueType
from flambeau.schema.types import ClassType, Type
from flambeau.serialize.archive_format import code_record, module_of
from flambeau.serialize.archive_reader.class_outlines import Outline, OutlinedClass, Outlines, StoredOutlines
from flambeau.serialize.archive_reader.code_file import CodeFile
from flambeau.serialize.archive_reader.code_names import ArchiveNames
from flambeau.serialize.archive_reader.code_origin import code_key, origin_of
from flambeau.serialize.archive_reader.code_parts import CodeParts
from flambeau.serialize.archive_reader.container_reader import Container
from flambeau.serialize.archive_reader.definition_reader import ENUM, INTERFACES, MODULE, NAMED_TUPLE, DefinitionReader
from flambeau.serialize.archive_reader.equal_code import EqualCode, MethodCode
from flambeau.serialize.archive_reader.finish import compile_callees, finish
from flambeau.serialize.archive_reader.literal_reader import LiteralReader
from flambeau.serialize.archive_reader.permissions import Permissions
from flambeau.serialize.archive_reader.printed_code import (
    PrintedCode,
    PrintedFunction,
    PrintedMethods,
    without_module,
)
from flambeau.serialize.archive_reader.source_ranges import SourceRanges, to_original
from flambeau.serialize.archive_reader.stored_graphs import StoredGraphs
from flambeau.serialize.archive_reader.written_code import WrittenCode, WrittenFunction
from flambeau.serialize.archive_reader.written_frame import Part
from flambeau.tensor.opaque_objects import MAKERS
from flambeau.util.depth import deep_recursion
from flambeau.util.errors import ArchiveError, CompileError
from flambeau.util.locks import NoForkLock
from flambeau.util.names import OPAQUE_CLASSES
from flambeau.util.source import Source

Code = Callable[[], tuple[CodeFile, ast.FunctionDef]]


class CodeUnit(CompilationUnit):
    """The code of one archive. Raises ArchiveError for names that it does not define, and for broken code."""

    def __init__(self, container: Container, version: int, texts: Mapping[str, str], permissions: Permissions) -> None:
        super().__init__()
        self.container = container
        self._texts = texts
        self.permissions = permissions
        self.version = version
        self.constants: list[Any] = []
        """What code reads as `CONSTANTS.c0` and so on."""
        self._files: dict[str, CodeFile] = {}
        self._ranges: dict[str, SourceRanges] = {}
        self._printed: dict[str, PrintedCode | None] = {}
        """By record; None for code that is written in another way."""
        self._equal_texts: dict[str, PrintedCode | None] = {}
        """The same by text, without the names of modules."""
        self._equal_methods: dict[str, PrintedMethods] = {}
        self._lock = NoForkLock()
        self._graphs = StoredGraphs()
        self._equal_code = EqualCode(self.types)
        key = code_key(texts, version, permissions, container.limits)
        self.key = key
        """A hash over the code, and over what its reader allows."""
        self.outlines = StoredOutlines(Origin(key, self))
        self.names = ArchiveNames(self.constants, self, version)
        self._parts = CodeParts(container.limits)
        self._definitions = DefinitionReader(self, self.names, LiteralReader(self.constants, self), self._parts)
        self._written = WrittenCode(self, self.names, self.constants, version, self._lock, self._parts)
        self._provenance = Provenance(lambda: origin_of(self.container, key, self.constants, self))

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
            type_ = self._printed_class(name)
            node = self._definition(name, is_class=True) if type_ is None else None
            if isinstance(node, ast.ClassDef):
                type_ = self._defined(name, node)
        return type_

    def find_function(self, name: str) -> Function | None:
        """A function by its qualified name; None if there is none."""
        function = self.functions.get(name) or self._printed_function(name)
        if function is None:
            node = self._definition(name, is_class=False)
            if isinstance(node, ast.FunctionDef):
                file = self._file(code_record(name))
                assert file is not None
                with self._located():
                    schema = self._definitions.schema(file, node, None)
                function = self.functions[name] = self._function(name, schema, partial(_given, file, node), None, None)
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
        module = module_of(record)
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

    def _definition(self, name: str, *, is_class: bool | None = None) -> ast.ClassDef | ast.FunctionDef | None:
        """The tree of a definition; None if there is none, or where lines say that it is of another kind than asked."""
        printed = None if is_class is None else self._printed_code(name)
        if printed is not None and printed.is_class(name.rpartition(".")[2]) is not is_class:
            return None
        file = self._file(code_record(name))
        return None if file is None else file.definitions.get(name.rpartition(".")[2])

    def _file(self, record: str) -> CodeFile | None:
        file = self._files.get(record)
        text = self._texts.get(record)
        if file is None and text is not None:
            with self._located():
                file = self._files[record] = CodeFile(text, record, self.container.limits)
        return file

    def _printed_code(self, name: str) -> PrintedCode | None:
        """The code that something is defined in, if it is as printers write it."""
        record = code_record(name)
        if record not in self._printed:
            text = self._texts.get(record)
            self._printed[record] = None if text is None else self._printed_text(text, module_of(record))
        return self._printed[record]

    def _printed_text(self, text: str, module: str) -> PrintedCode | None:
        """The same of the text of a module: classes that are written alike are one object."""
        text = without_module(text, module)
        if text not in self._equal_texts:
            self._equal_texts[text] = PrintedCode.of(text, self.container.limits.code_nesting, self._equal_methods)
        return self._equal_texts[text]

    def _ranges_of(self, source: Source) -> SourceRanges | None:
        """Where the text of a code record came from; None for a text that is no such record."""
        record = source.filename
        if record not in self._texts or source.is_local:
            return None
        if record not in self._ranges:
            self._ranges[record] = SourceRanges(self.container, record)
        return self._ranges[record]

    def _function_code(self, name: str) -> tuple[CodeFile, ast.FunctionDef]:
        """The code of a function, and the file that it is in. Raises ArchiveError if there is none."""
        file, node = self._file(code_record(name)), self._definition(name)
        if file is None or not isinstance(node, ast.FunctionDef):
            raise self.container.error(f"there is no function {name}", code_record(name))
        return file, node

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
                type_ = self._definitions.named_tuple(name, file, node)
            elif base == ENUM:
                type_ = self._definitions.enum(name, file, node)
            elif base in INTERFACES:
                type_ = self._definitions.interface(name, file, node, is_module=INTERFACES[base])
            elif base in (MODULE, ""):
                type_ = self._definitions.class_of(
                    name, file, node, partial(self._made_method, file=file), is_module=base == MODULE
                )
            else:
                raise file.error(f"expected Module, NamedTuple, Enum, Interface or no base, got {base}", node)
        return type_

    def _printed_class(self, name: str) -> Type | None:
        """A class of which only the lines were looked at; None where its tree is needed."""
        code = self._printed_code(name)
        printed = None if code is None else code.find_class(name.rpartition(".")[2])
        if printed is None or printed.base not in (MODULE, ""):
            return None
        with self._located():
            return self._definitions.printed_class(name, printed, partial(self._made_method, file=None))

    def _printed_function(self, name: str) -> Function | None:
        code = self._printed_code(name)
        printed = None if code is None else code.find_function(name.rpartition(".")[2])
        if printed is None:
            return None
        try:
            schema = self._definitions.printed_schema(printed, None)
        except CompileError:  # which its tree says better
            return None
        whole = partial(self._function_code, name)
        function = self.functions[name] = self._function(name, schema, whole, printed, None)
        return function

    def _made_method(
        self, owner: Type, schema: FunctionSchema, *, tree: ast.FunctionDef | None, printed: PrintedFunction | None,
        file: CodeFile | None,
    ) -> Function:  # fmt: skip
        assert isinstance(owner, ClassType)
        self._equal_code.count(f"{owner.name}.{schema.name}")
        if tree is not None and file is not None:
            code: Code = partial(_given, file, tree)
        else:
            code = partial(self._method, owner.name, schema.name)
        return self._function(f"{owner.name}.{schema.name}", schema, code, printed, owner)

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
            schemas = [self._definitions.schema(*self._method(name, method), type_) for method, *_ in outline.methods]
        code, short = self._printed_code(name), name.rpartition(".")[2]
        printed = [None if code is None else code.find_method(short, schema.name) for schema in schemas]
        return {
            s.name: self._function(f"{name}.{s.name}", s, partial(self._method, name, s.name), one, type_)
            for s, one in zip(schemas, printed, strict=True)
        }

    # -- functions ----------------------------------------------------------------------------------------------------

    def _function(
        self,
        name: str,
        schema: FunctionSchema,
        code: Code,
        printed: PrintedFunction | None,
        self_type: Type | None,
    ) -> Function:
        """A function whose body is compiled, from its code, when something asks for its graph; `printed` has the same
        statements, if they are as printers write them."""
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
                    self.permissions.check(body, self.container.title)
                    if comparable is not None:
                        self._equal_code.keep(*comparable, body)
                compiled.append(body)
                with self._graphs.compiling(function):
                    compile_callees(body, name)
                return body

        function = Function(name, graph, schema)
        function.provenance = self._provenance.part(name)

        def body() -> Part:
            return self._written.body_of(*code()) if printed is None else self._written.body(printed.body)

        function.as_written = WrittenFunction(function, body, self._written)
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
