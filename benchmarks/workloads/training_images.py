"""Networks for images in training, as users of PyTorch write them, over a library that has its names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Program = tuple[Any, Callable[[Any], Any], Callable[[Any], Any]]
"""A module, its loss by the module, and its optimiser by the parameters; of either library."""


def lenet(T: Any, rng: np.random.Generator, f: str) -> Program:
    """LeNet on 16 digits."""
    nn, F = T.nn, T.nn.functional

    class LeNet(nn.Module):

        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
            self.conv2 = nn.Conv2d(6, 16, 5)
            self.fc1 = nn.Linear(16 * 5 * 5, 120)
            self.fc2 = nn.Linear(120, 84)
            self.fc3 = nn.Linear(84, 10)

        def forward(self, x):
            x = F.max_pool2d(F.relu(self.conv1(x)), 2)
            x = F.max_pool2d(F.relu(self.conv2(x)), 2)
            x = x.view(x.size(0), -1)
            x = F.relu(self.fc1(x))
            x = F.relu(self.fc2(x))
            return F.log_softmax(self.fc3(x), dim=1)
    x, y = (T.tensor(rng.standard_normal((16, 1, 28, 28)).astype(f)), T.tensor(rng.integers(0, 10, 16)))
    return (LeNet(), lambda m: F.nll_loss(m(x), y), lambda p: T.optim.Adam(p, lr=0.001))


def resnet(T: Any, rng: np.random.Generator, f: str) -> Program:
    """Two residual blocks with batch norm on 8 images."""
    nn, F = T.nn, T.nn.functional

    class Block(nn.Module):

        def __init__(self, c: int, d: int, stride: int):
            super().__init__()
            self.conv1 = nn.Conv2d(c, d, 3, stride=stride, padding=1, bias=False)
            self.bn1 = nn.BatchNorm2d(d)
            self.conv2 = nn.Conv2d(d, d, 3, padding=1, bias=False)
            self.bn2 = nn.BatchNorm2d(d)
            if stride != 1 or c != d:
                self.shortcut = nn.Sequential(nn.Conv2d(c, d, 1, stride=stride, bias=False), nn.BatchNorm2d(d))
            else:
                self.shortcut = nn.Sequential()

        def forward(self, x):
            out = T.relu(self.bn1(self.conv1(x)))
            out = self.bn2(self.conv2(out))
            out += self.shortcut(x)
            return T.relu(out)

    class Net(nn.Module):

        def __init__(self):
            super().__init__()
            self.stem = nn.Sequential(
                nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True),
            )  # fmt: skip
            self.layers = nn.Sequential(Block(16, 16, 1), Block(16, 32, 2))
            self.drop = nn.Dropout(0.0)
            self.fc = nn.Linear(32, 10)

        def forward(self, x):
            x = self.layers(self.stem(x))
            x = F.adaptive_avg_pool2d(x, 1).flatten(1)
            return self.fc(self.drop(x))
    X, Y = (rng.standard_normal((8, 3, 16, 16)).astype(f), rng.integers(0, 10, 8))
    x, y = (T.tensor(X), T.tensor(Y))
    m = Net()
    return (
        m, lambda m: F.cross_entropy(m(x), y, label_smoothing=0.1),
        lambda p: T.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.0005),
    )  # fmt: skip


def unet(T: Any, rng: np.random.Generator, f: str) -> Program:
    """A small U-Net with transposed convolutions, cross entropy and dice."""
    nn, F = T.nn, T.nn.functional

    class DoubleConv(nn.Module):

        def __init__(self, i: int, o: int):
            super().__init__()
            self.net = nn.Sequential(
                nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(inplace=True),
                nn.Conv2d(o, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(inplace=True),
            )  # fmt: skip

        def forward(self, x):
            return self.net(x)

    class UNet(nn.Module):

        def __init__(self):
            super().__init__()
            self.inc = DoubleConv(1, 8)
            self.down1 = DoubleConv(8, 16)
            self.down2 = DoubleConv(16, 32)
            self.up1 = nn.ConvTranspose2d(32, 16, 2, stride=2)
            self.conv1 = DoubleConv(32, 16)
            self.up2 = nn.ConvTranspose2d(16, 8, 2, stride=2)
            self.conv2 = DoubleConv(16, 8)
            self.pool = nn.MaxPool2d(2)
            self.out = nn.Conv2d(8, 1, 1)

        def forward(self, x):
            x1 = self.inc(x)
            x2 = self.down1(self.pool(x1))
            x3 = self.down2(self.pool(x2))
            y = self.conv1(T.cat([x2, self.up1(x3)], dim=1))
            y = self.conv2(T.cat([x1, self.up2(y)], dim=1))
            return self.out(y)
    x = T.tensor(rng.standard_normal((4, 1, 32, 32)).astype(f))
    y = T.tensor((rng.random((4, 1, 32, 32)) > 0.5).astype(f))

    def loss(m):
        o = m(x)
        p = T.sigmoid(o)
        dice = 1 - (2 * (p * y).sum() + 1) / (p.sum() + y.sum() + 1)
        return F.binary_cross_entropy_with_logits(o, y) + dice
    return (UNet(), loss, lambda p: T.optim.RMSprop(p, lr=0.0001, momentum=0.9))


def siamese(T: Any, rng: np.random.Generator, f: str) -> Program:
    """A network for three images, and the triplet loss."""
    nn, F = T.nn, T.nn.functional

    class Siamese(nn.Module):

        def __init__(self):
            super().__init__()
            self.cnn = nn.Sequential(
                nn.Conv2d(1, 8, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.AvgPool2d(2), nn.Conv2d(8, 16, 3),
                nn.PReLU(), nn.AdaptiveMaxPool2d(2),
            )  # fmt: skip
            self.fc = nn.Linear(64, 16)

        def once(self, x):
            return self.fc(self.cnn(x).flatten(1))

        def forward(self, a, p, n):
            return (self.once(a), self.once(p), self.once(n))
    a, p, n = (T.tensor(rng.standard_normal((6, 1, 16, 16)).astype(f)) for _ in range(3))
    return (Siamese(), lambda m: F.triplet_margin_loss(*m(a, p, n), margin=1.0), lambda q: T.optim.Adagrad(q, lr=0.01))


def depthwise(T: Any, rng: np.random.Generator, f: str) -> Program:
    """Norms of groups, of images and of batches around depthwise convolutions."""
    nn, F = T.nn, T.nn.functional

    class Net(nn.Module):

        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(
                nn.Conv2d(3, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.SiLU(),
                nn.Conv2d(16, 16, 3, padding=1, groups=16), nn.InstanceNorm2d(16, affine=True), nn.Hardswish(),
                nn.Conv2d(16, 24, 1), nn.BatchNorm2d(24, momentum=None), nn.ReLU6(), nn.AdaptiveAvgPool2d(1),
                nn.Flatten(), nn.Linear(24, 5),
            )  # fmt: skip

        def forward(self, x):
            return self.net(x)
    x, y = (T.tensor(rng.standard_normal((4, 3, 12, 12)).astype(f)), T.tensor(rng.integers(0, 5, 4)))
    return (Net(), lambda m: F.cross_entropy(m(x), y), lambda p: T.optim.SGD(p, lr=0.05))


def conv1d(T: Any, rng: np.random.Generator, f: str) -> Program:
    """Convolutions over series."""
    nn, F = T.nn, T.nn.functional

    class Net(nn.Module):

        def __init__(self):
            super().__init__()
            self.c1 = nn.Conv1d(2, 16, 5, padding=4, dilation=2)
            self.b1 = nn.BatchNorm1d(16)
            self.c2 = nn.Conv1d(16, 16, 3, padding=1, stride=2)
            self.b2 = nn.BatchNorm1d(16)
            self.fc = nn.Linear(16, 3)

        def forward(self, x):
            x = F.max_pool1d(F.leaky_relu(self.b1(self.c1(x)), 0.1), 2)
            x = F.elu(self.b2(self.c2(x)))
            return self.fc(x.mean(-1))
    x, y = (T.tensor(rng.standard_normal((8, 2, 64)).astype(f)), T.tensor(rng.integers(0, 3, 8)))
    return (Net(), lambda m: F.cross_entropy(m(x), y), lambda p: T.optim.Adam(p, lr=0.001))


def conv3d(T: Any, rng: np.random.Generator, f: str) -> Program:
    """Convolutions over volumes."""
    nn, F = T.nn, T.nn.functional

    class Net(nn.Module):

        def __init__(self):
            super().__init__()
            self.c1 = nn.Conv3d(1, 8, 3, padding=1)
            self.b1 = nn.BatchNorm3d(8)
            self.c2 = nn.Conv3d(8, 8, 3, stride=2)
            self.up = nn.ConvTranspose3d(8, 4, 2, stride=2)
            self.fc = nn.Linear(4, 3)

        def forward(self, x):
            x = F.max_pool3d(F.relu(self.b1(self.c1(x))), 2)
            x = F.relu(self.up(self.c2(x)))
            return self.fc(x.mean((2, 3, 4)))
    x, y = (T.tensor(rng.standard_normal((2, 1, 12, 12, 12)).astype(f)), T.tensor(rng.integers(0, 3, 2)))
    return (Net(), lambda m: F.cross_entropy(m(x), y), lambda p: T.optim.Adam(p, lr=0.001))


PROGRAMS = (lenet, resnet, unet, siamese, depthwise, conv1d, conv3d)
