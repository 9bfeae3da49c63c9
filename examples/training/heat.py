"""What a rod is made of, from how heat spreads in it: a stencil as a loop over elements, differentiated.

Each inner point takes part of the difference to its neighbours. How well each place conducts is what is looked for; the
loop over time and places is native code, and so is the way back.
"""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.optim import LBFGS


@flambeau.script
def spread(heat: Tensor, conductivity: Tensor, steps: int) -> Tensor:
    """Heat (n) after some steps, where conductivity (n - 1) is that between neighbours."""
    n = heat.size(0)
    for _ in range(steps):
        after = heat.clone()
        for i in range(1, n - 1):
            left = conductivity[i - 1] * (heat[i - 1] - heat[i])
            right = conductivity[i] * (heat[i + 1] - heat[i])
            after[i] = heat[i] + left + right
        heat = after
    return heat


def truth(n: int) -> Tensor:
    """A rod that conducts badly in its middle."""
    place = flambeau.linspace(0.0, 1.0, n - 1, dtype=flambeau.float64)
    return 0.4 - 0.3 * flambeau.exp(-(((place - 0.55) / 0.12) ** 2))


def starts(n: int) -> list[Tensor]:
    """The rod heated at one end, in the middle, at the other end."""
    place = flambeau.linspace(0.0, 1.0, n, dtype=flambeau.float64)
    return [flambeau.exp(-(((place - centre) / 0.15) ** 2)) for centre in (0.2, 0.5, 0.8)]


def train(steps: int = 6, n: int = 24, times: int = 30) -> tuple[Tensor, list[float]]:
    """The conductivity that was found, and the error in each step."""
    seen = [spread(start, truth(n), times) for start in starts(n)]
    guess = flambeau.zeros(n - 1, dtype=flambeau.float64).requires_grad_()
    optimizer = LBFGS([guess], max_iter=8, line_search_fn="strong_wolfe", tolerance_grad=1e-12, tolerance_change=1e-14)

    def closure() -> Tensor:
        optimizer.zero_grad()
        conductivity = 0.45 * flambeau.sigmoid(guess)
        errors = [((spread(s, conductivity, times) - x) ** 2).sum() for s, x in zip(starts(n), seen, strict=True)]
        loss = errors[0] + errors[1] + errors[2]
        loss.backward()
        return loss

    losses = [optimizer.step(closure).item() for _ in range(steps)]
    return 0.45 * flambeau.sigmoid(guess.detach()), losses


if __name__ == "__main__":
    from examples.training.pictures import draw

    found, losses = train()
    off = (found - truth(24)).abs().max()
    print(f"error {losses[0]:.2e} to {losses[-1]:.2e}; no conductivity is off by more than {off:.4f}")

    def paint(axes: Any) -> None:
        axes.plot(truth(24).numpy(), color="#b0bec5", linewidth=3, label="the rod")
        axes.plot(found.numpy(), color="#37474f", linewidth=1, marker=".", label="found")
        axes.set_xlabel("place")
        axes.set_ylabel("conductivity")
        axes.legend(frameon=False)

    draw("heat", paint)
