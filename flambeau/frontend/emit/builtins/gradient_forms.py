"""`grad(f)`, `value_and_grad(f)` and other transforms of a compiled function, in programs."""

from __future__ import annotations

from types import FunctionType
from typing import Any, Final

from flambeau.frontend.emit.values.sugared import Emitter, FormValue, Sugared, Transform
from flambeau.frontend.trees.tree_views import Apply, Def, Expr, Lambda, Select, Var
from flambeau.ir import constants
from flambeau.program.function import Function
from flambeau.program.gradients import gradient_of
from flambeau.schema.types import ClassType, Type
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
OTHER_NAMES: Final = {"in_axes": "in_dims", "out_axes": "out_dims"}
"""The names that JAX has for options."""
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
        has_aux = False if aux is None else _flag(e, aux)
        numbers = 0 if argnums is None else _numbers(e, argnums)

        def transform(function: Function, count: int) -> Function:
            chosen, options = _own(numbers, count), {"with_value": with_value, "has_aux": has_aux}
            program: Function = (
                TRANSFORM_PROGRAM.implementation("grad", function, argnums=chosen, **options)
                if _has_objects(function) else gradient_of(function, chosen, **options)
            )  # fmt: skip
            return program

        return _applied(e, tree, name, transform)

    return FormValue(name, emit)


def _applied(e: Emitter, tree: Apply, name: str, transform: Transform) -> Sugared:
    """What a transform makes of the function that it is called with: one that the program defines, or names."""
    callee = tree.args[0]
    if is_own(e, callee) or names_function(e, callee):
        transformed = e.sugared(callee).transformed(e, transform)
        if transformed is not None:
            return transformed
    function = named_function(e, callee, name)
    try:
        return e.wrap(transform(function, len(function.schema.arguments)), tree.range)
    except (TypeError, ValueError) as error:
        raise CompileError(str(error), tree.range) from None


def is_own(e: Emitter, tree: Expr) -> bool:
    """Whether what a tree names, or calls transform, is defined in the program."""
    while isinstance(tree, Apply) and tree.args:
        tree = tree.args[0]
    return isinstance(tree, Lambda) or (isinstance(tree, Var) and e.lookup(tree.name, tree.range) is not None)


def names_function(e: Emitter, tree: Expr) -> bool:
    """Whether what a tree names, or calls transform, is a function of Python, scripted or not."""
    while isinstance(tree, Apply) and tree.args:
        tree = tree.args[0]
    python = e.python_value(tree) if isinstance(tree, Var | Select) else None
    return isinstance(getattr(python, "array_source", None) or python, FunctionType)


def _has_objects(function: Function) -> bool:
    return any(isinstance(argument.type, ClassType) for argument in function.schema.arguments)


def _own(argnums: Any, count: int) -> Any:
    """Numbers of parameters counted from the front: those from the end count a function's own, so many."""
    if isinstance(argnums, tuple):
        return tuple([_own(number, count) for number in argnums])
    return argnums + count if -count <= argnums < 0 else argnums


def named_function(e: Emitter, tree: Expr, name: str) -> Function:
    """The compiled function that a tree names, or the transform of one that it gives. Raises CompileError for
    others."""
    python = e.python_value(tree)
    if isinstance(python, Function):
        return python
    is_function = callable(python) or isinstance(python, Def)  # functions of the same text are trees so far
    function = e.scope.resolver.compile_function(python, tree.range) if is_function else None
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
    """The literal bool of a tree."""
    value = e.value(tree)
    written = constants.constant_value(value) if constants.is_constant(value) else None
    if not isinstance(written, bool):
        raise CompileError(NO_FLAG, tree.range)
    return written


def _numbers(e: Emitter, tree: Expr) -> int | tuple[int, ...]:
    """The literal numbers of a tree."""
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
        spelled = [(OTHER_NAMES.get(attribute.name, attribute.name), attribute.value) for attribute in tree.keywords]
        options = {option: _constant(e, value, name) for option, value in spelled}
        names = TRANSFORM_OPTIONS[name]
        if not 1 <= len(tree.args) <= 1 + len(names) or not set(options) <= set(names):
            raise CompileError(OPTIONS.format(name=name, options=", ".join(names)), tree.range)
        for option, value in zip(names, tree.args[1:], strict=False):
            options[option] = _constant(e, value, name)

        def transform(function: Function, count: int) -> Function:
            chosen = dict(options)
            if "argnums" in chosen:
                chosen["argnums"] = _own(chosen["argnums"], count)
            elif name == "vmap" and count < len(function.schema.arguments):
                dims = chosen.get("in_dims", 0)
                around = (None,) * (len(function.schema.arguments) - count)
                chosen["in_dims"] = (*(dims if isinstance(dims, tuple) else (dims,) * count), *around)
            program: Function = TRANSFORM_PROGRAM.implementation(name, function, **chosen)
            return program

        return _applied(e, tree, name, transform)

    return FormValue(name, emit)


def _constant(e: Emitter, tree: Expr, name: str) -> Any:
    """The literal of a tree: a number, a bool, a text, None, or a tuple of such."""
    value = e.value(tree)
    node = value.defining_node
    is_tuple = node is not None and node.op == "prim::TupleConstruct"
    items = list(node.operands) if node is not None and is_tuple else [value]
    if not all(map(constants.is_constant, items)):
        raise CompileError(WRITTEN.format(name=name), tree.range)
    values = tuple([constants.constant_value(item) for item in items])
    return values if is_tuple else values[0]
