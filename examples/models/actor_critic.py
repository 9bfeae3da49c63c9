"""An actor and a critic (Konda and Tsitsiklis, 2000) that balance a pole on a cart (Barto et al., 1983)."""

from __future__ import annotations

import math

import flambeau
import flambeau.nn.functional as F
from flambeau import Tensor, nn


class Policy(nn.Module):
    """(N, 4) states to the probabilities of two actions and the value of the state."""

    def __init__(self, hidden: int = 128) -> None:
        super().__init__()
        self.affine = nn.Linear(4, hidden)
        self.action = nn.Linear(hidden, 2)
        self.value = nn.Linear(hidden, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = F.relu(self.affine(x))
        return F.softmax(self.action(x), dim=-1), self.value(x)


@flambeau.jit.script
def push(state: Tensor, action: int) -> Tensor:
    """Cart and pole 20 ms later: place, speed, angle, turning speed; pushed to the left (0) or right (1)."""
    x, speed, angle, turning = state.unbind(0)
    force = 10.0 if action == 1 else -10.0
    common = (force + 0.05 * turning * turning * angle.sin()) / 1.1
    turn = (9.8 * angle.sin() - angle.cos() * common) / (0.5 * (4.0 / 3.0 - 0.1 * angle.cos() ** 2 / 1.1))
    push = common - 0.05 * turn * angle.cos() / 1.1
    return flambeau.stack([x + 0.02 * speed, speed + 0.02 * push, angle + 0.02 * turning, turning + 0.02 * turn])


@flambeau.jit.script
def returns(rewards: list[float], gamma: float = 0.99) -> Tensor:
    """What each step led to, later rewards counting less; mean 0 and deviation 1."""
    found: list[float] = []
    total = 0.0
    for i in range(len(rewards)):
        total = rewards[len(rewards) - 1 - i] + gamma * total
        found.insert(0, total)
    values = flambeau.tensor(found)
    return (values - values.mean()) / (values.std() + 1e-8)


def episode(policy: nn.Module, limit: int = 200) -> int:
    """How many steps the pole stays up."""
    state = flambeau.zeros(4).uniform_(-0.05, 0.05)
    for step in range(limit):
        probabilities, _ = policy(state)
        state = push(state, int(flambeau.multinomial(probabilities, 1)))
        if abs(float(state[0])) > 2.4 or abs(float(state[2])) > 12 * math.pi / 180:
            return step + 1
    return limit


def main() -> None:
    from examples.models.show import beside

    flambeau.manual_seed(0)
    policy = Policy()
    beside(policy, flambeau.randn(1, 4))
    scripted = flambeau.script(policy)
    print("steps that the pole stays up:", [episode(scripted) for _ in range(10)])
    print("returns of five steps:", [round(v, 3) for v in returns([1.0] * 5).tolist()])


if __name__ == "__main__":
    main()
