"""Optimisers whose steps are divided by what gradients were: RMSprop, Adagrad, Adadelta."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from flambeau.ops.families.composite import F
from flambeau.optim import formulas
from flambeau.optim.formula_optimizer import FormulaOptimizer, Group, State, zero
from flambeau.optim.optimizer import Parameters
from flambeau.tensor.shared_memory import share
from flambeau.tensor.tensor import Tensor

Rate = float | Tensor


class RMSprop(FormulaOptimizer):
    """Steps divided by the root of the mean square of gradients.

    Args:
        params: parameters, pairs of names and parameters, or groups.
        lr: the learning rate.
        alpha: how much is kept of the mean square.
        eps: added to the root.
        weight_decay: times the parameter is added to its gradient.
        momentum: how much of the last direction is kept; 0 for none.
        centered: divide by the standard deviation.
        foreach, capturable: accepted; every update is one native call per parameter.
        maximize: go up.
        differentiable: record the steps.

    Raises ValueError for settings out of their range.

    >>> import flambeau
    >>> x = flambeau.tensor(3.0, requires_grad=True)
    >>> optimizer = RMSprop([x], lr=0.1)
    >>> (x * x).backward()
    >>> optimizer.step()
    >>> round(x.item(), 4)
    2.0
    """

    formula = formulas.rmsprop
    tensor_state = ("square_avg", "momentum_buffer", "grad_avg")
    hyperparameters = (
        "lr", "momentum", "alpha", "eps", "centered", "weight_decay", "capturable", "foreach", "maximize",
        "differentiable",
    )  # fmt: skip

    def __init__(
        self, params: Parameters, lr: Rate = 1e-2, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0,
        momentum: float = 0, centered: bool = False, capturable: bool = False, foreach: bool | None = None,
        maximize: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, locals())

    def state_names(self, group: Group) -> Sequence[str]:
        """What is kept for each parameter, as momentum and centering ask for."""
        return list(self._names(group))

    def _names(self, group: Group) -> Iterator[str]:
        yield "square_avg"
        if group["momentum"] > 0:
            yield "momentum_buffer"
        if group["centered"]:
            yield "grad_avg"

    def numbers(self, group: Group, state: State, step: float) -> tuple[Any, ...]:
        """Rate, factor, eps, decay, momentum."""
        return group["lr"], group["alpha"], group["eps"], group["weight_decay"], group["momentum"]

    def flags(self, group: Group, step: float, is_new: bool) -> tuple[bool, ...]:
        """Which variants of the formula the settings ask for."""
        return group["momentum"] > 0, group["centered"], group["weight_decay"] != 0, group["maximize"]


class Adagrad(FormulaOptimizer):
    """Steps divided by the root of the sum of all squared gradients.

    Args:
        params: parameters, pairs of names and parameters, or groups.
        lr: the learning rate.
        lr_decay: how fast the rate sinks.
        weight_decay: times the parameter is added to its gradient.
        initial_accumulator_value: where the sum starts.
        eps: added to the root.
        foreach, fused: accepted; every update is one native call per parameter.
        maximize: go up.
        differentiable: record the steps.

    Raises ValueError for settings out of their range.

    >>> import flambeau
    >>> x = flambeau.tensor(3.0, requires_grad=True)
    >>> optimizer = Adagrad([x], lr=0.1)
    >>> (x * x).backward()
    >>> optimizer.step()
    >>> round(x.item(), 4)
    2.9
    """

    formula = formulas.adagrad
    tensor_state = ("sum",)
    hyperparameters = (
        "lr", "lr_decay", "eps", "weight_decay", "initial_accumulator_value", "foreach", "maximize", "differentiable",
        "fused",
    )  # fmt: skip

    def __init__(
        self, params: Parameters, lr: Rate = 1e-2, lr_decay: float = 0, weight_decay: float = 0,
        initial_accumulator_value: float = 0, eps: float = 1e-10, foreach: bool | None = None, *,
        maximize: bool = False, differentiable: bool = False, fused: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__(params, locals())
        for group in self.param_groups:
            for parameter in group["params"]:
                self.state[parameter] = self.new_state(parameter, group)

    def new_state(self, parameter: Tensor, group: Group) -> State:
        """The sum, from its initial value."""
        start = group["initial_accumulator_value"]
        start = complex(start, start) if parameter.dtype.is_complex else start
        return {"step": zero(), "sum": F.full_like(parameter, start)}

    def share_memory(self) -> None:
        """Put the sums where processes that are forked from this one write to the same memory."""
        share([state["sum"] for state in self.state.values()])

    def numbers(self, group: Group, state: State, step: float) -> tuple[Any, ...]:
        """Rate, its decay, eps, decay, step."""
        return group["lr"], group["lr_decay"], group["eps"], group["weight_decay"], step

    def flags(self, group: Group, step: float, is_new: bool) -> tuple[bool, ...]:
        """Which variants of the formula the settings ask for."""
        return group["weight_decay"] != 0, group["maximize"]


class Adadelta(FormulaOptimizer):
    """Steps in the units of the parameters, from the mean squares of gradients and of steps.

    Args:
        params: parameters, pairs of names and parameters, or groups.
        lr: times the step.
        rho: how much is kept of the mean squares.
        eps: added to the squares.
        weight_decay: times the parameter is added to its gradient.
        foreach, capturable: accepted; every update is one native call per parameter.
        maximize: go up.
        differentiable: record the steps.

    Raises ValueError for settings out of their range.

    >>> import flambeau
    >>> x = flambeau.tensor(3.0, requires_grad=True)
    >>> optimizer = Adadelta([x])
    >>> (x * x).backward()
    >>> optimizer.step()
    >>> round(x.item(), 4)
    2.9968
    """

    formula = formulas.adadelta
    tensor_state = ("square_avg", "acc_delta")
    hyperparameters = (
        "lr", "rho", "eps", "weight_decay", "maximize", "capturable", "foreach", "differentiable",
    )  # fmt: skip

    def __init__(
        self, params: Parameters, lr: Rate = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0,
        foreach: bool | None = None, *, capturable: bool = False, maximize: bool = False,
        differentiable: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, locals())

    def numbers(self, group: Group, state: State, step: float) -> tuple[Any, ...]:
        """Rate, factor, eps, decay."""
        return group["lr"], group["rho"], group["eps"], group["weight_decay"]

    def flags(self, group: Group, step: float, is_new: bool) -> tuple[bool, ...]:
        """Which variants of the formula the settings ask for."""
        return group["weight_decay"] != 0, group["maximize"]
