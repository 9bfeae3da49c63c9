"""Operators on quantised tensors: which have a kernel for them, and what the others say.

Views and whatever moves elements work on the integers. What computes with more than the order of elements has a kernel
of its own, or refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from flambeau.schema.device import Device
from flambeau.schema.function import parse_schema
from flambeau.schema.opdef import ErrorSample, OpDef, Sample
from flambeau.schema.registry import register
from flambeau.schema.rule_tables import RuleTable
from flambeau.tensor.below import KERNELS
from flambeau.tensor.quantized import PerTensor, QuantizedTensor, integers_of, on_storage
from flambeau.tensor.tensor import Tensor, window

FAMILY: Final = "quantized"
"""The family of operators that are about quantised tensors, or about weights packed for them."""
NO_KERNEL: Final = (
    "{name} has no kernel for tensors of {dtype}: compute with x.dequantize(), and quantize the result if need be"
)
ON_HOST: Final = (
    "quantised tensors stay on the host: take t.dequantize() to the device, or its integers, t.int_repr()"
)
NO_VIEW: Final = (
    "{name} of a tensor with a scale per channel is not there, as channels may lie elsewhere in its result: call "
    "dequantize() first"
)
QUANTIZED_RULES: RuleTable[Any] = RuleTable("what an operator gives for quantised tensors")


def declare(
    schema: str,
    kernel: Callable[..., Any],
    doc: str = "",
    *,
    is_method: bool = False,
    is_function: bool = False,
    samples: Callable[[], Iterable[Sample]] | None = None,
    errors: Callable[[], Iterable[ErrorSample]] | None = None,
    **rules: Any,
) -> OpDef:
    """Register an operator of this family; the kernel takes all arguments in schema order, tensors as they are."""
    return register(
        OpDef(
            schema=parse_schema(schema), family=FAMILY, kernel=kernel, doc=doc, differentiable=False,
            is_method=is_method, is_function=is_function, samples=samples, errors=errors, **rules,
        )
    )  # fmt: skip


def run(definition: OpDef, arguments: Sequence[Any]) -> Any:
    """Run an operator on quantised tensors; NotImplemented where there are none.

    Raises NotImplementedError where the operator has no kernel for them.
    """
    first = next(_quantized(arguments), None)
    if first is None or definition.family == FAMILY:
        return NotImplemented
    if any(type(a) is Device and a.type == "cuda" for a in arguments):
        raise NotImplementedError(ON_HOST)
    rule = QUANTIZED_RULES.get(definition.full_name) or QUANTIZED_RULES.get(definition.name)
    if rule is not None:
        return rule(definition, arguments)
    if definition.family in ("metadata", "query") or definition.is_about_tensor:
        return definition.kernel(*arguments)
    if definition.family == "view":
        return moved(definition, arguments)
    raise NotImplementedError(NO_KERNEL.format(name=definition.name, dtype=first.dtype))


def _quantized(values: Iterable[Any]) -> Iterator[QuantizedTensor]:
    for value in values:
        if isinstance(value, QuantizedTensor):
            yield value
        elif type(value) in (list, tuple):
            yield from _quantized(value)


def moved(definition: OpDef, arguments: Sequence[Any]) -> Any:
    """What an operator gives that moves elements, or shows them otherwise. Raises RuntimeError for operands that do
    not stand for numbers in one way."""
    operands = list(_quantized(arguments))
    quantizer, dtype = operands[0].quantizer, operands[0].dtype
    if not isinstance(quantizer, PerTensor):
        raise RuntimeError(NO_VIEW.format(name=definition.name))
    if any(o.quantizer != quantizer or o.dtype is not dtype for o in operands):
        raise RuntimeError(f"{definition.name} takes quantised tensors of one dtype, scale and zero point")
    result = definition.kernel(*map(_as_integers, arguments))
    return _again(result, operands[0])


def _as_integers(value: Any) -> Any:
    if isinstance(value, QuantizedTensor):
        return window(integers_of(value), value._storage)
    return [_as_integers(v) for v in value] if type(value) in (list, tuple) else value


def _again(result: Any, like: QuantizedTensor) -> Any:
    if isinstance(result, Tensor):
        if result.is_cuda:
            raise NotImplementedError(ON_HOST)
        if result.dtype is not like.dtype.representation:
            return result
        return on_storage(result._array.view(like.dtype.numpy), result._storage, like.quantizer)
    return type(result)([_again(r, like) for r in result]) if type(result) in (list, tuple) else result


KERNELS.append(run)
