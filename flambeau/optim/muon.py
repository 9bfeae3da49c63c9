"""Muon: the momentum of a matrix, made orthogonal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from flambeau.ops.families.composite import F
from flambeau.optim.formula_optimizer import Group
from flambeau.optim.optimizer import Parameters
from flambeau.optim.real_optimizer import RealOptimizer
from flambeau.optim.settings import check_hyperparameters
from flambeau.schema.dtype import bfloat16
from flambeau.tensor.tensor import Tensor

MOST_STEPS: Final = 100
BY_SIZES: Final[Mapping[str | None, Callable[[int, int], float]]] = {
    None: lambda rows, columns: max(1.0, rows / columns) ** 0.5,
    "original": lambda rows, columns: max(1.0, rows / columns) ** 0.5,
    "match_rms_adamw": lambda rows, columns: 0.2 * max(rows, columns) ** 0.5,
}
"""What the rate is multiplied with for a matrix of these sizes, by the names of `adjust_lr_fn`."""


class Muon(RealOptimizer):
    """Muon (Jordan and others 2024), for matrices alone: biases, embeddings and heads are for another optimiser.

    Args:
        params: parameters of two dimensions, pairs of names and parameters, or groups.
        lr: the rate.
        weight_decay: the share of a parameter that is taken away in each step, times the rate.
        momentum: how much of the last momentum is kept.
        nesterov: look ahead along the momentum.
        ns_coefficients: the three coefficients of the polynomial that makes it orthogonal.
        eps: what its norm is at least.
        ns_steps: how often the polynomial is applied.
        adjust_lr_fn: "original" or "match_rms_adamw": how the rate follows the sizes of a matrix.

    Raises ValueError for settings out of their range and parameters of other dimensions, RuntimeError for complex ones.

    >>> import flambeau
    >>> w = flambeau.eye(2).requires_grad_()
    >>> optimizer = Muon([w], lr=0.1, weight_decay=0.0)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> 0.8 < w[0, 0].item() < 1.0
    True
    """

    def __init__(
        self, params: Parameters, lr: float = 1e-3, weight_decay: float = 0.1, momentum: float = 0.95,
        nesterov: bool = True, ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7, ns_steps: int = 5, adjust_lr_fn: str | None = None,
    ) -> None:  # fmt: skip
        check_hyperparameters({"lr": lr, "momentum": momentum, "weight_decay": weight_decay})
        if adjust_lr_fn not in BY_SIZES:
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        if ns_steps >= MOST_STEPS:
            raise ValueError("Number of steps must be less than 100 for computational efficiency")
        if len(ns_coefficients) != 3:
            raise ValueError("Coefficients must be a tuple of exactly 3 values")
        super().__init__(params, {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
            "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn,
        })  # fmt: skip
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.dim() != 2:
                    raise ValueError(
                        "Muon only supports 2D parameters whereas we found a parameter with size: "
                        f"{tuple(parameter.size())}"
                    )

    def _change(self, parameter: Tensor, grad: Tensor, group: Group) -> None:
        state, rate, kept = self.state[parameter], float(group["lr"]), group["momentum"]
        if not state:
            state["momentum_buffer"] = F.zeros_like(grad)
        momentum = F.lerp_(state["momentum_buffer"], grad, 1 - kept)
        update = F.lerp(grad, momentum, kept) if group["nesterov"] else momentum
        update = orthogonal(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
        by_sizes = BY_SIZES[group["adjust_lr_fn"]](parameter.size(0), parameter.size(1))
        F.mul_(parameter, 1 - rate * group["weight_decay"])
        F.add_(parameter, update.to(parameter.dtype), alpha=-rate * by_sizes)


def orthogonal(x: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Tensor:
    """A matrix with all its singular values near 1, by an odd polynomial applied several times, in bfloat16."""
    first, third, fifth = coefficients
    is_tall = x.size(0) > x.size(1)
    y: Tensor = (x.t() if is_tall else x).to(bfloat16)
    y = y / F.clamp(F.norm(y), eps)
    for _ in range(steps):
        gram = y @ y.t()
        y = F.addmm(y, F.addmm(gram, gram, gram, beta=third, alpha=fifth), y, beta=first)
    return y.t() if is_tall else y
