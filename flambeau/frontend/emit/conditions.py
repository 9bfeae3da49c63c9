"""Conditions: their value, whether it is known while compiling, and what types follow from it.

if x is not None and isinstance(y, int): A      →      in A, `x` has lost its None and `y` is an int
else: B                                                in B, nothing is known: either part may have failed
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

from flambeau.analysis.effects import own_effect, own_writes
from flambeau.frontend.emit.attribute_refinement import asked, note, path_of
from flambeau.frontend.emit.frames import Variable
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values import magic_methods as magic
from flambeau.frontend.emit.values.literal_value import LiteralValue, literal_of
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Sugared
from flambeau.frontend.scopes.captured_names import Name
from flambeau.frontend.trees.tree_views import (
    And,
    Compare,
    Expr,
    FalseLit,
    NoneLit,
    Not,
    Or,
    Select,
    TrueLit,
    TupleLiteral,
    Var,
    Walrus,
)
from flambeau.ir.graph import Block, Value
from flambeau.ir.walk import blocks
from flambeau.schema import registry
from flambeau.schema.opdef import Effect
from flambeau.schema.set_type import SetType
from flambeau.schema.shown_type import shown_type
from flambeau.schema.subtype import subtract, unify
from flambeau.schema.types import (
    BOOL,
    NONE,
    TENSOR,
    AnyType,
    ComplexType,
    DictType,
    FloatType,
    IntType,
    ListType,
    NamedType,
    NoneType,
    NumberType,
    OptionalType,
    StringType,
    TensorType,
    TupleType,
    Type,
    UnionType,
)
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass, field
from flambeau.util.source import SourceRange

Narrowings = dict[Name, Type | Variable]
"""Types that variables have where a condition holds, and variables that it binds on the way there."""


@dataclass(slots=True)
class Condition:
    """A condition as emitted."""

    value: Value | None = None
    """What it is when the program runs; None when it is known already."""
    known: bool | None = None
    """What it is, if the compiler knows."""
    if_true: Narrowings = field(default_factory=dict)
    if_false: Narrowings = field(default_factory=dict)

    def as_value(self, e: Emitter) -> Value:
        """Its value, a constant if it is known."""
        if self.value is not None:
            return self.value
        return e.constant(bool(self.known))
_COMPARED: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
"""The comparisons that are known where both numbers are."""


def emit_condition(e: Emitter, tree: Expr) -> Condition:
    """Emit what an `if`, a loop or an `and` decides on."""
    with e.graph.at_range(tree.range):
        if isinstance(tree, TrueLit | FalseLit):
            return Condition(known=isinstance(tree, TrueLit))
        if isinstance(tree, Not):
            return _negated(e, emit_condition(e, tree.value), tree.range)
        if isinstance(tree, And | Or):
            return _emit_logical(e, tree)
        if isinstance(tree, Compare) and tree.op in ("is", "is not"):
            condition = _emit_is_none(e, tree)
            if condition is not None:
                return condition
        sugared = e.sugared(tree)
        if isinstance(sugared, ConditionValue):
            return sugared.condition
        if isinstance(sugared, LiteralValue):
            return Condition(known=bool(sugared.literal))
        value = sugared.as_value(e, tree.range)
        known = _known_truth(tree, value) if e.arrays else None
        return Condition(known=known) if known is not None else Condition(to_bool(e, tree.range, value))


def _known_truth(tree: Expr, value: Value) -> bool | None:
    """What a comparison of literals is, and a tuple that is not written out; None for any other."""
    if isinstance(tree, Compare):
        return _known_comparison(tree, value)
    is_tuple = isinstance(value.static_type, TupleType) and not isinstance(tree, TupleLiteral)
    return bool(value.static_type.contained) if is_tuple else None


def _known_comparison(tree: Compare, value: Value) -> bool | None:
    """What a comparison of two known integers or texts is, as of an array's `ndim` and a literal; None for others."""
    node = value.defining_node
    if tree.op not in _COMPARED or node is None or len(node.operands) != 2:
        return None
    left, right = (None if known is None else known.literal for known in map(literal_of, node.operands))
    are_alike = type(left) is type(right) and isinstance(left, int | str) and not isinstance(left, bool)
    return bool(_COMPARED[tree.op](left, right)) if are_alike else None


def emit_logical(e: Emitter, tree: Not | And | Or, hint: Type | None) -> Sugared:
    """`not a` as a value is a bool; `a and b`, `a or b` are one of their operands, as in Python."""
    if isinstance(tree, And | Or) and not _chain(tree):
        return _emit_operand(e, tree)
    return ConditionValue(emit_condition(e, tree))


