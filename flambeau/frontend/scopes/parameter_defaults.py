"""Defaults of parameters: written in a source text or held by a Python function, and what may be one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flambeau.frontend.scopes.name_resolution import MISSING, Resolver
from flambeau.frontend.scopes.python_constants import constant_type
from flambeau.frontend.scopes.type_annotations import type_of_tree
from flambeau.frontend.trees import tree_views as t
from flambeau.schema.function import Argument
from flambeau.schema.shown_type import shown_type
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import NONE, FloatType, TensorType, Type
from flambeau.util.errors import CompileError
from flambeau.util.record import replace

MUTABLE = (
    "Mutable default parameters are not supported because Python binds them to the function and they persist across "
    "function calls.\n As a workaround, make the default None and instantiate the default parameter within the body of "
    "the function. Found {type} on parameter {name}"
)
WRONG_DEFAULT = 'Expected a default value of type {wanted} on parameter "{name}".'
INFERRED = "\nBecause \"{name}\" was not annotated with an explicit type it is assumed to be type 'Tensor'."


def written_defaults(tree: t.Def, resolver: Resolver) -> dict[str, Any]:
    """The values of defaults in a source text. Raises CompileError for what is no literal or global constant."""
    return {p.name: _literal(p.default, resolver) for p in tree.decl.params if p.default is not None}


def _literal(tree: t.Expr, resolver: Resolver) -> Any:
    match tree:
        case t.Const():
            return tree.value
        case t.UnaryMinus(value=t.Const(value=number)):
            return -number
        case t.StringLiteral():
            return tree.value
        case t.TrueLit() | t.FalseLit():
            return isinstance(tree, t.TrueLit)
        case t.NoneLit():
            return None
        case t.TupleLiteral():
            return tuple(_literal(item, resolver) for item in tree.items)
        case t.ListLiteral():
            return [_literal(item, resolver) for item in tree.items]
        case t.Var():
            value = resolver.resolve(tree.name)
            if value is not MISSING:
                return value
    raise CompileError("the default of a parameter must be a literal", tree.range)


def declared_type(param: t.Param, resolver: Resolver) -> Type:
    """The type that a parameter says; without an annotation it is a Tensor."""
    return TensorType(inferred=True) if param.annotation is None else type_of_tree(param.annotation, resolver)


def type_by_default(param: t.Param, defaults: Mapping[str, Any]) -> Type | None:
    """The type of a parameter that says none itself, and has a default which tells it; None for any other.

    def f(x, rate=0.5, steps=10)    →    rate : float, steps : int
    """
    if param.annotation is not None or param.name not in defaults:
        return None
    try:
        type_ = constant_type(defaults[param.name])
    except TypeError:
        return None
    return None if type_ == NONE or type_.contained else type_


def check_defaults(arguments: Sequence[Argument], tree: t.Def) -> None:
    """Raise CompileError for a default that could change between calls or does not have its parameter's type."""
    params = {param.name: param for param in tree.decl.params}
    for argument in arguments:
        param = params.get(argument.name)
        if argument.has_default and param is not None:
            _check_mutable(argument.default, argument, param)
            if not _fits(broadcast_default(argument).default, argument.type):
                text = WRONG_DEFAULT.format(wanted=shown_type(argument.type), name=argument.name)
                if isinstance(argument.type, TensorType) and argument.type.inferred:
                    text += INFERRED.format(name=argument.name)
                raise CompileError(text, param.range)


def broadcast_default(argument: Argument) -> Argument:
    """The argument with its default as a list, where a number or a tuple of numbers stands for one."""
    value, count = argument.default, argument.broadcast
    if count is None or isinstance(value, bool) or not isinstance(value, int | float | tuple):
        return argument
    return replace(argument, default=list(value) if isinstance(value, tuple) else [value] * count)


def as_declared(value: Any, type_: Type) -> Any:
    """A default as its parameter holds it: an int for a float is one.

    >>> from flambeau.schema.types import FLOAT
    >>> as_declared(1, FLOAT)
    1.0
    """
    is_int = isinstance(value, int) and not isinstance(value, bool)
    return float(value) if is_int and isinstance(type_, FloatType) else value


def _check_mutable(value: Any, argument: Argument, param: t.Param) -> None:
    if isinstance(value, list | dict | set):
        raise CompileError(MUTABLE.format(type=type(value), name=argument.name), param.range)
    if isinstance(value, tuple):
        for item in value:
            _check_mutable(item, argument, param)


def _fits(value: Any, wanted: Type) -> bool:
    if isinstance(wanted, FloatType) and isinstance(value, int) and not isinstance(value, bool):
        return True
    try:
        return is_subtype(constant_type(value), wanted)
    except TypeError:
        # A tensor, an enum member or an object: checked when it is passed.
        return isinstance(wanted, TensorType) == (type(value).__name__ in ("Tensor", "Parameter"))
