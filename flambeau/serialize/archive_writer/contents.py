"""All that a program consists of: the types and functions that its objects and graphs name, in the order met."""

from __future__ import annotations

import enum
import functools
import inspect
from collections.abc import Callable
from typing import Any

from flambeau.autograd.function import Function as GradientClass
from flambeau.frontend.scopes.python_constants import constant_type, constant_value
from flambeau.ir.constants import CONSTANT, type_of
from flambeau.ir.graph import Graph, Node
from flambeau.ir.kinds import CONTROL
from flambeau.ir.walk import blocks, subgraphs
from flambeau.program import instances
from flambeau.program.batches import INSTEAD
from flambeau.program.classes import ClassDefinition, InterfaceDefinition
from flambeau.program.function import Function
from flambeau.program.gradients import GRADIENT
from flambeau.schema.function import FunctionSchema
from flambeau.schema.set_type import SetType
from flambeau.schema.types import ClassType, EnumType, InterfaceType, TupleType, Type, without_refinement
from flambeau.serialize.archive_writer.contexts import with_context_objects
from flambeau.serialize.archive_writer.items import with_branches_for_items
from flambeau.serialize.archive_writer.pickled_objects import attribute_or_unset
from flambeau.tensor.tensor import Tensor

PYTHON_CALL = (
    "Could not export Python function call '{name}'. Remove calls to Python functions before export. Did you forget to "
    "script it, or to mark it with @flambeau.jit.unused (what it is called for then raises), or with "
    "@flambeau.jit.ignore(drop_on_export=True)?{where}"
)
GRADIENT_CLASS = (
    "cannot save a program that calls {name}.apply: forward and backward of a custom function are Python, which "
    "archives do not hold. Compute with operators, whose gradients are known, or declare one with "
    "flambeau.library.custom_op and register_autograd, which the reader has to import as well{where}"
)
NO_FORM = (
    "cannot save a program with {construct}: archives have no form for that. Keep it in the Python code around the "
    "program{where}"
)
_BESIDES = ("flambeau.frontend.", "flambeau.interpreter.", "flambeau.program.", "flambeau.tensor.")
"""Where the functions are that stand for constructs TorchScript does not have."""
_CONSTRUCTS = {
    "^try": "a try block", "^raise": "a try block", "^text": "a try block", "^generator": "a generator in a variable",
    "^iter": "an iterator in a variable", "^next": "a generator in a variable",
}  # fmt: skip
OPEN_CLASS = (
    "cannot save a program that uses class '{name}': objects of its subclasses may stand for its own, and archives say "
    "nothing of inheritance. Declare what they have in common with @flambeau.jit.interface and annotate with that"
)
SET_ATTRIBUTE = (
    "cannot save attribute '{name}' of '{owner}': archives have no form for sets; keep a dict from items to True"
)

_CALLED = {GRADIENT: "function", **INSTEAD}
"""Nodes that are about a function, and the attribute that archives hold of it."""