def _emit_operand(e: Emitter, tree: And | Or) -> Sugared:
    """`a and b` as a value. Where both are bools, or conditions, it is the condition."""
    is_and = isinstance(tree, And)
    source = None if _is_condition(tree.left) else e.sugared(tree.left)
    if source is None or isinstance(source, ConditionValue):
        return ConditionValue(_emit_logical(e, tree, None if source is None else source.condition))
    left = source.as_value(e, tree.left.range)
    truth = to_bool(e, tree.left.range, left)
    if left.static_type == BOOL:
        return _bool_or_operand(e, tree, left)
    node = e.graph.insert("prim::If", (truth,), ())
    first, second = node.add_block(), node.add_block()
    deciding, skipping = (first, second) if is_and else (second, first)
    with e.inside(deciding):
        right = e.value(tree.right)
        deciding.add_return(right)
    skipping.add_return(left)
    type_ = unify(left.static_type, right.static_type, default_to_union=True)
    assert type_ is not None
    return SimpleValue(node.add_result(TENSOR if isinstance(type_, TensorType) and not type_.is_array else type_))


def _is_condition(tree: Expr) -> bool:
    return isinstance(tree, TrueLit | FalseLit | Not | Compare) or (isinstance(tree, And | Or) and bool(_chain(tree)))


def _bool_or_operand(e: Emitter, tree: And | Or, left: Value) -> Sugared:
    """`a and b` with a bool `a`: a condition, unless `b` is no bool."""
    node = e.graph.insert("prim::If", (left,), ())
    first, second = node.add_block(), node.add_block()
    is_and = isinstance(tree, And)
    deciding, skipping = (first, second) if is_and else (second, first)
    with e.inside(deciding):
        right = e.sugared(tree.right).as_value(e, tree.right.range)
        deciding.add_return(right)
    if right.static_type == BOOL:
        with e.inside(skipping):
            skipping.add_return(e.constant(not is_and))
        return SimpleValue(node.add_result(BOOL))
    skipping.add_return(left)
    type_ = unify(left.static_type, right.static_type, default_to_union=True)
    assert type_ is not None
    return SimpleValue(node.add_result(type_))


@dataclass(slots=True)
class ConditionValue(Sugared):
    """A bool that is known while compiling or that tells types: of `isinstance`, `hasattr`, a global constant."""

    condition: Condition

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "condition"

    def as_value(self, e: Emitter, where: SourceRange) -> Value:
        """The bool."""
        return self.condition.as_value(e)

    def stored_value(self, e: Emitter, where: SourceRange) -> Value:
        """The bool: what it tells of types is forgotten."""
        return self.condition.as_value(e)


NONE_IS_FALSE = ". Write `x is not None`, or `x is not None and x` if 0 and what is empty count as None"


def refine(e: Emitter, narrowed: Narrowings) -> None:
    """Let variables have the types that follow from a condition, from here on in this scope."""
    for name, type_ in narrowed.items():
        if isinstance(type_, Variable):
            e.scope.frame.names[name] = type_
            continue
        if isinstance(name, str) and "." in name:
            note(e, name, None if type_ == NONE else type_)
            continue
        sugared = e.lookup(name, e.graph.current_range or _NOWHERE)
        if not isinstance(sugared, SimpleValue) or sugared.value.static_type == type_:
            continue
        cast = e.emit("prim::unchecked_cast", (sugared.value,), type_)
        e.store(name, cast)


def to_bool(e: Emitter, where: SourceRange, value: Value) -> Value:
    """The truth of a value. Raises CompileError for a type that has none: tuples, optionals, modules."""
    type_ = value.static_type
    with e.graph.at_range(where):
        match type_:
            case _ if type_ == BOOL:
                return value
            case TensorType() | IntType() | FloatType() | ComplexType() | NumberType():
                return call_operator(e, where, "aten::Bool", [value])
            case StringType() | ListType() | DictType() | SetType():
                length = call_operator(e, where, "aten::len", [value])
                return call_operator(e, where, "aten::gt", [length, e.constant(0)])
            case UnionType(members) if NONE not in members:
                return call_operator(e, where, "python::truth", [value])
            case NamedType() if (result := magic.truth(e, where, value)) is not None:
                return result
    advice = NONE_IS_FALSE if may_be_none(type_) and type_ != NONE else ""
    raise CompileError(f"Could not cast value of type {shown_type(type_)} to bool{advice}", where)


def _negated(e: Emitter, condition: Condition, where: SourceRange) -> Condition:
    value = condition.value
    if value is not None:
        value = call_operator(e, where, "aten::__not__", [value])
    known = None if condition.known is None else not condition.known
    return Condition(value, known, condition.if_false, condition.if_true)


def _emit_is_none(e: Emitter, tree: Compare) -> Condition | None:
    """`x is None`, in either order; None if neither side is a literal None."""
    tested = tree.left if isinstance(tree.right, NoneLit) else tree.right
    if not isinstance(tree.left, NoneLit) and not isinstance(tree.right, NoneLit):
        return None
    wants_none = tree.op == "is"
    meaning = asked(e, tested)
    if isinstance(tested, Var | Select) and meaning.stored_value(e, tested.range) is None:  # a function
        return Condition(known=not wants_none)
    value = meaning.as_value(e, tested.range)
    type_ = value.static_type
    if isinstance(type_, NoneType):
        return Condition(known=wants_none)
    if not may_be_none(type_):
        return Condition(known=not wants_none)
    result = e.emit(registry.spelled(tree.op), (value, e.constant(None)), BOOL)
    present, absent = _narrowed_by_none(e, tested.target if isinstance(tested, Walrus) else tested, type_)
    return Condition(result, None, absent, present) if wants_none else Condition(result, None, present, absent)


