"""`autograd.grad` and `backward` as operators of programs: forces are gradients of energies, and models compute both.

>>> import flambeau
>>> from flambeau import Tensor
>>> @flambeau.script
... def force(position: Tensor) -> Tensor:
...     energy = (position * position).sum()
...     [slope] = flambeau.autograd.grad([energy], [position])
...     assert slope is not None
...     return -slope
>>> force(flambeau.tensor([1.0, 2.0], requires_grad=True))
tensor([-2., -4.])

A function with one of these runs an operator at a time (`executor.one_by_one`), each put on the tape as in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.autograd import backward as going_back
from flambeau.schema import registry
from flambeau.schema.function import parse_schema
from flambeau.schema.opdef import Effect, OpDef
from flambeau.tensor.tensor import Tensor

FAMILY: Final = "tape"
"""Operators that go back over the tape."""
KEEPING: Final = "bool? retain_graph=None, bool create_graph=False"


def _declare(schema: str, kernel: Callable[..., Any]) -> None:
    registry.register(
        OpDef(
            schema=parse_schema(schema),
            family=FAMILY,
            kernel=kernel,
            effect=Effect.ORDERED,
            is_about_tensor=True,
            doc=kernel.__doc__ or "",
            is_method=False,
            is_function=False,
        )
    )


def _grad(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    grad_outputs: Sequence[Tensor | None] | None,
    retain_graph: bool | None,
    create_graph: bool,
    allow_unused: bool,
) -> list[Tensor | None]:
    """The gradients of outputs by inputs; None for one that nothing depends on, where `allow_unused`."""
    return list(going_back.grad(outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused))


def _backward(tensor: Tensor, gradient: Tensor | None, retain_graph: bool | None, create_graph: bool) -> None:
    """Add the gradients of a tensor to `grad` of the leaves it was computed from."""
    going_back.backward(tensor, gradient, retain_graph, create_graph)


def _backward_of_several(
    tensors: Sequence[Tensor],
    grad_tensors: Sequence[Tensor | None] | None,
    retain_graph: bool | None,
    create_graph: bool,
) -> None:
    """Add the gradients of tensors to `grad` of the leaves they were computed from."""
    going_back.backward(tensors, grad_tensors, retain_graph, create_graph)


_declare(
    f"aten::grad(Tensor[] outputs, Tensor[] inputs, Tensor?[]? grad_outputs=None, {KEEPING}, bool allow_unused=False)"
    " -> Tensor?[]",
    _grad,
)
_declare(f"aten::backward(Tensor self, Tensor? gradient=None, {KEEPING}) -> ()", _backward)
_declare(
    f"aten::backward.TensorList(Tensor[] tensors, Tensor?[]? grad_tensors=None, {KEEPING}) -> ()", _backward_of_several
)
