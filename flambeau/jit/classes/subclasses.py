"""When objects of a subclass may be used as objects of its base: what programs know of the base holds for them too.

    class Shape: area(self) -> float        a list of Shapes may hold Squares;
    class Square(Shape): area(self) -> float        shape.area() is the method of the object that is there
"""

from __future__ import annotations

import inspect
from types import FunctionType
from typing import Any, Final

from flambeau.jit.classes.records import is_generated
from flambeau.program.classes import ClassDefinition
from flambeau.schema.function import FunctionSchema
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import without_refinement
from flambeau.util.errors import CompileError
from flambeau.util.kept_on import ATTRIBUTE

NO_ATTRIBUTE = "objects of {other} have no attribute '{name}', which {own} assigns in __init__: call super().__init__"
OTHER_TYPE = "attribute '{name}' of {other} has type {found}, that of {own} has type {wanted}"
OTHER_CONSTANT = "'{name}' is another constant in {other} than in {own}"
SETTLED = "{other} defines '{name}' anew, which programs looked up in {own} already"
OTHER_METHOD = "method '{name}' of {other} cannot stand for that of {own}: {reason}"
OTHER_KIND = "'{name}' is a property in one of {other} and {own} alone"
UNKNOWN: Final = "declare what both return, after '->'"


def overridden(own: type, other: type) -> dict[str, Any]:
    """What a subclass has under names that its base has too, and is not the same."""
    names = {name for base in own.__mro__[:-1] for name in vars(base)}
    names -= {ATTRIBUTE}
    names -= {"__eq__"} if _is_generated(own) and _is_generated(other) else set()
    members = {name: inspect.getattr_static(other, name, None) for name in names}
    return {n: f for n, f in members.items() if f is not inspect.getattr_static(own, n, None)}


def _is_generated(cls: type) -> bool:
    """Whether equality is what `dataclass` made of it: it looks at the classes of both objects itself."""
    owner = next((base for base in cls.__mro__ if "__eq__" in vars(base)), cls)
    return is_generated(owner, "__eq__")


def why_not(own: ClassDefinition, other: ClassDefinition) -> str | None:
    """What keeps objects of `other` from being used as objects of `own`; None if nothing does."""
    names = {"own": own.python.__name__, "other": other.python.__name__}
    for attribute in own.attributes:
        theirs = other.attribute(attribute.name)
        if theirs is None:
            return NO_ATTRIBUTE.format(name=attribute.name, **names)
        if without_refinement(theirs.type) != without_refinement(attribute.type):
            shown = {"found": theirs.type.annotation, "wanted": attribute.type.annotation}
            return OTHER_TYPE.format(name=attribute.name, **names, **shown)
    for name, value in own.constants.items():
        if other.constants.get(name) != value:
            return OTHER_CONSTANT.format(name=name, **names)
    for name, member in overridden(own.python, other.python).items():
        if name == "__hash__" and member is None:  # what an `__eq__` without `__hash__` makes of it
            continue
        if name in own.settled:
            return SETTLED.format(name=name, **names)
        before = inspect.getattr_static(own.python, name, None)
        if isinstance(before, property) != isinstance(member, property):
            return OTHER_KIND.format(name=name, **names)
        reason = _method(own, other, name) if isinstance(before, FunctionType | property) else None
        if reason is not None:
            return OTHER_METHOD.format(name=name, reason=reason, **names)
    return None


def _method(own: ClassDefinition, other: ClassDefinition, name: str) -> str | None:
    """Why an overriding method is none; None for what programs do not call on objects of the base."""
    if name in ("__init__", "__new__", "__post_init__", "__init_subclass__", "__class_getitem__"):
        return None
    wanted = _schema(own, name)
    if wanted is None:  # nothing that programs could call
        return None
    schema = _schema(other, name)
    return UNKNOWN if schema is None else _incompatible(schema, wanted)


def _schema(definition: ClassDefinition, name: str) -> FunctionSchema | None:
    """What a method or the getter of a property takes and returns, compiled only if nothing declares it."""
    source: Any = definition.source
    try:
        declared: FunctionSchema | None = source.declared(name)
        if declared is not None:
            return declared
        accessor = definition.find_property(name)
        function = accessor[0] if accessor is not None else definition.find_method(name)
    except CompileError:
        return None
    return None if function is None else function.schema


def _incompatible(schema: FunctionSchema, wanted: FunctionSchema) -> str | None:
    mine, theirs = schema.arguments[1:], wanted.arguments[1:]
    if len(mine) < len(theirs) or any(not a.has_default for a in mine[len(theirs) :]):
        return f"it takes {len(mine)} arguments, not {len(theirs)}"
    for a, b in zip(mine, theirs, strict=False):
        if a.name != b.name or a.kwarg_only != b.kwarg_only:
            return f"its argument '{a.name}' is '{b.name}' there"
        if not is_subtype(b.type, a.type):
            return f"its argument '{a.name}' has type {a.type.annotation}, which does not accept {b.type.annotation}"
        if b.has_default and (not a.has_default or not _same(a.default, b.default)):
            return f"the default of its argument '{a.name}' is another one"
    if not is_subtype(schema.returns[0].type, wanted.returns[0].type):
        return f"it returns {schema.returns[0].type.annotation}, which is no {wanted.returns[0].type.annotation}"
    return None


def _same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and type(a) in (int, float, bool, str, tuple, complex) and bool(a == b))
