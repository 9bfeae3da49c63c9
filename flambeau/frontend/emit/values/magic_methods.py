"""Operators on objects: the methods that Python would call, on the left object or, reflected, on the right one.

a + b    →    %r = prim::CallMethod[name="__add__"](%a, %b)        3 - b    →    ...[name="__rsub__"](%b, %three)
"""

from __future__ import annotations

from typing import Final

from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values import receivers
from flambeau.frontend.emit.values.object_methods import find_method, has_method, takes
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Given
from flambeau.ir.graph import Value
from flambeau.schema.shown_type import shown_type
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import BOOL, NamedType
from flambeau.util.errors import CompileError
from flambeau.util.source import SourceRange

MAGIC: Final = {
    "+": "__add__", "-": "__sub__", "*": "__mul__", "/": "__truediv__", "//": "__floordiv__", "%": "__mod__",
    "**": "__pow__", "@": "__matmul__", "&": "__and__", "|": "__or__", "^": "__xor__", "<<": "__lshift__",
    ">>": "__rshift__", "<": "__lt__", ">": "__gt__", "<=": "__le__", ">=": "__ge__", "==": "__eq__",
    "!=": "__ne__",
}  # fmt: skip
"""The method of an object that an operator means."""

REFLECTED: Final = {"<": "__gt__", ">": "__lt__", "<=": "__ge__", ">=": "__le__", "==": "__eq__", "!=": "__ne__"}
"""The method of the right object that a comparison means. Arithmetic has `__radd__` and so on."""
WHICH: Final = (
    "Python asks the right object first where its class inherits from the left one's: {subclass}.{name} if the left "
    "one is a {base}, and not if it is a {subclass} itself, which is not known here. Call the method that is meant "
    "by its name"
)


def is_magic(op: str, left: Value, right: Value) -> bool:
    """Whether an operator is decided by the methods of one of its operands."""
    return op in MAGIC and (isinstance(left.static_type, NamedType) or isinstance(right.static_type, NamedType))


def emit_magic(e: Emitter, where: SourceRange, op: str, left: Value, right: Value) -> Value:
    """`left op right`. Raises CompileError if neither operand has a method for it."""
    name = MAGIC[op]
    reflected = REFLECTED.get(op) or name.replace("__", "__r", 1)
    if _comes_first(e, where, right, reflected, left, is_comparison=op in REFLECTED):
        return _call(e, where, right, reflected, left)
    if _has(e, left, name, where) and not _defers(e, where, left, name, right):
        return _call(e, where, left, name, right)
    if _has(e, right, reflected, where):
        return _call(e, where, right, reflected, left)
    if op == "!=" and (_has(e, left, "__eq__", where) or _has(e, right, "__eq__", where)):
        equal = emit_magic(e, where, "==", left, right)
        return call_operator(e, where, "aten::__not__", [equal])
    owner = left if isinstance(left.static_type, NamedType) else right
    missing = name if owner is left else reflected
    raise CompileError(f"'{shown_type(owner.static_type)}' object has no attribute or method '{missing}'.", where)


def call_unary(e: Emitter, where: SourceRange, name: str, value: Value) -> Value | None:
    """`-value`, `~value`, `abs(value)` of an object by its method; None for a value that is none."""
    if not isinstance(value.static_type, NamedType):
        return None
    return SimpleValue(value).attribute(e, where, name).call(e, where, (), ()).as_value(e, where)


def truth(e: Emitter, where: SourceRange, value: Value) -> Value | None:
    """Whether an object is true, by `__bool__` or `__len__`; None for a value that has neither."""
    definition = value.static_type.definition if isinstance(value.static_type, NamedType) else None
    if _has(e, value, "__bool__", where):
        result = SimpleValue(value).attribute(e, where, "__bool__").call(e, where, (), ()).as_value(e, where)
        if result.static_type != BOOL:
            text = f"expected a bool expression for condition but found {result.static_type.annotation}"
            raise CompileError(text, where)
        return result
    if not getattr(definition, "is_module", True) and _has(e, value, "__len__", where):
        length = SimpleValue(value).attribute(e, where, "__len__").call(e, where, (), ()).as_value(e, where)
        return call_operator(e, where, "aten::ne", [length, e.constant(0)])
    return None


def _has(e: Emitter, value: Value, name: str, where: SourceRange) -> bool:
    return isinstance(value.static_type, NamedType) and has_method(e, value.static_type, name, where)


def _defers(e: Emitter, where: SourceRange, left: Value, name: str, right: Value) -> bool:
    """Whether `==` is left to the right object: it is known as one of a base, whose method takes both."""
    if (
        name != "__eq__"
        or not isinstance(left.static_type, NamedType)
        or not is_subtype(left.static_type, right.static_type)
    ):
        return False
    method = find_method(e, left.static_type, name, where)
    return method is not None and not takes(method, [Given(left, where), Given(right, where)], ())


def _comes_first(e: Emitter, where: SourceRange, right: Value, name: str, left: Value, *, is_comparison: bool) -> bool:
    """Whether the right object is asked first: its class inherits from the left one's, and has its own method.

    As Python does it, where it is known that the left object is of no other class.
    """
    classes = [getattr(getattr(v.static_type, "definition", None), "python", None) for v in (left, right)]
    base, subclass = classes
    if not isinstance(base, type) or not isinstance(subclass, type):
        return False
    if base is subclass or not issubclass(subclass, base):
        return False
    if getattr(subclass, name, None) is getattr(base, name, None) or not _has(e, right, name, where):
        return False
    if getattr(left.static_type.definition, "is_open", False) and not _is_made_here(e, left):  # type: ignore[attr-defined]
        if is_comparison:
            return False
        raise CompileError(WHICH.format(base=base.__name__, subclass=subclass.__name__, name=name), where)
    method = find_method(e, right.static_type, name, where) if isinstance(right.static_type, NamedType) else None
    return method is not None and (not is_comparison or takes(method, [Given(right, where), Given(left, where)], ()))


def _is_made_here(e: Emitter, value: Value) -> bool:
    """Whether a value is an object of its very class: `self`, or one that was just made, as its variable is too."""
    node = value.defining_node
    if receivers.is_own(e, value):
        return True
    if node is None or node.op != "prim::Load":
        return node is not None and node.op == "prim::CreateObject"
    name = node.attribute("name")
    stored = [n.operand(0) for n in e.graph.all_nodes() if n.op == "prim::Store" and n.attribute("name") == name]
    return all(v.defining_node is not None and v.defining_node.op == "prim::CreateObject" for v in stored)


def _call(e: Emitter, where: SourceRange, owner: Value, name: str, other: Value) -> Value:
    method = SimpleValue(owner).attribute(e, where, name)
    return method.call(e, where, [Given(other, where)], ()).as_value(e, where)
