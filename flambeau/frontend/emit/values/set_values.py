"""Sets: displays, `set(x)`, and the methods and operators of sets.

seen = set()              →    %seen : Set(int) = python::set(%none)        the item type is told later, as that of `[]`
seen.add(3)                    python::set_add(%seen, %three)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from flambeau.frontend.emit.implicit_conversions import pack_list
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.container_methods import listed
from flambeau.frontend.emit.values.sugared import Builtin, Emitter, Given, Iteration, Sugared
from flambeau.frontend.scopes.type_annotations import NOT_HASHABLE
from flambeau.frontend.trees.tree_views import Apply, Expr
from flambeau.ir.graph import Value
from flambeau.schema.set_type import SetType, is_item
from flambeau.schema.types import ListType, Type
from flambeau.util.errors import CompileError
from flambeau.util.instead import instead
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

SPREAD = instead(
    "a star among other items of a set isn't supported. Write {code}", "sorted(set(x) | {a, b})",
    of="sorted({*x, a, b})", given="x: list[int], a: int = 1, b: int = 7", shown="set(x) | {a, b}",
)  # fmt: skip
NO_METHOD = "'Set' object has no attribute or method '{name}'"
FROZEN = "frozenset, which is understood where it is looked at at once: use a set, which has a type"
WITH_ITEM: Final = ("add", "discard", "remove")
WITH_MANY: Final = (
    "union", "intersection", "difference", "symmetric_difference", "update", "intersection_update",
    "difference_update", "symmetric_difference_update",
)  # fmt: skip
WITH_ONE: Final = ("issubset", "issuperset", "isdisjoint", "symmetric_difference", "symmetric_difference_update")
ALONE: Final = ("clear", "copy", "pop")
OPERATORS: Final = {"|": "union", "&": "intersection", "-": "difference", "^": "symmetric_difference"}
IN_PLACE: Final = {
    "|": "update", "&": "intersection_update", "-": "difference_update", "^": "symmetric_difference_update",
}  # fmt: skip
COMPARISONS: Final = {"==": "eq", "!=": "ne", "<=": "le", "<": "lt", ">=": "le", ">": "lt"}


def is_set(value: Value) -> bool:
    """Whether a value is a set."""
    return isinstance(value.static_type, SetType)


def set_of(e: Emitter, where: SourceRange, items: Value) -> Value:
    """A new set of a list's items. Raises CompileError for items that cannot be hashed."""
    assert isinstance(items.static_type, ListType)
    element = items.static_type.element
    if not is_item(element) and not e.type_variables.ids([items.static_type]):
        raise CompileError(NOT_HASHABLE.format(found=element.annotation), where)
    return e.emit("python::set", (items,), SetType(element))


def items_of(e: Emitter, where: SourceRange, value: Value) -> Value:
    """The list of a set's items."""
    assert isinstance(value.static_type, SetType)
    return e.emit("python::set_items", (value,), ListType(value.static_type.element))


def to_set(e: Emitter, where: SourceRange, source: Sugared) -> Value:
    """What can be looped over as a set; a set is taken as it is."""
    value = source.stored_value(e, where)
    return value if value is not None and is_set(value) else set_of(e, where, listed(e, where, source))


def binary(e: Emitter, where: SourceRange, op: str, left: Value, right: Value) -> Value | None:
    """`left op right` of two sets; None for other operators."""
    if op not in OPERATORS:
        return None
    e.type_variables.unify(left.static_type, right.static_type)
    return call_operator(e, where, f"python::set_{OPERATORS[op]}", [left, right])


def in_place(e: Emitter, where: SourceRange, op: str, left: Value, right: Value) -> Value | None:
    """`left op= right` of two sets; None for other operators."""
    if op not in IN_PLACE:
        return None
    e.type_variables.unify(left.static_type, right.static_type)
    call_operator(e, where, f"python::set_{IN_PLACE[op]}", [left, right])
    return left


def compared(e: Emitter, where: SourceRange, op: str, left: Value, right: Value) -> Value:
    """`left op right` of two sets."""
    e.type_variables.unify(left.static_type, right.static_type)
    sides = [right, left] if op in (">=", ">") else [left, right]
    return call_operator(e, where, f"python::set_{COMPARISONS[op]}", sides)


