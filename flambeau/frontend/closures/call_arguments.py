"""The arguments of a call as its callee is chosen and compiled for them: values, and what only means one.

apply(relu, x)    →    `fn` is an operator, `x` a value: `apply` is compiled for that operator
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flambeau.frontend.emit.call_expressions import spread_keywords
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Sugared
from flambeau.frontend.trees.tree_views import Apply, Def, Expr, Param, Select, Starred, StringLiteral, Var
from flambeau.ir.graph import Value
from flambeau.schema.types import NamedType, NoneType, Type
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

OBJECTS = NamedType | NoneType
"""What only a function that is compiled for the call takes for a parameter without annotation."""
TOO_MANY = "{name}() takes {wanted} positional arguments but {found} were given"
MISSING = "{name}() is missing the argument '{parameter}'"
POSITIONAL = "{name}() got some positional-only arguments passed as keyword arguments: '{parameters}'"
UNKNOWN = "{name}() got an unexpected keyword argument '{keyword}'"
TWICE = "{name}() got multiple values for argument '{parameter}'"


@dataclass(slots=True)
class Argument:
    """An argument of a call: a value of the graph, or something that only means one."""

    sugared: Sugared
    where: SourceRange

    def value(self, e: Emitter) -> Value:
        """The value. Raises CompileError if it is none."""
        return self.sugared.as_value(e, self.where)

    @property
    def is_value(self) -> bool:
        """Whether it can be passed as a value of the graph."""
        return isinstance(self.sugared, SimpleValue)

    @property
    def type(self) -> Type:
        """The type of one that is a value."""
        assert isinstance(self.sugared, SimpleValue)
        return self.sugared.value.static_type


def emit_all(e: Emitter, tree: Apply) -> tuple[list[Argument], dict[str, Argument]]:
    """The arguments of a call, functions among them, stars spread out."""
    with e.builder.observing_for_now():
        return _all(e, tree)


def _all(e: Emitter, tree: Apply) -> tuple[list[Argument], dict[str, Argument]]:
    args: list[Argument] = []
    for arg in tree.args:
        if isinstance(arg, Starred):
            items = e.sugared(arg.value).as_tuple(e, arg.range)
            args += [Argument(_settled(e, item, arg), arg.range) for item in items]
        else:
            args.append(Argument(e.rules.keep(e, arg) or _settled(e, e.sugared(arg), arg), arg.range))
    keywords: dict[str, Argument] = {}
    for keyword in tree.keywords:
        if keyword.name == "**":
            for name, value in spread_keywords(e, keyword).items():
                if name in keywords:
                    raise CompileError(f"got multiple values for keyword argument '{name}'", keyword.range)
                keywords[name] = Argument(_settled(e, value, keyword.value), keyword.range)
        else:
            tree_ = keyword.value
            argument = e.rules.keep(e, tree_) or _settled(e, e.sugared(tree_), tree_)
            keywords[keyword.name] = Argument(argument, tree_.range)
    return args, keywords


def _settled(e: Emitter, argument: Sugared, tree: Expr) -> Sugared:
    """A value of the graph where it is one; conditions become bools."""
    argument = argument.kept(e, tree.range)
    value = argument.stored_value(e, tree.range)
    return argument if value is None else SimpleValue(value)


def matched(tree: Def, args: Sequence[Argument], keywords: Mapping[str, Argument]) -> dict[str, Any]:
    """Arguments by parameter; what is left over is under `*` and `**`."""
    positional = [p for p in tree.decl.params if not p.keyword_only]
    matching: dict[str, Any] = {p.name: a for p, a in zip(positional, args, strict=False)}
    rest = list(args[len(positional) :])
    if rest and tree.decl.vararg is None:
        text = TOO_MANY.format(name=tree.name, wanted=len(positional), found=len(args))
        raise CompileError(text, rest[0].where)
    names = {p.name for p in tree.decl.params if not p.positional_only}
    by_place = [p.name for p in tree.decl.params if p.positional_only and p.name in keywords]
    if by_place and tree.decl.kwarg is None:
        text = POSITIONAL.format(name=tree.name, parameters=", ".join(by_place))
        raise CompileError(text, keywords[by_place[0]].where)
    others: dict[str, Argument] = {}
    for name, argument in keywords.items():
        if name in matching and name in names:
            raise CompileError(TWICE.format(name=tree.name, parameter=name), argument.where)
        if name in names:
            matching[name] = argument
        elif tree.decl.kwarg is None:
            raise CompileError(UNKNOWN.format(name=tree.name, keyword=name), argument.where)
        else:
            others[name] = argument
    return {**matching, "*": rest, "**": others}


def takes_anything(param: Param) -> bool:
    """Whether a parameter is what a call passes: without annotation, or one that says it is a function."""
    return param.annotation is None or any(
        (isinstance(part, Var | Select) and part.name == "Callable")
        or (isinstance(part, StringLiteral) and "Callable" in part.value)
        for part in param.annotation.walk()
    )


def is_function(value: Any) -> bool:
    """Whether a Python value is known while compiling and can be called."""
    return callable(value) and not hasattr(value, "forward")


def wants_types(
    tree: Def, defaults: Mapping[str, Any], args: Sequence[Argument], keywords: Mapping[str, Argument]
) -> bool:
    """Whether a call has to have the function compiled for it: it passes functions or objects, or leaves them out."""
    params = tree.decl.params
    by_name = dict(zip([p.name for p in params if not p.keyword_only], args, strict=False)) | dict(keywords)
    return any(_wants_type(param, by_name.get(param.name), defaults) for param in params)


def _wants_type(param: Param, argument: Argument | None, defaults: Mapping[str, Any]) -> bool:
    if argument is None:
        default = defaults.get(param.name, 0)
        return is_function(default) or (default is None and takes_anything(param))
    if not argument.is_value:
        return True
    return takes_anything(param) and (param.annotation is not None or isinstance(argument.type, OBJECTS))
