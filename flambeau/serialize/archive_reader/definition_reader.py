"""Classes, enums, interfaces and signatures of an archive's code, made of what is written for them.

A class is known before its attributes are, so that classes may name each other. One that is written as printers do is
made of its lines (`printed_code`), types, constants and signatures of equal text once; any other of its tree.
"""

from __future__ import annotations

import ast
import enum
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Protocol

from flambeau.frontend.scopes.name_resolution import Names
from flambeau.frontend.scopes.parameter_defaults import as_declared
from flambeau.frontend.scopes.python_constants import enum_type
from flambeau.frontend.scopes.type_annotations import type_of_tree
from flambeau.program.classes import Attribute, ClassDefinition, InterfaceDefinition
from flambeau.program.function import Function
from flambeau.program.unit import CompilationUnit
from flambeau.schema.function import NO_DEFAULT, Argument, FunctionSchema
from flambeau.schema.types import TENSOR, TensorType, TupleType, Type
from flambeau.serialize.archive_reader.code_file import CodeFile
from flambeau.serialize.archive_reader.code_names import known_enum
from flambeau.serialize.archive_reader.code_parts import CodeParts
from flambeau.serialize.archive_reader.literal_reader import LiteralReader
from flambeau.serialize.archive_reader.older_packing import packed_attribute
from flambeau.serialize.archive_reader.printed_code import PrintedClass, PrintedFunction
from flambeau.serialize.archive_reader.printed_values import NOT_PLAIN, parameters_of, plain_value
from flambeau.util.errors import CompileError
from flambeau.util.names import is_qualified, without_root

TYPE_SIZE: Final = 10_000
"""Types that a named tuple may consist of: a few short definitions can double it each."""
MODULE, NAMED_TUPLE, ENUM = "Module", "NamedTuple", "Enum"
INTERFACES: Final = {"Interface": False, "ModuleInterface": True}
"""Base classes of interfaces, and whether modules alone have them."""
_PARAMETERS, _BUFFERS = "__parameters__", "__buffers__"
_PRE_HOOKS, _HOOKS = "__forward_pre_hooks__", "__forward_hooks__"
_UNSHARED: Final = (list, dict, set)
"""What each class has of its own."""


Signature = tuple[tuple[Argument, ...], tuple[Argument, ...]]
"""Parameters and results."""


class _Contents(NamedTuple):
    """What a printed class consists of beside its methods."""

    printed: PrintedClass
    attributes: list[Attribute]
    slots: dict[str, int]
    constants: dict[str, Any]


class MethodMaker(Protocol):
    """Makes a method whose body is compiled, or run as text, when something asks for it."""

    def __call__(
        self, owner: Type, schema: FunctionSchema, *, tree: ast.FunctionDef | None, printed: PrintedFunction | None
    ) -> Function:
        """The method, of which the tree is there, or what is printed."""


