"""Methods of `Tensor` that are about gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.autograd import backward as going_back
from flambeau.autograd.node import leaf_of
from flambeau.tensor.tensor import Tensor, install_method
from flambeau.util.hooks import RemovableHandle


def backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Add the gradients of this tensor to the `grad` of the leaves it was computed from.

    Args:
        gradient: the gradient of this tensor, of its shape; 1 for a tensor with one element.
        retain_graph: keep what was saved, for another run; by default if `create_graph`.
        create_graph: record the run itself, so that gradients can be differentiated.
        inputs: the leaves that get gradients; all if none are given.

    >>> import flambeau
    >>> x = flambeau.tensor(3.0, requires_grad=True)
    >>> (x * x).backward()
    >>> x.grad
    tensor(6.)
    """
    going_back.backward(self, gradient, retain_graph, create_graph, inputs)


def register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
    """Call `hook(gradient)` when this tensor's gradient is known; a tensor that it returns takes its place.

    >>> import flambeau
    >>> x = flambeau.tensor(3.0, requires_grad=True)
    >>> handle = x.register_hook(lambda gradient: gradient * 2)
    >>> (x * x).backward()
    >>> x.grad
    tensor(12.)
    """
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if self.grad_fn is None:
        return leaf_of(self).add_hook(hook)
    return self.grad_fn.register_result_hook(self.output_nr, hook)  # type: ignore[no-any-return]


def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Tensor], None]) -> RemovableHandle:
    """Call `hook(tensor)` after a gradient was added to this leaf's `grad`, as soon as all of it has arrived: what the
    hook sets to None is free while the way back goes on. Raises RuntimeError for other tensors."""
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if self.grad_fn is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    return leaf_of(self).add_post_hook(hook)


def retain_grad(self: Tensor) -> None:
    """Keep this result's gradient in its `grad`, as leaves do."""
    if not self.requires_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if self.grad_fn is not None:
        self.grad_fn.retain(self)


def retains_grad(self: Tensor) -> bool:
    """Whether a result keeps its gradient, as `retain_grad` asks for."""
    return self.grad_fn is not None and self.grad_fn.is_retained(self)


for _name, _method in (
    ("backward", backward),
    ("register_hook", register_hook),
    ("register_post_accumulate_grad_hook", register_post_accumulate_grad_hook),
    ("retain_grad", retain_grad),
):
    install_method(_name, _method)
install_method("retains_grad", property(retains_grad))  # type: ignore[arg-type]  # an attribute, computed
