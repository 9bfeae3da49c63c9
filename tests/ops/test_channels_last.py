"""Results and gradients lie in memory as images with channels last do, eagerly and in programs, with equal values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.nn import functional as F  # noqa: N812


def largest(x: Tensor, w: Tensor) -> Tensor:
    return F.max_pool2d(x, 2)


def largest_with_places(x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    return F.max_pool2d(x, 2, return_indices=True)


def means(x: Tensor, w: Tensor) -> Tensor:
    return F.avg_pool2d(x, 3, 1)


def means_of_parts(x: Tensor, w: Tensor) -> Tensor:
    return F.adaptive_avg_pool2d(x, 4)


def means_of_all(x: Tensor, w: Tensor) -> Tensor:
    return F.adaptive_avg_pool2d(x, 1)


def largest_of_parts(x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    return F.adaptive_max_pool2d(x, 3, return_indices=True)


def groups(x: Tensor, w: Tensor) -> Tensor:
    return F.group_norm(x, 2)


def spread(x: Tensor, w: Tensor) -> Tensor:
    return F.relu(F.conv_transpose2d(x, w, None, 2, 1))


def spread_dense(x: Tensor, w: Tensor) -> Tensor:
    return F.conv_transpose2d(x, w)


def reflected(x: Tensor, w: Tensor) -> Tensor:
    return F.pad(x, (1, 2, 2, 1), "reflect")


def held(x: Tensor, w: Tensor) -> Tensor:
    return F.pad(x, (1, 1, 2, 2), "replicate")


def norms(x: Tensor, w: Tensor) -> Tensor:
    return F.lp_pool2d(x, 2.0, 2)


FUNCTIONS: list[Callable[..., Any]] = [
    largest, largest_with_places, means, means_of_parts, means_of_all, largest_of_parts, groups, spread, spread_dense,
    reflected, held, norms,
]  # fmt: skip


def images(batch: int, size: int) -> Tensor:
    flambeau.manual_seed(batch)
    return flambeau.randn(batch, 4, size, size).to(memory_format=flambeau.channels_last)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_channels_stay_last_on_every_path(function: Callable[..., Any]) -> None:
    scripted = flambeau.script(function)
    traced = flambeau.trace(function, (images(1, 6), flambeau.ones(4, 3, 2, 2)))
    for batch, size in ((2, 6), (3, 13), (2, 6)):
        x, w = images(batch, size), flambeau.randn(4, 3, 2, 2)
        plain = as_tuple(function(x.contiguous(), w))
        for result in (function(x, w), scripted(x, w), traced(x, w)):
            for one, expected in zip(as_tuple(result), plain, strict=True):
                assert one.is_contiguous(memory_format=flambeau.channels_last)
                assert expected.is_contiguous()
                np.testing.assert_allclose(one.numpy(), expected.numpy(), rtol=1e-5, atol=1e-5)
        for one in as_tuple(scripted(x.contiguous(), w)):
            assert one.is_contiguous()


def as_tuple(result: Any) -> tuple[Tensor, ...]:
    return result if isinstance(result, tuple) else (result,)


def test_volumes() -> None:
    for size in (4, 7):
        x = flambeau.randn(2, 3, size, size, size).to(memory_format=flambeau.channels_last_3d)
        for f in (lambda t: F.max_pool3d(t, 2), lambda t: F.group_norm(t, 3), lambda t: F.pad(t, (1, 1))):
            assert f(x).is_contiguous(memory_format=flambeau.channels_last_3d)
            assert flambeau.allclose(f(x), f(x.contiguous()), atol=1e-6)
        assert F.avg_pool3d(x, 2).is_contiguous()


def test_lines_are_row_major() -> None:
    for size in (5, 8):
        x, w = flambeau.randn(2, size, 4).transpose(1, 2), flambeau.randn(4, 4, 3)
        for result in (F.conv1d(x, w), F.conv_transpose1d(x, w), F.max_pool1d(x, 2)):
            assert result.is_contiguous()


LEAVES: dict[str, Callable[[Tensor], Tensor]] = {
    "expanded": lambda x: x * 2, "added": lambda x: x + x.sigmoid(), "reshaped": lambda x: x.reshape(-1).exp(),
    "turned": lambda x: x.transpose(0, -1) * 3, "itself": lambda x: x,
}  # fmt: skip


@pytest.mark.parametrize("name", LEAVES)
def test_gradients_of_leaves_lie_as_the_leaves(name: str) -> None:
    for sizes, axes in (((3, 4), (1, 0)), ((2, 3, 4, 5), (0, 3, 1, 2)), ((2, 3, 4), (1, 2, 0))):
        leaf = flambeau.rand(sizes).permute(axes).requires_grad_()
        twin = leaf.detach().contiguous().requires_grad_()
        for _ in range(2):  # the second is added
            LEAVES[name](leaf).sum().backward()
            LEAVES[name](twin).sum().backward()
            assert leaf.grad is not None
            assert leaf.grad.stride() == leaf.stride()
            assert flambeau.allclose(leaf.grad, twin.grad)


def test_gradients_of_leaves_with_gaps_are_row_major() -> None:
    for count in (3, 5):
        leaf = flambeau.rand(count, 8)[:, ::2].requires_grad_()
        (leaf.t() * flambeau.rand(4, count)).sum().backward()
        assert leaf.grad is not None
        assert leaf.grad.is_contiguous()


@pytest.mark.filterwarnings("ignore:Using backward")
def test_gradients_that_can_be_differentiated_lie_so_too() -> None:
    for count in (3, 4):
        leaf = flambeau.rand(2, count).t().requires_grad_()
        (leaf**3).sum().backward(create_graph=True)
        first = leaf.grad
        assert first is not None
        assert first.stride() == leaf.stride()
        leaf.grad = None
        first.sum().backward()
        assert flambeau.allclose(leaf.grad, 6 * leaf.detach())
