"""Adam and its relatives: AdamW, Adamax, NAdam, RAdam."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.optim import formulas
from flambeau.optim.formula_optimizer import FormulaOptimizer, Group, State, scale_number, zero
from flambeau.optim.optimizer import Parameters
from flambeau.optim.settings import check_tensor_rate
from flambeau.tensor.tensor import Tensor

Rate = float | Tensor
RECTIFIED_FROM = 5
"""The length of the average of squares from which RAdam takes its variance as known."""


class Adam(FormulaOptimizer):
    """Adam: steps along the mean of gradients, divided by the root of their mean square.

    Args:
        params: parameters, pairs of names and parameters, or groups.
        lr: the learning rate.
        betas: how much is kept of the mean of gradients and of squares.
        eps: added to the root, so that nothing is divided by 0.
        weight_decay: times the parameter is added to its gradient.
        amsgrad: divide by the root of the largest mean square so far.
        maximize: go up.
        foreach, fused, capturable: accepted; every update is one native call per parameter.
        differentiable: record the steps, so that they can be differentiated.
        decoupled_weight_decay: shrink parameters in place of adding to the gradient, as AdamW does.

    Raises ValueError for settings out of their range.

    >>> import flambeau
    >>> x = flambeau.tensor(3.0, requires_grad=True)
    >>> optimizer = Adam([x], lr=0.1)
    >>> (x * x).backward()
    >>> optimizer.step()
    >>> round(x.item(), 4)
    2.9
    """

    formula = formulas.adam
    tensor_state = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")
    hyperparameters = (
        "lr", "betas", "eps", "weight_decay", "amsgrad", "maximize", "foreach", "capturable", "differentiable",
        "fused", "decoupled_weight_decay",
    )  # fmt: skip

    def __init__(
        self, params: Parameters, lr: Rate = 1e-3, betas: tuple[Rate, Rate] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, amsgrad: bool = False, *, foreach: bool | None = None, maximize: bool = False,
        capturable: bool = False, differentiable: bool = False, fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:  # fmt: skip
        check_tensor_rate(lr, foreach, capturable)
        super().__init__(params, locals())

    def state_names(self, group: Group) -> Sequence[str]:
        """The largest mean squares too, where they are asked for."""
        return self.tensor_state if group["amsgrad"] else self.tensor_state[:2]

    def numbers(self, group: Group, state: State, step: float) -> tuple[Any, ...]:
        """Rate, factors, eps, decay, step."""
        return group["lr"], *group["betas"], group["eps"], group["weight_decay"], step

    def flags(self, group: Group, step: float, is_new: bool) -> tuple[bool, ...]:
        """Which variants of the formula the settings ask for."""
        decoupled = group.get("decoupled_weight_decay", False)
        return group["amsgrad"], group["weight_decay"] != 0, decoupled, group["maximize"]


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameters by themselves. Arguments as `Adam` has them.

    >>> import flambeau
    >>> x = flambeau.tensor(3.0, requires_grad=True)
    >>> optimizer = AdamW([x], lr=0.1, weight_decay=0.5)
    >>> (x * x).backward()
    >>> optimizer.step()
    >>> round(x.item(), 4)
    2.75
    """

    def __init__(
        self, params: Parameters, lr: Rate = 1e-3, betas: tuple[Rate, Rate] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 1e-2, amsgrad: bool = False, *, maximize: bool = False, foreach: bool | None = None,
        capturable: bool = False, differentiable: bool = False, fused: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
            differentiable=differentiable, fused=fused, decoupled_weight_decay=True,
        )  # fmt: skip

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True


class Adamax(FormulaOptimizer):
    """Adam with the largest absolute gradient, forgotten slowly, in the place of the mean square.

    Args:
        params: parameters, pairs of names and parameters, or groups.
        lr: the learning rate.
        betas: how much is kept of the mean of gradients and of the largest.
        eps: added to absolute gradients.
        weight_decay: times the parameter is added to its gradient.
        foreach, capturable: accepted; every update is one native call per parameter.
        maximize: go up.
        differentiable: record the steps.

    Raises ValueError for settings out of their range.

    >>> import flambeau
    >>> x = flambeau.tensor(3.0, requires_grad=True)
    >>> optimizer = Adamax([x], lr=0.1)
    >>> (x * x).backward()
    >>> optimizer.step()
    >>> round(x.item(), 4)
    2.9
    """

    formula = formulas.adamax
    tensor_state = ("exp_avg", "exp_inf")
    hyperparameters = (
        "lr", "betas", "eps", "weight_decay", "foreach", "maximize", "differentiable", "capturable",
    )  # fmt: skip

    def __init__(
        self, params: Parameters, lr: Rate = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, foreach: bool | None = None, *, maximize: bool = False, differentiable: bool = False,
        capturable: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, locals())

    def numbers(self, group: Group, state: State, step: float) -> tuple[Any, ...]:
        """Rate, factors, eps, decay, step."""
        return group["lr"], *group["betas"], group["eps"], group["weight_decay"], step

    def flags(self, group: Group, step: float, is_new: bool) -> tuple[bool, ...]:
        """Which variants of the formula the settings ask for."""
        return group["weight_decay"] != 0, group["maximize"]


