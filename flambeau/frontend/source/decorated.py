"""Functions below decorators of users: programs call what the decorator made of them, as Python does.

    def doubled(function):                      def f(x):                    # the meaning of `f`
        @functools.wraps(function)                  return decorator_of_f(x) # `inner`, as it stands
        def inner(*args):
            return function(*args) * 2      →
        return inner

    @doubled
    def f(x): ...

`functools.wraps` leaves the function below the decorator in `__wrapped__`. A decorator that hands on its arguments and
what comes back, as one that takes the time or writes a log, changes no value: the function below means the same.
"""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import textwrap
from types import CodeType, FunctionType
from typing import Any, Final, TypeVar

from flambeau.util.kept_on import KeptOn

_OF_LIBRARIES: Final = frozenset(("flambeau", "contextlib", "functools", "numba", "numpy", "torch", "jax", "jaxlib"))
"""Packages whose decorators are known to programs in other ways, or change no value."""
_BARE: Final = "__flambeau_made_by_decorator__"
_MEANINGS: Final = KeptOn[Any, Any]()


def beyond_decorator(value: Any) -> Any:
    """What is meant by something with `__wrapped__`: the function below, or one that calls what the decorator made.

    >>> import functools
    >>> beyond_decorator(functools.lru_cache(beyond_decorator)) is beyond_decorator
    True
    """
    if not _is_of_user(value):
        return value.__wrapped__
    if not hasattr(value, "__dict__"):
        return _meaning(value)
    meaning = _MEANINGS.get(value)
    if meaning is None:
        meaning = _MEANINGS[value] = _meaning(value)
    return meaning


def _meaning(value: Any) -> Any:
    below = value.__wrapped__
    return below if hands_on(value, below) else _forwarder(value) or below


def _is_of_user(value: Any) -> bool:
    """Whether a function, or an object that is called, stands in a program and not in a library."""
    called = value if isinstance(value, FunctionType) else inspect.getattr_static(type(value), "__call__", None)
    return isinstance(called, FunctionType) and _package(called) not in _OF_LIBRARIES


def _package(function: FunctionType) -> str:
    return str(function.__globals__.get("__name__", "")).partition(".")[0]


# -- decorators that change no value ----------------------------------------------------------------------------------


def hands_on(value: Any, below: Any) -> bool:
    """Whether a decorator's function calls the one below with its own arguments, and gives what that gives.

    True as well where the source cannot be had: there is nothing to compile then but the function below. Not where it
    enters a block of this package, as `no_grad`.

    >>> hands_on(beyond_decorator, hands_on)
    False
    """
    if not isinstance(value, FunctionType):
        return False
    node = _definition(value.__code__)
    if node is None:
        return value.__code__.co_name != "<lambda>"
    names = {
        name for name, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
        if _contents(cell) is below
    }  # fmt: skip
    return _returns_what_comes(node, names) and not any(_enters_block(value, inner) for inner in ast.walk(node))


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _returns_what_comes(node: ast.FunctionDef, names: set[str]) -> bool:
    """Whether each `return` gives a call of one of the names with the arguments of the definition, or holds it."""
    calls = _calls_with_own_arguments(node.args, names)
    stored = [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store | ast.Del)]
    assigned = [n for n in ast.walk(node) if isinstance(n, ast.Assign) and ast.dump(n.value) in calls]
    targets = {target.id for n in assigned for target in n.targets if isinstance(target, ast.Name)}
    results = {name for name in targets if stored.count(name) == 1}
    arguments = {argument.arg for argument in ast.walk(node.args) if isinstance(argument, ast.arg)}
    returned = [n.value for n in ast.walk(node) if isinstance(n, ast.Return)]
    gives = all(r is not None and (ast.dump(r) in calls or _names(r, results)) for r in returned)
    return gives and bool(returned) and arguments.isdisjoint(stored)


def _calls_with_own_arguments(args: ast.arguments, names: set[str]) -> set[str]:
    """Calls of each name with all arguments of a definition, as `ast.dump` writes them."""
    own: list[ast.expr] = [_read(a.arg) for a in (*args.posonlyargs, *args.args)]
    if args.vararg is not None:
        own.append(ast.Starred(_read(args.vararg.arg), ast.Load()))
    keywords = [ast.keyword(a.arg, _read(a.arg)) for a in args.kwonlyargs]
    if args.kwarg is not None:
        keywords.append(ast.keyword(None, _read(args.kwarg.arg)))
    return {ast.dump(ast.Call(_read(name), own, keywords)) for name in names}


