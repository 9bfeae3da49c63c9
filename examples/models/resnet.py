"""Residual networks: He et al. (2015). Blocks add what they find to what they are given, which is made as small."""

from __future__ import annotations

import flambeau
from flambeau import Tensor, nn


def conv3x3(given: int, made: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(given, made, kernel_size=3, stride=stride, padding=1, bias=False)


def conv1x1(given: int, made: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(given, made, kernel_size=1, stride=stride, bias=False)


class BasicBlock(nn.Module):
    """Two convolutions."""

    expansion: int = 1

    def __init__(self, given: int, width: int, stride: int = 1, downsample: nn.Module | None = None) -> None:
        super().__init__()
        self.conv1 = conv3x3(given, width, stride)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = conv3x3(width, width)
        self.bn2 = nn.BatchNorm2d(width)
        self.downsample = downsample

    def forward(self, x: Tensor) -> Tensor:
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


class Bottleneck(nn.Module):
    """A convolution between two that only mix channels: fewer before it, more behind."""

    expansion: int = 4

    def __init__(self, given: int, width: int, stride: int = 1, downsample: nn.Module | None = None) -> None:
        super().__init__()
        self.conv1 = conv1x1(given, width)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = conv3x3(width, width, stride)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = conv1x1(width, width * self.expansion)
        self.bn3 = nn.BatchNorm2d(width * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample

    def forward(self, x: Tensor) -> Tensor:
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


class ResNet(nn.Module):
    """(N, 3, H, W) to a score for each class; `layers` says how many blocks each of the four stages has."""

    def __init__(
        self, block: type[BasicBlock] | type[Bottleneck], layers: list[int], classes: int = 10, width: int = 16
    ) -> None:
        super().__init__()
        self.given = width
        self.conv1 = nn.Conv2d(3, width, kernel_size=7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.layer1 = self._stage(block, width, layers[0])
        self.layer2 = self._stage(block, 2 * width, layers[1], stride=2)
        self.layer3 = self._stage(block, 4 * width, layers[2], stride=2)
        self.layer4 = self._stage(block, 8 * width, layers[3], stride=2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(8 * width * block.expansion, classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def _stage(
        self, block: type[BasicBlock] | type[Bottleneck], width: int, count: int, stride: int = 1
    ) -> nn.Sequential:
        made = width * block.expansion
        downsample = None
        if stride != 1 or self.given != made:
            downsample = nn.Sequential(conv1x1(self.given, made, stride), nn.BatchNorm2d(made))
        blocks = [block(self.given, width, stride, downsample)]
        self.given = made
        blocks.extend(block(made, width) for _ in range(1, count))
        return nn.Sequential(*blocks)

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(flambeau.flatten(self.avgpool(x), 1))


def main() -> None:
    from examples.image import load
    from examples.models.show import beside

    flambeau.manual_seed(0)
    photograph = load().to(flambeau.float32).expand(1, 3, 120, 160) / 255
    scores = beside(ResNet(BasicBlock, [2, 2, 2, 2]), photograph)
    print("probabilities", [round(p, 3) for p in scores.softmax(1)[0].tolist()])
    beside(ResNet(Bottleneck, [1, 2, 2, 1]), photograph)


if __name__ == "__main__":
    main()
