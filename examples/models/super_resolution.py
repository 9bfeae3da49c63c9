"""Larger pictures, the last layer's channels becoming places: Shi et al. (2016)."""

from __future__ import annotations

import flambeau
import flambeau.nn.functional as F
from flambeau import Tensor, nn


class SuperResolution(nn.Module):
    """(N, 1, H, W) to (N, 1, H factor, W factor)."""

    def __init__(self, factor: int = 2, width: int = 16) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, width, (5, 5), (1, 1), (2, 2))
        self.conv2 = nn.Conv2d(width, width, (3, 3), (1, 1), (1, 1))
        self.conv3 = nn.Conv2d(width, factor**2, (3, 3), (1, 1), (1, 1))
        self.pixel_shuffle = nn.PixelShuffle(factor)
        for conv, gain in ((self.conv1, nn.init.calculate_gain("relu")), (self.conv2, 1.4), (self.conv3, 1.0)):
            nn.init.orthogonal_(conv.weight, gain)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        return self.pixel_shuffle(self.conv3(x))


def main() -> None:
    from examples.image import load
    from examples.models.show import beside, picture

    flambeau.manual_seed(0)
    small = load().to(flambeau.float32)[None, None, ::4, ::4]
    made = beside(SuperResolution(), small)
    print(picture(F.interpolate(small, scale_factor=2.0, mode="bicubic")[0, 0]))
    print("beside what bicubic resampling gives, the network's:")
    print(picture(made[0, 0]))


if __name__ == "__main__":
    main()
