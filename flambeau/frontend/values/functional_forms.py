"""Functions of tensors that give one result or several, by constants that a call passes: `unique` and its like.

unique(x, return_counts=True)    →    %u, %i, %c = aten::_unique2(%x, True, False, True)    and the pair of %u and %c
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final

from flambeau.frontend.emit.calls import emit_arguments
from flambeau.frontend.emit.conversions import pack_tuple, unpack_tuple
from flambeau.frontend.emit.emission import Emission
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.trees.views import Apply
from flambeau.frontend.values.simple_value import SimpleValue
from flambeau.frontend.values.sugared import FormValue, Sugared
from flambeau.ir.value import Value
from flambeau.ops.python_forms import unique, unique_consecutive
from flambeau.schema.types import NONE, Type
from flambeau.util.errors import CompileError

NOT_CONSTANT = (
    "{function}() returns different types for different values of '{name}', so its value has to be known when the "
    "program is compiled: write True or False"
)


def _bound(e: Emission, tree: Apply, function: Callable[..., Any]) -> dict[str, Value]:
    """The arguments of a call by the names of a Python function's parameters, defaults among them."""
    args, keywords = emit_arguments(e, tree)
    signature = inspect.signature(function)
    try:
        bound = signature.bind(*(a.value for a in args), **{k.name: k.value for k in keywords})
    except TypeError as error:
        raise CompileError(f"{function.__name__}() {error}", tree.callee.range) from None
    return {
        name: bound.arguments[name] if name in bound.arguments else e.constant(parameter.default)
        for name, parameter in signature.parameters.items()
    }


def _flag(tree: Apply, function: Callable[..., Any], name: str, value: Value) -> bool:
    node = value.node
    known = node.attributes.get("value") if node is not None and node.kind == "prim::Constant" else None
    if known is None:
        raise CompileError(NOT_CONSTANT.format(function=function.__name__, name=name), tree.callee.range)
    return bool(known)


def _form(function: Callable[..., Any], operator: str, along: str, order: tuple[str, ...]) -> FormValue:
    """`function` as `operator`, or as `along` where a `dim` is given; `order` is that of the operators' arguments."""

    def emit(e: Emission, tree: Apply, hint: Type | None) -> Sugared:
        given = _bound(e, tree, function)
        wanted = [True, *(_flag(tree, function, n, given[n]) for n in ("return_inverse", "return_counts"))]
        whole = given["dim"].type == NONE
        names = [n for n in order if n != "dim" or not whole or operator == along]
        found = call_operator(e, tree.callee.range, operator if whole else along, [given[n] for n in names])
        kept = [v for v, is_wanted in zip(unpack_tuple(e, found), wanted, strict=True) if is_wanted]
        return SimpleValue(kept[0] if len(kept) == 1 else pack_tuple(e, kept))

    return FormValue(function.__name__, emit)


FUNCTIONAL_FORMS: Final[dict[Any, Sugared]] = {
    unique: _form(
        unique, "aten::_unique2", "aten::unique_dim", ("input", "dim", "sorted", "return_inverse", "return_counts")
    ),
    unique_consecutive: _form(
        unique_consecutive, "aten::unique_consecutive", "aten::unique_consecutive",
        ("input", "return_inverse", "return_counts", "dim"),
    ),
}  # fmt: skip
"""Each by its Python function."""
