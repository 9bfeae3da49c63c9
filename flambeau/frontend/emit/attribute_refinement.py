"""What conditions tell of attributes: behind `self.bias is not None`, `self.bias` is no Optional.

A fact about `self` holds for the rest of the scope, as that of a variable does, until the attribute is assigned. That
nothing else has changed the attribute is checked when the program runs: what is read there is unwrapped or looked at
again. A fact about another object, `node.next`, ends with the next call or assignment of an attribute, for those may
change it, and with the variable; one about a named tuple with the variable alone.
Loops start without facts, for their body may assign what the next round reads.
"""

from __future__ import annotations

from flambeau.frontend.emit.frames import Frame, Variable
from flambeau.frontend.emit.refusals import raise_unless
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Sugared
from flambeau.frontend.trees.tree_views import Expr, Select, Var
from flambeau.ir.graph import Value
from flambeau.schema.subtype import common, is_subtype
from flambeau.schema.types import BOOL, NoneType, OptionalType, TupleType, Type, UnionType
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

AT_END = -1
"""Stands for the number of calls at the end of an arm."""
CHANGED = "{path} was known to be {type}, and has been assigned something else since"


@dataclass(frozen=True, slots=True)
class AttributeRefinement(Sugared):
    """A type of an attribute that is narrower than declared; kept in a frame under the attribute's path."""

    type: Type | None
    """None where nothing is known any more."""
    calls: int | None = None
    """How many calls there were when this was learned, where the next may change it; None where it lasts."""
    owner: Variable | None = None
    """What the variable meant at the time; None for `self`, which stays what it is."""
    noted_at: int | None = None
    """How many calls and assignments there were when a condition told it."""


def path_of(e: Emitter, tree: Expr) -> str | None:
    """`self.a.b` as text; None for what is no attribute of a variable."""
    names: list[str] = []
    while isinstance(tree, Select):
        names.append(tree.name)
        tree = tree.value
    if not names or not isinstance(tree, Var):
        return None
    is_known = e.scope.has_self if tree.name == "self" else isinstance(e.scope.find(tree.name), Variable)
    return ".".join([tree.name, *reversed(names)]) if is_known else None


def note(e: Emitter, path: str, type_: Type | None) -> None:
    """Refine an attribute to a type from here on in this scope, or take its refinement back."""
    owner, calls, before = _owner(e, path), e.builder.calls + e.builder.attribute_writes, e.scope.find(path)
    is_same_moment = isinstance(before, AttributeRefinement) and before.noted_at == calls
    if is_same_moment and isinstance(type_, OptionalType | UnionType):
        refinement = _refined_type(e, path)
        type_ = type_ if refinement is None else common(type_, refinement) or type_
    lasts = owner is None or (isinstance(owner.type, TupleType) and path.count(".") == 1)
    e.scope.frame.names[path] = AttributeRefinement(type_, None if lasts else _count(e, owner), owner, calls)


def _count(e: Emitter, owner: Variable | None) -> int:
    """How often an attribute may have been changed by something else: other variables may stand for one object."""
    return e.builder.calls if owner is None else e.builder.calls + e.builder.attribute_writes


def _owner(e: Emitter, path: str) -> Variable | None:
    """The variable that a path starts from; None for `self` in a method."""
    name = path.partition(".")[0]
    meaning = e.scope.find(name)
    return meaning if isinstance(meaning, Variable) and not (name == "self" and e.scope.has_self) else None


def narrowed(e: Emitter, where: SourceRange, tree: Select, attribute: Sugared) -> Sugared:
    """An attribute as it was read, of the type that it is known to have."""
    if not isinstance(attribute, SimpleValue):
        return attribute
    path, type_ = path_of(e, tree), attribute.value.static_type
    refinement = None if path is None else _refined_type(e, path)
    if refinement is None or refinement == type_:
        return attribute
    if isinstance(type_, OptionalType) and refinement == type_.element:
        return SimpleValue(call_operator(e, where, "aten::_unwrap_optional", [attribute.value]))
    if not is_subtype(refinement, type_):
        return attribute
    return SimpleValue(_checked(e, attribute.value, path or "", refinement))


def _refined_type(e: Emitter, path: str) -> Type | None:
    """The type that an attribute is known to have here, beside that which it was declared with; None for none."""
    refinement = e.scope.find(path)
    if not isinstance(refinement, AttributeRefinement) or refinement.owner is not _owner(e, path):
        return None
    return refinement.type if refinement.calls is None or refinement.calls == _count(e, refinement.owner) else None


def _checked(e: Emitter, value: Value, path: str, type_: Type) -> Value:
    """A value as one of a narrower type. Raises when the program runs if it is none."""
    test = e.insert("prim::isinstance", (value,), BOOL)
    test.attributes["types"] = [type_]
    raise_unless(e, test.result(), CHANGED.format(path=path, type=type_.annotation), RuntimeError)
    return e.emit("prim::unchecked_cast", (value,), type_)


def assigned(e: Emitter, tree: Select, type_: Type) -> None:
    """Take note of an assignment of a value of `type_`."""
    path = path_of(e, tree)
    e.builder.attribute_writes += 1
    if path is not None:
        is_narrow, owner = not isinstance(type_, OptionalType | UnionType | NoneType), _owner(e, path)
        e.scope.frame.names[path] = AttributeRefinement(type_ if is_narrow else None, _count(e, owner), owner)


def end_arm(e: Emitter, frame: Frame[Sugared]) -> None:
    """The end of an arm: what assignments told is kept as far as no call came after them."""
    for name, refinement in frame.names.items():
        if isinstance(refinement, AttributeRefinement) and refinement.calls is not None:
            holds = refinement.calls == _count(e, refinement.owner)
            frame.names[name] = AttributeRefinement(refinement.type if holds else None, AT_END, refinement.owner)


def behind_arms(e: Emitter, *arms: Frame[Sugared]) -> None:
    """Keep, behind arms, the refinements that hold at the end of each arm from which control goes on."""
    paths = {n for arm in arms for n, meaning in arm.names.items() if isinstance(meaning, AttributeRefinement)}
    for path in map(str, paths):
        refinements = [arm.find(path) for arm in arms]
        owner = _owner(e, path)
        still = (None, AT_END, _count(e, owner))
        own = [r for r in refinements if isinstance(r, AttributeRefinement) and r.owner is owner and r.calls in still]
        is_same = len(own) == len(arms) and len({r.type for r in own}) == 1
        calls = None if all(r.calls is None for r in own) else _count(e, owner)
        joined = AttributeRefinement(own[0].type, calls, owner) if is_same else AttributeRefinement(None)
        e.scope.frame.names[path] = joined


def asked(e: Emitter, tree: Expr) -> Sugared:
    """What a test asks for. What is known of an attribute is not believed: that is the question."""
    if not isinstance(tree, Select):
        return e.sugared(tree)
    with e.graph.at_range(tree.range):
        return e.sugared(tree.value).attribute(e, tree.range, tree.name)


def forget_all(e: Emitter) -> None:
    """Forget what is known of attributes around this scope."""
    frame = e.scope.frame.parent
    while frame is not None:
        for name, meaning in frame.names.items():
            if isinstance(meaning, AttributeRefinement):
                e.scope.frame.names.setdefault(name, AttributeRefinement(None))
        frame = frame.parent
