"""What operations owe to tensors that ask for gradients while no tape records them: results that say so, refusals.

>>> import flambeau
>>> x = flambeau.ones(2).requires_grad_()
>>> (x * 2).requires_grad, (x * 2).is_leaf, (x > 0).requires_grad
(True, False, False)
>>> with flambeau.no_grad():
...     (x * 2).requires_grad
False

The place of the tape's node is taken by an `Unrecorded`, which knows nothing but the leaf that a view shows: asking it
for anything is refused with what to write instead. Nothing here runs under `no_grad()`, nor where no operand asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NoReturn

from flambeau.schema.opdef import OpDef
from flambeau.tensor.grad_mode import is_grad_enabled
from flambeau.tensor.tensor import Tensor
from flambeau.util.not_here import NO_GRADIENTS

LEAF_WRITTEN: Final = "a leaf Variable that requires grad is being used in an in-place operation."
VIEW_WRITTEN: Final = "a view of a leaf Variable that requires grad is being used in an in-place operation."
OUT_WRITTEN: Final = (
    "{name}(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
    "requires grad."
)


class Unrecorded:
    """Stands where the tape's node would: the operation that made a tensor was not recorded."""

    __slots__ = ("leaf",)
    is_recorded = False

    def __init__(self, leaf: Tensor | None = None) -> None:
        self.leaf = leaf
        """The leaf whose memory the tensor shows; None for memory of its own."""

    def name(self) -> str:
        """As printed tensors show it."""
        return "Unrecorded"

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise RuntimeError(f"grad_fn.{name}: {NO_GRADIENTS}.")

    def __call__(self, *gradients: Any) -> NoReturn:
        raise RuntimeError(f"grad_fn(...): {NO_GRADIENTS}.")

    def __repr__(self) -> str:
        return f"<Unrecorded: {NO_GRADIENTS}>"


UNRECORDED: Final = Unrecorded()


def is_asked(values: Sequence[Any]) -> bool:
    """Whether a tensor among operands, in lists too, asks for gradients."""
    for value in values:
        if isinstance(value, Tensor):
            if value._requires_grad or value.grad_fn is not None:
                return True
        elif type(value) in (list, tuple) and is_asked(value):
            return True
    return False


def run(definition: OpDef, arguments: Sequence[Any]) -> Any:
    """Run a kernel on operands of which one asks for gradients. Raises RuntimeError for a write that may not be."""
    if not is_grad_enabled():
        return definition.kernel(*arguments)
    written = _written(definition, arguments)
    for place, tensor in written:
        refuse_write(tensor, definition.name, is_out=definition.schema.arguments[place].kwarg_only)
    result = definition.kernel(*arguments)
    flows = definition.differentiable
    if flows is False:
        return result
    if written:
        if _flows(definition, arguments):
            mark([tensor for _, tensor in written], ())
    elif flows is True:
        mark(result, arguments)
    else:
        mark([one for one, is_needed in zip(result, flows, strict=True) if is_needed], arguments)
    return result


def _written(definition: OpDef, arguments: Sequence[Any]) -> list[tuple[int, Tensor]]:
    if not definition.schema.is_mutable or definition.is_about_tensor:
        return []
    formals = definition.schema.arguments
    return [
        (k, tensor)
        for k, (formal, value) in enumerate(zip(formals, arguments, strict=False))
        if formal.alias is not None and formal.alias.is_write
        for tensor in tensors_in(value)
    ]


def _flows(definition: OpDef, arguments: Sequence[Any]) -> bool:
    """Whether what a call writes depends on an operand that asks: the one that is written does not count."""
    formals = definition.schema.arguments
    read = [v for f, v in zip(formals, arguments, strict=False) if f.alias is None or not f.alias.is_write]
    return is_asked(read)


def refuse_write(tensor: Tensor, name: str, *, is_out: bool) -> None:
    """Raise RuntimeError if an in-place operation, or one into `out=`, may not write a tensor while gradients are asked
    for."""
    if is_out:
        raise RuntimeError(OUT_WRITTEN.format(name=name.rpartition("::")[2]))
    if tensor._requires_grad and tensor.grad_fn is None:
        raise RuntimeError(LEAF_WRITTEN)
    if isinstance(tensor.grad_fn, Unrecorded) and tensor.grad_fn.leaf is not None:
        raise RuntimeError(VIEW_WRITTEN)


def mark(results: Any, operands: Sequence[Any]) -> None:
    """Have the floating-point tensors among results ask for gradients, as what an operand that asks went into."""
    for tensor in tensors_in(results):
        if tensor._requires_grad or tensor.grad_fn is not None or tensor._array.dtype.kind not in "fcV":
            continue
        tensor.grad_fn = shown_leaf(tensor, operands)


def shown_leaf(tensor: Tensor, operands: Sequence[Any]) -> Unrecorded:
    """What stands for the operation that made a tensor: with the leaf whose memory it shows, if it does."""
    for operand in tensors_in(operands):
        if operand._storage is tensor._storage:
            if operand.grad_fn is None:
                return Unrecorded(operand) if operand._requires_grad else UNRECORDED
            if isinstance(operand.grad_fn, Unrecorded):
                return operand.grad_fn
    return UNRECORDED


def tensors_in(value: Any) -> Iterator[Tensor]:
    """The tensors that a value is or holds."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_in(item)
