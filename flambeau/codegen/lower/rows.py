"""Operators of several folds along one set of dimensions: variance, softmax, norms."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from flambeau.codegen.kernel.dtypes import PARTS, WHOLE, element_type
from flambeau.codegen.lower.complex_values import each, is_complex, parts
from flambeau.codegen.lower.folds import count, dims_over, reduce, without
from flambeau.codegen.lower.ranges import root_of_squares, spread
from flambeau.codegen.lower.recorder import apply, cast, constant
from flambeau.codegen.lower.values import Dim, Dims, Expr, LoweringError, view
from flambeau.schema.dtype import DType

Arguments = Mapping[str, Any]
"""Arguments by name: an `Expr` for a tensor or a number that is not constant, else the Python value."""


def _deviation(x: Expr, axes: tuple[int, ...]) -> tuple[Expr, Expr]:
    """(x - mean, sum of squares of that), with the dimensions kept."""
    number_ = count(x, axes, PARTS.get(x.dtype, x.dtype))
    mean = each(reduce(x, "sum", axes, True), lambda total: apply("div", total, number_))
    off = apply("sub", x, mean)
    squares = [apply("mul", part, part) for part in (parts(off) if is_complex(off) else (off,))]
    return off, squares[0] if len(squares) == 1 else apply("add", *squares)


def variance(arguments: Arguments, result: DType, *, is_root: bool) -> Expr:
    """var and std in two passes."""
    x = arguments["self"]
    x = cast(x, WHOLE[result.name] if is_complex(x) else result.name)
    if not element_type(x.dtype).is_float and not is_complex(x):
        raise LoweringError("variance of integers")
    axes = dims_over(x, arguments.get("dim"))
    correction = arguments.get("correction", 1 if arguments.get("unbiased", True) else 0)
    real, keeps = result.name, bool(arguments.get("keepdim", False))
    freedom = apply("sub", count(x, axes, real), number(1 if correction is None else correction, real))
    freedom = apply("maximum", freedom, constant(0, real))
    if not is_complex(x):
        return without(axes, spread(x, axes, freedom, is_root=is_root), keeps)
    value = apply("div", reduce(_deviation(x, axes)[1], "sum", axes, keeps), freedom)
    return apply("sqrt", value) if is_root else value


def softmax(accumulator: str, arguments: Arguments, result: DType) -> Expr:
    """softmax and log_softmax along one dimension, the row's largest element taken off first."""
    x = cast(arguments["self"], result.name)
    if not element_type(x.dtype).is_float or not x.dims:
        raise LoweringError(f"{accumulator} of {len(x.dims)} dimensions of {x.dtype}")
    axes = dims_over(x, arguments["dim"])
    # A nan need not survive in the maximum: it comes back through the sum.
    off = apply("sub", x, reduce(x, "maxnum", axes, True))
    power = apply("exp", off)
    total = reduce(power, "sum", axes, True)
    if accumulator == "log_softmax":
        return apply("sub", off, apply("log", total))
    return apply("div", power, total)


def layer_norm(arguments: Arguments, result: DType) -> Expr:
    """Mean and variance over the last dimensions, then scale and shift."""
    x, axes, sizes = _normalised(arguments, result)
    eps = number(arguments.get("eps", 1e-5), x.dtype)
    value = _standardised(x, axes, _checked(eps, x, arguments["normalized_shape"]))
    return _affine(value, *(_parameter(arguments.get(name), sizes, x) for name in ("weight", "bias")))


def rms_norm(arguments: Arguments, result: DType) -> Expr:
    """Division by the root of the mean square over the last dimensions, then scale."""
    x, axes, sizes = _normalised(arguments, result)
    eps = arguments.get("eps")
    mean = apply("div", reduce(apply("mul", x, x), "sum", axes, True), count(x, axes, x.dtype))
    spacing = constant(float(np.finfo(x.dtype).eps), x.dtype) if eps is None else number(eps, x.dtype)
    spacing = _checked(spacing, x, arguments["normalized_shape"])
    value = apply("div", x, apply("sqrt", apply("add", mean, spacing)))
    return _affine(value, _parameter(arguments.get("weight"), sizes, x), None)


def batch_norm(arguments: Arguments, result: DType) -> Expr:
    """Every channel (dimension 1) by the running statistics, or by the batch's where there are no running ones."""
    x = cast(arguments["input"], result.name)
    rank = len(x.dims)
    if not element_type(x.dtype).is_float or rank < 2:
        raise LoweringError(f"batch_norm of {rank} dimensions of {x.dtype}")
    weight, bias, mean, var = (
        None if arguments.get(name) is None else _per_channel(cast(arguments[name], x.dtype), x)
        for name in ("weight", "bias", "running_mean", "running_var")
    )
    eps = number(arguments["eps"], x.dtype)
    if arguments["training"] is True:
        if mean is not None or var is not None:
            raise LoweringError("batch_norm that moves running statistics")
        return _affine(_standardised(x, (0, *range(2, rank)), eps), weight, bias)
    if arguments["training"] is not False or mean is None or var is None:
        raise LoweringError("batch_norm without statistics")
    scale = apply("rsqrt", apply("add", var, eps))
    return _affine(apply("mul", apply("sub", x, mean), scale), weight, bias)


def number(parameter: Any, dtype: str) -> Expr:
    """A number argument as a value."""
    return cast(parameter, dtype) if isinstance(parameter, Expr) else constant(parameter, dtype)


