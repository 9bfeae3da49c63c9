"""The language's own functions, such as `annotate`: known by name, so that who offers them to users is not known here.

A Python object says which one it is in an attribute `language_form`.
"""

from __future__ import annotations

from typing import Final

from flambeau.frontend.emit.builtins.builtin_forms import emit_isinstance
from flambeau.frontend.emit.builtins.builtin_types import CASTS
from flambeau.frontend.emit.builtins.derivative_products import along_form, at_form
from flambeau.frontend.emit.builtins.functional_calls import FUNCTIONAL_CALL
from flambeau.frontend.emit.builtins.gradient_forms import gradient_form, transform_form
from flambeau.frontend.emit.builtins.limits_of_dtypes import LimitsClass
from flambeau.frontend.emit.builtins.standard_library import refusal
from flambeau.frontend.emit.builtins.tree_functions import CHECKPOINT, TREE_MAP
from flambeau.frontend.emit.conditions import Condition, ConditionValue, may_be_none
from flambeau.frontend.emit.forked_tasks import (
    emit_awaitable,
    emit_awaitable_nowait,
    emit_awaitable_wait,
    emit_fork,
    emit_wait,
)
from flambeau.frontend.emit.implicit_conversions import convert
from flambeau.frontend.emit.values.operator_value import OperatorValue
from flambeau.frontend.emit.values.region_contexts import RecordFunction, StrictFusion
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, FormValue, Sugared
from flambeau.frontend.scopes.type_annotations import type_of_tree
from flambeau.frontend.trees.tree_views import Apply, Expr, Select, TupleLiteral, Var
from flambeau.ir.graph import Value
from flambeau.schema.shown_type import shown_type
from flambeau.schema.subtype import is_subtype, subtract
from flambeau.schema.types import (
    NONE,
    TensorType,
    Type,
)
from flambeau.util.errors import CompileError

WRONG_ANNOTATION = "expected an expression of type {wanted} but found {found}"
ALWAYS_NONE = "The type of _unwrap_optional's argument could not be inferred from actual type None"
FROM_TENSOR: Final = {CASTS[python].type: CASTS[python] for python in (float, int, bool)}


def _arity(tree: Apply, what: str, count: int) -> None:
    if len(tree.args) != count or tree.keywords:
        actual = len(tree.args) + len(tree.keywords)
        raise CompileError(f"{what} expected {count} arguments, got {actual}", tree.callee.range)


def emit_annotate(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """`annotate(T, value)`: the value as a `T`."""
    _arity(tree, "annotate", 2)
    wanted = type_of_tree(tree.args[0], e.scope.resolver)
    value = convert(e, e.value(tree.args[1], wanted), wanted, implicit=True)
    if isinstance(value.static_type, TensorType) and wanted in FROM_TENSOR:
        value = e.emit(FROM_TENSOR[wanted].operator, (value,), wanted)
    if not is_subtype(value.static_type, wanted):
        text = WRONG_ANNOTATION.format(wanted=wanted.annotation, found=shown_type(value.static_type))
        raise CompileError(text, tree.range)
    if value.static_type != wanted:
        value = _widened(e, value, wanted)
    return SimpleValue(value)


def _widened(e: Emitter, value: Value, wanted: Type) -> Value:
    """The value known by a wider type; a None is simply a None of that type."""
    if value.static_type == NONE:
        return e.constant(None, wanted)
    return e.emit("prim::unchecked_cast", (value,), wanted)


def emit_unwrap_optional(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """`_unwrap_optional(x)`: x, which must not be None."""
    _arity(tree, "_unwrap_optional", 1)
    value = e.value(tree.args[0])
    if value.static_type == NONE:
        raise CompileError(ALWAYS_NONE, tree.args[0].range)
    rest = subtract(value.static_type, NONE)
    if not may_be_none(value.static_type) or rest is None:
        return SimpleValue(value)
    return SimpleValue(e.emit("aten::_unwrap_optional", (value,), rest))


def emit_precise_isinstance(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """`jit.isinstance`: as in Python, `List`, `Dict` and `Tuple` of `typing` say what is in them."""
    for part in _leaves(tree.args[1]) if len(tree.args) == 2 else ():
        if isinstance(part, Var | Select) and part.name in ("List", "Dict", "Tuple", "Set"):
            type_of_tree(part, e.scope.resolver)
    return emit_isinstance(e, tree, hint)


def _leaves(tree: Expr) -> list[Expr]:
    return [leaf for item in tree.items for leaf in _leaves(item)] if isinstance(tree, TupleLiteral) else [tree]


def _constant(answer: bool) -> FormValue:
    def emit(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
        return ConditionValue(Condition(known=answer))

    return FormValue("condition", emit)


AROUND_CALLS: Final = (
    "optimized_execution and fuser say how programs run, and stand around the call of one: with "
    "flambeau.jit.optimized_execution(False): f(x)"
)
LANGUAGE_FORMS: Final[dict[str, Sugared]] = {
    "annotate": FormValue("annotate", emit_annotate),
    "unwrap_optional": FormValue("_unwrap_optional", emit_unwrap_optional),
    "isinstance": FormValue("isinstance", emit_precise_isinstance),
    "is_scripting": _constant(True),
    "is_tracing": _constant(False),
    "is_followed": _constant(False),
    "fork": FormValue("fork", emit_fork),
    "wait": FormValue("wait", emit_wait),
    "awaitable": FormValue("_awaitable", emit_awaitable),
    "awaitable_wait": FormValue("_awaitable_wait", emit_awaitable_wait),
    "gradient_of": gradient_form("grad", with_value=False),
    "value_and_gradient_of": gradient_form("value_and_grad", with_value=True),
    "jacobian_by_rows": transform_form("jacrev"),
    "jacobian_by_columns": transform_form("jacfwd"),
    "hessian_of": transform_form("hessian"),
    "batches_of": transform_form("vmap"),
    "tangents_of": along_form("jvp"),
    "hessian_product_of": along_form("hvp"),
    "pullback_of": at_form("vjp"),
    "linear_map_of": at_form("linearize"),
    "functional_call": FUNCTIONAL_CALL,
    "tree_map": TREE_MAP,
    "checkpoint": CHECKPOINT,
    "around_calls": refusal("optimized_execution", AROUND_CALLS),
    "finfo": LimitsClass("finfo"),
    "iinfo": LimitsClass("iinfo"),
    "record_function": RecordFunction(),
    "save": OperatorValue("aten::save"),
    "trace": OperatorValue("aten::trace"),
    "strict_fusion": StrictFusion(),
    "awaitable_nowait": FormValue("_awaitable_nowait", emit_awaitable_nowait),
}
"""Each form by the name in `language_form`."""
