"""`grad(f)`, `value_and_grad(f)` and other transforms of a compiled function, in programs."""

from __future__ import annotations

from typing import Any, Final

from flambeau.frontend.emit.values.sugared import Emitter, FormValue, Sugared
from flambeau.frontend.trees.tree_views import Apply, Expr, Var
from flambeau.ir import constants
from flambeau.program.function import Function
from flambeau.program.gradients import gradient_of
from flambeau.schema.types import Type
from flambeau.util.errors import CompileError
from flambeau.util.inversions import TRANSFORM_PROGRAM

NO_FUNCTION = "{name}() takes a function in programs, by its name"
ONE_ARGUMENT = "{name}() takes a function, argnums and has_aux in programs"
OPTIONS = "{name}() takes a function in programs, and {options}"
WRITTEN = "what {name}() takes besides a function is written out in programs"
TRANSFORM_OPTIONS: Final = {
    "jacrev": ("argnums", "has_aux"), "jacfwd": ("argnums", "has_aux"), "hessian": ("argnums",),
    "vmap": ("in_dims", "out_dims", "randomness"),
}  # fmt: skip
"""What each transform takes besides a function."""
NO_FLAG = "has_aux is written out in programs: True or False"
NO_NUMBERS = "argnums are written out in programs: a number, or a tuple of numbers"


def gradient_form(name: str, *, with_value: bool) -> FormValue:
    """The form whose calls give the gradient of a function as a function."""

    def emit(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
        options = {attribute.name: attribute.value for attribute in tree.keywords}
        argnums = tree.args[1] if len(tree.args) == 2 else options.pop("argnums", None)
        aux = options.pop("has_aux", None)
        if not 1 <= len(tree.args) <= 2 or options:
            raise CompileError(ONE_ARGUMENT.format(name=name), tree.range)
        function = named_function(e, tree.args[0], name)
        has_aux = False if aux is None else _flag(e, aux)
        numbers = 0 if argnums is None else _numbers(e, argnums)
        try:
            return e.wrap(gradient_of(function, numbers, with_value=with_value, has_aux=has_aux), tree.range)
        except (TypeError, ValueError) as error:
            raise CompileError(str(error), tree.range) from None

    return FormValue(name, emit)


def named_function(e: Emitter, tree: Expr, name: str) -> Function:
    """The compiled function that a tree names, or the transform of one that it gives. Raises CompileError for
    others."""
    python = e.python_value(tree)
    if isinstance(python, Function):
        return python
    function = e.scope.resolver.compile_function(python, tree.range) if callable(python) else None
    if function is None and isinstance(tree, Apply | Var):
        try:
            node = e.sugared(tree).as_value(e, tree.range).defining_node
        except CompileError:
            if isinstance(tree, Apply):
                raise
            node = None
        function = node.attributes.get("function") if node is not None and node.op == "prim::Constant" else None
    if not isinstance(function, Function):
        raise CompileError(NO_FUNCTION.format(name=name), tree.range)
    return function


def _flag(e: Emitter, tree: Expr) -> bool:
    """The bool that is written out in a tree."""
    value = e.value(tree)
    written = constants.constant_value(value) if constants.is_constant(value) else None
    if not isinstance(written, bool):
        raise CompileError(NO_FLAG, tree.range)
    return written


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


def transform_form(name: str) -> FormValue:
    """The form whose calls give another transform of a function as a function: `jacrev(f, argnums=0)`."""

    def emit(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
        options = {attribute.name: _constant(e, attribute.value, name) for attribute in tree.keywords}
        names = TRANSFORM_OPTIONS[name]
        if not 1 <= len(tree.args) <= 1 + len(names) or not set(options) <= set(names):
            raise CompileError(OPTIONS.format(name=name, options=", ".join(names)), tree.range)
        for option, value in zip(names, tree.args[1:], strict=False):
            options[option] = _constant(e, value, name)
        function = named_function(e, tree.args[0], name)
        try:
            return e.wrap(TRANSFORM_PROGRAM.implementation(name, function, **options), tree.range)
        except (TypeError, ValueError) as error:
            raise CompileError(str(error), tree.range) from None

    return FormValue(name, emit)


def _constant(e: Emitter, tree: Expr, name: str) -> Any:
    """What is written out in a tree: a number, a bool, a text, None, or a tuple of such."""
    value = e.value(tree)
    node = value.defining_node
    is_tuple = node is not None and node.op == "prim::TupleConstruct"
    items = list(node.operands) if node is not None and is_tuple else [value]
    if not all(map(constants.is_constant, items)):
        raise CompileError(WRITTEN.format(name=name), tree.range)
    found = tuple([constants.constant_value(item) for item in items])
    return found if is_tuple else found[0]
