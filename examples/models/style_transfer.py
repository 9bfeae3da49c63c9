"""A network that draws pictures in a style: Johnson et al. (2016)."""

from __future__ import annotations

import flambeau
import flambeau.nn.functional as F
from flambeau import Tensor, nn


class ConvLayer(nn.Module):
    """A convolution with a border that mirrors what is inside."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int) -> None:
        super().__init__()
        self.pad = nn.ReflectionPad2d(kernel // 2)
        self.conv2d = nn.Conv2d(inputs, outputs, kernel, stride)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv2d(self.pad(x))


class ResidualBlock(nn.Module):
    """Two convolutions, added to their input: He et al. (2016)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1 = ConvLayer(channels, channels, 3, 1)
        self.in1 = nn.InstanceNorm2d(channels, affine=True)
        self.conv2 = ConvLayer(channels, channels, 3, 1)
        self.in2 = nn.InstanceNorm2d(channels, affine=True)

    def forward(self, x: Tensor) -> Tensor:
        out = F.relu(self.in1(self.conv1(x)))
        return self.in2(self.conv2(out)) + x


class UpsampleConvLayer(nn.Module):
    """Larger, then a convolution, which leaves no checkerboard: Odena et al. (2016)."""

    def __init__(self, inputs: int, outputs: int, kernel: int, upsample: int) -> None:
        super().__init__()
        self.upsample = upsample
        self.conv = ConvLayer(inputs, outputs, kernel, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(F.interpolate(x, mode="nearest", scale_factor=float(self.upsample)))


class TransformerNet(nn.Module):
    """(N, channels, H, W) to the same."""

    def __init__(self, channels: int = 1, width: int = 8, blocks: int = 2) -> None:
        super().__init__()
        self.down = nn.Sequential(
            ConvLayer(channels, width, 9, 1),
            nn.InstanceNorm2d(width, affine=True),
            nn.ReLU(),
            ConvLayer(width, 2 * width, 3, 2),
            nn.InstanceNorm2d(2 * width, affine=True),
            nn.ReLU(),
        )
        self.blocks = nn.Sequential(*[ResidualBlock(2 * width) for _ in range(blocks)])
        self.up = UpsampleConvLayer(2 * width, width, 3, 2)
        self.norm = nn.InstanceNorm2d(width, affine=True)
        self.last = ConvLayer(width, channels, 9, 1)

    def forward(self, x: Tensor) -> Tensor:
        y = self.blocks(self.down(x))
        return self.last(F.relu(self.norm(self.up(y))))


@flambeau.jit.script
def gram_matrix(y: Tensor) -> Tensor:
    """How features occur together, which is the style: (N, C, H, W) to (N, C, C)."""
    b, c, h, w = y.size()
    features = y.view(b, c, w * h)
    return features.bmm(features.transpose(1, 2)) / (c * h * w)


def main() -> None:
    from examples.image import load
    from examples.models.show import beside, picture

    flambeau.manual_seed(0)
    grey = load().to(flambeau.float32)[None, None, ::2, ::2]
    made = beside(TransformerNet(), grey)
    print(picture(made[0, 0]))
    print("style", round(float(gram_matrix(made)), 4))


if __name__ == "__main__":
    main()
