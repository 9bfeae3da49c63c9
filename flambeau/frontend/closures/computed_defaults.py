"""Defaults of nested functions that are computed where the function is defined: `lambda v, k=x: v + k`.

The value is kept in a variable of the function around it, which goes along wherever the nested function does; a call
that leaves the argument out passes that variable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flambeau.frontend.closures.call_arguments import Argument
from flambeau.frontend.closures.captures import Closure, name_at
from flambeau.frontend.emit.frames import Variable
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter
from flambeau.frontend.trees import tree_views as t
from flambeau.util.errors import CompileError
from flambeau.util.source import SourceRange

IN_A_BRANCH = "the default of '{name}' is computed in a branch: make the function before the `if`, or pass '{name}'"
LITERALS = (t.Const, t.StringLiteral, t.TrueLit, t.FalseLit, t.NoneLit)


def computed_defaults(e: Emitter, tree: t.Def) -> dict[str, str]:
    """Evaluates the defaults that are no literals; the variable of each, by parameter."""
    by_parameter: dict[str, str] = {}
    for param in tree.decl.params:
        if param.default is not None and _is_computed(e, param.default):
            by_parameter[param.name] = f"{param.name}__default{e.builder.new_number()}"
            e.store(by_parameter[param.name], e.value(param.default))
    return by_parameter


def _is_computed(e: Emitter, tree: t.Expr) -> bool:
    match tree:
        case t.Var():
            return isinstance(e.scope.find(tree.name), Variable)
        case t.UnaryMinus():
            return _is_computed(e, tree.value)
        case t.TupleLiteral():
            return any(_is_computed(e, item) for item in tree.items)
        case t.ListLiteral() | t.DictLiteral():
            return False
    return not isinstance(tree, LITERALS)


def left_out(
    e: Emitter, closure: Closure, tree: t.Def, computed: Mapping[str, str], where: SourceRange,
    args: Sequence[Argument], keywords: Mapping[str, Argument],
) -> dict[str, Argument]:  # fmt: skip
    """The computed defaults of arguments that a call does not give."""
    positional = [p.name for p in tree.decl.params if not p.keyword_only]
    defaults: dict[str, Argument] = {}
    for name, variable in computed.items():
        meaning = e.scope.find(name_at(closure, variable, e.scope.unique_name))
        if name in keywords or name in positional[: len(args)]:
            continue
        if not isinstance(meaning, Variable):
            raise CompileError(IN_A_BRANCH.format(name=name), where)
        defaults[name] = Argument(SimpleValue(e.load(variable, meaning)), where)
    return defaults
