"""Operators on objects: the methods that Python would call, on the left object or, reflected, on the right one.

a + b    →    %r = prim::CallMethod[name="__add__"](%a, %b)        3 - b    →    ...[name="__rsub__"](%b, %three)
"""

from __future__ import annotations

from typing import Final

from flambeau.frontend.emit.emission import Emission
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.values.object_methods import find_method, has_method, takes
from flambeau.frontend.values.simple_value import SimpleValue
from flambeau.frontend.values.sugared import Given
from flambeau.ir.value import Value
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


def is_magic(op: str, left: Value, right: Value) -> bool:
    """Whether an operator is decided by the methods of one of its operands."""
    return op in MAGIC and (isinstance(left.type, NamedType) or isinstance(right.type, NamedType))


def emit_magic(e: Emission, where: SourceRange, op: str, left: Value, right: Value) -> Value:
    """`left op right`. Raises CompileError if neither operand has a method for it."""
    name = MAGIC[op]
    reflected = REFLECTED.get(op) or name.replace("__", "__r", 1)
    if _has(e, left, name, where) and not _defers(e, where, left, name, right):
        return _call(e, where, left, name, right)
    if _has(e, right, reflected, where):
        return _call(e, where, right, reflected, left)
    if op == "!=" and (_has(e, left, "__eq__", where) or _has(e, right, "__eq__", where)):
        equal = emit_magic(e, where, "==", left, right)
        return call_operator(e, where, "aten::__not__", [equal])
    owner = left if isinstance(left.type, NamedType) else right
    missing = name if owner is left else reflected
    raise CompileError(f"'{owner.type.annotation}' object has no attribute or method '{missing}'.", where)


def call_unary(e: Emission, where: SourceRange, name: str, value: Value) -> Value | None:
    """`-value`, `~value`, `abs(value)` of an object by its method; None for a value that is none."""
    if not isinstance(value.type, NamedType):
        return None
    return SimpleValue(value).attribute(e, where, name).call(e, where, (), ()).as_value(e, where)


def truth(e: Emission, where: SourceRange, value: Value) -> Value | None:
    """Whether an object is true, by `__bool__` or `__len__`; None for a value that has neither."""
    definition = value.type.definition if isinstance(value.type, NamedType) else None
    if _has(e, value, "__bool__", where):
        result = SimpleValue(value).attribute(e, where, "__bool__").call(e, where, (), ()).as_value(e, where)
        if result.type != BOOL:
            text = f"expected a bool expression for condition but found {result.type.annotation}"
            raise CompileError(text, where)
        return result
    if not getattr(definition, "is_module", True) and _has(e, value, "__len__", where):
        length = SimpleValue(value).attribute(e, where, "__len__").call(e, where, (), ()).as_value(e, where)
        return call_operator(e, where, "aten::ne", [length, e.constant(0)])
    return None


def _has(e: Emission, value: Value, name: str, where: SourceRange) -> bool:
    return isinstance(value.type, NamedType) and has_method(e, value.type, name, where)


def _defers(e: Emission, where: SourceRange, left: Value, name: str, right: Value) -> bool:
    """Whether `==` is left to the right object: it is known as one of a base, whose method takes both."""
    if name != "__eq__" or not isinstance(left.type, NamedType) or not is_subtype(left.type, right.type):
        return False
    method = find_method(e, left.type, name, where)
    return method is not None and not takes(method, [Given(left, where), Given(right, where)], ())


def _call(e: Emission, where: SourceRange, owner: Value, name: str, other: Value) -> Value:
    method = SimpleValue(owner).attribute(e, where, name)
    return method.call(e, where, [Given(other, where)], ()).as_value(e, where)
