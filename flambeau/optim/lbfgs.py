"""L-BFGS: steps along what the last gradients say of the curvature (Nocedal and Wright, algorithm 7.5)."""

from __future__ import annotations

from typing import Any

from flambeau.ops.families.composite import F
from flambeau.optim.line_search import Point, StrongWolfe
from flambeau.optim.optimizer import Closure, Optimizer, Parameters
from flambeau.optim.settings import check_hyperparameters
from flambeau.tensor.grad_mode import enable_grad, no_grad
from flambeau.tensor.tensor import Tensor

LEAST_CURVATURE = 1e-10
"""A pair of steps and changes of gradients with less is not remembered."""


class LBFGS(Optimizer):
    """L-BFGS, for one group of parameters; a step is up to `max_iter` iterations, each with a run of the closure.

    Args:
        params: parameters.
        lr: times the direction; the first step of a line search.
        max_iter: iterations in a step.
        max_eval: runs of the closure in a step; 1.25 times `max_iter` by default.
        tolerance_grad: a gradient no larger than this ends the step.
        tolerance_change: a change of the parameters or the loss no larger than this ends the step.
        history_size: how many pairs of steps and changes of gradients are kept.
        line_search_fn: None, or "strong_wolfe".

    Raises ValueError for more than one group or a negative rate.

    >>> import flambeau
    >>> x = flambeau.tensor([-1.2, 1.0], requires_grad=True, dtype=flambeau.float64)
    >>> optimizer = LBFGS([x], max_iter=100, line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
    ...     loss.backward()
    ...     return loss
    >>> first = optimizer.step(closure)
    >>> [round(v, 4) for v in x.tolist()]
    [1.0, 1.0]
    """

    def __init__(
        self, params: Parameters, lr: float | Tensor = 1, max_iter: int = 20, max_eval: int | None = None,
        tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9, history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:  # fmt: skip
        check_hyperparameters({"lr": lr})
        super().__init__(params, {
            "lr": lr, "max_iter": max_iter, "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change, "history_size": history_size,
            "line_search_fn": line_search_fn,
        })  # fmt: skip
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    @property
    def _params(self) -> list[Tensor]:
        return self.param_groups[0]["params"]  # type: ignore[no-any-return]

    @no_grad()
    def step(self, closure: Closure | None = None) -> Any:
        """Go on until a tolerance or a limit is reached; the loss at the beginning.

        Args:
            closure: clears the gradients, computes the loss and calls `backward`, and returns the loss.

        Raises RuntimeError for a line search that is not known, TypeError without a closure.
        """
        if closure is None:
            raise TypeError("LBFGS.step() missing 1 required positional argument: 'closure'")
        group = self.param_groups[0]
        if group["line_search_fn"] not in (None, "strong_wolfe"):
            raise RuntimeError("only 'strong_wolfe' is supported")
        recorded = enable_grad()(closure)
        first = recorded()
        state = self.state[self._params[0]]
        state["func_evals"] = state.get("func_evals", 0) + 1
        state.setdefault("n_iter", 0)
        gradient = self._gradient()
        if _largest(gradient) <= group["tolerance_grad"]:
            return first
        iterations = _Iterations(self, recorded, group, state, float(first), gradient)
        iterations.run()
        return first

    def _gradient(self) -> Tensor:
        """All gradients as one vector; complex numbers as pairs."""
        parts = []
        for parameter in self._params:
            gradient = F.zeros_like(parameter) if parameter.grad is None else parameter.grad
            gradient = F.view_as_real(gradient) if gradient.dtype.is_complex else gradient
            parts.append(F.reshape(gradient, [-1]))
        result: Tensor = F.cat(parts)
        return result

    def _move(self, step: float, direction: Tensor) -> None:
        """Add a step along a direction to the parameters."""
        start = 0
        for parameter in self._params:
            real = F.view_as_real(parameter) if parameter.dtype.is_complex else parameter
            part = F.narrow(direction, 0, start, real.numel())
            F.add_(real, F.reshape(part, list(real.shape)), alpha=step)
            start += real.numel()

    def _place(self, parameters: list[Tensor]) -> None:
        for parameter, value in zip(self._params, parameters, strict=True):
            F.copy_(parameter, value)


class _Iterations:
    """The iterations of one step."""

    def __init__(
        self, optimizer: LBFGS, closure: Closure, group: dict[str, Any], state: dict[str, Any], loss: float,
        gradient: Tensor,
    ) -> None:  # fmt: skip
        self._optimizer = optimizer
        self._closure = closure
        self._group = group
        self._state = state
        self._loss = loss
        self._gradient = gradient
        self._evaluations = 1

    def run(self) -> None:
        """Iterate until something says that it is enough."""
        group, state = self._group, self._state
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            is_first = state["n_iter"] == 1
            direction = -self._gradient if is_first else self._direction()
            if is_first:
                state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            before = self._loss
            state.update(d=direction, prev_flat_grad=F.clone(self._gradient), prev_loss=before)
            rate = float(group["lr"])
            step = min(1.0, 1.0 / float(F.sum(F.abs(self._gradient)).item())) * rate if is_first else rate
            state["t"] = step
            slope = float(F.dot(self._gradient, direction).item())
            if slope > -group["tolerance_change"]:
                return
            step = state["t"] = self._advance(step, direction, slope, is_last=iteration == group["max_iter"])
            if self._is_enough(iteration, step, direction, before):
                return

    def _is_enough(self, iteration: int, step: float, direction: Tensor, before: float) -> bool:
        group = self._group
        return bool(
            iteration == group["max_iter"]
            or self._evaluations >= group["max_eval"]
            or _largest(self._gradient) <= group["tolerance_grad"]
            or _largest(direction) * step <= group["tolerance_change"]
            or abs(self._loss - before) < group["tolerance_change"]
        )

    def _advance(self, step: float, direction: Tensor, slope: float, *, is_last: bool) -> float:
        """Move the parameters; the step that was made."""
        evaluations = 0
        if self._group["line_search_fn"] == "strong_wolfe":
            start = [F.clone(parameter) for parameter in self._optimizer._params]

            def evaluate(length: float) -> tuple[float, Tensor]:
                self._optimizer._move(length, direction)
                loss, gradient = float(self._closure()), self._optimizer._gradient()
                self._optimizer._place(start)
                return loss, gradient

            accepted = StrongWolfe(evaluate, direction, Point(0.0, self._loss, self._gradient, slope)).run(step)
            self._loss, self._gradient, step, evaluations = accepted
            self._optimizer._move(step, direction)
        else:
            self._optimizer._move(step, direction)
            if not is_last:
                self._loss, self._gradient = float(self._closure()), self._optimizer._gradient()
                evaluations = 1
        self._evaluations += evaluations
        self._state["func_evals"] += evaluations
        return step

    def _direction(self) -> Tensor:
        """Down, as far as the remembered pairs tell of the curvature."""
        state = self._state
        steps, changes, factors = state["old_stps"], state["old_dirs"], state["ro"]
        change = self._gradient - state["prev_flat_grad"]
        step = state["d"] * state["t"]
        curvature = float(F.dot(change, step).item())
        if curvature > LEAST_CURVATURE:
            if len(changes) == self._group["history_size"]:
                for remembered in (changes, steps, factors):
                    remembered.pop(0)
            changes.append(change)
            steps.append(step)
            factors.append(1.0 / curvature)
            state["H_diag"] = curvature / float(F.dot(change, change).item())
        weights = [0.0] * len(changes)
        direction: Tensor = -self._gradient
        for k in reversed(range(len(changes))):
            weights[k] = float(F.dot(steps[k], direction).item()) * factors[k]
            direction = F.add(direction, changes[k], alpha=-weights[k])
        direction = direction * state["H_diag"]
        for k in range(len(changes)):
            back = float(F.dot(changes[k], direction).item()) * factors[k]
            direction = F.add(direction, steps[k], alpha=weights[k] - back)
        return direction


def _largest(values: Tensor) -> float:
    return float(F.max(F.abs(values)).item())
