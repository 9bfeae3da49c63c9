"""A small convolutional network for digits, 28 x 28 pixels, after LeCun et al. (1998)."""

from __future__ import annotations

import flambeau
import flambeau.nn.functional as F
from flambeau import Tensor, nn


class Net(nn.Module):
    """(N, 1, 28, 28) to the logarithms of ten probabilities."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, 1)
        self.conv2 = nn.Conv2d(16, 32, 3, 1)
        self.dropout1 = nn.Dropout(0.25)
        self.dropout2 = nn.Dropout(0.5)
        self.fc1 = nn.Linear(4608, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = F.max_pool2d(x, 2)
        x = self.dropout1(x)
        x = flambeau.flatten(x, 1)
        x = F.relu(self.fc1(x))
        x = self.dropout2(x)
        return F.log_softmax(self.fc2(x), dim=1)


def digit(size: int = 28) -> Tensor:
    """A hand-drawn zero: a ring."""
    place = flambeau.linspace(-1.0, 1.0, size)
    radius = (place.unsqueeze(1) ** 2 + (1.6 * place.unsqueeze(0)) ** 2).sqrt()
    return flambeau.exp(-((radius - 0.75) ** 2) * 40).reshape(1, 1, size, size)


def main() -> None:
    from examples.models.show import beside, picture

    flambeau.manual_seed(0)
    image = digit()
    print(picture(image[0, 0]))
    scores = beside(Net(), image)
    print("probabilities", [round(p, 3) for p in scores.exp()[0].tolist()])


if __name__ == "__main__":
    main()
