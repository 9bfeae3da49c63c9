"""`issubclass`, which is known while a program is compiled: classes are no values."""

from __future__ import annotations

from flambeau.frontend.emit.conditions import Condition, ConditionValue
from flambeau.frontend.emit.values.sugared import Emitter, Sugared
from flambeau.frontend.trees.tree_views import Apply, Expr, TupleLiteral
from flambeau.schema.types import Type
from flambeau.util.errors import CompileError

NOT_A_CLASS = "issubclass() takes classes that are known while the program is compiled, and this is a {kind}"


def emit_issubclass(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """`issubclass(C, B)`, `issubclass(type(x), (A, B))`."""
    if len(tree.args) != 2 or tree.keywords:
        raise CompileError(f"issubclass expected 2 arguments, got {len(tree.args)}", tree.callee.range)
    [own] = _classes(e, tree.args[0]) if not isinstance(tree.args[0], TupleLiteral) else [None]
    if own is None:
        raise CompileError(NOT_A_CLASS.format(kind="tuple"), tree.args[0].range)
    return ConditionValue(Condition(known=issubclass(own, tuple(_classes(e, tree.args[1])))))


def _classes(e: Emitter, tree: Expr) -> list[type]:
    if isinstance(tree, TupleLiteral):
        return [cls for item in tree.items for cls in _classes(e, item)]
    outside = e.python_value(tree)
    if isinstance(outside, type):
        return [outside]
    meaning = e.sugared(tree)
    definition = getattr(meaning, "definition", None)
    python = getattr(meaning if definition is None else definition, "python", None)
    if not isinstance(python, type):
        raise CompileError(NOT_A_CLASS.format(kind=meaning.kind), tree.range)
    return [python]
