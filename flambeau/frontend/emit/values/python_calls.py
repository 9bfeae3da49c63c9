"""Functions that stay Python: a call of an ignored function is a node that calls it, one of an unused function raises.

    @flambeau.jit.ignore
    def g(x: int) -> int: ...        g(3)    →    %r : int = ^g(%three)

A mark on the function says which it is. Its annotations are its signature: a parameter without one is a Tensor.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.frontend.emit.schema_matching import match_single
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Given, Sugared
from flambeau.frontend.scopes.name_resolution import Resolver
from flambeau.frontend.scopes.type_annotations import try_type_of, type_of_tree
from flambeau.frontend.trees.function_conversion import commented_types, parse_annotation
from flambeau.frontend.trees.tree_views import Expr, StringLiteral
from flambeau.ir.graph import Graph, Value
from flambeau.program.function import Function
from flambeau.schema.function import NO_DEFAULT, Argument, FunctionSchema
from flambeau.schema.types import ANY, NONE, STRING, TENSOR, TensorType, Type
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass, replace
from flambeau.util.source import SourceRange

MODIFIER: Final = "__flambeau_modifier__"
"""The attribute of a function that holds its mark."""
IGNORE: Final = "ignore"
UNUSED: Final = "unused"
NOT_RUN = "This Python function is annotated to be ignored and cannot be run"
NO_SELF = "Non-static method does not have a self argument: '{name}' needs one, or @staticmethod above it"
CACHED: Final = type(functools.lru_cache(len))
"""Functions with a cache of their own, which programs and Python share: they stay Python."""
NOT_DECLARED = (
    "{name} keeps a cache, which Python and programs share, so Python runs it: say what it takes and returns, as in "
    "def {name}({parameters}) -> int"
)
UNKNOWN_TYPE = "Unknown type annotation: '{text}' of '{name}' in the Python function {function}"


def modifier(fn: Any) -> str | None:
    """The mark of a function, or of what it wraps or is bound to; None without one."""
    value = fn
    for _ in range(100):
        if inspect.isclass(value) or inspect.ismodule(value):
            return None
        mark = getattr(value, MODIFIER, None)
        if isinstance(mark, str):
            return mark
        value = getattr(value, "__func__", None) or getattr(value, "__wrapped__", None)
        if value is None:
            return None
    return None


def python_schema(fn: Callable[..., Any], resolver: Resolver, where: SourceRange) -> FunctionSchema:
    """The signature that annotations give a Python function, `self` left out of a bound method's.

    Raises CompileError for an annotation that is no type of the language.
    """
    name = getattr(fn, "__name__", type(fn).__name__)
    if inspect.ismethod(fn) and not _takes_self(fn.__func__):
        raise CompileError(NO_SELF.format(name=name), where)
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        return FunctionSchema(name, "", (), (Argument("", TENSOR),), is_vararg=True)
    is_vararg = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    returned = inspect.signature(fn).return_annotation
    types, result_type = _commented(fn, [*(p.annotation for p in parameters), returned])
    arguments = [
        Argument(
            p.name,
            _type_of(types.get(p.name, p.annotation), p.name, fn, resolver, where),
            default=NO_DEFAULT if p.default is p.empty else p.default,
            kwarg_only=p.kind is p.KEYWORD_ONLY,
        )
        for p in parameters
        if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    result = _type_of(result_type or returned, "return", fn, resolver, where)
    return FunctionSchema(name, "", tuple(arguments), (Argument("", result),), is_vararg=is_vararg)


def _commented(fn: Callable[..., Any], annotations: Sequence[Any]) -> tuple[dict[str, Expr], Expr | None]:
    """The types that comments give a function without annotations: by parameter, and of its result."""
    if any(annotation is not inspect.Parameter.empty for annotation in annotations):
        return {}, None
    return commented_types(fn, inspect.ismethod(fn))


def _takes_self(method: Any) -> bool:
    code = getattr(inspect.unwrap(method), "__code__", None)
    return code is None or bool(code.co_argcount or code.co_flags & inspect.CO_VARARGS)


def _type_of(annotation: Any, name: str, fn: Any, resolver: Resolver, where: SourceRange) -> Type:
    if annotation is inspect.Parameter.empty:
        return TENSOR if name == "return" else TensorType(inferred=True)
    type_: Type | None
    if modifier(fn) == UNUSED and name != "return":  # it is never called, so anything may be passed
        return ANY
    if isinstance(annotation, Expr):
        type_ = type_of_tree(annotation, _Globals(fn, resolver))
    elif isinstance(annotation, str):
        type_ = type_of_tree(parse_annotation(annotation, StringLiteral(where, annotation)), _Globals(fn, resolver))
    else:
        type_ = ANY if annotation is Any else try_type_of(annotation, resolver, where)
    if type_ is None:
        text = UNKNOWN_TYPE.format(text=annotation, name=name, function=getattr(fn, "__name__", fn))
        raise CompileError(text, where)
    return type_


class _Globals:
    """Resolves names where a Python function was defined; everything else as around the program."""

    def __init__(self, fn: Any, outer: Resolver) -> None:
        self._names = getattr(inspect.unwrap(fn), "__globals__", {})
        self._outer = outer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._outer, name)

    def resolve(self, name: str) -> Any:
        """The function's own global, or the program's name."""
        value = self._names.get(name, vars(typing).get(name) if name in self._names else None)
        return self._outer.resolve(name) if value is None else value


@dataclass(slots=True)
class PythonFunction(Sugared):
    """A function that Python runs."""

    python: Any
    owner: SimpleValue | None = None
    """The object whose method it is; the Python method itself is bound already."""
    receiver: Value | None = None
    """The object that is given to it as first argument: of a method that is not bound."""

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "python function"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A node that calls it with all its arguments, by position."""
        schema = python_schema(self.python, e.scope.resolver, where)
        if isinstance(self.python, CACHED):
            _check_cached(self.python, args, keywords, where)
        if self.receiver is not None:
            first = replace(schema.arguments[0], type=self.receiver.static_type)
            schema = replace(schema, arguments=(first, *schema.arguments[1:]))
            args = [Given(self.receiver, where), *args]
        match = match_single(schema, args, keywords, where)
        with e.graph.at_range(where):
            operands = match.operands(e)
            if modifier(self.python) == UNUSED:
                callee = e.function_constant(refusing(schema))
                return SimpleValue(e.emit("prim::CallFunction", (callee, *operands), match.returns[0]))
            names = [a.name for a in schema.arguments]
            by_name = sum(a.kwarg_only for a in schema.arguments)
            called = self.python if not by_name else _by_name(self.python, names, len(names) - by_name)
            if match.returns[0] == NONE:
                e.insert(f"^{schema.name}", operands, callable=_dropping(called))
                return SimpleValue(e.constant(None))
            return SimpleValue(e.emit(f"^{schema.name}", operands, match.returns[0], callable=called))


