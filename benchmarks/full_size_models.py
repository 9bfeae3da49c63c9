"""Models of the sizes that people run, with random weights: what `benchmarks.full_size` measures. Needs torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import torch
from torch import nn

Activation = Callable[[], nn.Module]
Case = tuple[Callable[[], nn.Module], tuple[int, ...]]


def _conv(inner: int, outer: int, kernel: int = 3, stride: int = 1, groups: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inner, outer, kernel, stride, kernel // 2, groups=groups, bias=False)


def _normed(conv: nn.Conv2d, activation: nn.Module | None = None) -> nn.Sequential:
    last = [activation] if activation is not None else []
    return nn.Sequential(conv, nn.BatchNorm2d(conv.out_channels), *last)


class Residual(nn.Module):
    """Two convolutions, and what went in added to what comes out."""

    def __init__(self, inner: int, outer: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(_normed(_conv(inner, outer, 3, stride), nn.ReLU()), _normed(_conv(outer, outer)))
        same = inner == outer and stride == 1
        self.short = nn.Identity() if same else _normed(_conv(inner, outer, 1, stride))

    def forward(self, x: Any) -> Any:
        """The block."""
        return torch.relu(self.body(x) + self.short(x))


def resnet() -> nn.Module:
    """18 layers, 1000 classes."""
    layers: list[nn.Module] = [_normed(_conv(3, 64, 7, 2), nn.ReLU()), nn.MaxPool2d(3, 2, 1)]
    inner = 64
    for outer, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Residual(inner, outer, stride), Residual(outer, outer, 1)]
        inner = outer
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))


class Gate(nn.Module):
    """Channels scaled by what is in all of them."""

    def __init__(self, channels: int, inner: int) -> None:
        super().__init__()
        self.down, self.up = nn.Conv2d(channels, inner, 1), nn.Conv2d(inner, channels, 1)

    def forward(self, x: Any) -> Any:
        """The channels, scaled."""
        mean = x.mean((2, 3), keepdim=True)
        return x * torch.sigmoid(self.up(torch.nn.functional.silu(self.down(mean))))


class Inverted(nn.Module):
    """Wider by 1x1, each channel by itself, narrower by 1x1."""

    def __init__(
        self, inner: int, outer: int, wider: int, kernel: int, stride: int, activation: Activation, *, gated: bool
    ) -> None:
        super().__init__()
        wide = inner * wider
        layers: list[nn.Module] = [_normed(_conv(inner, wide, 1), activation())] if wider != 1 else []
        layers.append(_normed(_conv(wide, wide, kernel, stride, wide), activation()))
        if gated:
            layers.append(Gate(wide, max(1, inner // 4)))
        self.body = nn.Sequential(*layers, _normed(_conv(wide, outer, 1)))
        self.is_added = inner == outer and stride == 1

    def forward(self, x: Any) -> Any:
        """The block."""
        return x + self.body(x) if self.is_added else self.body(x)


def _inverted(rows: Any, first: int, last: int, activation: Activation, *, gated: bool) -> nn.Module:
    """Rows of (times wider, channels, blocks, stride of the first, kernel)."""
    layers: list[nn.Module] = [_normed(_conv(3, first, 3, 2), activation())]
    inner = first
    for wider, outer, count, stride, kernel in rows:
        for k in range(count):
            step = stride if k == 0 else 1
            layers.append(Inverted(inner, outer, wider, kernel, step, activation, gated=gated))
            inner = outer
    layers += [_normed(_conv(inner, last, 1), activation()), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*layers, nn.Linear(last, 1000))


def mobilenet() -> nn.Module:
    """MobileNetV2 at its usual width."""
    rows = ((1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 32, 3, 2, 3), (6, 64, 4, 2, 3), (6, 96, 3, 1, 3),
            (6, 160, 3, 2, 3), (6, 320, 1, 1, 3))  # fmt: skip
    return _inverted(rows, 32, 1280, nn.ReLU6, gated=False)


def efficientnet() -> nn.Module:
    """EfficientNet B0."""
    rows = ((1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5),
            (6, 192, 4, 2, 5), (6, 320, 1, 1, 3))  # fmt: skip
    return _inverted(rows, 32, 1280, nn.SiLU, gated=True)


class EncoderLayer(nn.Module):
    """Self-attention of 12 heads, and two linear layers; norms first."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Any) -> Any:
        """(batch, tokens, width), and back."""
        batch, tokens, width = x.shape
        q, k, v = self.qkv(self.first(x)).view(batch, tokens, 3, 12, width // 12).permute(2, 0, 3, 1, 4).unbind(0)
        seen = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, tokens, width))
        return x + self.down(torch.nn.functional.gelu(self.up(self.second(x))))


def encoder() -> nn.Module:
    """12 layers of 768."""
    return nn.Sequential(*[EncoderLayer(768) for _ in range(12)])


class UNet(nn.Module):
    """A step of a small U-Net: three sizes, group norms and SiLU."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.first, self.last = _conv(3, width), _conv(width, 3)
        self.down = nn.ModuleList([self._block(width * a, width * b, 2) for a, b in ((1, 2), (2, 4))])
        self.middle = self._block(4 * width, 4 * width, 1)
        self.up = nn.ModuleList([self._block(width * a, width * b, 1) for a, b in ((6, 2), (3, 1))])

    @staticmethod
    def _block(inner: int, outer: int, stride: int) -> nn.Module:
        parts = [_conv(inner, outer, 3, stride), nn.GroupNorm(8, outer), nn.SiLU()]
        return nn.Sequential(*parts, _conv(outer, outer), nn.GroupNorm(8, outer), nn.SiLU())

    def forward(self, x: Any) -> Any:
        """(batch, 3, rows, columns), and back."""
        seen = [self.first(x)]
        for block in self.down:
            seen.append(block(seen[-1]))
        x = self.middle(seen.pop())
        for block in self.up:
            x = torch.nn.functional.interpolate(x, scale_factor=2.0, mode="nearest")
            x = block(torch.cat([x, seen.pop()], 1))
        return self.last(x)


def depthwise() -> nn.Module:
    """3x3 on each of 144 channels, then 1x1."""
    return Inverted(24, 24, 6, 3, 1, nn.ReLU6, gated=False)


def convolutions() -> nn.Module:
    """Four of 64 channels."""
    return nn.Sequential(*[nn.Sequential(_conv(64, 64), nn.ReLU()) for _ in range(4)])


CASES: Final[dict[str, Case]] = {
    "resnet18_224": (resnet, (1, 3, 224, 224)),
    "resnet18_224_batch8": (resnet, (8, 3, 224, 224)),
    "mobilenetv2_224": (mobilenet, (1, 3, 224, 224)),
    "efficientnet_b0_224": (efficientnet, (1, 3, 224, 224)),
    "encoder_12x768_128": (encoder, (1, 128, 768)),
    "encoder_12x768_512": (encoder, (1, 512, 768)),
    "unet_64": (UNet, (1, 3, 64, 64)),
    "depthwise_block_56": (depthwise, (1, 24, 56, 56)),
    "conv3x3x4_64_56": (convolutions, (1, 64, 56, 56)),
}
"""By name: what makes the model, and the shape of its input."""