def _normalised(arguments: Arguments, result: DType) -> tuple[Expr, tuple[int, ...], list[int | None]]:
    """The input, which must have the sizes that `normalized_shape` says, those dimensions, and the sizes, None for one
    that is not constant.
    """
    x, sizes = cast(arguments["input"], result.name), list(arguments["normalized_shape"])
    start = len(x.dims) - len(sizes)
    if not element_type(x.dtype).is_float or start < 0 or not sizes:
        raise LoweringError(f"normalisation of {len(x.dims)} dimensions of {x.dtype} over {len(sizes)}")
    for size, dim in zip(sizes, x.dims[start:], strict=True):
        if isinstance(size, Dim) and (dim is None or dim.root is not size.root):
            raise LoweringError("normalisation over a size of another dimension")
    constants = [size if isinstance(size, int) else None for size in sizes]
    return view(x, x.dims, (*[None] * start, *constants)), tuple(range(start, len(x.dims))), constants


def _checked(eps: Expr, x: Expr, sizes: list[Any]) -> Expr:
    """`eps`, made of the sizes too that are numbers of a call: one that is not the input's is a division by zero, which
    leaves the call to the interpreter. Equal ones add zero.
    """
    for size, dim in zip(sizes, x.dims[len(x.dims) - len(sizes) :], strict=True):
        if isinstance(size, Expr):
            real = constant(1, "int64") if dim is None else Expr("extent", "int64", (), (), (dim.root,))
            is_it = cast(apply("eq", cast(size, "int64"), real), "int64")
            none = apply("remainder", constant(1, "int64"), is_it)
            eps = apply("add", eps, cast(none, eps.dtype))
    return eps


def _parameter(parameter: Expr | None, sizes: list[int | None], like: Expr) -> Expr | None:
    """A weight or bias of exactly these sizes; of another dtype it is the operator's to refuse."""
    if parameter is None:
        return None
    if len(parameter.dims) != len(sizes) or parameter.dtype != like.dtype:
        raise LoweringError(f"a parameter of {len(parameter.dims)} dimensions of {parameter.dtype}")
    for mine, theirs in zip(parameter.dims, like.dims[len(like.dims) - len(sizes) :], strict=True):
        if (mine is None) != (theirs is None):
            raise LoweringError("a parameter of other sizes than what it is for")
    return view(parameter, parameter.dims, tuple(sizes))


def _per_channel(vector: Expr, x: Expr) -> Expr:
    """A vector along dimension 1 of `x`."""
    if len(vector.dims) != 1 or x.dims[1] is None or vector.dims[0] is None:
        raise LoweringError("parameters per channel are vectors")
    dims: Dims = (None, vector.dims[0], *([None] * (len(x.dims) - 2)))
    return view(vector, dims, (None,) * len(dims))


def _standardised(x: Expr, axes: tuple[int, ...], eps: Expr) -> Expr:
    """(x - mean) / sqrt(variance + eps)."""
    off, square = _deviation(x, axes)
    var = apply("div", reduce(square, "sum", axes, True), count(x, axes, x.dtype))
    return apply("mul", off, apply("rsqrt", apply("add", var, eps)))


def _affine(value: Expr, weight: Expr | None, bias: Expr | None) -> Expr:
    """Times weight plus bias, where given."""
    value = value if weight is None else apply("mul", value, weight)
    return value if bias is None else apply("add", value, bias)


def logsumexp(arguments: Arguments, result: DType) -> Expr:
    """The logarithm of a sum of exponentials, the largest taken off first unless it is infinite."""
    x = cast(arguments["self"], result.name)
    axes = dims_over(x, arguments["dim"])
    largest = reduce(x, "maxnum", axes, True)
    is_infinite = apply("eq", apply("abs", largest), constant(math.inf, x.dtype))
    largest = apply("select", is_infinite, constant(0.0, x.dtype), largest)
    total = reduce(apply("exp", apply("sub", x, largest)), "sum", axes, True)
    value = apply("add", apply("log", total), largest)
    return without(axes, value, bool(arguments.get("keepdim", False)))


def norm(arguments: Arguments, result: DType) -> Expr:
    """The vector norm of a constant order."""
    order = arguments.get("p", arguments.get("ord", 2))
    order = 2 if order is None else order
    if isinstance(order, Expr) or not element_type(result.name).is_float:
        raise LoweringError("a norm whose order is not constant")
    x = arguments["self"]
    x = cast(apply("abs", x) if is_complex(x) else x, result.name)
    axes = dims_over(x, arguments.get("dim"))
    keepdim = bool(arguments.get("keepdim", False))
    if order == 0:
        return reduce(cast(apply("ne", x, constant(0, x.dtype)), x.dtype), "sum", axes, keepdim)
    size = apply("abs", x)
    if order == 1:
        return reduce(size, "sum", axes, keepdim)
    if order == 2:
        return without(axes, root_of_squares(x, axes), keepdim)
    if math.isinf(order):
        return reduce(size, "max" if order > 0 else "min", axes, keepdim)
    powers = apply("pow", cast(size, "float64"), constant(float(order), "float64"))
    total = reduce(powers, "sum", axes, keepdim)
    return cast(apply("pow", total, constant(1 / order, "float64")), result.name)


ROWS: dict[str, Callable[[Arguments, DType], Expr]] = {
    "var": lambda arguments, result: variance(arguments, result, is_root=False),
    "std": lambda arguments, result: variance(arguments, result, is_root=True),
    "softmax": lambda arguments, result: softmax("softmax", arguments, result),
    "log_softmax": lambda arguments, result: softmax("log_softmax", arguments, result),
    "logsumexp": logsumexp,
    "norm": norm,
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "batch_norm": batch_norm,
}
"""By accumulator."""
