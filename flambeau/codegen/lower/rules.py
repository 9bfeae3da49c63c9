"""Nodes to expressions: pointwise operators by their scalar meaning, reductions and row operators by their folds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from flambeau.codegen.kernel.dtypes import element_type
from flambeau.codegen.lower.products import PRODUCTS
from flambeau.codegen.lower.recorder import RECORDER, apply, cast, constant
from flambeau.codegen.lower.values import Dim, Dims, Expr, LoweringError, Reduction
from flambeau.schema.dtype import DType
from flambeau.schema.opdef import OpDef
from flambeau.schema.types import FloatType, NumberType, OptionalType, TensorType, Type

Arguments = Mapping[str, Any]
"""Arguments by name: an `Expr` for a tensor or a number that is not constant, else the Python value."""


def takes_value(type_: Type) -> bool:
    """Whether a pointwise operator's scalar meaning gets an argument of this type as a value."""
    inner = type_.element if isinstance(type_, OptionalType) else type_
    return isinstance(inner, TensorType | NumberType | FloatType)


def pointwise(definition: OpDef, arguments: Arguments, compute: DType, result: DType) -> Expr:
    """Operands cast to the dtype computed in, the scalar meaning, the result cast."""
    assert definition.scalar is not None
    converted: list[Any] = []
    for argument in definition.schema.arguments:
        given = arguments[argument.name]
        if isinstance(given, Expr):
            if not takes_value(argument.type):
                raise LoweringError(f"{definition.name}: argument {argument.name} is not a constant")
            converted.append(cast(given, compute.name))
        elif given is not None and takes_value(argument.type):
            converted.append(constant(given, compute.name))
        else:
            converted.append(given)
    value = definition.scalar(RECORDER, *converted)
    if not isinstance(value, Expr):
        raise LoweringError(f"{definition.name}: its scalar meaning gives several values")
    return cast(value, result.name)


def dims_over(x: Expr, dim: Any, *, empty_is_all: bool = True) -> tuple[int, ...]:
    """The dimensions a `dim` argument names, counted from the front."""
    rank = len(x.dims)
    if dim is None or (empty_is_all and dim == []):
        return tuple(range(rank))
    given = [dim] if isinstance(dim, int) else list(dim)
    if rank == 0:
        return ()
    if any(not -rank <= d < rank for d in given) or len({d % rank for d in given}) != len(given):
        raise LoweringError(f"dimensions {given} do not fit a tensor of {rank} dimensions")
    return tuple(sorted(d % rank for d in given))


def reduce(x: Expr, reducer: str, places: tuple[int, ...], keepdim: bool) -> Expr:
    """Fold the dimensions at `places`."""
    kept: Dims = tuple(None if k in places else d for k, d in enumerate(x.dims) if keepdim or k not in places)
    over = tuple(d.root for k in places if (d := x.dims[k]) is not None)
    dtype = "int64" if reducer in ("argmax", "argmin") else x.dtype
    if not over:
        alone = constant(0, "int64") if reducer.startswith("arg") else x
        return Expr("select", dtype, (constant(True, "bool"), alone, alone), kept)
    return Expr("reduce", dtype, (x,), kept, Reduction(reducer, over))


def count(x: Expr, places: tuple[int, ...], dtype: str) -> Expr:
    """How many elements a fold over `places` meets."""
    over: tuple[Dim, ...] = tuple(d for k in places if (d := x.dims[k]) is not None)
    return cast(Expr("extent", "int64", (), (), over), dtype) if over else constant(1, dtype)


def fold(accumulator: str, arguments: Arguments, result: DType) -> Expr:
    """A reduction declared with an accumulator."""
    x = arguments["self"]
    keepdim = bool(arguments.get("keepdim", False))
    places = dims_over(x, arguments.get("dim"), empty_is_all=accumulator not in ("any", "all"))
    if accumulator in ("any", "all"):
        return cast(reduce(cast(x, "bool"), accumulator, places, keepdim), result.name)
    if accumulator in ("argmax", "argmin"):
        keepdim = keepdim and arguments.get("dim") is not None
        return reduce(x, accumulator, places, keepdim)
    x = cast(x, result.name)
    if accumulator == "mean":
        return apply("div", reduce(x, "sum", places, keepdim), count(x, places, result.name))
    if accumulator in ("sum", "prod") and result.name == "bool":
        raise LoweringError(f"{accumulator} in bool")
    if accumulator not in ("sum", "prod", "max", "min"):
        raise LoweringError(f"no native fold is called {accumulator}")
    return reduce(x, accumulator, places, keepdim)