def _narrowed_by_none(e: Emitter, tested: Expr, type_: Type) -> tuple[Narrowings, Narrowings]:
    """What a variable or attribute is where it is not None, and where it is."""
    rest = subtract(type_, NONE)
    name = tested.name if isinstance(tested, Var) else path_of(e, tested)
    if name is None or rest is None or isinstance(type_, AnyType):
        return {}, {}
    return {name: rest}, {name: NONE} if "." in name else {}


def may_be_none(type_: Type) -> bool:
    """Whether None is among the values of the type."""
    if isinstance(type_, UnionType):
        return NONE in type_.members
    return isinstance(type_, OptionalType | AnyType | NoneType)


def _emit_logical(e: Emitter, tree: And | Or, known_left: Condition | None = None) -> Condition:
    """`a and b`, `a or b`: `b` is evaluated only where it decides, and knows what `a` tells.

    `known_left` is `a` if it was emitted already.
    """
    links = _chain(tree) if known_left is None else []
    if links:
        return Condition(_emit_chain(e, links))
    left = emit_condition(e, tree.left) if known_left is None else known_left
    is_and = isinstance(tree, And)
    if left.known is None:
        return _emit_branching(e, tree.right, left, is_and)
    if left.known != is_and:
        return left
    refine(e, left.if_true if is_and else left.if_false)
    right = emit_condition(e, tree.right)
    return _combined(is_and, left, right, right.value, right.known)


def _emit_branching(e: Emitter, tree: Expr, left: Condition, is_and: bool) -> Condition:
    """The second operand in a branch of the first one, where that does not decide."""
    assert left.value is not None
    node = e.graph.insert("prim::If", (left.value,), ())
    first, second = node.add_block(), node.add_block()
    deciding, skipping = (first, second) if is_and else (second, first)
    with e.inside(deciding) as frame:
        refine(e, left.if_true if is_and else left.if_false)
        right = emit_condition(e, tree)
        around = e.scope.frame.parent
        bound = {n: v for n, v in frame.variables() if around is None or around.find(n) is None}
        right = _with_bound(right, bound, is_and)
        if right.known is None:
            assert right.value is not None
            deciding.add_return(right.value)
        elif right.known != is_and and _has_effects(deciding):
            deciding.add_return(e.constant(right.known))
    if deciding.returns:
        with e.inside(skipping):
            skipping.add_return(e.constant(not is_and))
        return _combined(is_and, left, right, node.add_result(BOOL), None)
    node.erase()
    return _combined(is_and, left, right, left.value, None) if right.known == is_and else Condition(known=right.known)


def _with_bound(right: Condition, bound: dict[Name, Variable], is_and: bool) -> Condition:
    """The second operand, with what it binds (`:=`) where it was evaluated for certain."""
    if not bound:
        return right
    if_true = {**bound, **right.if_true} if is_and else right.if_true
    if_false = right.if_false if is_and else {**bound, **right.if_false}
    return Condition(right.value, right.known, if_true, if_false)


def _has_effects(block: Block) -> bool:
    """Whether evaluating a condition does more than finding its value; calls may. Variables are read in order, too."""
    nodes = (node for part in blocks(block) for node in part if node.op != "prim::Load")
    return any(own_effect(node) is not Effect.NONE or own_writes(node) for node in nodes)


def _combined(is_and: bool, left: Condition, right: Condition, value: Value | None, known: bool | None) -> Condition:
    if known is not None:
        value = None
    if is_and:
        return Condition(value, known, {**left.if_true, **right.if_true}, {})
    return Condition(value, known, {}, {**left.if_false, **right.if_false})


def _chain(tree: And | Or) -> list[Compare]:
    """The comparisons of `a < b < c`, in which neighbours share a tree; empty for anything else."""
    links: list[Compare] = []
    part: Expr = tree
    while isinstance(part, And):
        if not isinstance(part.right, Compare) or (links and part.right.right is not links[-1].left):
            return []
        links.append(part.right)
        part = part.left
    if not isinstance(part, Compare) or (links and part.right is not links[-1].left):
        return []
    return [part, *reversed(links)]


def _emit_chain(e: Emitter, links: list[Compare]) -> Value:
    """`a < b < c`: `b` is evaluated once, `c` only if `a < b`."""
    first, rest = links[0], links[1:]
    before = dict(e.shared)
    try:
        e.shared[id(first.left)] = e.value(first.left)
        e.shared[id(first.right)] = e.value(first.right)
        value = to_bool(e, first.range, e.value(first))
        if not rest:
            return value
        node = e.graph.insert("prim::If", (value,), (BOOL,))
        more, less = node.add_block(), node.add_block()
        with e.inside(more):
            more.add_return(_emit_chain(e, rest))
        with e.inside(less):
            less.add_return(e.constant(False))
        return node.result()
    finally:
        e.shared = before


_NOWHERE = SourceRange.at("<unknown>", 0, 0)
