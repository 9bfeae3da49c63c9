"""Comprehensions, and `list(...)` and `dict(...)` of anything that a loop goes over.

[f(i) for i in x]    →    %r = prim::ListConstruct()    and a loop that appends to it
"""

from __future__ import annotations

from collections.abc import Callable

from flambeau.frontend.emit.assignment import assign
from flambeau.frontend.emit.container_displays import (
    NO_INNER_DICT,
    NO_INNER_LIST,
    NOT_A_LIST,
    dict_type,
    list_element,
    without_none,
)
from flambeau.frontend.emit.implicit_conversions import convert, pack_list
from flambeau.frontend.emit.loop_iterations import emit_for
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.keyword_values import KeywordsValue
from flambeau.frontend.emit.values.object_methods import has_method
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Given, Sugared
from flambeau.frontend.trees.tree_views import Apply, DictComp, Expr, ListComp, ListLiteral, NoneLit, TupleLiteral
from flambeau.ir.graph import Value
from flambeau.schema.types import STRING, TENSOR, AnyType, DictType, ListType, NamedType, Type, UnionType
from flambeau.util.errors import CompileError
from flambeau.util.source import SourceRange

NOT_A_DICT = "Expected Dict type annotation for dict comprehension, found {hint}"
NOT_PAIRS = "dict() needs pairs of a key and a value, but the items have type {found}"


def emit_list_comprehension(e: Emitter, tree: ListComp, hint: Type | None) -> Sugared:
    """`[element for target in iterable]`."""
    wanted = of_union(without_none(hint), ListType)
    if wanted is not None and not isinstance(wanted, ListType | AnyType):
        text = NO_INNER_LIST if isinstance(wanted, UnionType) else NOT_A_LIST
        raise CompileError(text.format(hint=wanted.annotation), tree.range)
    element = wanted.element if isinstance(wanted, ListType) else None
    source = e.sugared(tree.iterable)

    def item(each: Sugared) -> Value:
        assign(e, tree.target, each, tree.iterable.range)
        return e.value(tree.element, element)

    return SimpleValue(_collect(e, tree.range, tree.iterable.range, source, element, item))


def of_union(hint: Type | None, kind: type[Type]) -> Type | None:
    """The hint that a union gives to a comprehension: its one member of that kind; none where there are several."""
    if not isinstance(hint, UnionType):
        return hint
    candidates = [member for member in hint.members if isinstance(member, kind)]
    return hint if not candidates else candidates[0] if len(candidates) == 1 else None


def collect_list(e: Emitter, where: SourceRange, source: Sugared, element: Type | None) -> Value:
    """A new list of the items of `source`."""
    return _collect(e, where, where, source, element, lambda each: each.as_value(e, where))


def map_list(e: Emitter, where: SourceRange, items: Value, function: Sugared) -> Value:
    """A new list of what a function gives for each item of a list."""

    def item(each: Sugared) -> Value:
        tree = Apply(where, NoneLit(where), (NoneLit(where),), ())
        before = dict(e.shared)
        value = each.as_value(e, where)
        try:
            e.shared[id(tree.args[0])] = value
            whole = function.call_tree(e, tree, None)
        finally:
            e.shared = before
        return (whole or function.call(e, where, [Given(value, where)], ())).as_value(e, where)

    return _collect(e, where, where, SimpleValue(items), None, item)


def _collect(
    e: Emitter,
    where: SourceRange,
    source_range: SourceRange,
    source: Sugared,
    element: Type | None,
    item: Callable[[Sugared], Value],
) -> Value:
    """A list to which a loop appends `item` of each item of `source`. Its type is known when the first item is."""
    iteration = source.iterate(e, source_range)
    result = pack_list(e, (), element or TENSOR)
    values: list[Value] = []
    appends: list[Value] = []

    def body(each: Sugared) -> bool:
        with e.scope.nested():
            value = item(each)
            if element is not None:
                value = convert(e, value, element, implicit=False)
            values.append(value)
            appends.append(e.emit("aten::append", (result, value), result.static_type))
        return True

    emit_for(e, where, iteration, body)
    type_ = ListType(list_element(e, where, values, None if element is None else ListType(element)))
    for value in (result, *appends):
        value.set_type(type_)
    return result


