"""`jvp(f, (x,), (v,))` and other products of derivatives at values, in programs.

jvp(f, (x,), (v,))        →  a call of the program of f's tangents, with x and v
value, pull = vjp(f, x)   →  f(x), and the program of what goes back, which has x as its first argument already
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from flambeau.frontend.emit.builtins.gradient_forms import is_own, named_function, names_function
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, FormValue, Given, Sugared
from flambeau.frontend.emit.values.tuple_values import TupleValue
from flambeau.frontend.trees.tree_views import Apply, Expr
from flambeau.program.function import Function
from flambeau.schema.types import TupleType, Type
from flambeau.util.errors import CompileError
from flambeau.util.inversions import TRANSFORM_PROGRAM
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

ALONG: Final = (
    "{name}() takes a function, a tuple of primals and a tuple of tangents in programs: {name}(f, (x,), (v,))"
)
AT: Final = "{name}() takes a function and its arguments in programs: value, {result} = {name}(f, x)"
NO_TUPLE: Final = "{name}() takes its {what} as a tuple, one for each argument of the function: write (x,) for one"
OTHER_COUNT: Final = "{name}() got {primals} primals and {tangents} tangents: each primal has one"
MISSING: Final = "{name}() of {function}() needs an argument for '{argument}', which has no default"
REST: Final = "{name}() takes {count} arguments here, one for each result or primal, but {given} were given"
TOO_MANY: Final = "{name}() got {given} arguments for {function}(), which takes {taken}"


def along_form(name: str) -> FormValue:
    """The form of `jvp(f, primals, tangents)` and of `hvp`, which gives a pair of what is computed and its product."""

    def emit(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
        named = {attribute.name: attribute.value for attribute in tree.keywords}
        trees = [*tree.args, *[named.pop(key) for key in ("primals", "tangents")[len(tree.args) - 1 :] if key in named]]
        if len(trees) != 3 or named:
            raise CompileError(ALONG.format(name=name), tree.range)
        primals, tangents = _items(e, trees[1], name, "primals"), _items(e, trees[2], name, "tangents")
        if len(primals) != len(tangents):
            text = OTHER_COUNT.format(name=name, primals=len(primals), tangents=len(tangents))
            raise CompileError(text, tree.range)
        numbers: Any = tuple(range(len(primals)))
        options = {"argnums": 0 if name == "hvp" and len(primals) == 1 else numbers}
        _, program, arguments = _products(e, trees[0], name, name, primals, tree.range, options)
        return e.wrap(program, tree.range).call(e, tree.range, [], [*arguments, *_named(program, tangents)])

    return FormValue(name, emit)


def at_form(name: str) -> FormValue:
    """The form of `vjp(f, *primals)` and of `linearize`, which gives the value and a function: of cotangents the one,
    of tangents the other."""
    result, kind, option = ("pull", "vjp", "packed") if name == "vjp" else ("along", "jvp", "with_value")

    def emit(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
        if len(tree.args) < 2 or tree.keywords:
            raise CompileError(AT.format(name=name, result=result), tree.range)
        primals = [Given(e.value(one), one.range) for one in tree.args[1:]]
        options = {"argnums": tuple(range(len(primals))), option: name == "vjp", "name": name}
        function, program, arguments = _products(e, tree.args[0], name, kind, primals, tree.range, options)
        value = e.wrap(function, tree.range).call(e, tree.range, [], arguments)
        return TupleValue([value, LastArguments(program, arguments)])

    return FormValue(name, emit)


@dataclass(slots=True)
class LastArguments(Sugared):
    """What is left of a function of which all arguments but the last ones are known: they are given by place."""

    is_function: ClassVar[bool] = True

    function: Function
    arguments: list[Given]
    """The known ones, by name."""

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "function"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A call with the rest."""
        rest = len(self.function.schema.arguments) - len(self.arguments)
        if len(args) != rest or keywords:
            raise CompileError(REST.format(name=self.function.short_name, count=rest, given=len(args)), where)
        return e.wrap(self.function, where).call(e, where, [], [*self.arguments, *_named(self.function, args)])


def _named(function: Function, values: Sequence[Given]) -> list[Given]:
    """Values by the names of a function's last parameters."""
    last = function.schema.arguments[len(function.schema.arguments) - len(values) :]
    return [Given(v.value, v.where, argument.name) for argument, v in zip(last, values, strict=True)]


def _products(
    e: Emitter, callee: Expr, name: str, kind: str, primals: Sequence[Given], where: SourceRange,
    options: dict[str, Any],
) -> tuple[Function, Function, list[Given]]:  # fmt: skip
    """The function that a tree names, or that is written there, the program of its products, and the arguments of the
    function with these primals, by name."""
    functions = []

    def transform(function: Function, count: int) -> Function:
        functions.append(function)
        return _program(kind, function, where, options)

    is_open = is_own(e, callee) or names_function(e, callee)
    own = e.sugared(callee).specialised(e, where, primals, transform) if is_open else None
    if own is not None:
        program, passed = own
        names = {one.name for one in passed}
        left_out = [a for a in functions[0].schema.arguments if a.has_default and a.name not in names]
        defaults = [Given(e.constant(a.default, a.type), where, a.name) for a in left_out]
        return functions[0], program, [*passed, *defaults]
    function = named_function(e, callee, name)
    arguments = _complete(e, function, primals, name, where)
    formals = function.schema.arguments
    by_name = [Given(a.value, a.where, formal.name) for a, formal in zip(arguments, formals, strict=True)]
    return function, transform(function, len(formals)), by_name


def _program(kind: str, function: Function, where: SourceRange, options: dict[str, Any]) -> Function:
    try:
        program: Function = TRANSFORM_PROGRAM.implementation(kind, function, **options)
    except (TypeError, ValueError) as error:
        raise CompileError(str(error), where) from None
    return program


def _items(e: Emitter, tree: Expr, name: str, what: str) -> list[Given]:
    """The items of a tuple."""
    value = e.value(tree)
    if not isinstance(value.static_type, TupleType):
        raise CompileError(NO_TUPLE.format(name=name, what=what), tree.range)
    items = SimpleValue(value).as_tuple(e, tree.range)
    return [Given(item.as_value(e, tree.range), tree.range) for item in items]


def _complete(e: Emitter, function: Function, primals: Sequence[Given], name: str, where: SourceRange) -> list[Given]:
    """All arguments of a call with primals: the defaults of the others behind them."""
    arguments = function.schema.arguments
    if len(primals) > len(arguments):
        text = TOO_MANY.format(name=name, given=len(primals), function=function.short_name, taken=len(arguments))
        raise CompileError(text, where)
    complete = list(primals)
    for argument in arguments[len(primals) :]:
        if not argument.has_default:
            text = MISSING.format(name=name, function=function.short_name, argument=argument.name)
            raise CompileError(text, where)
        complete.append(Given(e.constant(argument.default, argument.type), where))
    return complete
