"""Names, attributes and calls."""

from __future__ import annotations

from collections.abc import Iterator

from flambeau.frontend.emit.attribute_refinement import narrowed
from flambeau.frontend.emit.builtins.format_fields import emit_fields, has_fields
from flambeau.frontend.emit.unset_variables import ask_behind
from flambeau.frontend.emit.values.operator_value import OperatorValue
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Given, Sugared
from flambeau.frontend.scopes.name_resolution import MISSING
from flambeau.frontend.trees.tree_views import (
    Apply,
    Attribute,
    DictLiteral,
    Expr,
    Ident,
    ListLiteral,
    Select,
    Starred,
    StringLiteral,
    TupleLiteral,
    Var,
)
from flambeau.schema.types import ListType, Type
from flambeau.util.errors import CompileError


def emit_name(e: Emitter, tree: Var, hint: Type | None) -> Sugared:
    """A variable of the program, or what the name means in Python around it."""
    meaning = e.lookup(tree.name, tree.range)
    if meaning is not None:
        return meaning
    ask_behind(e, tree.name, tree.range)
    value = e.scope.resolver.resolve(tree.name)
    if value is MISSING:
        raise CompileError(f"undefined value {tree.name}", tree.range)
    return e.wrap(value, tree.range)


def emit_select(e: Emitter, tree: Select, hint: Type | None) -> Sugared:
    """`value.name`."""
    return narrowed(e, tree.range, tree, e.sugared(tree.value).attribute(e, tree.range, tree.name))


def emit_apply(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """`callee(...)`. Arguments are evaluated left to right, starred tuples spread out."""
    try:
        return _call(e, tree, hint)
    except CompileError as error:
        error.underline_call(tree.callee.range, tree.range)
        raise


def _call(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    if has_fields(tree):
        return emit_fields(e, tree)
    callee = e.sugared(tree.callee)
    if any(isinstance(a, Starred) and isinstance(a.value, ListLiteral | TupleLiteral) for a in tree.args):
        tree = Apply(tree.range, tree.callee, tuple(_spread(tree)), tree.keywords)
    if isinstance(callee, OperatorValue) and any(isinstance(a, Starred) for a in tree.args):
        tree = _in_one_list(e, tree)
    whole = callee.call_tree(e, tree, hint)
    if whole is not None:
        return whole
    args, keywords = emit_arguments(e, tree)
    return callee.call(e, tree.callee.range, args, keywords)


def _spread(tree: Apply) -> Iterator[Expr]:
    """The arguments of a call, those of `*[a, b]` and `*(a, b)` among them."""
    for arg in tree.args:
        if isinstance(arg, Starred) and isinstance(arg.value, ListLiteral | TupleLiteral):
            yield from arg.value.items
        else:
            yield arg


def _in_one_list(e: Emitter, tree: Apply) -> Apply:
    """`x.view(2, *sizes)` with a list: what operators take one by one they take as one list too."""
    args: list[Expr] = []
    for index, arg in enumerate(tree.args):
        if not isinstance(arg, Starred):
            args.append(arg)
            continue
        name = f"$star{index}"
        e.scope.frame.names[name] = e.sugared(arg.value)
        args.append(Starred(arg.range, Var(arg.range, Ident(arg.range, name))))
        meaning = e.scope.frame.names[name]
        if isinstance(meaning, SimpleValue) and isinstance(meaning.value.static_type, ListType):
            rest = [*args, *tree.args[index + 1 :]]
            return Apply(tree.range, tree.callee, (ListLiteral(tree.range, tuple(rest)),), tree.keywords)
    return Apply(tree.range, tree.callee, tuple(args), tree.keywords)


def spread_keywords(e: Emitter, keyword: Attribute) -> dict[str, Sugared]:
    """The arguments that `**{"name": value}`, `**dict(name=value)` or `**options` stand for, by name."""
    tree = keyword.value
    if isinstance(tree, DictLiteral) and all(isinstance(key, StringLiteral) for key in tree.keys):
        names = [key.value for key in tree.keys if isinstance(key, StringLiteral)]
        return {name: e.sugared(value) for name, value in zip(names, tree.values, strict=True)}
    is_dict = isinstance(tree, Apply) and isinstance(tree.callee, Var) and tree.callee.name == "dict"
    if is_dict and isinstance(tree, Apply) and not tree.args and e.scope.find("dict") is None:
        by_name: dict[str, Sugared] = {}
        for inner in tree.keywords:
            by_name.update(spread_keywords(e, inner) if inner.name == "**" else {inner.name: e.sugared(inner.value)})
        return by_name
    return e.sugared(tree).as_keywords(e, keyword.range)


def emit_arguments(e: Emitter, tree: Apply) -> tuple[list[Given], list[Given]]:
    """The values of positional and keyword arguments."""
    args: list[Given] = []
    for arg in tree.args:
        if isinstance(arg, Starred):
            items = e.sugared(arg.value).as_tuple(e, arg.range)
            args += [Given(item.as_value(e, arg.range), arg.range) for item in items]
        else:
            args.append(Given(e.value(arg), arg.range))
    keywords: list[Given] = []
    for keyword in tree.keywords:
        if keyword.name == "**":
            spread = spread_keywords(e, keyword)
            keywords += [Given(v.as_value(e, keyword.range), keyword.range, name) for name, v in spread.items()]
        else:
            keywords.append(Given(e.value(keyword.value), keyword.value.range, keyword.name))
    return args, keywords
