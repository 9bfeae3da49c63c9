"""A policy that is made likelier where it led to more (Williams, 1992), on a pole that is to be balanced."""

from __future__ import annotations

import math

import flambeau
import flambeau.nn.functional as F
from flambeau import Tensor, nn


class Policy(nn.Module):
    """(N, 4) states to the probabilities of two actions."""

    def __init__(self, hidden: int = 128) -> None:
        super().__init__()
        self.affine1 = nn.Linear(4, hidden)
        self.dropout = nn.Dropout(p=0.6)
        self.affine2 = nn.Linear(hidden, 2)

    def forward(self, x: Tensor) -> Tensor:
        x = self.affine1(x)
        x = self.dropout(x)
        x = F.relu(x)
        return F.softmax(self.affine2(x), dim=1)


class Agent(nn.Module):
    """A policy, with what it did in one episode."""

    log_chances: list[Tensor]
    rewards: list[float]

    def __init__(self, policy: nn.Module, gamma: float = 0.99) -> None:
        super().__init__()
        self.policy = policy
        self.gamma = gamma
        self.log_chances = []
        self.rewards = []

    @flambeau.jit.export
    def act(self, state: Tensor) -> int:
        """An action, drawn by its probability, which is kept."""
        chances = self.policy(state.unsqueeze(0))
        action = flambeau.multinomial(chances, 1)
        self.log_chances.append(chances.gather(1, action).log().reshape(-1))
        return int(action.item())

    @flambeau.jit.export
    def reward(self, value: float) -> None:
        """What the last action brought."""
        self.rewards.append(value)

    def forward(self) -> Tensor:
        """The episode's loss: minus each action's log-probability times what it led to. Then it is forgotten."""
        found: list[float] = []
        total = 0.0
        for value in self.rewards[::-1]:
            total = value + self.gamma * total
            found.append(total)
        returns = flambeau.tensor(found[::-1])
        returns = (returns - returns.mean()) / (returns.std() + 1e-8)
        losses = -flambeau.cat(self.log_chances) * returns
        self.rewards.clear()
        self.log_chances.clear()
        return losses.sum()


def episode(agent: nn.Module, limit: int = 200) -> tuple[int, Tensor]:
    """How many steps the pole stays up, and the loss."""
    from examples.models.actor_critic import push

    state = flambeau.zeros(4).uniform_(-0.05, 0.05)
    steps = 0
    while steps < limit and abs(float(state[0])) < 2.4 and abs(float(state[2])) < 12 * math.pi / 180:
        state = push(state, agent.act(state))
        agent.reward(1.0)
        steps += 1
    return steps, agent()


def main() -> None:
    from examples.models.show import beside

    flambeau.manual_seed(0)
    policy = Policy()
    beside(policy, flambeau.randn(1, 4))
    agent = flambeau.script(Agent(policy))
    for _ in range(5):
        steps, loss = episode(agent)
        print(f"{steps} steps that the pole stays up, a loss of {float(loss):.3f}")


if __name__ == "__main__":
    main()
