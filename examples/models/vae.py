"""A variational autoencoder: Kingma and Welling (2013)."""

from __future__ import annotations

import flambeau
import flambeau.nn.functional as F
from flambeau import Tensor, nn


class VAE(nn.Module):
    """(N, 784) to its reconstruction, and the mean and log-variance of its code."""

    def __init__(self, hidden: int = 100, code: int = 20) -> None:
        super().__init__()
        self.fc1 = nn.Linear(784, hidden)
        self.fc21 = nn.Linear(hidden, code)
        self.fc22 = nn.Linear(hidden, code)
        self.fc3 = nn.Linear(code, hidden)
        self.fc4 = nn.Linear(hidden, 784)

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h = F.relu(self.fc1(x))
        return self.fc21(h), self.fc22(h)

    def reparameterize(self, mean: Tensor, log_variance: Tensor) -> Tensor:
        if self.training:
            deviation = flambeau.exp(0.5 * log_variance)
            return mean + flambeau.randn_like(deviation) * deviation
        return mean

    def decode(self, z: Tensor) -> Tensor:
        return flambeau.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mean, log_variance = self.encode(x.view(-1, 784))
        return self.decode(self.reparameterize(mean, log_variance)), mean, log_variance


@flambeau.jit.script
def loss(made: Tensor, x: Tensor, mean: Tensor, log_variance: Tensor) -> Tensor:
    """What the reconstruction lacks, and how far the codes are from normal."""
    lacks = F.binary_cross_entropy(made, x.view(-1, 784), reduction="sum")
    distance = -0.5 * flambeau.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
    return lacks + distance


def main() -> None:
    from examples.models.mnist import digit
    from examples.models.show import beside, picture

    flambeau.manual_seed(0)
    image = digit().reshape(1, 784)
    made, mean, log_variance = beside(VAE(), image)
    print(f"loss {float(loss(made, image, mean, log_variance)):.2f}, reconstruction:")
    print(picture(made.view(28, 28)))


if __name__ == "__main__":
    main()
