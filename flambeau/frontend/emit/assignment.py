"""Assignment to names, and to patterns of targets; other targets are handed to `subscripts`.

a, (b, *c) = x, y    →    %b, %c.1, ... = prim::TupleUnpack(%y)    and stores of `a`, `b`, `c`
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.frontend.emit.beginnings import as_begun, as_in_block_around
from flambeau.frontend.emit.declared_mappings import is_of_table
from flambeau.frontend.emit.float_powers import about_power
from flambeau.frontend.emit.frames import Absent, Variable
from flambeau.frontend.emit.implicit_conversions import conversion_to, convert
from flambeau.frontend.emit.item_targets import assign_attribute, assign_item
from flambeau.frontend.emit.list_slices import has_slice
from flambeau.frontend.emit.numpy.reversed_views import ReversedView
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.container_methods import listed
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Sugared
from flambeau.frontend.emit.values.tuple_values import TupleValue
from flambeau.frontend.emit.widening import may_widen, note_numbers
from flambeau.frontend.scopes.scope_tree import UNWANTED
from flambeau.frontend.trees.tree_views import Expr, ListLiteral, Select, Starred, Subscript, TupleLiteral, Var
from flambeau.ir.graph import Value
from flambeau.program.classes import why_no_interface
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import (
    FLOAT,
    INT,
    TENSOR,
    ListType,
    NumberType,
    OptionalType,
    TensorType,
    Type,
    UnionType,
    without_refinement,
)
from flambeau.util.errors import CompileError
from flambeau.util.instead import instead
from flambeau.util.source import SourceRange

LONE_STAR = "A Starred expression may only appear on the lhs within the presence of another non-starred expression"
TWO_STARS = "Only one starred expression is allowed on the lhs"
STAR_TARGET = "Cannot pack a tuple into a non-variable"
REASSIGNED_SELF = "Cannot re-assign 'self' because it has type {kind} and 'self' is not a first-class value"
NOT_FIRST_CLASS = (
    "Cannot re-assign '{name}' to a value of type {kind} because '{name}' is not a first-class value. "
    "Only reassignments to first-class values are allowed"
)
WAS_NOT_FIRST_CLASS = (
    "Cannot re-assign '{name}' because it has type {kind} and '{name}' is not a first-class value. "
    "Only reassignments to first-class values are allowed"
)
BEGINS_AS_INT = instead(
    "It is a float from here on: let it begin as one, {code}", "total = 0.0", given="", gives="total",
    shown="{name} = 0.0",
)  # fmt: skip
CHANGED_TYPE = "Variable '{name}' previously had type {before} but is now being assigned to a value of type {after}\n"
NUMBER = ". A number of which only the run tells whether it is an int becomes a float with float(x), an int with int(x)"
EMPTY_LIST = (
    "Empty lists default to List[Tensor]. Annotate the variable, as in `{name}: List[int] = []`, to have another type"
)
WRONG_ANNOTATION = "Variable '{name}' is annotated with type {wanted} but is being assigned to a value of type {found}"
ANNOTATED_AGAIN = (
    "Attempting to declare and annotate the type of variable '{name}' but it is already defined in an outer block"
)


def assign(e: Emitter, target: Expr, value: Sugared, where: SourceRange, annotation: Type | None = None) -> None:
    """Assign to any target; `where` is the place of the value."""
    match target:
        case Var():
            assign_name(e, target.range, target.name, value, annotation)
        case TupleLiteral() | ListLiteral():
            assign_pattern(e, target, value, where)
        case Subscript():
            if isinstance(value, ReversedView):
                value = SimpleValue(value.flipped(e, where))
            is_value = value.stored_value(e, where) is not None or not has_slice(e, target)
            assign_item(e, target, value.as_value(e, where) if is_value else listed(e, where, value))
        case Select():
            assign_attribute(e, target, value.as_value(e, where), annotation)
        case Starred():
            raise CompileError(LONE_STAR, target.range)
        case _:
            raise CompileError("unexpected expression on left-hand side of assignment", target.range)


def assign_pattern(e: Emitter, target: TupleLiteral | ListLiteral, value: Sugared, where: SourceRange) -> None:
    """Unpack a value into several targets, one of which may be starred."""
    targets = target.items
    star = _star_among(target)
    if star is None:
        items = value.as_tuple(e, where, len(targets))
        _check_count(target, len(items), star)
        _assign_all(e, targets, items, where)
        return
    if isinstance(value, SimpleValue) and type(value.value.static_type) is TensorType:
        value = SimpleValue(call_operator(e, where, "aten::unbind", [value.value]))
    if isinstance(value, SimpleValue) and isinstance(value.value.static_type, ListType):
        _assign_list(e, targets, star, value.value, where)
        return
    items = value.as_tuple(e, where, None)
    _check_count(target, len(items), star)
    after = len(items) - (len(targets) - star - 1)
    _assign_all(e, targets[:star], items[:star], where)
    rest = TupleValue(items[star:after]).as_value(e, where)
    assign(e, _starred(targets[star]), SimpleValue(rest), where)
    _assign_all(e, targets[star + 1 :], items[after:], where)


def _star_among(target: TupleLiteral | ListLiteral) -> int | None:
    """Which target is starred, if one is. Raises CompileError for two, and for one alone."""
    stars = [i for i, t in enumerate(target.items) if isinstance(t, Starred)]
    if len(stars) > 1:
        raise CompileError(TWO_STARS, target.range)
    if stars and len(target.items) == 1:
        raise CompileError(LONE_STAR, target.items[0].range)
    return stars[0] if stars else None


def _check_count(target: TupleLiteral | ListLiteral, count: int, star: int | None) -> None:
    """Raise CompileError for fewer values than targets, and for more if none of these is starred."""
    needed = len(target.items) - (star is not None)
    if count < needed:
        at_least = "" if star is None else "at least "
        raise CompileError(f"need {at_least}{needed} values to unpack but found only {count}", target.range)
    if count > needed and star is None:
        raise CompileError(f"too many values to unpack: need {needed} but found {count}", target.range)


def _starred(target: Expr) -> Var:
    """The name behind the star. Raises CompileError for another target."""
    assert isinstance(target, Starred)
    if not isinstance(target.value, Var):
        raise CompileError(STAR_TARGET, target.range)
    return target.value


def _assign_list(e: Emitter, targets: Sequence[Expr], at: int, items: Value, where: SourceRange) -> None:
    """`a, *b, c = items` of a list, whose length is checked when the program runs."""
    behind = len(targets) - at - 1
    items = call_operator(e, where, "python::check_unpack", [items, e.constant(len(targets) - 1)])
    each = [SimpleValue(items).item(e, where, e.constant(i)) for i in range(at)]
    ends = [e.constant(at), e.constant(-behind if behind else None), e.constant(1)]
    rest = SimpleValue(call_operator(e, where, "aten::slice", [items, *ends]))
    last = [SimpleValue(items).item(e, where, e.constant(i)) for i in range(-behind, 0)]
    _assign_all(e, targets[:at], each, where)
    assign(e, _starred(targets[at]), rest, where)
    _assign_all(e, targets[at + 1 :], last, where)


def _assign_all(e: Emitter, targets: Sequence[Expr], items: Sequence[Sugared], where: SourceRange) -> None:
    for target, item in zip(targets, items, strict=True):
        assign(e, target, item, where)


def assign_name(e: Emitter, where: SourceRange, name: str, value: Sugared, annotation: Type | None = None) -> None:
    """Let a name mean `value`. Raises CompileError where a name of an outer block would change its type."""
    if name == "self" and e.scope.has_self:
        raise CompileError(REASSIGNED_SELF.format(kind="module"), where)
    value = value.kept(e, where)
    stored = value.stored_value(e, where)
    stored = None if stored is None else as_begun(e, where, name, stored)
    outside = e.scope.frame.find_outside(name)
    if isinstance(outside, Variable) and _is_unwanted(e, name):
        return  # it may be of any type
    if outside is not None and not isinstance(outside, Absent):
        if annotation is not None and id(where) not in e.scope.annotated:
            raise CompileError(ANNOTATED_AGAIN.format(name=name), where)
        annotation = None
        if stored is None:
            raise CompileError(NOT_FIRST_CLASS.format(name=name, kind=value.kind), where)
        stored = _as_outside(e, where, name, stored, outside)
    if stored is None:
        value.check_named(where)
        e.scope.frame.names[name] = value
        return
    if _says_more(stored, annotation):
        annotation = None
    if annotation is not None:
        stored = _as_annotated(e, where, name, stored, annotation)
    stored = _as_in_cell(e, name, stored)
    e.store(name, stored, annotation, None if annotation is not None else _before_narrowing(e, stored))


def _is_unwanted(e: Emitter, name: str) -> bool:
    """Whether a name is `_`, and nothing in this function reads it."""
    binding = e.scope.symbols.bindings.get(name) if name == UNWANTED else None
    return binding is not None and not binding.is_read


def _says_more(value: Value, annotation: Type | None) -> bool:
    """Whether more is known of an array than its annotation says, np.ndarray, or of a defaultdict than of a dict."""
    type_ = value.static_type
    if is_of_table(value, annotation):
        return True
    return annotation == TENSOR and isinstance(type_, TensorType) and type_.is_array


def _as_outside(e: Emitter, where: SourceRange, name: str, value: Value, outside: Variable | Absent | Sugared) -> Value:
    """A value as the type that its name has in the blocks around. Raises CompileError if it is a function there."""
    if isinstance(outside, Sugared):
        raise CompileError(WAS_NOT_FIRST_CLASS.format(name=name, kind=outside.kind), where)
    if isinstance(outside, Variable):
        value = _as_before(e, where, name, value, outside)
        note_numbers(e, name, outside, value.static_type)
    return value


def _as_annotated(e: Emitter, where: SourceRange, name: str, value: Value, annotation: Type) -> Value:
    """A value as the type that its variable is annotated with. Raises CompileError where it is of another."""
    e.scope.annotated[id(where)] = where
    value = convert(e, value, annotation, implicit=True)
    if not is_subtype(value.static_type, annotation):
        actual = value.static_type.annotation
        text = WRONG_ANNOTATION.format(name=name, wanted=annotation.annotation, found=actual)
        raise CompileError(text + why_no_interface(value.static_type, annotation), where)
    return value


def _as_in_cell(e: Emitter, name: str, value: Value) -> Value:
    """A value as the type of a variable that is of another function, and keeps its type; any other value as it is."""
    own = e.scope.frame.names.get(name)
    cell = e.builder.cells.get(own.slot) if isinstance(own, Variable) else None
    if cell is None:
        return value
    assert isinstance(cell.static_type, ListType)
    return convert(e, value, without_refinement(cell.static_type.element), implicit=True)


def about_numbers(type_: Type) -> str:
    """What to write for a number of which only the run tells what it is; nothing for other types."""
    return NUMBER if isinstance(type_, NumberType) or any(about_numbers(t) for t in type_.contained) else ""


def _before_narrowing(e: Emitter, value: Value) -> Type | None:
    """What a value was declared as that a condition has narrowed; None for any other."""
    node, type_ = value.defining_node, None
    if node is not None and node.op == "prim::Load":
        slot = node.attribute("name")
        type_ = next((v.declared for _, v in e.scope.frame.all_variables() if v.slot == slot), None)
    elif node is not None and node.op in ("aten::_unwrap_optional", "prim::unchecked_cast"):
        type_ = node.operands[0].static_type
    return type_ if isinstance(type_, OptionalType | UnionType) and is_subtype(value.static_type, type_) else None


def _as_before(e: Emitter, where: SourceRange, name: str, value: Value, variable: Variable) -> Value:
    """The value as the type that the name has in the block around this one, or was declared as there."""
    before = variable.type
    value = as_in_block_around(e, where, name, value, before)
    e.type_variables.unify(before, value.static_type)
    wanted = without_refinement(before)
    is_unknown = isinstance(value.static_type, NumberType) and wanted == INT  # `t = 0` does not say that `t` stays one
    type_, conversion = conversion_to(value, wanted, implicit=not is_unknown)
    if not is_subtype(type_, wanted) and may_widen(e, name, variable, type_):
        return conversion(e)
    if not is_subtype(type_, wanted):
        text = CHANGED_TYPE.format(name=name, before=before.annotation, after=value.static_type.annotation)
        if before == ListType(TENSOR):
            text += EMPTY_LIST.format(name=name)
        if before == INT and value.static_type == FLOAT:
            text += BEGINS_AS_INT.format(name=name)
        text += (about_numbers(value.static_type) or about_power(value)).removeprefix(". ")
        raise CompileError(text, where)
    return conversion(e)
