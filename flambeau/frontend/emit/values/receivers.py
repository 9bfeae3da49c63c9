"""Attributes that come into being: what `__init__` assigns to its object for the first time is added to the class.

def __init__(self, n: int):      →      class: n : int, items : int[]
    self.n = n
    self.items: List[int] = []
"""

from __future__ import annotations

from flambeau.frontend.emit.empty_attributes import begins_empty
from flambeau.frontend.emit.implicit_conversions import convert
from flambeau.frontend.emit.values.sugared import Emitter
from flambeau.ir.graph import Value
from flambeau.program.classes import ClassDefinition
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import TENSOR, NoneType, TensorType, Type, without_refinement
from flambeau.util.errors import CompileError, FrontendError
from flambeau.util.source import SourceRange

IN_CONTROL_FLOW = (
    "First assignment cannot be in a control-flow block. Initialize the field at the top level first: attribute "
    "'{name}'"
)
WRONG_TYPE = "Wrong type for attribute assignment. Expected {wanted} but got {found}"
ALWAYS_NONE = (
    "Wrong type for attribute assignment. Expected None but got {found}: '{name}' was None when the module was "
    "scripted. Say in the class body what else it may be, as in `{name}: Optional[{found}]`"
)
NONE_ONLY = (
    "; the first assignment to '{name}' was None: annotate it there, as in `self.{name}: Optional[{found}] = None`"
)
NOT_DECLARED_HERE = (
    "Type annotations on instance attributes must be declared in __init__: annotations on instance attributes must be "
    "declared in __init__, and '{name}' is annotated in '{function}'"
)
FROZEN = "cannot assign to field '{name}': class '{type}' is frozen"


class MisplacedAnnotation(FrontendError, ValueError):  # noqa: N818
    """An attribute is annotated where its object is not initialised."""


def is_receiver(e: Emitter, owner: Value, definition: ClassDefinition) -> bool:
    """Whether a value is the object that is being initialised."""
    receiver, node = e.scope.receiver, owner.defining_node
    return (
        receiver is not None
        and receiver.definition is definition
        and node is not None
        and node.op == "prim::Load"
        and node.attribute("name") == receiver.name
    )


def is_own(e: Emitter, owner: Value) -> bool:
    """Whether a value is the object whose method is being compiled, which is surely of the method's class."""
    node = owner.defining_node
    first = e.graph.parameters[0] if e.scope.has_self and e.graph.parameters else None
    if first is None or owner is first:
        return owner is first
    stored = (n for n in e.graph.body if n.op == "prim::Store" and n.operand(0) is first)
    name = next((n.attribute("name") for n in stored), None)
    return node is not None and node.op == "prim::Load" and node.attribute("name") == name


def check_annotation(e: Emitter, where: SourceRange, owner: Value, definition: ClassDefinition, name: str) -> None:
    """Refuse the annotation of an attribute outside of `__init__`."""
    if not is_receiver(e, owner, definition):
        raise MisplacedAnnotation(NOT_DECLARED_HERE.format(name=name, function=e.scope.name), where)


def add_attribute(
    e: Emitter, where: SourceRange, definition: ClassDefinition, name: str, value: Value, annotation: Type | None
) -> None:
    """A new attribute of the class, of the type of its first value. Raises CompileError inside of control flow."""
    if e.graph.insertion_block is not e.graph.body:
        raise CompileError(IN_CONTROL_FLOW.format(name=name), where)
    if annotation is None and begins_empty(value):
        definition.empty[name] = where
    type_ = value.static_type if annotation is None else annotation
    definition.add_attribute(name, TENSOR if isinstance(type_, TensorType) else without_refinement(type_))


def assign(
    e: Emitter,
    where: SourceRange,
    owner: Value,
    definition: ClassDefinition,
    name: str,
    value: Value,
    *,
    thaw: bool = False,
) -> None:
    """Give an attribute of a class a value. Raises CompileError if that is of another type.

    With `thaw` also one of a frozen dataclass.
    """
    attribute = definition.attribute(name)
    assert attribute is not None
    filling = is_receiver(e, owner, definition)
    if definition.is_frozen and not filling and not thaw:
        raise CompileError(FROZEN.format(name=name, type=definition.name.rpartition(".")[2]), where)
    if filling and e.scope.receiver is not None and e.graph.insertion_block is e.graph.body:
        e.scope.receiver.unassigned.discard(name)
    converted = convert(e, value, attribute.type, implicit=True)
    if not is_subtype(converted.static_type, attribute.type):
        text = WRONG_TYPE.format(wanted=attribute.type.annotation, found=value.static_type.annotation)
        if isinstance(attribute.type, NoneType) and definition.has_instances:
            text += NONE_ONLY.format(name=name, found=value.static_type.annotation)
        raise CompileError(text, where)
    e.insert("prim::SetAttr", (owner, converted), name=name)