class DefinitionReader:
    """Makes the types of one archive. Raises CompileError for what is written wrongly."""

    def __init__(self, unit: CompilationUnit, names: Names, literals: LiteralReader, parts: CodeParts) -> None:
        self._unit, self._names, self._literals, self._parts = unit, names, literals, parts
        self._sizes: dict[str, int] = {}
        """How many types named tuples consist of."""
        self._annotations: dict[str, Type] = {}
        """The types of attributes by what is written for them."""
        self._values: dict[str, Any] = {}
        """Constants by what is written for them."""
        self._signatures: dict[tuple[str, bool], Signature] = {}
        """The parameters behind the first one of methods, or all of functions, and results."""
        self._attributes: dict[tuple[str, str, bool, bool], Attribute] = {}
        """By what is written of them."""
        self._equal: dict[int, _Contents] = {}
        """By what is printed, by identity, what all classes have that are printed so."""

    # -- as printed ---------------------------------------------------------------------------------------------------

    def printed_class(self, name: str, printed: PrintedClass, make_method: MethodMaker) -> Type | None:
        """A class that is written as printers do; None where the tree has to say what is wrong with it."""
        known = set(self._unit.types)
        definition = ClassDefinition(name, is_module=printed.base == MODULE)
        self._unit.types[name] = definition.type
        try:
            self._fill(definition, printed, make_method)
        except (CompileError, RuntimeError, TypeError):
            for added in self._unit.types.keys() - known:
                del self._unit.types[added]
            self._annotations.clear()
            self._signatures.clear()
            self._attributes.clear()
            self._equal.clear()
            return None
        return definition.type

    def _fill(self, definition: ClassDefinition, printed: PrintedClass, make_method: MethodMaker) -> None:
        equal = self._equal.get(id(printed))
        if equal is None:
            self._read_attributes(definition, printed)
        else:
            definition.attributes.extend(equal.attributes)
            definition.slots.update(equal.slots)
            definition.constants.update(equal.constants)
        lists = printed.lists
        for method in printed.methods:
            schema = self.printed_schema(method, definition.type)
            definition.add_method(method.name, make_method(definition.type, schema, tree=None, printed=method))
        definition.hooks = tuple(lists.get(_PRE_HOOKS, ())), tuple(lists.get(_HOOKS, ()))
        if not {*definition.hooks[0], *definition.hooks[1]} <= definition.methods.keys():
            raise RuntimeError("there is no method for a hook")

    def _read_attributes(self, definition: ClassDefinition, printed: PrintedClass) -> None:
        parameters, buffers = printed.lists.get(_PARAMETERS, ()), printed.lists.get(_BUFFERS, ())
        is_everybodys = True
        for name, type_, value in printed.attributes:
            if value:
                definition.add_constant(name, self._printed_value(value))
                is_everybodys = is_everybodys and value in self._values
                continue
            key = name, type_, name in parameters, name in buffers
            attribute = self._attributes.get(key)
            if attribute is None:
                declared = self._printed_type(type_)
                packed = packed_attribute(definition.name, name) if isinstance(declared, TensorType) else None
                attribute = Attribute(name, packed or declared, *key[2:])
                if packed is None:
                    self._attributes[key] = attribute
            is_everybodys = is_everybodys and key in self._attributes
            definition.add(attribute)
        if is_everybodys:
            contents = definition.attributes.copy(), definition.slots.copy(), definition.constants.copy()
            self._equal[id(printed)] = _Contents(printed, *contents)

    def printed_schema(self, printed: PrintedFunction, self_type: Type | None) -> FunctionSchema:
        """What a function takes and returns."""
        is_method = self_type is not None
        key = printed.signature, is_method
        known = self._signatures.get(key)
        if known is None:
            known = self._plain_signature(printed.signature) if is_method else None
        if known is None:
            file, node = self._parts.signature(printed.signature, is_method=is_method)
            schema = self.schema(file, node, self_type)
            known = schema.arguments[is_method:], schema.returns
        if key not in self._signatures and not any(isinstance(a.default, _UNSHARED) for a in known[0]):
            self._signatures[key] = known
        first = () if self_type is None else (Argument("self", self_type),)
        return FunctionSchema(printed.name, "", (*first, *known[0]), known[1])

    def _plain_signature(self, text: str) -> Signature | None:
        """The parameters of a method behind the first, and its result, where each has a type and nothing else."""
        parameters = parameters_of(text)
        if parameters is None:
            return None
        listed, result = parameters
        arguments = tuple([Argument(name, self._printed_type(type_)) for name, type_ in listed])
        return arguments, (Argument("", self._printed_type(result)),)

    def _printed_type(self, text: str) -> Type:
        known = self._annotations.get(text)
        if known is None:
            if is_qualified(text) and text.replace(".", "").isidentifier():
                known = self._unit.find_type(text)
            else:
                known = self._parts.plain_type(text)
            if known is None:
                file, node = self._parts.type(text)
                known = self._type(file, node)
            self._annotations[text] = known
        return known

    def _printed_value(self, text: str) -> Any:
        if text in self._values:
            return self._values[text]
        value = plain_value(text)
        if value is NOT_PLAIN:
            value = self._literals.read(*self._parts.value(text))
        else:
            self._values[text] = value
        return value

    # -- trees --------------------------------------------------------------------------------------------------------

    def class_of(
        self, name: str, file: CodeFile, node: ast.ClassDef, make_method: MethodMaker, *, is_module: bool
    ) -> Type:
        """A class or a module."""
        definition = ClassDefinition(name, is_module=is_module)
        self._unit.types[name] = definition.type
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
        definition.hooks = tuple(lists.get(_PRE_HOOKS, ())), tuple(lists.get(_HOOKS, ()))
        for method in methods:
            schema = self.schema(file, method, definition.type)
            function = make_method(definition.type, schema, tree=method, printed=None)
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
        is_parameter = name in lists.get(_PARAMETERS, ())
        is_buffer = name in lists.get(_BUFFERS, ())
        try:
            definition.add_attribute(name, type_, is_parameter=is_parameter, is_buffer=is_buffer)
        except RuntimeError as error:
            raise file.error(str(error), annotation) from None

    def _type(self, file: CodeFile, annotation: ast.expr) -> Type:
        text = _name_of(annotation) or file.text(annotation)
        type_ = self._annotations.get(text)
        if type_ is None:
            is_class = isinstance(annotation, ast.Attribute) and is_qualified(text)
            type_ = self._unit.find_type(text) if is_class else self._parts.plain_type(text)
            if type_ is None:
                type_ = type_of_tree(file.expression(annotation), self._names)
            self._annotations[text] = type_
        return type_

    def named_tuple(self, name: str, file: CodeFile, node: ast.ClassDef) -> Type:
        """A named tuple."""
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
        self._unit.types[name] = type_
        return type_

    def _size(self, type_: Type) -> int:
        """How many types a type consists of, each as often as it is in it: the length of its text."""
        if isinstance(type_, TupleType) and type_.name in self._sizes:
            return self._sizes[type_.name]
        return 1 + sum(map(self._size, type_.contained))

    def enum(self, name: str, file: CodeFile, node: ast.ClassDef) -> Type:
        """An enum."""
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
            type_ = self._unit.types[name] = enum_type(kind)
        except (TypeError, ValueError) as error:
            raise file.error(str(error), node) from None
        return type_

    def interface(self, name: str, file: CodeFile, node: ast.ClassDef, *, is_module: bool) -> Type:
        """An interface."""
        definition = InterfaceDefinition(name, is_module=is_module)
        self._unit.types[name] = definition.type
        for part in node.body:
            if isinstance(part, ast.FunctionDef):
                definition.methods[part.name] = self.schema(file, part, definition.type)
            elif not isinstance(part, ast.Pass):
                raise file.error("expected methods in an interface", part)
        return definition.type

    def schema(self, file: CodeFile, node: ast.FunctionDef, self_type: Type | None) -> FunctionSchema:
        """What a function takes and returns."""
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


def _name_of(annotation: ast.expr) -> str:
    """A name with its dots as it is written; empty for what is no name."""
    parts = []
    while isinstance(annotation, ast.Attribute):
        parts.append(annotation.attr)
        annotation = annotation.value
    return ".".join([annotation.id, *reversed(parts)]) if isinstance(annotation, ast.Name) else ""
