"""Batching rules of reductions: over the axes behind the batch."""

from __future__ import annotations

from typing import Any

from flambeau.batching import operators
from flambeau.batching.operand import Operand, axes
from flambeau.batching.operators import EITHER
from flambeau.batching.rules import Call, batches
from flambeau.tensor.tensor import Tensor


@batches(
    "aten::sum", "aten::mean", "aten::nansum", "aten::nanmean", "aten::amax", "aten::amin", "aten::var", "aten::std",
    "aten::var_mean", "aten::std_mean", "aten::linalg_vector_norm", "aten::logsumexp", "aten::special_logsumexp",
    "aten::all.dims", "aten::any.dims", "aten::count_nonzero",
)  # fmt: skip
def _over_axes(call: Call) -> Any:
    """Over the axes that are named, or over all but the batch."""
    own = call["self"]
    keepdim = bool(call.get("keepdim", False))
    dims = axes(call.get("dim"), own.rank)
    value = own.value
    if own.rank == 0:
        value, dims = EITHER.unsqueeze(value, 1), [1]
    options = {name: call[name] for name in call.names if name not in ("self", "dim", "keepdim")}
    if "keepdim" in call.names:
        options["keepdim"] = keepdim
    if "unbiased" in options:
        options["correction"] = int(options.pop("unbiased"))
    result = operators.call(call.definition.name, value, dim=dims, **options)
    return _without_axis(result) if own.rank == 0 and keepdim else result


@batches(
    "aten::prod", "aten::all", "aten::any", "aten::argmax", "aten::argmin", "aten::max.dim", "aten::min.dim",
    "aten::median.dim", "aten::nanmedian.dim", "aten::aminmax", "aten::max.", "aten::min.", "aten::median.",
    "aten::nanmedian.",
)  # fmt: skip
def _over_one_axis(call: Call) -> Any:
    """Over one axis, or over all elements, as one."""
    own = call["self"]
    dim = call.get("dim")
    keepdim = bool(call.get("keepdim", False))
    value = own.value
    options = {name: call[name] for name in call.names if name not in ("self", "dim", "keepdim")}
    if dim is None or own.rank == 0:
        value, axis = _flattened(own, call.size), 1
    else:
        [axis] = axes(dim, own.rank)
    result = operators.call(call.definition.name, value, dim=axis, keepdim=keepdim, **options)
    if dim is None and keepdim:
        result = _reshaped(result, [call.size, *[1] * own.rank])
    elif own.rank == 0 and keepdim:
        result = _without_axis(result)
    returns = len(call.definition.schema.returns)
    return result[0] if returns == 1 and isinstance(result, tuple) else result


def _flattened(own: Operand, size: int) -> Tensor:
    number = 1
    for one in own.sizes:
        number *= one
    result: Tensor = EITHER.reshape(own.value, [size, number])
    return result


def _reshaped(result: Any, sizes: list[int]) -> Any:
    if isinstance(result, tuple):
        return tuple([EITHER.reshape(r, sizes) for r in result])
    return EITHER.reshape(result, sizes)


def _without_axis(result: Any) -> Any:
    if isinstance(result, tuple):
        return tuple([EITHER.squeeze(r, 1) for r in result])
    return EITHER.squeeze(result, 1)


@batches("aten::norm")
def _norm(call: Call) -> Any:
    order = 2 if call["p"] is None else call["p"]
    own = call["self"]
    if own.rank == 0:
        return None
    return EITHER.linalg_vector_norm(
        own.value, order, axes(call.get("dim"), own.rank), bool(call.get("keepdim", False)), dtype=call.get("dtype")
    )


@batches("aten::sum_to_size")
def _sum_to_size(call: Call) -> Any:
    """Over the axes that broadcasting made larger."""
    own = call["self"]
    sizes = list(call["size"])
    extra = own.rank - len(sizes)
    if extra < 0:
        return None
    folded = list(range(1, extra + 1))
    kept = [extra + 1 + d for d, size in enumerate(sizes) if size == 1 and own.sizes[extra + d] != 1]
    value = own.value
    if kept:
        value = EITHER.sum(value, kept, True)
    return EITHER.sum(value, folded) if folded else value if kept else EITHER.alias(value)


@batches("aten::trace")
def _trace(call: Call) -> Any:
    return EITHER.sum(EITHER.diagonal(call["self"].value, 0, 1, 2), [1])
