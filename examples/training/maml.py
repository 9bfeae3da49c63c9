"""Learning to learn: a network that fits any sine wave after one step of descent (Finn, Abbeel and Levine 2017).

The step is differentiated itself, `create_graph=True`: gradients of second order.
"""

from __future__ import annotations

import math

import flambeau
from flambeau import Tensor
from flambeau.nn.functional import relu
from flambeau.optim import Adam


def network(x: Tensor, w: list[Tensor]) -> Tensor:
    """Three linear layers with rectifiers between: (batch, 1) to (batch, 1)."""
    x = relu(x @ w[0] + w[1])
    x = relu(x @ w[2] + w[3])
    return x @ w[4] + w[5]


def weights(width: int) -> list[Tensor]:
    """Random weights."""
    sizes = ((1, width), (width,), (width, width), (width,), (width, 1), (1,))
    return [(flambeau.randn(s) * (s[0] ** -0.5 if len(s) > 1 else 0.0)).requires_grad_() for s in sizes]


def wave(count: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Points of a random sine wave to learn from, and points of it to be tested with."""
    height, shift = flambeau.rand(2).tolist()
    x = flambeau.rand(2 * count, 1) * 10 - 5
    y = (0.1 + 4.9 * height) * flambeau.sin(x - math.pi * shift)
    return x[:count], y[:count], x[count:], y[count:]


def adapted(w: list[Tensor], x: Tensor, y: Tensor, rate: float, *, recorded: bool) -> list[Tensor]:
    """The weights after one step of gradient descent on some points."""
    loss = ((network(x, w) - y) ** 2).mean()
    gradients = flambeau.autograd.grad(loss, w, create_graph=recorded)
    return [one - rate * gradient for one, gradient in zip(w, gradients, strict=True)]


def train(steps: int = 400, width: int = 40, tasks: int = 8, rate: float = 0.01) -> tuple[list[Tensor], list[float]]:
    """The weights to start from, and the mean error after one step in each step of training."""
    flambeau.manual_seed(0)
    w = weights(width)
    optimizer = Adam(w, lr=3e-3)
    losses = []
    for _ in range(steps):
        total = flambeau.zeros(())
        for _ in range(tasks):
            x, y, test_x, test_y = wave(10)
            total = total + ((network(test_x, adapted(w, x, y, rate, recorded=True)) - test_y) ** 2).mean()
        optimizer.zero_grad()
        (total / tasks).backward()
        optimizer.step()
        losses.append(total.item() / tasks)
    return w, losses


if __name__ == "__main__":
    from examples.training.pictures import curve

    _, losses = train()
    print(f"error after one step {sum(losses[:20]) / 20:.2f} to {sum(losses[-20:]) / 20:.2f}")
    curve("maml", losses, "error after one step on a new wave")