def _read(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _names(node: ast.expr, names: set[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def _enters_block(function: FunctionType, node: ast.AST) -> bool:
    """Whether a node is a `with` of something of this package or PyTorch."""
    if not isinstance(node, ast.With):
        return False
    entered = {n.id for item in node.items for n in ast.walk(item.context_expr) if isinstance(n, ast.Name)}
    values = [function.__globals__.get(name) for name in entered]
    modules = [str(getattr(v, "__module__", None) or getattr(v, "__name__", "")) for v in values if v is not None]
    return any(module.partition(".")[0] in ("flambeau", "torch") for module in modules)


# -- decorators that do ----------------------------------------------------------------------------------------------


def _forwarder(value: Any) -> FunctionType | None:
    """A function with the signature of what was decorated, which calls what the decorator made."""
    written = inspect.unwrap(value)
    node = _definition(written.__code__) if isinstance(written, FunctionType) else None
    if node is None:
        return None
    called = _as_it_stands(value) if isinstance(value, FunctionType) else value
    name = f"decorator_of_{node.name}"
    arguments = [*node.args.posonlyargs, *node.args.args]
    passed: list[ast.expr] = [_read(a.arg) for a in arguments]
    keywords = [ast.keyword(a.arg, _read(a.arg)) for a in node.args.kwonlyargs]
    node.body = [ast.Return(ast.Call(_read(name), passed, keywords))]
    node.decorator_list = []
    node.args.defaults = [ast.Constant(...) for _ in node.args.defaults]
    node.args.kw_defaults = [None if d is None else ast.Constant(...) for d in node.args.kw_defaults]
    text = ast.unparse(ast.fix_missing_locations(node)) + "\n"
    return _defined(text, written, {name: called})


def _defined(text: str, written: FunctionType, closure: dict[str, Any]) -> FunctionType:
    """The function of a text, where another one was written, with its defaults; names in `closure` are around it."""
    filename = f"<{written.__module__}.{written.__qualname__}, decorated>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    names = ", ".join(closure)
    indented = textwrap.indent(text, " ")
    around = f"from __future__ import annotations\ndef around({names}):\n{indented} return {written.__name__}\n"
    module = compile(around, filename, "exec", dont_inherit=True)
    outer = next(c for c in module.co_consts if isinstance(c, CodeType))
    code = next(c for c in outer.co_consts if isinstance(c, CodeType))
    make = FunctionType(outer, written.__globals__)
    function: FunctionType = make(**closure)
    function.__code__ = code.replace(co_firstlineno=1)
    function.__defaults__, function.__kwdefaults__ = written.__defaults__, written.__kwdefaults__
    functools.update_wrapper(function, written, updated=())
    del vars(function)["__wrapped__"]
    return function


def _as_it_stands(function: FunctionType) -> FunctionType:
    """The function that a decorator made, without what `functools.wraps` says of the one below."""
    code = function.__code__
    bare = FunctionType(code, function.__globals__, code.co_name, function.__defaults__, function.__closure__)
    bare.__kwdefaults__ = function.__kwdefaults__
    bare.__qualname__ = code.co_qualname
    vars(bare)[_BARE] = True
    return bare


def without_any(function: FunctionType, node: ast.FunctionDef) -> None:
    """Take from the definition of what a decorator made the types that say nothing, as `Any` and variables of types."""
    if not vars(function).get(_BARE):
        return
    node.returns = None
    gathering = [a for a in (node.args.vararg, node.args.kwarg) if a is not None]
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    for argument in (*gathering, *(a for a in arguments if a.annotation and _says_nothing(function, a.annotation))):
        argument.annotation = None


def _says_nothing(function: FunctionType, annotation: ast.expr) -> bool:
    name = annotation.attr if isinstance(annotation, ast.Attribute) else getattr(annotation, "id", "")
    return name == "Any" or isinstance(function.__globals__.get(name), TypeVar)


def _definition(code: CodeType) -> ast.FunctionDef | None:
    """The definition that a function's code was made of; None where the source cannot be had."""
    try:
        [node] = ast.parse(textwrap.dedent(inspect.getsource(code))).body
    except (OSError, SyntaxError, ValueError, TypeError):
        return None
    return node if isinstance(node, ast.FunctionDef) and node.name == code.co_name else None