def emit_dict_comprehension(e: Emitter, tree: DictComp, hint: Type | None) -> Sugared:
    """`{key: value for target in iterable}`."""
    wanted = of_union(without_none(hint), DictType)
    if wanted is not None and not isinstance(wanted, DictType | AnyType):
        text = NO_INNER_DICT if isinstance(wanted, UnionType) else NOT_A_DICT
        raise CompileError(text.format(hint=wanted.annotation), tree.range)
    inner = wanted if isinstance(wanted, DictType) else None

    def item(each: Sugared) -> tuple[Value, Value]:
        assign(e, tree.target, each, tree.iterable.range)
        key = e.value(tree.key, inner.key if inner else None)
        return key, e.value(tree.value, inner.value if inner else None)

    source = e.sugared(tree.iterable)
    return SimpleValue(_collect_pairs(e, tree.range, source, inner, item))


def _collect_pairs(
    e: Emitter,
    where: SourceRange,
    source: Sugared,
    wanted: DictType | None,
    item: Callable[[Sugared], tuple[Value, Value]],
) -> Value:
    """A dict into which a loop puts the pair of each item of `source`."""
    iteration = source.iterate(e, where)
    result = e.emit("prim::DictConstruct", (), wanted or DictType(STRING, TENSOR))
    keys: list[Value] = []
    values: list[Value] = []

    def body(each: Sugared) -> bool:
        with e.scope.nested():
            key, value = item(each)
            keys.append(key)
            values.append(value)
            e.insert("aten::_set_item", (result, key, value))
        return True

    emit_for(e, where, iteration, body)
    result.set_type(dict_type(e, where, keys, values, wanted))
    return result


def collect_dict(e: Emitter, tree: Apply, wanted: DictType | None) -> Value:
    """`dict(...)`: of a dict, of pairs, of keywords, or of one of the first two and keywords."""
    where = tree.callee.range
    if len(tree.args) > 1:
        raise CompileError(f"dict expected at most 1 argument, got {len(tree.args)}", where)
    if not tree.args or is_empty_display(tree.args[0]):
        return _of_keywords(e, tree, wanted)
    result = _copy_or_collect(e, tree, tree.args[0], wanted)
    for keyword in tree.keywords:
        value = e.value(keyword.value)
        call_operator(e, where, "aten::_set_item", [result, e.constant(keyword.name), value])
    return result


def is_empty_display(tree: Expr) -> bool:
    """Whether an expression is `[]` or `()`, of which no element says a type."""
    return isinstance(tree, ListLiteral | TupleLiteral) and not tree.items


def _of_keywords(e: Emitter, tree: Apply, wanted: DictType | None) -> Value:
    hint = None if wanted is None else wanted.value
    values = [e.value(keyword.value, hint) for keyword in tree.keywords]
    keys = [e.constant(keyword.name) for keyword in tree.keywords]
    pairs = [part for pair in zip(keys, values, strict=True) for part in pair]
    return e.emit("prim::DictConstruct", pairs, dict_type(e, tree.range, keys, values, wanted))


def _copy_or_collect(e: Emitter, tree: Apply, arg: Expr, wanted: DictType | None) -> Value:
    source = e.sugared(arg, wanted if isinstance(arg, DictComp) else None)
    if isinstance(source, SimpleValue) and isinstance(source.value.static_type, DictType):
        return call_operator(e, tree.callee.range, "aten::dict", [source.value])
    if isinstance(source, KeywordsValue):
        values = [v.as_value(e, arg.range) for v in source.as_keywords(e, arg.range).values()]
        keys = [e.constant(name) for name in source.slots]
        flat = [part for both in zip(keys, values, strict=True) for part in both]
        return e.emit("prim::DictConstruct", flat, dict_type(e, tree.range, keys, values, wanted))

    type_ = source.value.static_type if isinstance(source, SimpleValue) else None
    if isinstance(type_, NamedType) and has_method(e, type_, "keys", arg.range):
        return _of_object(e, arg.range, source, wanted)

    def pair(each: Sugared) -> tuple[Value, Value]:
        items = each.as_tuple(e, arg.range, 2)
        if len(items) != 2:
            raise CompileError(NOT_PAIRS.format(found=each.kind), arg.range)
        return items[0].as_value(e, arg.range), items[1].as_value(e, arg.range)

    return _collect_pairs(e, arg.range, source, wanted, pair)


def _of_object(e: Emitter, where: SourceRange, source: Sugared, wanted: DictType | None) -> Value:
    """A dict of what an object that has `keys()` gives for each of them."""

    def pair(each: Sugared) -> tuple[Value, Value]:
        key = each.as_value(e, where)
        item = source.attribute(e, where, "__getitem__").call(e, where, [Given(key, where)], ())
        return key, item.as_value(e, where)

    keys = source.attribute(e, where, "keys").call(e, where, (), ())
    return _collect_pairs(e, where, keys, wanted, pair)
