"""Going back through one operator when the graph runs: as the tape does, at the sizes and values of the moment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.autograd.backward import grad_of
from flambeau.autograd.node import edge_of
from flambeau.schema.opdef import OpDef
from flambeau.tensor import dispatch
from flambeau.tensor.grad_mode import inference_mode, is_grad_enabled, set_grad_enabled
from flambeau.tensor.recorder import tensors_in
from flambeau.tensor.tensor import Tensor


class EagerGradient:
    """The kernel of a `prim::GradOf`: the gradients of the results that have any, then the operator's arguments, to the
    gradients of some arguments."""

    def __init__(self, definition: OpDef, present: Sequence[bool], indices: Sequence[int]) -> None:
        self._definition = definition
        self._present = list(present)
        self._indices = list(indices)

    @property
    def parts(self) -> tuple[str, tuple[bool, ...], tuple[int, ...]]:
        """What makes it: the operator's full name, which results have gradients, the indices of arguments."""
        return self._definition.full_name, tuple(self._present), tuple(self._indices)

    def __call__(self, *values: Any) -> Any:
        """Run the operator once more, recorded, and go back."""
        count = sum(self._present)
        wanted, arguments = iter(values[:count]), list(values[count:])
        creates = is_grad_enabled() and any(t.asks() for t in tensors_in(list(values)))
        for index in self._indices:
            value = arguments[index]
            is_list = isinstance(value, list)
            arguments[index] = [leaf_of(t, creates) for t in value] if is_list else leaf_of(value, creates)
        with inference_mode(False), dispatch.uninterrupted():
            outcome = dispatch.run(self._definition, self._writable(arguments))
            results = list(tensors_in([outcome]))
        gradients = _by_tensor(outcome, [next(wanted) if is_there else None for is_there in self._present])
        leaves = list(tensors_in([arguments[index] for index in self._indices]))
        leaf_gradients = iter(_through(results, gradients, leaves, creates=creates))
        complete = [
            [next(leaf_gradients) for _ in value] if isinstance(value, list) else next(leaf_gradients)
            for value in (arguments[index] for index in self._indices)
        ]
        return complete[0] if len(complete) == 1 else tuple(complete)

    def _writable(self, arguments: Sequence[Any]) -> list[Any]:
        """The arguments for the operator: copies of what it writes, which may be asked of, or be needed as it was."""
        written = self._definition.schema.arguments
        return [
            value.clone() if isinstance(value, Tensor) and a.alias is not None and a.alias.is_write else value
            for value, a in zip(arguments, written, strict=True)
        ]

    def __repr__(self) -> str:
        return f"EagerGradient({self._definition.full_name})"


def _by_tensor(outcome: Any, gradients: Sequence[Any]) -> list[Tensor | None]:
    """The gradients of results, one for each tensor: of a list of tensors there is a list, or nothing."""
    separate: list[Tensor | None] = []
    for result, gradient in zip(outcome if isinstance(outcome, tuple) else (outcome,), gradients, strict=False):
        if isinstance(result, list):
            separate += [None] * len(result) if gradient is None else gradient
        else:
            separate.append(gradient)
    return separate


def leaf_of(tensor: Tensor, creates: bool) -> Tensor:
    """What a gradient is asked of."""
    return tensor.clone() if creates and tensor.asks() else tensor.detach().requires_grad_()


def _through(
    results: Sequence[Tensor], gradients: Sequence[Tensor | None], leaves: Sequence[Tensor], *, creates: bool
) -> list[Tensor]:
    """The gradients of leaves; zeros where none comes."""
    pairs = [(r, g) for r, g in zip(results, gradients, strict=False) if g is not None and edge_of(r) is not None]
    with set_grad_enabled(creates):
        computed = grad_of([r for r, _ in pairs], leaves, [g for _, g in pairs], None, creates, ends_at_targets=True)
        return [leaf.new_zeros(list(leaf.shape)) if g is None else g for g, leaf in zip(computed, leaves, strict=True)]
