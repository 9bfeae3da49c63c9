"""Products on devices go to cuBLAS, where it computes them; others by their kernels over arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.cuda.cublas import binding
from flambeau.cuda.cublas.products import folded, product, shaped
from flambeau.cuda.fresh import row_major
from flambeau.ops.cuda_devices.cuda_calls import CUDA_RULES
from flambeau.ops.cuda_devices.cuda_rules import overwrite
from flambeau.schema import registry
from flambeau.schema.opdef import OpDef
from flambeau.tensor import layout
from flambeau.tensor.below import QUICK, is_plain_on_device
from flambeau.tensor.tensor import Tensor


def _are_there(*tensors: Tensor) -> bool:
    """Whether tensors are on one device."""
    device = tensors[0]._storage.device
    return device.type == "cuda" and all(t._storage.device == device for t in tensors[1:])


@CUDA_RULES("aten::mm", "aten::bmm")
def _plain(definition: OpDef, arguments: Sequence[Any]) -> Any:
    first, second = arguments[:2]
    wanted = 2 if definition.name == "aten::mm" else 3
    if len(arguments) != 2 or not _are_there(first, second) or {first.ndim, second.ndim} != {wanted}:
        return NotImplemented
    return product(first, second)


@CUDA_RULES("aten::matmul")
def _any(definition: OpDef, arguments: Sequence[Any]) -> Any:
    first, second = arguments[:2]
    if len(arguments) != 2 or not _are_there(first, second) or min(first.ndim, second.ndim) < 2:
        return NotImplemented
    if first._array.shape[-1] != second._array.shape[-2]:
        return NotImplemented
    if second.ndim == 2 and first.ndim > 2:
        return _rows_times(first, second)
    batch = layout.broadcast(first._array.shape[:-2], second._array.shape[:-2])
    return product(_of_batch(first, batch), _of_batch(second, batch))


def _of_batch(tensor: Tensor, batch: Sequence[int]) -> Tensor:
    """The matrices of a tensor, repeated for a batch."""
    wanted = (*batch, *tensor._array.shape[-2:])
    return tensor if tensor._array.shape == wanted else tensor.expand(wanted)


def _rows_times(rows: Tensor, matrix: Tensor, *, is_turned: bool = False) -> Any:
    """The rows of a tensor of any rank times a matrix, which may be given the other way round."""
    if rows._array.ndim == 2:
        return product(rows, matrix, is_turned=is_turned)
    flat = folded(rows)
    result = NotImplemented if flat is None else product(flat, matrix, is_turned=is_turned)
    if result is NotImplemented:
        return result
    return shaped(result, (*rows._array.shape[:-1], matrix._array.shape[-2 if is_turned else -1]))


@CUDA_RULES("aten::linear")
def _linear(definition: OpDef, arguments: Sequence[Any]) -> Any:
    rows, weight, bias = arguments[:3]
    if len(arguments) != 3 or not _are_there(rows, weight) or rows.ndim < 2 or weight.ndim != 2:
        return NotImplemented
    if rows._array.shape[-1] != weight._array.shape[1]:
        return NotImplemented
    if bias is None:
        return _rows_times(rows, weight, is_turned=True)
    if not _are_there(rows, bias) or bias._array.shape != weight._array.shape[:1] or bias.dtype is not rows.dtype:
        return NotImplemented
    is_matrix = rows._array.ndim == 2
    flat = rows if is_matrix else folded(rows)
    result = NotImplemented if flat is None else _added(bias, flat, weight, 1.0, 1.0, is_turned=True)
    if result is NotImplemented or is_matrix:
        return result
    return shaped(result, (*rows._array.shape[:-1], weight._array.shape[0]))


@CUDA_RULES("aten::addmm", "aten::baddbmm")
def _plus(definition: OpDef, arguments: Sequence[Any]) -> Any:
    if len(arguments) != 5:
        return NotImplemented
    added, first, second, beta, alpha = arguments
    wanted = 2 if definition.name == "aten::addmm" else 3
    if not _are_there(added, first, second) or {first.ndim, second.ndim} != {wanted} or added.dtype is not first.dtype:
        return NotImplemented
    return _added(added, first, second, float(beta), float(alpha))


def _added(
    added: Tensor, first: Tensor, second: Tensor, beta: float, alpha: float, *, is_turned: bool = False
) -> Any:  # fmt: skip
    """`beta * added + alpha * first @ second`; what is added is repeated, `second` may be given the other way round."""
    sizes = (*first._array.shape[:-1], second._array.shape[-2 if is_turned else -1])
    try:
        fits = layout.broadcast(added._array.shape, sizes) == sizes
    except RuntimeError:
        return NotImplemented
    if not fits or not binding.is_available():
        return NotImplemented
    into = row_major(sizes, first.dtype, first.device)
    if beta:
        overwrite(into, added)
    return product(first, second, into, alpha, beta, is_turned=is_turned)


def _quickly(definition: OpDef, rule: Any) -> Any:
    """What runs a product before anybody else is asked, where nobody has to be."""

    def run(arguments: Sequence[Any]) -> Any:
        for argument in arguments:
            if isinstance(argument, Tensor) and not is_plain_on_device(type(argument)):
                return NotImplemented
        return rule(definition, arguments)

    return run


for _name, _rule in (
    ("aten::mm", _plain), ("aten::bmm", _plain), ("aten::matmul", _any), ("aten::linear", _linear),
    ("aten::addmm", _plus), ("aten::baddbmm", _plus),
):  # fmt: skip
    _definition = registry.get(_name)
    QUICK[id(_definition)] = _quickly(_definition, _rule)