def _check_cached(
    fn: Any, args: Sequence[Given], keywords: Sequence[Given], where: SourceRange
) -> None:
    """Raise CompileError for a function with a cache that does not say what it takes and returns, called with no
    tensor.
    """
    values = [argument.value.static_type for argument in (*args, *keywords)]
    signature = inspect.signature(fn)
    annotations = [p.annotation for p in signature.parameters.values()]
    is_open = any(a is inspect.Parameter.empty for a in (*annotations, signature.return_annotation))
    if is_open and not any(isinstance(type_, TensorType) for type_ in values):
        kinds = dict(zip(signature.parameters, [type_.annotation for type_ in values], strict=False))
        shown = ", ".join(f"{name}: {kinds.get(name, 'int')}" for name in signature.parameters)
        raise CompileError(NOT_DECLARED.format(name=fn.__name__, parameters=shown), where)


def _by_name(fn: Callable[..., Any], names: Sequence[str], positional: int) -> Callable[..., Any]:
    """`fn` called with its last arguments by name."""

    @functools.wraps(fn)
    def call(*values: Any) -> Any:
        named = dict(zip(names[positional:], values[positional : len(names)], strict=True))
        return fn(*values[:positional], *values[len(names) :], **named)

    return call


def _dropping(fn: Callable[..., Any]) -> Callable[..., None]:
    """`fn` for what it does alone."""

    @functools.wraps(fn)
    def call(*values: Any) -> None:
        fn(*values)

    return call


def refusing(schema: FunctionSchema) -> Function:
    """A compiled function that raises when it is called: what an unused function is in a program."""
    graph = Graph(schema.name)
    for argument in schema.arguments:
        graph.add_parameter(argument.type, argument.name)
    message = graph.insert("prim::Constant", (), (STRING,), value=NOT_RUN).result()
    name = graph.insert("prim::Constant", (), (STRING,), value="builtins.NotImplementedError").result()
    graph.insert("prim::RaiseException", (message, name), ())
    result = schema.returns[0].type
    kind = "prim::Constant" if result == NONE else "prim::Uninitialized"
    graph.add_return(graph.insert(kind, (), (result,)).result())
    return Function(schema.name, graph, schema)


def wrap_python(fn: Any) -> Sugared | None:
    """What a marked function is in a program; None for one without a mark, which is compiled."""
    if modifier(fn) in (IGNORE, UNUSED):
        return PythonFunction(fn)
    call = None if inspect.isclass(fn) or inspect.isroutine(fn) else inspect.getattr_static(type(fn), "__call__", None)
    return PythonFunction(fn.__call__) if inspect.isfunction(call) and modifier(call) is not None else None
