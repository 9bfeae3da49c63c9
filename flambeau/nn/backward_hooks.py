"""Hooks that see the gradients of a module's arguments and results.

The arguments and the results each go through a node of their own; what comes back through these is what hooks get.

>>> import flambeau
>>> from flambeau import nn
>>> layer = nn.Linear(2, 1)
>>> handle = layer.register_full_backward_hook(lambda module, inputs, outputs: print(outputs[0].tolist()))
>>> layer(flambeau.ones(1, 2, requires_grad=True)).sum().backward()
[[1.0]]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.autograd.function import Function
from flambeau.tensor.grad_mode import is_grad_enabled
from flambeau.tensor.tensor import Tensor, window
from flambeau.util.user_code import warn_user

Hook = Callable[..., Any]
Gradients = tuple[Any, ...]
COUNT: Final = "Backward hook returned an invalid number of grad_{what}, got {number}, but expected {expected}"
NO_INPUTS: Final = (
    "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs require "
    "gradients: the gradients that it gets of inputs are None"
)


class BackwardHookFunction(Function):
    """Tensors as they are, behind one node."""

    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> tuple[Tensor, ...]:
        """Views of the tensors, so that the node of this function stands between them and what follows."""
        return tuple([window(tensor._array, tensor._storage, tensor) for tensor in tensors])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, ...]:
        """The gradients as they are."""
        return grads


class BackwardHooks:
    """The hooks of one call of a module."""

    def __init__(self, module: Any, post: Sequence[Hook], pre: Sequence[Hook]) -> None:
        self._module = module
        self._post = post
        """Called behind the node of the arguments."""
        self._pre = pre
        """Called before the node of the results."""
        self._outputs: Gradients = ()
        self._count = 0
        self._has_inputs = False

    def arguments(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, behind a node whose gradients hooks get."""
        self._count = len(args)
        wrapped, node, indices = _behind(args)
        if node is not None:
            self._has_inputs = True

            def on_inputs(grad_inputs: Gradients, grad_outputs: Gradients) -> Gradients | None:
                gradients = self._run(_placed(grad_inputs, indices, self._count))
                return tuple([gradients[index] for index in indices])

            node.register_hook(on_inputs)
        return wrapped

    def results(self, result: Any) -> Any:
        """The results, behind such a node."""
        listed = result if isinstance(result, tuple) else (result,)
        wrapped, node, indices = _behind(listed)
        if node is None:
            return result

        def on_outputs(grad_outputs: Gradients) -> Gradients | None:
            gradients = _placed(grad_outputs, indices, len(listed))
            for hook in self._pre:
                returned = hook(self._module, gradients)
                if returned is not None:
                    gradients = _checked(returned, len(gradients), "output")
            self._outputs = gradients
            if not self._has_inputs:
                if self._post:
                    warn_user(NO_INPUTS, UserWarning)
                self._run((None,) * self._count)
            return tuple([gradients[index] for index in indices])

        node.register_prehook(on_outputs)
        return wrapped if isinstance(result, tuple) else wrapped[0]

    def _run(self, gradients: Gradients) -> Gradients:
        for hook in self._post:
            returned = hook(self._module, gradients, self._outputs)
            if returned is not None and self._has_inputs:
                gradients = _checked(returned, len(gradients), "input")
        return gradients


def _checked(returned: Any, expected: int, what: str) -> Gradients:
    gradients = returned if isinstance(returned, tuple) else (returned,)
    if len(gradients) != expected:
        raise RuntimeError(COUNT.format(what=what, number=len(gradients), expected=expected))
    return gradients


def _placed(gradients: Sequence[Any], indices: Sequence[int], count: int) -> Gradients:
    """Gradients where their tensors are, and None elsewhere."""
    placed: list[Any] = [None] * count
    for index, gradient in zip(indices, gradients, strict=False):
        placed[index] = gradient
    return tuple(placed)


def _behind(values: tuple[Any, ...]) -> tuple[tuple[Any, ...], Any, list[int]]:
    """Values, tensors among them behind a node; the node, None if nothing asks for gradients; where the tensors are."""
    indices = [n for n, value in enumerate(values) if isinstance(value, Tensor)]
    if not is_grad_enabled() or not any(values[index].requires_grad for index in indices):
        return values, None, indices
    tensors = BackwardHookFunction.apply(*[values[index] for index in indices])
    result = list(values)
    for index, tensor in zip(indices, tensors, strict=True):
        result[index] = tensor
    node = next(tensor.grad_fn for tensor in tensors if tensor.grad_fn is not None)
    return tuple(result), node, indices
