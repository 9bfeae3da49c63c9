"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from typing import Any

from flambeau.ops.families.composite import F
from flambeau.optim import formulas
from flambeau.optim.formula_optimizer import FormulaOptimizer, Group, State
from flambeau.optim.optimizer import Parameters
from flambeau.tensor.tensor import Tensor


class SGD(FormulaOptimizer):
    """Stochastic gradient descent, with momentum, Nesterov's too.

    Args:
        params: parameters, pairs of names and parameters, or groups.
        lr: the learning rate.
        momentum: how much of the last direction is kept; 0 for none.
        dampening: how much less of the gradient is added to it.
        weight_decay: times the parameter is added to its gradient.
        nesterov: look ahead along the momentum.
        maximize: go up.
        foreach, fused: accepted; every update is one native call per parameter.
        differentiable: record the steps, so that they can be differentiated.

    Raises ValueError for settings out of their range.

    >>> import flambeau
    >>> x = flambeau.tensor(3.0, requires_grad=True)
    >>> optimizer = SGD([x], lr=0.1, momentum=0.9)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     (x * x).backward()
    ...     optimizer.step()
    >>> round(x.item(), 4)
    1.38
    """

    formula = formulas.sgd
    tensor_state = ("momentum_buffer",)
    hyperparameters = (
        "lr", "momentum", "dampening", "weight_decay", "nesterov", "maximize", "foreach", "differentiable", "fused",
    )  # fmt: skip
    counts_steps = False

    def __init__(
        self, params: Parameters, lr: float | Tensor = 1e-3, momentum: float = 0, dampening: float = 0,
        weight_decay: float | Tensor = 0, nesterov: bool = False, *, maximize: bool = False,
        foreach: bool | None = None, differentiable: bool = False, fused: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__(params, locals())
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")

    def prepared(self, parameter: Tensor, group: Group) -> tuple[State, bool]:
        """Momentum's buffer, which the first step fills; no state without momentum."""
        if group["momentum"] == 0:
            return {}, False
        state: State = self.state[parameter]
        if state.get("momentum_buffer") is not None:
            return state, False
        state["momentum_buffer"] = F.zeros_like(parameter)
        return state, True

    def numbers(self, group: Group, state: State, step: float) -> tuple[Any, ...]:
        """Rate, momentum, dampening, decay."""
        return group["lr"], group["momentum"], group["dampening"], group["weight_decay"]

    def flags(self, group: Group, step: float, is_new: bool) -> tuple[bool, ...]:
        """The first step of a parameter is another one."""
        return group["momentum"] != 0, group["weight_decay"] != 0, group["nesterov"], group["maximize"], is_new
