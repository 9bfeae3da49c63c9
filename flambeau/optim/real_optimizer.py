"""Optimisers that change one real parameter after the other, each in a way of their own."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from flambeau.optim.formula_optimizer import Group
from flambeau.optim.optimizer import Closure, Optimizer
from flambeau.tensor.grad_mode import no_grad
from flambeau.tensor.tensor import Tensor


class RealOptimizer(Optimizer):
    """An optimiser that says how one parameter is changed.

    >>> import flambeau
    >>> class Signs(RealOptimizer):
    ...     def _change(self, parameter, grad, group):
    ...         parameter.sub_(group["lr"] * grad.sign())
    >>> w = flambeau.tensor([1.0, -1.0], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> Signs([w], {"lr": 0.25}).step()
    >>> w.tolist()
    [0.75, -0.75]
    """

    @no_grad()
    def step(self, closure: Closure | None = None) -> Any:
        """Change all parameters that have gradients. Raises RuntimeError for complex ones.

        Args:
            closure: computes the loss and the gradients anew; the loss is returned.
        """
        loss = self._closed(closure)
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    if parameter.dtype.is_complex:
                        raise RuntimeError(f"{type(self).__name__} does not support complex parameters")
                    self._change(parameter, -parameter.grad if group.get("maximize") else parameter.grad, group)
        return loss

    @abstractmethod
    def _change(self, parameter: Tensor, grad: Tensor, group: Group) -> None:
        """Change a parameter by its gradient, which goes up where the group says `maximize`."""
