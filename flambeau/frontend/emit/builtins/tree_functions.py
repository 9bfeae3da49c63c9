"""`tree_map(f, tree, *rests)` in programs: containers of the same places, item by item; and `checkpoint(f, *args)`.

tree_map(f, p, g)    →    {k: tree_map(f, p[k], g[k]) for k in p}    for dicts,    f(p, g)    for what is none
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flambeau.frontend.emit.assignment import assign
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, FormValue, Given, Sugared
from flambeau.frontend.library import tree_checks
from flambeau.frontend.trees.tree_views import Apply, DictComp, Expr, Ident, ListComp, Subscript, Var
from flambeau.ir.graph import Value
from flambeau.schema.types import DictType, ListType, TupleType, Type
from flambeau.util.errors import CompileError
from flambeau.util.record import replace
from flambeau.util.source import SourceRange

ARGUMENTS: Final = "tree_map takes a function and trees of the same structure in programs: tree_map(f, tree, *rests)"
OTHER: Final = "tree_map of {first} and {second}: containers in the same places are of the same kind in programs"
WHAT_TO_RUN: Final = (
    "checkpoint takes a function and its arguments in programs: checkpoint(f, *args, use_reentrant=False)"
)
_OPTIONS: Final = frozenset(("use_reentrant", "preserve_rng_state", "determinism_check", "debug"))


def _emit_tree_map(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    if len(tree.args) < 2 or tree.keywords:
        raise CompileError(ARGUMENTS, tree.range)
    values = [e.value(one) for one in tree.args[1:]]
    return SimpleValue(_mapped(e, tree, values))


def _mapped(e: Emitter, tree: Apply, values: Sequence[Value]) -> Value:
    """The results for the leaves, in the containers of the first value."""
    where, type_ = tree.range, values[0].static_type
    if not isinstance(type_, DictType | ListType | TupleType):
        function = e.sugared(tree.args[0])
        return function.call(e, where, [Given(value, where) for value in values], ()).as_value(e, where)
    for value in values[1:]:
        _check_kind(type_, value.static_type, where)
    if isinstance(type_, TupleType):
        return _of_tuples(e, tree, type_, values)
    counts = [Given(SimpleValue(value).length(e, where), where) for value in values]
    for other in counts[1:]:
        e.wrap(tree_checks.check_counts, where).call(e, where, [counts[0], other], ())
    with e.scope.nested():
        names = [Var(where, Ident(where, f"$tree{n}")) for n in range(len(values))]
        for name, value in zip(names, values, strict=True):
            assign(e, name, SimpleValue(value), where)
        key = Var(where, Ident(where, "$key"))
        items: list[Expr] = [Subscript(where, name, (key,)) for name in names]
        item = Apply(where, tree.callee, (tree.args[0], *items), ())
        if isinstance(type_, DictType):
            return e.value(DictComp(where, key, item, key, names[0]))
        count = Apply(where, Var(where, Ident(where, "len")), (names[0],), ())
        return e.value(ListComp(where, item, key, Apply(where, Var(where, Ident(where, "range")), (count,), ())))


def _of_tuples(e: Emitter, tree: Apply, type_: TupleType, values: Sequence[Value]) -> Value:
    """A tuple of the results for each item; of a named tuple such a one."""
    where = tree.range
    parts = [[item.as_value(e, where) for item in SimpleValue(value).as_tuple(e, where)] for value in values]
    results = [_mapped(e, tree, items) for items in zip(*parts, strict=True)]
    return e.emit("prim::TupleConstruct", results, replace(type_, elements=tuple([v.static_type for v in results])))


def _check_kind(first: Type, second: Type, where: SourceRange) -> None:
    is_same = type(first) is type(second)
    if is_same and isinstance(first, TupleType) and isinstance(second, TupleType):
        is_same = len(first.elements) == len(second.elements) and first.name == second.name
    if not is_same:
        raise CompileError(OTHER.format(first=first.annotation, second=second.annotation), where)


def _emit_checkpoint(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """A call: what the way back computes again is the compiler's to say."""
    keywords = tuple([one for one in tree.keywords if one.name not in _OPTIONS])
    if not tree.args:
        raise CompileError(WHAT_TO_RUN, tree.range)
    return e.sugared(Apply(tree.range, tree.args[0], tree.args[1:], keywords))


TREE_MAP: Final = FormValue("tree_map", _emit_tree_map)
CHECKPOINT: Final = FormValue("checkpoint", _emit_checkpoint)
