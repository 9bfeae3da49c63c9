"""Rprop, which looks at the signs of gradients alone, and ASGD, which averages the parameters."""

from __future__ import annotations

from typing import Any

from flambeau.ops.families.composite import F
from flambeau.optim import formulas
from flambeau.optim.formula_optimizer import FormulaOptimizer, Group, State, number_in, set_number, zero
from flambeau.optim.optimizer import Parameters
from flambeau.tensor.tensor import Tensor

Rate = float | Tensor


class Rprop(FormulaOptimizer):
    """Steps by the signs of gradients: for whole batches.

    Args:
        params: parameters, pairs of names and parameters, or groups.
        lr: the first step.
        etas: what a step is multiplied with where the sign turned, and where it stayed.
        step_sizes: the least and the longest step.
        foreach, capturable: accepted; every update is one native call per parameter.
        maximize: go up.
        differentiable: record the steps.

    Raises ValueError for settings out of their range.

    >>> import flambeau
    >>> x = flambeau.tensor(3.0, requires_grad=True)
    >>> optimizer = Rprop([x], lr=0.5)
    >>> (x * x).backward()
    >>> optimizer.step()
    >>> round(x.item(), 4)
    2.5
    """

    formula = formulas.rprop
    tensor_state = ("prev", "step_size")
    hyperparameters = (
        "lr", "etas", "step_sizes", "foreach", "maximize", "differentiable", "capturable",
    )  # fmt: skip

    def __init__(
        self, params: Parameters, lr: Rate = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50), *, capturable: bool = False, foreach: bool | None = None,
        maximize: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, locals())

    def new_state(self, parameter: Tensor, group: Group) -> State:
        """The last gradient, 0, and the first step."""
        rate = float(group["lr"])
        first = complex(rate, rate) if parameter.dtype.is_complex else rate
        return {"step": zero(), "prev": F.zeros_like(parameter), "step_size": F.full_like(parameter, first)}

    def numbers(self, group: Group, state: State, step: float) -> tuple[Any, ...]:
        """Factors and bounds."""
        return *group["etas"], *group["step_sizes"]

    def flags(self, group: Group, step: float, is_new: bool) -> tuple[bool, ...]:
        """Which variants of the formula the settings ask for."""
        return (group["maximize"],)


class ASGD(FormulaOptimizer):
    """Gradient descent with sinking rates; `state[parameter]["ax"]` is the average of the parameter.

    Args:
        params: parameters, pairs of names and parameters, or groups.
        lr: the learning rate.
        lambd: how fast it sinks, and how much parameters shrink.
        alpha: the power with which it sinks.
        t0: the step from which parameters are averaged.
        weight_decay: times the parameter is added to its gradient.
        foreach, capturable: accepted; every update is one native call per parameter.
        maximize: go up.
        differentiable: record the steps.

    Raises ValueError for settings out of their range.

    >>> import flambeau
    >>> x = flambeau.tensor(3.0, requires_grad=True)
    >>> optimizer = ASGD([x], lr=0.1, lambd=0.0)
    >>> (x * x).backward()
    >>> optimizer.step()
    >>> round(x.item(), 4)
    2.4
    """

    formula = formulas.asgd
    tensor_state = ("ax",)
    hyperparameters = (
        "lr", "lambd", "alpha", "t0", "weight_decay", "foreach", "maximize", "differentiable", "capturable",
    )  # fmt: skip
    numbers_by_step = False
    unbounded = ("alpha",)

    def __init__(
        self, params: Parameters, lr: Rate = 1e-2, lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6,
        weight_decay: float = 0, foreach: bool | None = None, maximize: bool = False, differentiable: bool = False,
        capturable: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, locals())

    def new_state(self, parameter: Tensor, group: Group) -> State:
        """Rate and weight of the average at first, and the average."""
        rate = float(group["lr"])
        return {"step": zero(), "eta": zero(rate), "mu": zero(1.0), "ax": F.zeros_like(parameter)}

    def numbers(self, group: Group, state: State, step: float) -> tuple[Any, ...]:
        """The rate and the weight of this step, which the state gives up for those of the next."""
        eta, mu = number_in(state["eta"]), number_in(state["mu"])
        rate, lambd = float(group["lr"]), group["lambd"]
        set_number(state["eta"], rate / (1 + lambd * rate * step) ** group["alpha"])
        set_number(state["mu"], 1 / max(1, step - group["t0"]))
        return lambd, group["weight_decay"], eta, mu

    def flags(self, group: Group, step: float, is_new: bool) -> tuple[bool, ...]:
        """Whether parameters are averaged, besides the settings."""
        averages = step - 1 - group["t0"] > 1
        return averages, group["weight_decay"] != 0, group["maximize"]