@dataclass(slots=True)
class SetMethod(Builtin):
    """`s.add` and the like."""

    wrap: Callable[[Value], Sugared]
    owner: Value
    name: str

    def call_tree(self, e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
        """A call; what other sets, lists and generators give is looked at as they are."""
        where, name, trees = tree.callee.range, self.name, tree.args
        counts = {**dict.fromkeys(ALONE, 0), **dict.fromkeys((*WITH_ITEM, *WITH_ONE), 1)}
        if tree.keywords or (name in counts and len(trees) != counts[name]):
            wanted = f"{counts[name]} arguments" if name in counts else "no keywords"
            raise CompileError(f"{name}() of a set takes {wanted}", where)
        if name in WITH_ITEM:
            return self._result(self._with_item(e, where, trees[0]))
        if name in ALONE:
            return self._result(call_operator(e, where, f"python::set_{name}", [self.owner]))
        others = [self._other(e, part) for part in trees]
        if name in ("issubset", "issuperset"):
            return self._result(compared(e, where, "<=" if name == "issubset" else ">=", self.owner, others[0]))
        result = call_operator(e, where, "python::set_copy", [self.owner]) if not others else self.owner
        for other in others:
            e.type_variables.unify(result.static_type, other.static_type)
            result_ = call_operator(e, where, f"python::set_{name}", [result, other])
            result = result if name.endswith("update") else result_
        return self._result(e.constant(None) if name.endswith("update") else result)

    def _other(self, e: Emitter, tree: Expr) -> Value:
        return to_set(e, tree.range, e.sugared(tree))

    def _with_item(self, e: Emitter, where: SourceRange, tree: Expr) -> Value:
        item = e.value(tree)
        if not is_item(item.static_type):
            raise CompileError(NOT_HASHABLE.format(found=item.static_type.annotation), tree.range)
        return call_operator(e, where, f"python::set_{self.name}", [Given(self.owner, where), Given(item, tree.range)])

    def _result(self, value: Value) -> Sugared:
        return self.wrap(value)


def method(wrap: Callable[[Value], Sugared], owner: Value, name: str, where: SourceRange) -> Sugared:
    """A method of a set. Raises CompileError for what sets do not have."""
    if name not in (*WITH_ITEM, *WITH_MANY, *WITH_ONE, *ALONE):
        raise CompileError(NO_METHOD.format(name=name), where)
    return SetMethod(wrap, owner, name)


def display(e: Emitter, where: SourceRange, items: Sequence[Value]) -> Value:
    """A new set of values of one type."""
    first = items[0].static_type
    for item in items:
        if item.static_type != first:
            text = "all items of a set have one type, but here are {first} and {other}"
            raise CompileError(text.format(first=first.annotation, other=item.static_type.annotation), where)
    return set_of(e, where, pack_list(e, items, first))


def emit_set(e: Emitter, tree: Apply, hint: Type | None) -> Value:
    """`set()`, `set(x)`."""
    if len(tree.args) > 1 or tree.keywords:
        raise CompileError(f"set expected at most 1 argument, got {len(tree.args)}", tree.callee.range)
    if tree.args:
        return set_of(e, tree.range, listed(e, tree.range, e.sugared(tree.args[0])))
    set_type = hint if isinstance(hint, SetType) else None
    type_ = e.type_variables.list_of(tree) if set_type is None else ListType(set_type.element)
    return set_of(e, tree.range, e.emit("prim::ListConstruct", (), type_))


@dataclass(slots=True)
class FrozenSet(Sugared):
    """`frozenset(x)`, which is looked at where it is made."""

    wrap: Callable[[Value], Sugared]
    items: Value

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return FROZEN

    def check_named(self, where: SourceRange) -> None:
        """Refused: what a name stands for may be looked up in another graph."""
        raise CompileError(f"{self.kind} cannot be used as a value", where)

    def iterate(self, e: Emitter, where: SourceRange) -> Iteration:
        """Over its items."""
        return self.wrap(self.items).iterate(e, where)

    def contains(self, e: Emitter, where: SourceRange, item: Value) -> Value:
        """`item in frozenset(x)`."""
        return call_operator(e, where, "aten::__contains__", [self.items, item])

    def length(self, e: Emitter, where: SourceRange) -> Value:
        """How many distinct items."""
        return call_operator(e, where, "aten::len", [self.items])
