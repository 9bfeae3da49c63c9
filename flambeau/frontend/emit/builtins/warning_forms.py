"""`warnings.warn`, by class of the warning.

warn("late")                          →    aten::warn("late", 2)
warn("gone soon", DeprecationWarning) →    python::warn("gone soon", "builtins.DeprecationWarning", 2)
"""

from __future__ import annotations

from typing import Final

from flambeau.frontend.emit.call_expressions import emit_arguments
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.class_values import ExceptionClass
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, FormValue, Given, Sugared
from flambeau.frontend.trees.tree_views import Apply, Expr, NoneLit
from flambeau.schema.types import Type
from flambeau.util.errors import CompileError
from flambeau.util.record import replace

NO_CATEGORY = "category must be a class of warnings, such as DeprecationWarning, but this is a {found}"


def emit_warn(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """`warn(message[, category[, stacklevel]])`; the category is known while the program is compiled."""
    where = tree.callee.range
    by_name = next((k.value for k in tree.keywords if k.name == "category"), None)
    second = tree.args[1] if len(tree.args) > 1 else None
    category = _category(e, second if by_name is None else by_name, must=by_name is not None)
    at = 1 if second is None or by_name is not None or category is None else 2
    behind = tree.args[at:] if not isinstance(second, NoneLit) else tree.args[2:]
    keywords = tuple(k for k in tree.keywords if k.name != "category")
    args, named = emit_arguments(e, replace(tree, args=(*tree.args[:1], *behind), keywords=keywords))
    if category is None:
        return SimpleValue(call_operator(e, where, "aten::warn", args, named))
    operands = [*args[:1], Given(e.constant(category), where), *args[1:]]
    return SimpleValue(call_operator(e, where, "python::warn", operands, named))


def _category(e: Emitter, tree: Expr | None, *, must: bool) -> str | None:
    """The qualified name of a class of warnings, None for no class: a number there is TorchScript's stacklevel."""
    if tree is None or isinstance(tree, NoneLit):
        return None
    meaning = e.sugared(tree)
    if isinstance(meaning, ExceptionClass) and issubclass(meaning.python, Warning):
        return None if meaning.python is UserWarning else meaning.qualified_name
    if must or not isinstance(meaning, SimpleValue):
        raise CompileError(NO_CATEGORY.format(found=meaning.kind), tree.range)
    return None


WARN: Final = FormValue("warn", emit_warn)
