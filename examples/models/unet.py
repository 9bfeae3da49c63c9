"""A U-Net: Ronneberger et al. (2015). Down to small images with many channels, up again beside what was seen."""

from __future__ import annotations

import flambeau
import flambeau.nn.functional as F
from flambeau import Tensor, nn


class DoubleConv(nn.Module):
    """Two convolutions, each with batch normalisation."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
            nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


class Up(nn.Module):
    """Larger, padded to the size of what was seen on the way down, and joined with it."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.up = nn.ConvTranspose2d(inputs, inputs // 2, 2, stride=2)
        self.conv = DoubleConv(inputs, outputs)

    def forward(self, x: Tensor, seen: Tensor) -> Tensor:
        x = self.up(x)
        dy, dx = seen.size(2) - x.size(2), seen.size(3) - x.size(3)
        x = F.pad(x, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
        return self.conv(flambeau.cat([seen, x], dim=1))


class UNet(nn.Module):
    """(N, channels, H, W) to a score for every class at every place."""

    def __init__(self, channels: int = 1, classes: int = 2, width: int = 8, depth: int = 3) -> None:
        super().__init__()
        self.first = DoubleConv(channels, width)
        self.pool = nn.MaxPool2d(2)
        self.downs = nn.ModuleList([DoubleConv(width << i, width << (i + 1)) for i in range(depth)])
        self.ups = nn.ModuleList([Up(width << (i + 1), width << i) for i in reversed(range(depth))])
        self.last = nn.Conv2d(width, classes, 1)

    def forward(self, x: Tensor) -> Tensor:
        seen = [self.first(x)]
        for down in self.downs:
            seen.append(down(self.pool(seen[-1])))
        x = seen.pop()
        for up in self.ups:
            x = up(x, seen.pop())
        return self.last(x)


def main() -> None:
    from examples.image import load
    from examples.models.show import beside, picture

    flambeau.manual_seed(0)
    grey = load().to(flambeau.float32)[None, None]
    scores = beside(UNet(), grey)
    print(picture(scores[0, 1] - scores[0, 0]))


if __name__ == "__main__":
    main()
