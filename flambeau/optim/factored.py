"""Adafactor: of a matrix's squared gradients only the means of rows and of columns are remembered."""

from __future__ import annotations

import math

from flambeau.ops.families.composite import F
from flambeau.optim.formula_optimizer import Group, State, one_more, zero
from flambeau.optim.optimizer import Parameters
from flambeau.optim.real_optimizer import RealOptimizer
from flambeau.optim.settings import check_hyperparameters
from flambeau.schema.dtype_limits import finfo
from flambeau.tensor.tensor import Tensor


class Adafactor(RealOptimizer):
    """Adafactor (Shazeer and Stern 2018): Adam without a first moment, whose second one is a product of two vectors.

    Args:
        params: parameters, pairs of names and parameters, or groups.
        lr: the largest relative step.
        beta2_decay: the power of the step with which the averages follow more slowly.
        eps: what squared gradients are at least, the dtype's own if None; and what the size of parameters is at least.
        d: the root mean square beyond which updates are made smaller.
        weight_decay: the share of a parameter that is taken away in each step, times the rate.
        foreach: accepted; every parameter is changed by itself.
        maximize: go up.

    Raises ValueError for settings out of their range, RuntimeError for complex parameters.

    >>> import flambeau
    >>> w = flambeau.ones(2, 3, requires_grad=True)
    >>> optimizer = Adafactor([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> round(w[0, 0].item(), 4)
    0.9
    """

    def __init__(
        self, params: Parameters, lr: float | Tensor = 1e-2, beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3), d: float = 1.0, weight_decay: float = 0.0, *,
        foreach: bool | None = None, maximize: bool = False,
    ) -> None:  # fmt: skip
        check_hyperparameters({"lr": lr, "weight_decay": weight_decay})
        if not beta2_decay <= 0.0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and not eps[0] >= 0.0:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if not eps[1] >= 0.0:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if not d >= 1.0:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        super().__init__(params, {
            "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay,
            "foreach": foreach, "maximize": maximize,
        })  # fmt: skip

    def _change(self, parameter: Tensor, grad: Tensor, group: Group) -> None:
        state = self.state[parameter]
        if not state:
            state.update(_new_state(grad))
        step, rate = one_more(state["step"]), float(group["lr"])
        least_square, least_size = group["eps"]
        if least_square is None:
            least_square = finfo(parameter.dtype).eps
        size = max(least_size, _root_mean_square(parameter))
        if group["weight_decay"] != 0:
            F.mul_(parameter, 1 - rate * group["weight_decay"])
        variance = _variance(state, grad, step ** group["beta2_decay"], least_square)
        update = grad * F.rsqrt(F.clamp(variance, least_square**2))
        shorter = max(1.0, _root_mean_square(update) / group["d"])
        F.add_(parameter, update, alpha=-size * min(rate, step**-0.5) / shorter)


def _new_state(grad: Tensor) -> State:
    state: State = {"step": zero()}
    if grad.dim() < 2:
        return state | {"variance": F.zeros_like(grad)}
    return state | {"row_var": F.zeros_like(grad[..., :1]), "col_var": F.zeros_like(grad[..., :1, :])}


def _root_mean_square(x: Tensor) -> float:
    return float(F.norm(x)) / math.sqrt(max(1, x.numel()))


def _variance(state: State, grad: Tensor, follows: float, least: float) -> Tensor:
    """The squares of gradients as remembered, from the averages of rows and columns where there are such."""
    if grad.dim() < 2:
        variance: Tensor = F.lerp_(state["variance"], grad * grad, follows)
        return variance
    squares = grad * grad
    rows: Tensor = state["row_var"]
    columns: Tensor = state["col_var"]
    F.lerp_(rows, F.mean(squares, -1, True), follows)
    F.lerp_(columns, F.mean(squares, -2, True), follows)
    estimate: Tensor = (rows @ columns) / F.clamp(F.mean(rows, -2, True), least)
    return estimate
