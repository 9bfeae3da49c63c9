"""Functions that are compiled for the types of a call: a tree, its names, and what was compiled from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

from flambeau.frontend.closures.bound import Bound
from flambeau.frontend.closures.written_results import written_result
from flambeau.frontend.emit.values.carried_values import identity
from flambeau.frontend.scopes.array_annotations import is_bare_container, names_array
from flambeau.frontend.scopes.name_resolution import Resolver, recursion_error
from flambeau.frontend.scopes.parameter_defaults import declared_type, type_by_default
from flambeau.frontend.scopes.python_constants import constant_type
from flambeau.frontend.scopes.type_annotations import type_of_tree
from flambeau.frontend.trees.tree_views import Def
from flambeau.ir.graph import Graph
from flambeau.program.function import Function
from flambeau.schema.array_type import ArrayType, array_of, holds_arrays, plain
from flambeau.schema.element_type import distinctions, holds_elements, without_elements
from flambeau.schema.function import Argument as FormalArgument
from flambeau.schema.function import FunctionSchema
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import TENSOR, Type, is_number
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass, field
from flambeau.util.source import SourceRange

Compiler = Callable[..., Function]


@dataclass(slots=True)
class Template:
    """A function's tree, where its names are looked up, and what was compiled from it."""

    tree: Def
    resolver: Resolver
    defaults: Mapping[str, Any]
    compile: Compiler
    """`compile_def`, given so that this module need not know it."""
    done: dict[Any, tuple[Function, Bound]] = field(default_factory=dict)
    """What was compiled, with what it was compiled for, which has to live as long."""
    active: set[Any] = field(default_factory=set)
    promised: dict[Any, Function] = field(default_factory=dict)
    """Functions that call themselves, while they are compiled."""
    learned: dict[Any, Type] = field(default_factory=dict)
    """What functions that call themselves turned out to give, while they are compiled again."""
    makes_function: bool | None = None
    """Whether it returns functions; None where nobody asked yet."""


@runtime_checkable
class TemplateResolver(Protocol):
    """What else a resolver can do: give Python functions as templates."""

    def template(self, fn: Any) -> Template | None:
        """The template of a Python function; None for what has no source of its own."""


def compiled(
    template: Template, bound: Bound, where: SourceRange, open_: tuple[int, ...], so_far: Type | None = None
) -> Function:
    """The function for what a call binds. Of one that calls itself, `so_far` is what its returns have given up to here.

    Raises CompileError where a function that calls itself does not say what it gives.
    """
    tree = template.tree
    meanings = tuple((n, identity(c)) for n, c in bound.constants.items())
    elements = tuple(map(distinctions, bound.types.values()))
    key = (tuple(bound.types.items()), elements, bound.arrays, meanings, open_, tuple(bound.aliases.items()))
    done = template.done.get(key)
    if done is not None:
        return done[0]
    if key in template.active:
        return _promised(template, key, bound, where, so_far)
    function, promised = _attempt(template, key, bound)
    if promised is not None and _learns(template, key, promised, function):
        function, promised = _attempt(template, key, bound)
    if promised is not None:  # what calls it already calls this object
        _check_promise(promised, function, tree)
        promised.graph, promised.schema = function.graph, function.schema
        function = promised
    template.learned.pop(key, None)
    template.done[key] = (function, bound)
    return function


def _attempt(template: Template, key: Any, bound: Bound) -> tuple[Function, Function | None]:
    """The function, and what calls of itself within call, if there are any."""
    template.active.add(key)
    try:
        defaults = fitting_defaults(template, bound)
        function = template.compile(template.tree, template.resolver, defaults=defaults, bound=bound)
    finally:
        template.active.discard(key)
        promised = template.promised.pop(key, None)
    return function, promised


def _learns(template: Template, key: Any, promised: Function, function: Function) -> bool:
    """Whether a function gives other numbers than its returns before the call of itself did; noted."""
    before, after = promised.schema.returns[0].type, function.schema.returns[0].type
    if template.tree.decl.returns is not None or (before == after and promised.result == function.result):
        return False
    if before != after and not (is_number(before) and is_number(after)):
        return False
    template.learned[key] = function.result or after
    return True


def fitting_defaults(template: Template, bound: Bound) -> dict[str, Any]:
    """The defaults of parameters but those to which a call passes something of another type."""
    open_ = {p.name for p in template.tree.decl.params if p.annotation is None}
    return {
        name: value
        for name, value in template.defaults.items()
        if name not in open_ or name not in bound.types or _is_of(value, bound.types[name])
    }


def _is_of(value: Any, type_: Type) -> bool:
    try:
        return is_subtype(constant_type(value), type_)
    except TypeError:
        return False


def _check_promise(promised: Function, function: Function, tree: Def) -> None:
    """Raise CompileError for what is of another kind than what calls of itself were told."""
    declared, actual = promised.result, function.result
    if isinstance(declared, ArrayType) and declared.dtype is not None and declared != actual:
        others = actual or "something else"
        text = f"'{tree.name}' calls itself, and gives {declared} in one return and {others} in others"
        raise CompileError(f"{text}: let all returns give arrays of one dtype and number of dimensions", tree.range)
    before, after = (f.schema.returns[0].type for f in (promised, function))
    if tree.decl.returns is None and (before != after or declared != actual):
        before, after = declared or before, actual or after
        text = f"'{tree.name}' calls itself, and gives {before} in the returns before that, {after} with those behind"
        raise CompileError(f"{text}: let all returns give one type, as 0.0 beside floats", tree.range)


def _promised(template: Template, key: Any, bound: Bound, where: SourceRange, so_far: Type | None) -> Function:
    """The function that is being compiled, for calls of itself. Raises CompileError if it does not say its result."""
    tree = template.tree
    returns = tree.decl.returns
    returns = None if returns is None or is_bare_container(returns, template.resolver) else returns
    so_far = template.learned.get(key, so_far)
    so_far = written_result(tree, bound.types) if so_far is None and returns is None else so_far
    result = so_far if returns is None else type_of_tree(returns, template.resolver)
    if result is None:
        raise recursion_error(tree.name, where)
    if key not in template.promised:
        schema = _promised_schema(template, bound, without_elements(plain(result)))
        promised = template.promised[key] = Function(tree.name, Graph(tree.name), schema)
        if returns is None:
            promised.result = result if holds_arrays(result) or holds_elements(result) else None
        elif result == TENSOR and names_array(returns, template.resolver):
            promised.result = so_far if isinstance(so_far, ArrayType) else array_of(None, None)
    return template.promised[key]


def _promised_schema(template: Template, bound: Bound, result: Type) -> FunctionSchema:
    tree, types = template.tree, bound.types
    arguments = [
        FormalArgument(
            p.name,
            types.get(p.name) or type_by_default(p, template.defaults) or declared_type(p, template.resolver),
            kwarg_only=p.keyword_only,
            positional_only=p.positional_only,
        )
        for p in (*tree.decl.params, *bound.params)
        if p.name not in bound.constants
    ]
    return FunctionSchema(tree.name, "", tuple(arguments), (FormalArgument("", result),))
