"""Training: losses, what gives their gradients, and steps that update weights, each one function to compile.

Where PyTorch runs the losses, `flambeau` means `torch`.
"""

from __future__ import annotations

import flambeau
from benchmarks.programs.pointwise import chain
from flambeau import Tensor


def mlp_loss(
    x: Tensor, y: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor, w3: Tensor, b3: Tensor
) -> Tensor:  # fmt: skip
    h = flambeau.relu(x @ w1 + b1)
    h = flambeau.relu(h @ w2 + b2)
    return ((h @ w3 + b3 - y) ** 2).mean()


def mlp_step(
    x: Tensor, y: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor, w3: Tensor, b3: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    loss, (g1, h1, g2, h2, g3, h3) = flambeau.value_and_grad(mlp_loss, (2, 3, 4, 5, 6, 7))(x, y, w1, b1, w2, b2, w3, b3)
    return (
        loss, w1 - g1 * 0.01, b1 - h1 * 0.01, w2 - g2 * 0.01, b2 - h2 * 0.01, w3 - g3 * 0.01, b3 - h3 * 0.01,
    )  # fmt: skip


def chain_loss(x: Tensor, y: Tensor) -> Tensor:
    return chain(x, y).sum()


def chain_gradient(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return flambeau.value_and_grad(chain_loss, 0)(x, y)


def cross_entropy_loss(logits: Tensor, labels: Tensor) -> Tensor:
    return flambeau.nn.functional.cross_entropy(logits, labels)


def cross_entropy_gradient(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    return flambeau.value_and_grad(cross_entropy_loss, 0)(logits, labels)


def layer_norm_loss(x: Tensor, weight: Tensor, bias: Tensor, slope: Tensor) -> Tensor:
    return (flambeau.nn.functional.layer_norm(x, [x.size(1)], weight, bias) * slope).sum()


def layer_norm_gradient(
    x: Tensor, weight: Tensor, bias: Tensor, slope: Tensor
) -> tuple[Tensor, tuple[Tensor, Tensor, Tensor]]:
    return flambeau.value_and_grad(layer_norm_loss, (0, 1, 2))(x, weight, bias, slope)


def cnn_loss(
    x: Tensor, labels: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor, w3: Tensor, b3: Tensor
) -> Tensor:  # fmt: skip
    h = flambeau.relu(flambeau.conv2d(x, w1, b1, padding=1))
    h = flambeau.nn.functional.max_pool2d(h, 2)
    h = flambeau.relu(flambeau.conv2d(h, w2, b2, padding=1))
    h = flambeau.nn.functional.max_pool2d(h, 2)
    logits = flambeau.nn.functional.linear(h.flatten(1), w3, b3)
    return flambeau.nn.functional.cross_entropy(logits, labels)


def cnn_step(
    x: Tensor, labels: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor, w3: Tensor, b3: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    loss, (g1, h1, g2, h2, g3, h3) = flambeau.value_and_grad(cnn_loss, (2, 3, 4, 5, 6, 7))(
        x, labels, w1, b1, w2, b2, w3, b3
    )
    return (
        loss, w1 - g1 * 0.01, b1 - h1 * 0.01, w2 - g2 * 0.01, b2 - h2 * 0.01, w3 - g3 * 0.01, b3 - h3 * 0.01,
    )  # fmt: skip


def block_loss(
    x: Tensor, y: Tensor, scale1: Tensor, shift1: Tensor, qkv: Tensor, out: Tensor,
    scale2: Tensor, shift2: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor,
) -> Tensor:  # fmt: skip
    batch, time, width = x.shape
    heads = 4
    normal = flambeau.nn.functional.layer_norm(x, [width], scale1, shift1)
    q, k, v = (normal @ qkv).chunk(3, -1)
    q = q.reshape(batch, time, heads, width // heads).transpose(1, 2)
    k = k.reshape(batch, time, heads, width // heads).transpose(1, 2)
    v = v.reshape(batch, time, heads, width // heads).transpose(1, 2)
    weights = flambeau.softmax(q @ k.transpose(-2, -1) * (width // heads) ** -0.5, -1)
    mixed = (weights @ v).transpose(1, 2).reshape(batch, time, width)
    x = x + mixed @ out
    normal = flambeau.nn.functional.layer_norm(x, [width], scale2, shift2)
    x = x + flambeau.nn.functional.gelu(normal @ w1 + b1, approximate="tanh") @ w2 + b2
    return ((x - y) ** 2).mean()


def block_step(
    x: Tensor, y: Tensor, scale1: Tensor, shift1: Tensor, qkv: Tensor, out: Tensor,
    scale2: Tensor, shift2: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor,
) -> tuple[
    Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor
]:  # fmt: skip
    loss, (d1, d2, d3, d4, d5, d6, d7, d8, d9, d10) = flambeau.value_and_grad(
        block_loss, (2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
    )(x, y, scale1, shift1, qkv, out, scale2, shift2, w1, b1, w2, b2)
    return (
        loss, scale1 - d1 * 0.01, shift1 - d2 * 0.01, qkv - d3 * 0.01, out - d4 * 0.01, scale2 - d5 * 0.01,
        shift2 - d6 * 0.01, w1 - d7 * 0.01, b1 - d8 * 0.01, w2 - d9 * 0.01, b2 - d10 * 0.01,
    )  # fmt: skip
