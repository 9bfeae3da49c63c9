"""Nodes to expressions: pointwise operators by their scalar meaning, reductions and row operators by their folds."""

from __future__ import annotations

from typing import Any

from flambeau.codegen.kernel.dtypes import HALVES, PARTS
from flambeau.codegen.lower.complex_values import each, is_complex
from flambeau.codegen.lower.folds import count, dims_over, each_part, reduce
from flambeau.codegen.lower.gather import GATHERS
from flambeau.codegen.lower.halves import operand, widened
from flambeau.codegen.lower.products import PRODUCTS
from flambeau.codegen.lower.recorder import RECORDER, apply, cast, constant
from flambeau.codegen.lower.rows import ROWS, Arguments
from flambeau.codegen.lower.scatter import CHANGES
from flambeau.codegen.lower.values import Expr, LoweringError, Reduction
from flambeau.ops.families.elementwise import takes_value
from flambeau.passes.fusible import PAIRS, takes_complex
from flambeau.schema.dtype import DType
from flambeau.schema.opdef import OpDef


def pointwise(definition: OpDef, arguments: Arguments, compute: DType, result: DType) -> Expr:
    """Operands cast to the dtype computed in, the scalar meaning, the result cast."""
    assert definition.scalar is not None
    if compute.name in HALVES and definition.traits.depends_on_precision:
        raise LoweringError(f"{definition.name} of {compute.name}")
    converted: list[Any] = []
    for argument in definition.schema.arguments:
        argument_value = arguments[argument.name]
        if isinstance(argument_value, Expr):
            if not takes_value(argument.type):
                raise LoweringError(f"{definition.name}: argument {argument.name} is not a constant")
            converted.append(operand(argument_value, compute.name))
        elif argument_value is not None and takes_value(argument.type):
            converted.append(operand(constant(argument_value, compute.name), compute.name))
        else:
            converted.append(argument_value)
    value = definition.scalar(RECORDER, *converted)
    if not isinstance(value, Expr):
        raise LoweringError(f"{definition.name}: its scalar meaning gives several values")
    return cast(value, result.name)


def fold(accumulator: str, arguments: Arguments, result: DType) -> Expr:
    """A reduction declared with an accumulator."""
    x = arguments["self"]
    keepdim = bool(arguments.get("keepdim", False))
    axes = dims_over(x, arguments.get("dim"), empty_is_all=accumulator not in ("any", "all"))
    if accumulator in ("any", "all"):
        return cast(reduce(cast(x, "bool"), accumulator, axes, keepdim), result.name)
    if accumulator in ("argmax", "argmin"):
        keepdim = keepdim and arguments.get("dim") is not None
        return reduce(x, accumulator, axes, keepdim)
    x = cast(x, result.name)
    if accumulator == "mean":
        number = count(x, axes, PARTS.get(x.dtype, x.dtype))
        return each(reduce(x, "sum", axes, keepdim), lambda total: apply("div", total, number))
    if accumulator in ("sum", "prod") and result.name == "bool":
        raise LoweringError(f"{accumulator} in bool")
    if accumulator not in ("sum", "prod", "max", "min"):
        raise LoweringError(f"no native fold is called {accumulator}")
    return reduce(x, accumulator, axes, keepdim)


SCANS = {"cumsum": "sum", "cumprod": "prod"}
"""Running folds, by accumulator, with what they fold by."""


def extreme_at(accumulator: str, arguments: Arguments) -> tuple[Expr, Expr]:
    """The largest or smallest elements along a dimension, and their places."""
    x, keepdim = arguments["self"], bool(arguments.get("keepdim", False))
    axes = dims_over(x, arguments["dim"])
    name = accumulator.removesuffix("_at")
    return reduce(x, name, axes, keepdim), reduce(x, f"arg{name}", axes, keepdim)


def scan(accumulator: str, arguments: Arguments, result: DType) -> Expr:
    """Running sums and products along one dimension."""
    x = cast(arguments["self"], result.name)
    if result.name == "bool":
        raise LoweringError(f"{accumulator} in bool")
    if is_complex(x) and SCANS[accumulator] != "sum":
        raise LoweringError(f"{accumulator} of complex numbers has no native code")
    return each_part(x, lambda part: _scanned(part, SCANS[accumulator], arguments["dim"]))


def _scanned(x: Expr, reducer: str, dim: int) -> Expr:
    over = tuple(d.root for k in dims_over(x, dim) if (d := x.dims[k]) is not None)
    if not over:
        return Expr("select", x.dtype, (constant(True, "bool"), x, x), x.dims)
    return Expr("scan", x.dtype, (x,), x.dims, Reduction(reducer, over))


def lower_node(definition: OpDef, arguments: Arguments, compute: DType | None, result: DType) -> tuple[Expr, ...]:
    """The expressions of the results of one call. Raises `LoweringError` when there are none."""
    if definition.scalar is None and definition.accumulator not in GATHERS | CHANGES:
        arguments, result = widened(definition.name, arguments, result)
    if not takes_complex(definition) and any(map(is_complex, arguments.values())):
        raise LoweringError(f"{definition.name} of complex numbers has no native code")
    if definition.accumulator in PAIRS:
        spread, both, _ = definition.accumulator.partition("_mean")
        if both:
            return ROWS[spread](arguments, result), fold("mean", arguments, result)
        return extreme_at(definition.accumulator, arguments)
    return (_single(definition, arguments, compute, result),)


def _single(definition: OpDef, arguments: Arguments, compute: DType | None, result: DType) -> Expr:
    if definition.scalar is not None and compute is not None:
        return pointwise(definition, arguments, compute, result)
    if definition.accumulator in SCANS:
        return scan(definition.accumulator, arguments, result)
    if definition.accumulator in GATHERS:
        return GATHERS[definition.accumulator](arguments)
    if definition.accumulator in CHANGES:
        return CHANGES[definition.accumulator](arguments)
    if definition.accumulator in PRODUCTS:
        return PRODUCTS[definition.accumulator](arguments)
    if definition.accumulator in ROWS:
        return ROWS[definition.accumulator](arguments, result)
    if definition.accumulator:
        return fold(definition.accumulator, arguments, result)
    raise LoweringError(f"{definition.full_name} has no native form")