class NAdam(FormulaOptimizer):
    """Adam with Nesterov's momentum.

    Args:
        params: parameters, pairs of names and parameters, or groups.
        lr: the learning rate.
        betas: how much is kept of the mean of gradients and of squares.
        eps: added to the root.
        weight_decay: times the parameter is added to its gradient.
        momentum_decay: how fast momentum grows to its value.
        decoupled_weight_decay: shrink parameters in place of adding to the gradient.
        foreach, capturable: accepted; every update is one native call per parameter.
        maximize: go up.
        differentiable: record the steps.

    Raises ValueError for settings out of their range.

    >>> import flambeau
    >>> x = flambeau.tensor(3.0, requires_grad=True)
    >>> optimizer = NAdam([x], lr=0.1)
    >>> (x * x).backward()
    >>> optimizer.step()
    >>> round(x.item(), 4)
    2.8944
    """

    formula = formulas.nadam
    tensor_state = ("exp_avg", "exp_avg_sq")
    hyperparameters = (
        "lr", "betas", "eps", "weight_decay", "momentum_decay", "decoupled_weight_decay", "maximize", "foreach",
        "capturable", "differentiable",
    )  # fmt: skip
    numbers_by_step = False

    def __init__(
        self, params: Parameters, lr: Rate = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, momentum_decay: float = 4e-3, decoupled_weight_decay: bool = False, *,
        foreach: bool | None = None, maximize: bool = False, capturable: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, locals())

    def new_state(self, parameter: Tensor, group: Group) -> State:
        """The product of all momenta so far besides the averages."""
        averages = super().new_state(parameter, group)
        return {"step": averages.pop("step"), "mu_product": zero(1.0), **averages}

    def numbers(self, group: Group, state: State, step: float) -> tuple[Any, ...]:
        """This step's momentum and the next one's, and the product so far, besides the settings."""
        beta1, beta2 = group["betas"]
        mu, mu_next = (beta1 * (1.0 - 0.5 * 0.96 ** (k * group["momentum_decay"])) for k in (step, step + 1))
        product = scale_number(state["mu_product"], mu)
        return group["lr"], beta1, beta2, group["eps"], group["weight_decay"], mu, mu_next, product, step

    def flags(self, group: Group, step: float, is_new: bool) -> tuple[bool, ...]:
        """Which variants of the formula the settings ask for."""
        return group["weight_decay"] != 0, group["decoupled_weight_decay"], group["maximize"]


class RAdam(FormulaOptimizer):
    """Adam that goes without the mean square until its variance is known.

    Args:
        params: parameters, pairs of names and parameters, or groups.
        lr: the learning rate.
        betas: how much is kept of the mean of gradients and of squares.
        eps: added to the root.
        weight_decay: times the parameter is added to its gradient.
        decoupled_weight_decay: shrink parameters in place of adding to the gradient.
        foreach, capturable: accepted; every update is one native call per parameter.
        maximize: go up.
        differentiable: record the steps.

    Raises ValueError for settings out of their range.

    >>> import flambeau
    >>> x = flambeau.tensor(3.0, requires_grad=True)
    >>> optimizer = RAdam([x], lr=0.1)
    >>> (x * x).backward()
    >>> optimizer.step()
    >>> round(x.item(), 4)
    2.4
    """

    formula = formulas.radam
    tensor_state = ("exp_avg", "exp_avg_sq")
    hyperparameters = (
        "lr", "betas", "eps", "weight_decay", "maximize", "foreach", "capturable", "decoupled_weight_decay",
        "differentiable",
    )  # fmt: skip

    def __init__(
        self, params: Parameters, lr: Rate = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, decoupled_weight_decay: bool = False, *, foreach: bool | None = None,
        maximize: bool = False, capturable: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, locals())

    def numbers(self, group: Group, state: State, step: float) -> tuple[Any, ...]:
        """The factor that the length of the average calls for besides the settings."""
        beta1, beta2 = group["betas"]
        longest, length = 2 / (1 - beta2) - 1, average_length(beta2, step)
        factor = 1.0
        if length > RECTIFIED_FROM:
            grown = (length - 4) * (length - 2) * longest
            factor = (grown / ((longest - 4) * (longest - 2) * length)) ** 0.5
        return group["lr"], beta1, beta2, group["eps"], group["weight_decay"], factor, step

    def flags(self, group: Group, step: float, is_new: bool) -> tuple[bool, ...]:
        """Whether the mean square is used already, besides the settings."""
        is_rectified = average_length(group["betas"][1], step) > RECTIFIED_FROM
        return is_rectified, group["weight_decay"] != 0, group["decoupled_weight_decay"], group["maximize"]


def average_length(beta: float, step: float) -> float:
    """How many steps a simple moving average as long as an exponential one would have, after some steps.

    >>> average_length(0.999, 1.0)
    1.0
    """
    decayed: float = beta**step
    return float(2 / (1 - beta) - 1 - 2 * step * decayed / (1 - decayed))