def _deviation(x: Expr, places: tuple[int, ...]) -> tuple[Expr, Expr]:
    """(x - mean, sum of squares of that), with the dimensions kept."""
    mean = apply("div", reduce(x, "sum", places, True), count(x, places, x.dtype))
    off = apply("sub", x, mean)
    return off, apply("mul", off, off)


def variance(arguments: Arguments, result: DType, *, is_root: bool) -> Expr:
    """var and std in two passes."""
    x = cast(arguments["self"], result.name)
    if not element_type(x.dtype).is_float:
        raise LoweringError("variance of integers")
    places = dims_over(x, arguments.get("dim"))
    correction = arguments.get("correction", 1 if arguments.get("unbiased", True) else 0)
    total = reduce(_deviation(x, places)[1], "sum", places, bool(arguments.get("keepdim", False)))
    freedom = apply("sub", count(x, places, x.dtype), constant(1 if correction is None else correction, x.dtype))
    value = apply("div", total, apply("maximum", freedom, constant(0, x.dtype)))
    return apply("sqrt", value) if is_root else value


def softmax(accumulator: str, arguments: Arguments, result: DType) -> Expr:
    """softmax and log_softmax along one dimension, the row's largest element taken off first."""
    x = cast(arguments["self"], result.name)
    if not element_type(x.dtype).is_float or not x.dims:
        raise LoweringError(f"{accumulator} of {len(x.dims)} dimensions of {x.dtype}")
    places = dims_over(x, arguments["dim"])
    # A nan need not survive in the maximum: it comes back through the sum.
    off = apply("sub", x, reduce(x, "maxnum", places, True))
    power = apply("exp", off)
    total = reduce(power, "sum", places, True)
    if accumulator == "log_softmax":
        return apply("sub", off, apply("log", total))
    return apply("div", power, total)


def layer_norm(arguments: Arguments, result: DType) -> Expr:
    """Mean and variance over the last dimensions, then scale and shift."""
    x = cast(arguments["input"], result.name)
    places = tuple(range(len(x.dims) - len(arguments["normalized_shape"]), len(x.dims)))
    off, square = _deviation(x, places)
    var = apply("div", reduce(square, "sum", places, True), count(x, places, x.dtype))
    eps = arguments.get("eps", 1e-5)
    eps = cast(eps, x.dtype) if isinstance(eps, Expr) else constant(eps, x.dtype)
    value = apply("mul", off, apply("rsqrt", apply("add", var, eps)))
    if arguments.get("weight") is not None:
        value = apply("mul", value, cast(arguments["weight"], x.dtype))
    return apply("add", value, cast(arguments["bias"], x.dtype)) if arguments.get("bias") is not None else value


OF_SEVERAL_FOLDS: dict[str, Callable[[Arguments, DType], Expr]] = {
    "var": lambda arguments, result: variance(arguments, result, is_root=False),
    "std": lambda arguments, result: variance(arguments, result, is_root=True),
    "softmax": lambda arguments, result: softmax("softmax", arguments, result),
    "log_softmax": lambda arguments, result: softmax("log_softmax", arguments, result),
    "layer_norm": layer_norm,
}
"""By accumulator: operators that take several passes, which are written here."""


def lower_node(definition: OpDef, arguments: Arguments, compute: DType | None, result: DType) -> Expr:
    """The expression of one call. Raises `LoweringError` when there is none."""
    if definition.scalar is not None and compute is not None:
        return pointwise(definition, arguments, compute, result)
    if definition.accumulator in PRODUCTS:
        return PRODUCTS[definition.accumulator](arguments)
    if definition.accumulator in OF_SEVERAL_FOLDS:
        return OF_SEVERAL_FOLDS[definition.accumulator](arguments, result)
    if definition.accumulator:
        return fold(definition.accumulator, arguments, result)
    raise LoweringError(f"{definition.full_name} has no native form")
