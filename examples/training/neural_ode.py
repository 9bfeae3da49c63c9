"""A neural differential equation: a network says how fast a point moves, and learns it from a spiral.

The steps of the solver (Runge and Kutta's of fourth order) are a loop of a scripted function.
"""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor, nn
from flambeau.optim import Adam


class Field(nn.Module):
    """The speed at a place: a network of the cubes of its coordinates."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(2, width)
        self.second = nn.Linear(width, 2)

    def speed(self, place: Tensor) -> Tensor:
        """(batch, 2) to the same."""
        return self.second(flambeau.tanh(self.first(place**3)))

    def forward(self, place: Tensor, step: float, count: int) -> Tensor:
        """Where each of (batch, 2) points is after each of some steps: (count, batch, 2)."""
        places: list[Tensor] = []
        for _ in range(count):
            a = self.speed(place)
            b = self.speed(place + 0.5 * step * a)
            c = self.speed(place + 0.5 * step * b)
            d = self.speed(place + step * c)
            place = place + step / 6.0 * (a + 2.0 * b + 2.0 * c + d)
            places.append(place)
        return flambeau.stack(places)


def spiral(count: int, step: float) -> Tensor:
    """Places on a spiral that a cubic equation makes, (count + 1, 2)."""
    matrix = flambeau.tensor([[-0.1, 2.0], [-2.0, -0.1]])
    place, places = flambeau.tensor([2.0, 0.0]), []
    for _ in range(count * 20 + 1):
        places.append(place)
        place = place + step / 20 * ((place**3) @ matrix)
    return flambeau.stack(places)[::20]


def train(steps: int = 300, width: int = 32, reach: int = 8) -> tuple[nn.Module, list[float]]:
    """The scripted model, and the mean absolute error in each step."""
    flambeau.manual_seed(0)
    path = spiral(200, 0.05)
    model = flambeau.script(Field(width))
    optimizer = Adam(model.parameters(), lr=5e-3)
    losses = []
    for _ in range(steps):
        starts = flambeau.randint(0, len(path) - reach, (16,))
        wanted = path[starts + 1 + flambeau.arange(reach).unsqueeze(1)]
        loss = (model(path[starts], 0.05, reach) - wanted).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return model, losses


if __name__ == "__main__":
    from examples.training.pictures import draw

    model, losses = train()
    print(f"error {losses[0]:.3f} to {losses[-1]:.4f}")
    path = spiral(200, 0.05)
    with flambeau.no_grad():
        learned = model(path[:1], 0.05, 200)[:, 0]

    def paint(axes: Any) -> None:
        axes.plot(*path.t().numpy(), color="#b0bec5", linewidth=3, label="spiral")
        axes.plot(*learned.t().numpy(), color="#37474f", linewidth=1, label="learned")
        axes.legend(frameon=False)

    draw("neural_ode", paint)
