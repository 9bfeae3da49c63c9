"""Python builtins that are no operator: they look at types, at trees, or at things that are no values."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.frontend.emit.assignment import assign
from flambeau.frontend.emit.attribute_refinement import asked, path_of
from flambeau.frontend.emit.comprehensions import collect_dict, collect_list, is_empty_display
from flambeau.frontend.emit.conditions import Condition, ConditionValue, Narrowings
from flambeau.frontend.emit.container_displays import without_none
from flambeau.frontend.emit.implicit_conversions import pack_tuple
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values import set_values as sets
from flambeau.frontend.emit.values.coroutines import IteratorCall
from flambeau.frontend.emit.values.object_methods import gives_iterator
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.slice_values import SliceValue
from flambeau.frontend.emit.values.sugared import Emitter, Sugared
from flambeau.frontend.scopes.type_annotations import type_of_tree
from flambeau.frontend.trees.tree_views import (
    Apply,
    Comprehension,
    Expr,
    ListComp,
    ListLiteral,
    NoneLit,
    StringLiteral,
    TupleLiteral,
    Var,
)
from flambeau.ir.graph import Value
from flambeau.schema.set_type import SetType
from flambeau.schema.subtype import is_subtype, subtract, union_of
from flambeau.schema.types import (
    ANY,
    BOOL,
    NONE,
    STRING,
    AnyType,
    ClassType,
    DictType,
    ListType,
    NamedType,
    NumberType,
    OptionalType,
    Type,
    UnionType,
)
from flambeau.util.errors import CompileError

NO_SENTINEL = "iter takes one thing to go over: write a while loop for what a function gives until it gives a sentinel"


def emit_len(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """The length of one thing, a value or not."""
    if len(tree.args) != 1 or tree.keywords:
        raise CompileError(f"len expected 1 argument, got {len(tree.args)}", tree.callee.range)
    return SimpleValue(e.sugared(tree.args[0]).length(e, tree.callee.range))


def emit_isinstance(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """A test that the compiler answers itself where the type of the value decides."""
    if len(tree.args) != 2 or tree.keywords:
        raise CompileError(f"isinstance expected 2 arguments, got {len(tree.args)}", tree.callee.range)
    value = asked(e, tree.args[0]).as_value(e, tree.args[0].range)
    module_class = _class_of_module(value.static_type)
    if module_class is not None:
        return ConditionValue(Condition(known=_is_of(e, module_class, tree.args[1])))
    types = tested_types(e, tree.args[1])
    name = tree.args[0].name if isinstance(tree.args[0], Var) else path_of(e, tree.args[0])
    return ConditionValue(instance_condition(e, value, types, name))


def _class_of_module(type_: Type) -> type | None:
    """The Python class of a module that is known by it, not by an interface or from an archive."""
    definition = type_.definition if isinstance(type_, ClassType) else None
    python = getattr(definition, "python", None)
    return python if getattr(definition, "is_module", False) and isinstance(python, type) else None


def _is_of(e: Emitter, cls: type, tree: Expr) -> bool:
    """Whether a module's class is one of those on the right side of an isinstance, or inherits from one."""
    if isinstance(tree, TupleLiteral):
        return any(_is_of(e, cls, item) for item in tree.items)
    wanted = getattr(e.sugared(tree), "python", None)
    return isinstance(wanted, type) and issubclass(cls, wanted)


def tested_types(e: Emitter, tree: Expr) -> list[Type]:
    """The types of the right side of an isinstance: one, or a tuple of them, nested or not."""
    if isinstance(tree, TupleLiteral):
        return [t for item in tree.items for t in tested_types(e, item)]
    type_ = type_of_tree(tree, e.scope.resolver, bare=True)
    return list(type_.members) if isinstance(type_, UnionType) else [type_]


