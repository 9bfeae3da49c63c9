"""`grad(f)` and `value_and_grad(f)` of a compiled function, in programs."""

from __future__ import annotations

from flambeau.frontend.emit.values.sugared import Emitter, FormValue, Sugared
from flambeau.frontend.trees.tree_views import Apply, Expr
from flambeau.ir import constants
from flambeau.program.function import Function
from flambeau.program.gradients import gradient_of
from flambeau.schema.types import Type
from flambeau.util.errors import CompileError

NO_FUNCTION = "{name}() takes a function in programs, by its name"
ONE_ARGUMENT = "{name}() takes a function and argnums in programs"
NO_NUMBERS = "argnums are written out in programs: a number, or a tuple of numbers"


def gradient_form(name: str, *, with_value: bool) -> FormValue:
    """The form whose calls give the gradient of a function as a function."""

    def emit(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
        options = {attribute.name: attribute.value for attribute in tree.keywords}
        argnums = tree.args[1] if len(tree.args) == 2 else options.pop("argnums", None)
        if not 1 <= len(tree.args) <= 2 or options:
            raise CompileError(ONE_ARGUMENT.format(name=name), tree.range)
        python, where = e.python_value(tree.args[0]), tree.args[0].range
        function = e.scope.resolver.compile_function(python, where) if callable(python) else None
        if not isinstance(function, Function):
            raise CompileError(NO_FUNCTION.format(name=name), where)
        numbers = 0 if argnums is None else _numbers(e, argnums)
        try:
            return e.wrap(gradient_of(function, numbers, with_value=with_value), tree.range)
        except (TypeError, ValueError) as error:
            raise CompileError(str(error), tree.range) from None

    return FormValue(name, emit)


def _numbers(e: Emitter, tree: Expr) -> int | tuple[int, ...]:
    """The numbers that are written out in a tree."""
    value = e.value(tree)
    node = value.defining_node
    is_tuple = node is not None and node.op == "prim::TupleConstruct"
    items = list(node.operands) if node is not None and is_tuple else [value]
    numbers = [constants.constant_value(v) if constants.is_constant(v) else None for v in items]
    listed = [n for n in numbers if isinstance(n, int)]
    if len(listed) < len(numbers):
        raise CompileError(NO_NUMBERS, tree.range)
    return tuple(listed) if is_tuple else listed[0]
