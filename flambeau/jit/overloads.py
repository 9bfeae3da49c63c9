"""Overloads: one implementation, compiled once for each declared signature; a call takes the first that fits.

    @flambeau.jit._overload
    def scale(x: int) -> int: ...
    @flambeau.jit._overload
    def scale(x: List[int]) -> List[int]: ...
    def scale(x): ...

The body sees each signature's types: `isinstance` is decided while compiling.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from flambeau.frontend.emit.schema_matching import match_schemas
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Given, Sugared
from flambeau.frontend.scopes.python_constants import constant_type
from flambeau.frontend.source.python_source import innermost_function, parameter_defaults, parse_function
from flambeau.frontend.trees.function_conversion import get_tree
from flambeau.frontend.trees.tree_views import Def, Param, StringLiteral
from flambeau.program.function import Function
from flambeau.util.errors import CompileError
from flambeau.util.names import qualified_name
from flambeau.util.record import dataclass, replace
from flambeau.util.source import SourceRange

F = TypeVar("F", bound=Callable[..., Any])

BODY = "Only `pass` statement or `...` can be the body of overload declaration: '{name}' has more"
MISSING = (
    'Implementation for the function "{name}" is missing. Please make sure a definition is provided and defined after '
    "all overload declarations"
)
MORE = (
    "Overload should not have more parameters than implementation function: {name} is declared with {declared}, and "
    "defined with {defined}"
)
DIRECT = (
    "Function {name} cannot be directly compiled because it is overloaded. It must be used in a context of a function "
    "where its inputs can determine which overload to call"
)
UNTYPED = (
    "Parameters not specified on overloads: {name} has no annotations. Please explicitly add type annotations to "
    "overloaded functions"
)
DEFAULT = (
    "Default parameters on overloads do not affect the runtime so they must equal to the default parameter on the "
    "implementation function. Parameter '{parameter}' of {name} differs"
)

_declared: Final[dict[str, list[Callable[..., Any]]]] = {}


def qualified(fn: Any) -> str:
    """What overloads and their implementation have in common."""
    inner = innermost_function(fn)
    return f"{inner.__module__}.{inner.__qualname__}"


def _overload(func: F) -> F:
    """A decorator: `func` declares a signature of the function of the same name that follows.

    Raises RuntimeError when it has a body.
    """
    check_body(func)
    declared = _declared.setdefault(qualified(func), [])
    if any(d.__code__ is func.__code__ for d in declared):  # the function around runs again
        declared.clear()
    declared.append(func)
    func.__flambeau_overload__ = True  # type: ignore[attr-defined]
    return func


def check_body(func: Any) -> None:
    """Raise RuntimeError for a declaration that does anything."""
    _, node = parse_function(func)
    for statement in node.body:
        is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not isinstance(statement, ast.Pass) and not is_text:
            raise RuntimeError(BODY.format(name=func.__name__))


def declarations(fn: Any) -> list[Callable[..., Any]]:
    """The signatures declared for a function, in order; none for one that is not overloaded.

    Raises RuntimeError if `fn` is itself such a declaration: the implementation is missing.
    """
    if not inspect.isfunction(fn):
        return []
    if getattr(fn, "__flambeau_overload__", False):
        raise RuntimeError(MISSING.format(name=qualified_name(fn)))
    declared = _declared.get(qualified(fn), [])
    return [d for d in declared if d.__code__.co_filename == fn.__code__.co_filename]


def refuse_direct(fn: Any) -> None:
    """Raise RuntimeError for an overloaded function: which signature would be meant?"""
    if declarations(fn):
        raise RuntimeError(DIRECT.format(name=fn.__name__))


def signature_tree(declaration: Any, implementation: Any, self_name: str | None = None) -> tuple[Def, dict[str, Any]]:
    """The implementation with the signature of a declaration, and the defaults of its parameters.

    `self_name` makes it a method, of the class of that name.

    Raises RuntimeError for a declaration without types, or with defaults of its own that differ.
    """
    tree, signature = get_tree(implementation, None, self_name), get_tree(declaration, None, self_name).decl
    declared, defined = len(signature.params), len(tree.decl.params)
    if declared > defined:
        raise RuntimeError(MORE.format(name=declaration.__name__, declared=declared, defined=defined))
    if any(p.annotation is None for p in signature.params):
        raise RuntimeError(UNTYPED.format(name=declaration.__name__))
    own, defaults = parameter_defaults(declaration), parameter_defaults(implementation)
    for name, value in own.items():
        if name in defaults and not _same(defaults[name], value):
            raise RuntimeError(DEFAULT.format(parameter=name, name=declaration.__name__))
    defaults = {**defaults, **own}
    params = [*signature.params]
    for param in tree.decl.params[len(params) :]:
        params.append(_of_default(param, defaults))
    return replace(tree, decl=replace(tree.decl, params=tuple(params), returns=signature.returns)), defaults


def _same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and bool(a == b))


def _of_default(param: Param, defaults: dict[str, Any]) -> Param:
    """A parameter that the declaration leaves out: it has the type of its default."""
    if param.annotation is not None or param.name not in defaults:
        return param
    text = constant_type(defaults[param.name]).annotation
    return replace(param, annotation=StringLiteral(param.range, text))


@dataclass(slots=True)
class OverloadedFunction(Sugared):
    """A function with several signatures."""

    name: str
    functions: Sequence[Function]

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "overloaded function"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A call of the first signature that fits. Raises CompileError with all of them if none does."""
        match = match_schemas([f.schema for f in self.functions], args, keywords, where)
        function = next(f for f in self.functions if f.schema is match.schema)
        with e.graph.at_range(where):
            operands = match.operands(e)
            callee = e.function_constant(function)
            return SimpleValue(e.emit("prim::CallFunction", (callee, *operands), match.returns[0]))


def as_compile_error(error: RuntimeError, where: SourceRange) -> CompileError:
    """A wrong declaration, at the call that needed it."""
    return error if isinstance(error, CompileError) else CompileError(str(error), where)