def instance_condition(e: Emitter, value: Value, tested: list[Type], name: str | None) -> Condition:
    """`isinstance(value, tested)`: a constant where the type decides, else a test that narrows the variable."""
    members = _members(value.static_type)
    hits = [m for m in members or () if any(is_subtype(m, t) or _inherits(m, t) for t in tested)]
    if members is not None:
        if len(hits) == len(members):
            return Condition(known=True)
        if not hits and not any(is_subtype(t, m) for m in members for t in tested):
            return Condition(known=False)
    node = e.insert("prim::isinstance", (value,), BOOL)
    node.attributes["types"] = list(tested)
    result = node.result()
    if name is None:
        return Condition(result)
    if members is None:
        return Condition(result, None, {name: union_of(tested)})
    return Condition(result, None, {name: _instances(members, hits, tested)}, _others(value.static_type, tested, name))


def _instances(members: Sequence[Type], hits: Sequence[Type], tested: Sequence[Type]) -> Type:
    """What a value that is one of `members` is where it is an instance of `tested`."""
    inside = [t for t in tested if any(is_subtype(t, m) for m in members)]
    inside += [m for m in hits if not any(is_subtype(m, t) for t in inside)]
    return union_of(inside)


def _others(type_: Type, tested: Sequence[Type], name: str) -> Narrowings:
    """What a variable is where its value is no instance of `tested`."""
    rest = subtract(type_, union_of(tested))
    return {name: rest} if rest is not None and isinstance(type_, UnionType | OptionalType) else {}


def _inherits(type_: Type, base: Type) -> bool:
    """Whether objects of a class are instances of another as Python sees it."""
    if base == SetType(ANY):  # `set` alone
        return isinstance(type_, SetType)
    if not isinstance(type_, ClassType) or not isinstance(base, ClassType):
        return False
    own, other = type_.definition, base.definition
    return own.has_instances and other.has_instances and issubclass(own.python, other.python)


def _members(type_: Type) -> list[Type] | None:
    """The types a value may turn out to have; None if that is anything."""
    if isinstance(type_, AnyType | NumberType):
        return None
    if isinstance(type_, UnionType):
        return list(type_.members)
    if isinstance(type_, OptionalType):
        return [type_.element, NONE]
    return [type_]