class Contents:
    """The types and functions that are reached from what was added."""

    def __init__(self, complete: Callable[[ClassDefinition], None]) -> None:
        """`complete` compiles what is part of a class although nothing asked for it yet."""
        self.types: dict[Type, None] = {}
        """Classes, interfaces, enums and named tuples."""
        self.functions: dict[object, Function] = {}
        self.graphs: dict[Function, Graph] = {}
        """The graph of each function and method, in the form that archives have for it."""
        self.operators: set[str] = set()
        """The kinds of all nodes."""
        self._complete = complete
        self._seen: set[Type] = set()
        self._waiting: list[Type | Function] = []
        self._objects: dict[int, Any] = {}

    # -- values --------------------------------------------------------------------------------------------------------

    def add_value(self, value: Any) -> None:
        """The types of the objects and enums in a value, and what these lead to."""
        self._value(value)
        self._follow()

    def _value(self, value: Any) -> None:
        match value:
            case None | bool() | int() | float() | str() | Tensor() if not isinstance(value, enum.Enum):
                return
            case enum.Enum():
                self._type(type_of(value))
            case list() | tuple() | dict():
                self._container(value)
            case _:
                self._object(value)

    def _container(self, value: Any) -> None:
        if id(value) in self._objects:
            return
        self._objects[id(value)] = value
        for item in value:
            self._value(item)
            if isinstance(value, dict):
                self._value(value[item])

    def _object(self, value: Any) -> None:
        definition = instances.definition_or_compiled(value)
        if definition is None or id(value) in self._objects:
            return
        self._objects[id(value)] = value
        self._type(definition.type)
        for attribute in definition.attributes:
            self._value(attribute_or_unset(value, attribute.name))

    # -- types ---------------------------------------------------------------------------------------------------------

    def _type(self, type_: Type) -> None:
        if type_ in self._seen:
            return
        self._seen.add(type_)
        for inner in type_.walk():
            named = canonical(inner)
            if named is not None and named not in self.types:
                self.types[named] = None
                self._waiting.append(named)

    def _follow(self) -> None:
        """Look into what was met and not yet looked into."""
        while self._waiting:
            type_ = self._waiting.pop(0)
            match type_:
                case Function():
                    self._code(type_)
                case ClassType():
                    self._class(type_.definition)
                case InterfaceType():
                    definition: InterfaceDefinition = type_.definition
                    for schema in definition.methods.values():
                        self._schema(schema)
                case TupleType():
                    for element in type_.elements:
                        self._type(element)

    def _class(self, definition: ClassDefinition) -> None:
        if definition.is_open:
            raise RuntimeError(OPEN_CLASS.format(name=definition.name))
        for attribute in definition.attributes:
            if any(isinstance(t, SetType) for t in attribute.type.walk()):
                raise RuntimeError(SET_ATTRIBUTE.format(name=attribute.name, owner=definition.name))
            self._type(attribute.type)
        for value in definition.constants.values():
            self._type(type_of_constant(value))
        self._complete(definition)
        for method in definition.methods.values():
            self._code(method)

    # -- code ----------------------------------------------------------------------------------------------------------

    def _schema(self, schema: FunctionSchema) -> None:
        for argument in (*schema.arguments, *schema.returns):
            self._type(argument.type)

    def _code(self, function: Function) -> None:
        self._schema(function.schema)
        self.graphs[function] = with_branches_for_items(with_context_objects(function.graph))
        for graph in subgraphs(self.graphs[function]):
            for block in blocks(graph.body):
                for value in block.parameters:
                    self._type(value.static_type)
                for node in block:
                    self._node(node)

    def _node(self, node: Node) -> None:
        self.operators.add(node.op)
        if node.op.startswith("^") or (node.nested_blocks and node.op not in CONTROL):
            raise RuntimeError(why_not(node))
        for value in node.results:
            self._type(value.static_type)
        for attribute in node.attributes.values():
            for item in attribute if isinstance(attribute, list | tuple) else (attribute,):
                if isinstance(item, Type):
                    self._type(item)
        if node.op in _CALLED:
            self._function(node.attribute(_CALLED[node.op]))
        if node.op == CONSTANT:
            callee = called(node)
            if callee is not None and hook_owner(node, callee) is None:
                self._function(callee)
            elif callee is None and "value" in node.attributes:
                self._value(node.attributes["value"])

    def _function(self, function: Function) -> None:
        key = function_key(function)
        if key not in self.functions:
            self.functions[key] = function
            self._waiting.append(function)


def called(node: Node) -> Function | None:
    """The function that a constant stands for; None for other constants."""
    called_ = node.attributes.get("function", node.attributes.get("value"))
    return called_ if isinstance(called_, Function) else None


def hook_owner(node: Node, function: Function) -> ClassType | None:
    """The class that a function is a hook of, where a constant is called as such; None for other functions."""
    for user, index in node.result().uses():
        is_call = user.op == "prim::CallFunction" and index == 0 and len(user.operands) > 1
        owner = user.operand(1).static_type if is_call else None
        if isinstance(owner, ClassType) and is_hook(owner, function.short_name):
            return owner if owner.definition.methods.get(function.short_name) is function else None
    return None


def is_hook(owner: ClassType, name: str) -> bool:
    """Whether a method is one that calls from Python run around `forward`."""
    return any(name in names for names in owner.definition.hooks)


def function_key(function: Function) -> object:
    """What tells functions apart: their identity; for those that only refuse to run, what they are called."""
    return id(function) if "." in function.name else (function.name, str(function.schema))


def canonical(type_: Type) -> Type | None:
    """A type that has a name of its own in an archive, without what is not part of it; None for other types."""
    if isinstance(type_, ClassType | InterfaceType | EnumType):
        return type_
    if isinstance(type_, TupleType) and type_.name is not None and "." in type_.name:
        return TupleType(tuple(map(without_refinement, type_.elements)), type_.name, type_.fields)
    return None


def type_of_constant(value: Any) -> Type:
    """The type of a constant attribute of a module; lists are of one type."""
    if isinstance(value, list | dict):
        return type_of(constant_value(value) if not isinstance(value, list) else [constant_value(v) for v in value])
    return constant_type(value)


def why_not(node: Node) -> str:
    """Why a node has no form in archives."""
    python = node.attributes.get("callable")
    if _is_of_gradient_class(python):
        return GRADIENT_CLASS.format(name=node.op[1:], where=_where(node))
    module = str(getattr(python, "__module__", None) or type(python).__module__)
    if node.op.startswith("^") and not module.startswith(_BESIDES):
        return PYTHON_CALL.format(name=node.op[1:], where=_where(node))
    construct = _CONSTRUCTS.get(node.op, f"'{node.op.lstrip('^')}'")
    return NO_FORM.format(construct=construct, where=_where(node))


def _is_of_gradient_class(python: Any) -> bool:
    """Whether something calls a subclass of `autograd.Function`."""
    original = inspect.unwrap(python) if callable(python) else None
    owner: object = original.__self__ if inspect.ismethod(original) else None
    if isinstance(original, functools.partial) and original.args:  # as traces call them
        owner = original.args[0]
    return isinstance(owner, type) and issubclass(owner, GradientClass)


def _where(node: Node) -> str:
    return "" if node.range is None else "\n" + node.range.highlight()
