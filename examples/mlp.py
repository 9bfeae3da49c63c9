"""A small multilayer perceptron as a module: scripted from its source, and traced from a run."""

from __future__ import annotations

import flambeau
from flambeau import Tensor, nn


class Perceptron(nn.Module):
    """Two linear layers with a GELU between; `scale` multiplies the answer."""

    def __init__(self, inputs: int, hidden: int, outputs: int) -> None:
        super().__init__()
        self.first = nn.Linear(inputs, hidden)
        self.activation = nn.GELU()
        self.second = nn.Linear(hidden, outputs)
        self.scale = 0.5

    def forward(self, x: Tensor) -> Tensor:
        """(batch, inputs) to (batch, outputs), each row a distribution."""
        return self.mix(self.second(self.activation(self.first(x))))

    def mix(self, scores: Tensor) -> Tensor:
        """Scaled scores to probabilities."""
        return flambeau.softmax(scores * self.scale, dim=-1)


if __name__ == "__main__":
    flambeau.manual_seed(0)
    model = Perceptron(8, 32, 4)
    x = flambeau.randn(3, 8)
    scripted = flambeau.script(model)
    traced = flambeau.trace(model, (x,))
    print(scripted.graph)
    print(traced.graph)
    print(f"largest difference {float((scripted(x) - traced(x)).abs().max()):.1e}")
