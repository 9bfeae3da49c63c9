"""A deep network for photographs, narrow here: Krizhevsky et al. (2012)."""

from __future__ import annotations

import flambeau
from flambeau import Tensor, nn


class AlexNet(nn.Module):
    """(N, 3, H, W) to a score for each class; any size from 63 on."""

    def __init__(self, classes: int = 10, width: int = 16, dropout: float = 0.5) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, width, kernel_size=11, stride=4, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2),
            nn.Conv2d(width, 3 * width, kernel_size=5, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2),
            nn.Conv2d(3 * width, 4 * width, kernel_size=3, padding=1),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2),
        )
        self.avgpool = nn.AdaptiveAvgPool2d((3, 3))
        self.classifier = nn.Sequential(
            nn.Dropout(p=dropout),
            nn.Linear(36 * width, 64),
            nn.ReLU(inplace=True),
            nn.Dropout(p=dropout),
            nn.Linear(64, classes),
        )

    def forward(self, x: Tensor) -> Tensor:
        x = self.avgpool(self.features(x))
        return self.classifier(flambeau.flatten(x, 1))


def main() -> None:
    from examples.image import load
    from examples.models.show import beside

    flambeau.manual_seed(0)
    photograph = load().to(flambeau.float32).expand(1, 3, 120, 160)
    scores = beside(AlexNet(), photograph)
    print("probabilities", [round(p, 3) for p in scores.softmax(1)[0].tolist()])


if __name__ == "__main__":
    main()