def emit_hasattr(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """`hasattr(x, name)`: a constant, as types say which attributes there are."""
    owner, name = _owner_and_name(e, tree, "hasattr", (2,))
    return ConditionValue(Condition(known=owner.has_attribute(e, tree.range, name)))


def emit_callable(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """`callable(x)`: a constant, true of functions and of objects with `__call__` or `forward`."""
    if len(tree.args) != 1 or tree.keywords:
        raise CompileError(f"callable expected 1 argument, got {len(tree.args)}", tree.callee.range)
    meaning = e.sugared(tree.args[0])
    value = meaning.stored_value(e, tree.args[0].range)
    is_object = value is not None and isinstance(value.static_type, NamedType)
    can_be = is_object and any(meaning.has_attribute(e, tree.range, n) for n in ("__call__", "forward"))
    return ConditionValue(Condition(known=value is None or can_be))


def emit_getattr(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """The attribute, or the default if there is none."""
    owner, name = _owner_and_name(e, tree, "getattr", (2, 3))
    if len(tree.args) == 3 and not owner.has_attribute(e, tree.range, name):
        return e.sugared(tree.args[2])
    return owner.attribute(e, tree.range, name)


def emit_set(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """`set()`, `set(x)`."""
    return SimpleValue(sets.emit_set(e, tree, hint))


def emit_frozenset(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """`frozenset(x)`."""
    if len(tree.args) != 1 or tree.keywords:
        raise CompileError(f"frozenset expected 1 argument, got {len(tree.args)}", tree.callee.range)
    return sets.FrozenSet(SimpleValue, sets.to_set(e, tree.range, e.sugared(tree.args[0])))


def emit_setattr(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """`setattr(x, "name", value)`: the assignment."""
    owner, name = _owner_and_name(e, tree, "setattr", (3,))
    owner.set_attribute(e, tree.range, name, e.value(tree.args[2]))
    return SimpleValue(e.constant(None))


def _owner_and_name(e: Emitter, tree: Apply, what: str, counts: tuple[int, ...]) -> tuple[Sugared, str]:
    if len(tree.args) not in counts or tree.keywords:
        raise CompileError(f"{what} expected {counts[0]} arguments, got {len(tree.args)}", tree.callee.range)
    name = tree.args[1]
    if not isinstance(name, StringLiteral):
        raise CompileError(f"{what}'s second argument must be a string literal", name.range)
    return e.sugared(tree.args[0]), name.value


def emit_list(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """A new list of the items of one thing."""
    hinted = without_none(hint)
    wanted = hinted.element if isinstance(hinted, ListType) else None
    if not tree.args:
        type_: Type = ListType(wanted) if wanted is not None else e.type_variables.list_of(tree)
        return SimpleValue(e.emit("prim::ListConstruct", (), type_))
    if len(tree.args) != 1 or tree.keywords:
        raise CompileError(f"list expected at most 1 argument, got {len(tree.args)}", tree.callee.range)
    if isinstance(tree.args[0], ListComp | Comprehension):
        return e.sugared(tree.args[0], hint)
    source = e.sugared(tree.args[0])
    if isinstance(source, SimpleValue):
        type_ = source.value.static_type
        if isinstance(type_, ListType) or type_ == STRING:
            return SimpleValue(call_operator(e, tree.callee.range, "aten::list", [source.value]))
    return SimpleValue(collect_list(e, tree.range, source, wanted))


def emit_tuple(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """A tuple of the items of something of known length."""
    if not tree.args:
        return SimpleValue(pack_tuple(e, ()))
    if len(tree.args) != 1 or tree.keywords:
        raise CompileError(f"tuple expected at most 1 argument, got {len(tree.args)}", tree.callee.range)
    literal = tree.args[0]
    if isinstance(literal, ListLiteral):
        return e.sugared(TupleLiteral(literal.range, literal.items))
    if isinstance(literal, ListComp):
        each = e.sugared(literal.iterable).iterate(e, literal.range).unrolled
        if each is not None:
            return SimpleValue(pack_tuple(e, [_element(e, literal, item) for item in each]))
    items = e.sugared(literal).as_tuple(e, literal.range)
    return SimpleValue(pack_tuple(e, [item.as_value(e, tree.range) for item in items]))


def _element(e: Emitter, tree: ListComp, item: Sugared) -> Value:
    """What a comprehension makes of one item."""
    with e.scope.nested():
        assign(e, tree.target, item, tree.iterable.range)
        return e.value(tree.element)


def emit_dict(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """A new dict of pairs, of another dict, of keywords, or of both."""
    hinted = without_none(hint)
    if isinstance(hinted, UnionType) and sum(isinstance(m, DictType) for m in hinted.members) > 1:
        text = "full type inference is not yet supported for dict() where a Union of dicts is expected"
        raise CompileError(f"{text}: annotate a variable with the one that is meant", tree.range)
    if hinted is None and all(map(is_empty_display, tree.args)) and not tree.keywords:
        return SimpleValue(e.emit("prim::DictConstruct", (), e.type_variables.dict_of(tree)))
    return SimpleValue(collect_dict(e, tree, hinted if isinstance(hinted, DictType) else None))


def emit_slice(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """A slice held in a variable."""
    if tree.keywords:
        raise CompileError("Slice does not accept any keyword arguments", tree.callee.range)
    if not 1 <= len(tree.args) <= 3:
        raise CompileError(f"slice expected 1 to 3 arguments, got {len(tree.args)}", tree.callee.range)
    parts: list[Value | None] = [None if isinstance(a, NoneLit) else e.value(a) for a in tree.args]
    if len(parts) == 1:
        return SliceValue(None, parts[0], None)
    return SliceValue(parts[0], parts[1], parts[2] if len(parts) == 3 else None)


def emit_iter(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """`iter(x)`: what `__iter__` of an object gives; of other things an iterator that is kept, or gone over at once."""
    if len(tree.args) != 1 or tree.keywords:
        raise CompileError(NO_SENTINEL, tree.callee.range)
    source = e.sugared(tree.args[0])
    if isinstance(source, SimpleValue) and gives_iterator(e, source.value.static_type, tree.range):
        return source.attribute(e, tree.range, "__iter__").call(e, tree.range, (), ())
    return IteratorCall(source)
