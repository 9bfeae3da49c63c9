"""Parameters of a differential equation, fitted through a solver that chooses its own steps.

Hares and lynxes (Lotka and Volterra), solved by Heun's method with an error estimate: a `while` whose number of turns
depends on the parameters. The gradient goes back through all turns; the solver is compiled, both ways.
"""

from __future__ import annotations

import flambeau
from flambeau import Tensor
from flambeau.optim import Adam


@flambeau.script
def slope(state: Tensor, rates: Tensor) -> Tensor:
    """How fast hares and lynxes become more: growth, being eaten, dying, eating."""
    hares, lynxes = state[0], state[1]
    growth = rates[0] * hares - rates[1] * hares * lynxes
    return flambeau.stack([growth, rates[3] * hares * lynxes - rates[2] * lynxes])


@flambeau.script
def solve(start: Tensor, rates: Tensor, times: list[float], tolerance: float) -> tuple[Tensor, int]:
    """The state at each of some times, and how many steps were made."""
    state, time, step, steps = start, 0.0, 0.1, 0
    states = [start]
    for end in times:
        while time < end - 1e-9:
            width = min(step, end - time)
            first = slope(state, rates)
            second = slope(state + width * first, rates)
            error = width * 0.5 * float((second - first).abs().max())
            steps += 1
            if error <= tolerance:
                state = state + width * 0.5 * (first + second)
                time += width
            step = width * min(2.0, max(0.3, 0.9 * (tolerance / (error + 1e-12)) ** 0.5))
        states.append(state)
    return flambeau.stack(states), steps


TRUE = (1.1, 0.4, 0.4, 0.1)


def train(steps: int = 100, tolerance: float = 0.05, count: int = 10) -> tuple[Tensor, list[float]]:
    """The fitted rates, and the mean squared error in each step."""
    flambeau.manual_seed(0)
    times = [0.5 * k for k in range(1, count + 1)]
    start = flambeau.tensor([10.0, 10.0], dtype=flambeau.float64)
    with flambeau.no_grad():
        seen = solve(start, flambeau.tensor(TRUE, dtype=flambeau.float64), times, tolerance)[0]
        seen = seen * (1 + 0.01 * flambeau.randn(seen.shape, dtype=flambeau.float64))
    logs = flambeau.tensor([0.8, 0.5, 0.5, 0.15], dtype=flambeau.float64).log().requires_grad_()
    optimizer = Adam([logs], lr=0.05)
    losses = []
    for _ in range(steps):
        states, _ = solve(start, logs.exp(), times, tolerance)
        loss = ((states - seen) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return logs.detach().exp(), losses


if __name__ == "__main__":
    from examples.training.pictures import curve

    rates, losses = train()
    print(f"true rates {list(TRUE)}, fitted {[round(rate, 3) for rate in rates.tolist()]}")
    print(f"error {losses[0]:.3f} to {losses[-1]:.5f}")
    curve("ode_fit", losses, "mean squared error")
