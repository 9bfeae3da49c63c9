"""What `prim::TypeCheck` and `prim::RequiresGradCheck` do: give what they take, and whether it is what was seen before.

>>> from flambeau.schema.type_parser import parse_type
>>> from flambeau.tensor.create import tensor
>>> guard = TypeCheck([parse_type("Float(2, device=cpu)")])
>>> guard(tensor([1.0, 2.0]))[-1], guard(tensor([1.0]))[-1], guard(tensor([1, 2]))[-1], guard.failures
(True, False, False, 2)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from flambeau.ir.graph import Node
from flambeau.schema.types import TensorType, Type
from flambeau.tensor.grad_mode import is_grad_enabled
from flambeau.tensor.tensor import Tensor


class TypeCheck:
    """Whether tensors are of certain dtypes, sizes, strides and devices, where a type says so, and ask for gradients.

    A tensor that stands for a number never passes: what it gives in operators has another dtype.
    """

    def __init__(self, types: Sequence[Type]) -> None:
        self.types = tuple(types)
        self.failures = 0
        """How often it did not hold."""
        self.is_refused = False
        """Whether the next call fails whatever it is given."""

    @classmethod
    def of(cls, node: Node) -> Self:
        """The guard that a node is."""
        return cls(node.attribute("types"))

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        refused, self.is_refused = self.is_refused, False
        holds = not refused and all(map(self.matches, self.types, values))
        if not holds:
            self.failures += 1
        return (*values, holds)

    def matches(self, type_: Type, value: Any) -> bool:
        """Whether a value is a tensor of a type."""
        if not isinstance(value, Tensor) or not isinstance(type_, TensorType) or value.is_wrapped_number:
            return False
        if type_.requires_grad is not None and type_.requires_grad != (is_grad_enabled() and value.requires_grad):
            return False
        if type_.dtype not in (None, value.dtype) or type_.device not in (None, value.device):
            return False
        return _fits(type_.sizes, value.shape) and (type_.strides is None or _fits(type_.strides, value.stride()))


class RequiresGradCheck(TypeCheck):
    """Whether tensors ask for gradients as types say."""

    def matches(self, type_: Type, value: Any) -> bool:
        """Whether a value is a tensor that asks, or one that does not."""
        return isinstance(value, Tensor) and isinstance(type_, TensorType) and type_.requires_grad in (
            None, value.requires_grad,
        )  # fmt: skip


def _fits(known: Sequence[int | None] | None, sizes: Sequence[int]) -> bool:
    """Whether sizes are those that are known; negative numbers stand for any."""
    if known is None:
        return True
    return len(known) == len(sizes) and all(k is None or k < 0 or k == f for k, f in zip(known, sizes, strict=True))
