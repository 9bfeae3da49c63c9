"""Two networks that play against each other, one draws and one judges: Radford et al. (2015)."""

from __future__ import annotations

import flambeau
from flambeau import Tensor, nn


class Generator(nn.Module):
    """(N, code, 1, 1) noise to pictures (N, 1, 32, 32) between -1 and 1."""

    def __init__(self, code: int = 32, width: int = 8) -> None:
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(code, width * 4, 4, 1, 0, bias=False),
            nn.BatchNorm2d(width * 4),
            nn.ReLU(True),
            nn.ConvTranspose2d(width * 4, width * 2, 4, 2, 1, bias=False),
            nn.BatchNorm2d(width * 2),
            nn.ReLU(True),
            nn.ConvTranspose2d(width * 2, width, 4, 2, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(True),
            nn.ConvTranspose2d(width, 1, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, input: Tensor) -> Tensor:
        return self.main(input)


class Discriminator(nn.Module):
    """Pictures to the probability that nobody drew them."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, width, 4, 2, 1, bias=False),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(width, width * 2, 4, 2, 1, bias=False),
            nn.BatchNorm2d(width * 2),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(width * 2, width * 4, 4, 2, 1, bias=False),
            nn.BatchNorm2d(width * 4),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(width * 4, 1, 4, 1, 0, bias=False),
            nn.Sigmoid(),
        )

    def forward(self, input: Tensor) -> Tensor:
        return self.main(input).view(-1, 1).squeeze(1)


def init_weights(module: nn.Module) -> None:
    """As the paper draws them."""
    if isinstance(module, nn.Conv2d | nn.ConvTranspose2d):
        nn.init.normal_(module.weight, 0.0, 0.02)
    elif isinstance(module, nn.BatchNorm2d):
        nn.init.normal_(module.weight, 1.0, 0.02)
        nn.init.zeros_(module.bias)


def main() -> None:
    from examples.models.show import beside, picture

    flambeau.manual_seed(0)
    drawn = beside(Generator().apply(init_weights), flambeau.randn(1, 32, 1, 1))
    print(picture(drawn[0, 0]))
    print("judged", round(float(beside(Discriminator().apply(init_weights), drawn)), 4))


if __name__ == "__main__":
    main()
