"""Names, attributes and calls."""

from __future__ import annotations

from flambeau.frontend.emit.attribute_facts import narrowed
from flambeau.frontend.emit.emission import Emission
from flambeau.frontend.resolver import MISSING
from flambeau.frontend.trees.views import Apply, Select, Starred, Var
from flambeau.frontend.values.format_fields import emit_fields, has_fields
from flambeau.frontend.values.sugared import Given, Sugared
from flambeau.schema.types import Type
from flambeau.util.errors import CompileError


def emit_name(e: Emission, tree: Var, hint: Type | None) -> Sugared:
    """A variable of the program, or what the name means in Python around it."""
    found = e.lookup(tree.name, tree.range)
    if found is not None:
        return found
    value = e.resolver.resolve(tree.name)
    if value is MISSING:
        raise CompileError(f"undefined value {tree.name}", tree.range)
    return e.wrap(value, tree.range)


def emit_select(e: Emission, tree: Select, hint: Type | None) -> Sugared:
    """`value.name`."""
    return narrowed(e, tree.range, tree, e.sugared(tree.value).attribute(e, tree.range, tree.name))


def emit_apply(e: Emission, tree: Apply, hint: Type | None) -> Sugared:
    """`callee(...)`. Arguments are evaluated left to right, starred tuples spread out."""
    if has_fields(tree):
        return emit_fields(e, tree)
    callee = e.sugared(tree.callee)
    whole = callee.call_tree(e, tree, hint)
    if whole is not None:
        return whole
    args, keywords = emit_arguments(e, tree)
    return callee.call(e, tree.callee.range, args, keywords)


def emit_arguments(e: Emission, tree: Apply) -> tuple[list[Given], list[Given]]:
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
            spread = e.sugared(keyword.value).as_keywords(e, keyword.range)
            keywords += [Given(v.as_value(e, keyword.range), keyword.range, name) for name, v in spread.items()]
        else:
            keywords.append(Given(e.value(keyword.value), keyword.value.range, keyword.name))
    return args, keywords
