"""Layers over images beyond the plain convolution: depthwise, transposed, pooled, normalised; there and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import Goal, Workload
from benchmarks.peers import Program
from benchmarks.programs import images as ours
from benchmarks.workloads.entries import doubled, normal

Make = Callable[[Any], Program]


def workloads(small: bool) -> Iterator[Workload]:
    """Each layer by itself, then its gradients by the tape, then a block of two convolutions as one program."""
    size, images = (6, 2) if small else (56, 8)
    x, w = normal(images, 64, size, size), normal(64, 1, 3, 3, seed=1)
    depthwise = f"depthwise conv2d {images}x64x{size}x{size}, 3x3"
    yield _row(depthwise, _depthwise, x, w)
    yield _row(f"{depthwise}, backward", _back(_depthwise), x, w, normal(*x.shape, seed=2))
    across = 5 if small else 32
    x, w = normal(images, 16, across, across), normal(32, 16, 3, 3, seed=1)
    slope = normal(images, 32, across, across, seed=2)
    name = f"conv2d {images}x16x{across}x{across}, 32 of 3x3, backward"
    yield _row(name, _back(_convolution), x, w, slope)
    half = 4 if small else 28
    x, w = normal(1, 64, half, half), normal(64, 32, 4, 4, seed=1)
    yield _row(f"conv_transpose2d 1x64x{half}x{half}, 32 of 4x4, stride 2", _transposed, x, w)
    yield _row(f"max_pool2d {4 * images}x16x{across}x{across}, 2x2", _pooled, normal(4 * images, 16, across, across))
    x = normal(images, 64, size, size)
    yield _row(f"batch norm in training {images}x64x{size}x{size}", _norm, x, *_affine())
    yield _row(
        f"batch norm in training {images}x64x{size}x{size}, backward", _back(_norm), x, *_affine(),
        normal(*x.shape, seed=3),
    )  # fmt: skip
    x, w1, w2 = normal(1, 64, size, size), *(normal(64, 64, 3, 3, seed=k) / np.float32(24) for k in (1, 2))
    yield Workload(
        name=f"residual block 1x64x{size}x{size}",
        kind="images",
        peers={
            "flambeau": partial(peers.flambeau, ours.residual_block, x, w1, w2),
            "torch": partial(peers.torch_eager, ours.residual_block, x, w1, w2),
            "torch.jit": partial(peers.torch_jit, ours.residual_block, x, w1, w2),
            "torch.compile": partial(peers.torch_compile, ours.residual_block, x, w1, w2),
        },
        expected=lambda: peers.flambeau_eager(ours.residual_block, *doubled(x, w1, w2))(),
        tolerance=1e-3,
        goal=Goal(times=1.0),
    )


def _row(name: str, make: Make, *arrays: np.ndarray) -> Workload:
    return Workload(
        name=name,
        kind="images",
        peers={
            "flambeau": partial(peers.flambeau_library, make, *arrays),
            "torch": partial(peers.torch_library, make, *arrays),
        },
        expected=lambda: peers.flambeau_library(make, *doubled(*arrays))(),
        tolerance=1e-3,
        goal=Goal(times=1.0),
    )


def _affine() -> tuple[np.ndarray, np.ndarray]:
    return normal(64, seed=1), normal(64, seed=2)


def _depthwise(module: Any) -> Program:
    return lambda x, w: module.nn.functional.conv2d(x, w, padding=1, groups=64)


def _convolution(module: Any) -> Program:
    return lambda x, w: module.nn.functional.conv2d(x, w, padding=1)


def _transposed(module: Any) -> Program:
    return lambda x, w: module.nn.functional.conv_transpose2d(x, w, stride=2, padding=1)


def _pooled(module: Any) -> Program:
    return lambda x: module.nn.functional.max_pool2d(x, 2)


def _norm(module: Any) -> Program:
    return lambda x, w, b: module.nn.functional.batch_norm(x, None, None, w, b, training=True)


def _back(make: Make) -> Make:
    """The gradients of all operands but the last, which is that of the result; the way there is counted too."""

    def made(module: Any) -> Program:
        forward = make(module)

        def run(*arguments: Any) -> Any:
            *operands, slope = arguments
            leaves = [a.detach().requires_grad_() for a in operands]
            return module.autograd.grad([forward(*leaves)], leaves, [slope])

        return run

    return made
