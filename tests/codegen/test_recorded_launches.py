"""Launches for sizes that a group has not seen, made by native code: the same answers, and Python is not asked."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.codegen import available
from flambeau.codegen.inline_cache import InlineCache
from flambeau.codegen.layouts import CELL
from flambeau.codegen.routines import kernel
from tests.codegen.test_convolutions import random_case
from tests.codegen.test_routines import program

pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")
F = nn.functional
RNG = np.random.default_rng(7)


class Outputs(nn.Module):
    """The outputs of a recurrent layer, without its states."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        outputs: Tensor = self.layer(x)[0]
        return outputs


class WithResidual(nn.Module):
    """A convolution, a norm, what is added, an activation."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution, self.norm = nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16)

    def forward(self, x: Tensor) -> Tensor:
        return flambeau.relu(self.norm(self.convolution(x)) + x)


class Sampled(nn.Module):
    """An image read at a grid that follows from it."""

    def forward(self, x: Tensor) -> Tensor:
        grid = x[:, :2].permute(0, 2, 3, 1)
        return F.grid_sample(x, grid, align_corners=False)


def image(channels: int, batch: int = 1) -> Callable[[int], tuple[int, ...]]:
    return lambda n: (batch, channels, n, n + 3)


def line(channels: int) -> Callable[[int], tuple[int, ...]]:
    return lambda n: (2, channels, 5 * n)


# Each layer is another, since equal ones share a plan.
LAYERS: dict[str, tuple[Callable[[], nn.Module], Callable[[int], tuple[int, ...]]]] = {
    "convolution": (lambda: nn.Conv2d(3, 16, 3, padding=1), image(3)),
    "winograd": (lambda: nn.Conv2d(32, 32, 3, padding=1), image(32)),
    "steps": (lambda: nn.Conv2d(8, 24, 5, stride=2, padding=2), image(8, 2)),
    "groups": (lambda: nn.Conv2d(8, 12, 3, groups=2, dilation=2), image(8)),
    "many channels": (lambda: nn.Conv2d(128, 48, 3, padding=1, bias=False), image(128)),
    "one element": (lambda: nn.Conv2d(24, 40, 1), image(24)),
    "residual": (WithResidual, image(16)),
    "gelu": (lambda: nn.Sequential(nn.Conv2d(4, 8, 3), nn.GELU()), image(4)),
    "each channel": (lambda: nn.Conv2d(12, 12, 3, padding=1, groups=12), image(12)),
    "each channel, wide": (lambda: nn.Conv2d(12, 12, 5, padding=2, groups=12, stride=2), image(12)),
    "few places": (lambda: nn.Conv2d(32, 16, 1), lambda n: (n, 32, 2, 2)),
    "batches": (lambda: nn.Conv2d(8, 16, 3, padding=1), lambda n: (n, 8, 10, 10)),
    "line": (lambda: nn.Conv1d(6, 10, 7, padding=3), line(6)),
    "volume": (lambda: nn.Conv3d(2, 4, 3, padding=1), lambda n: (1, 2, 3, n, n + 1)),
    "transposed": (lambda: nn.ConvTranspose2d(6, 5, 3, stride=2, padding=1, output_padding=1), image(6)),
    "largest": (lambda: nn.MaxPool2d(3, 2, 1), image(5)),
    "largest, far": (lambda: nn.MaxPool2d(3, 1, 1, dilation=2), image(5)),
    "largest, rounded up": (lambda: nn.MaxPool2d(3, 2, ceil_mode=True), image(5)),
    "mean": (lambda: nn.AvgPool2d(3, 2, 1), image(5)),
    "mean, inside": (lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False), image(5)),
    "mean of lines": (lambda: nn.AvgPool1d(4), line(3)),
    "adaptive": (lambda: nn.AdaptiveAvgPool2d((3, 1)), image(5)),
    "nearest": (lambda: nn.Upsample(scale_factor=2.0), image(5)),
    "reflection": (lambda: nn.ReflectionPad2d((2, 1, 3, 0)), image(5)),
    "replication": (lambda: nn.ReplicationPad2d(3), image(5)),
    "zeros": (lambda: nn.ZeroPad2d((1, 2, 3, -1)), image(5)),
    "norm of groups": (lambda: nn.GroupNorm(2, 8), image(8, 2)),
    "norm of instances": (lambda: nn.InstanceNorm2d(8, affine=True), image(8, 2)),
    "sampled": (Sampled, image(3)),
    "LSTM": (lambda: Outputs(nn.LSTM(7, 12)), lambda n: (n, 3, 7)),
    "LSTM, batch first": (lambda: Outputs(nn.LSTM(5, 12, batch_first=True)), lambda n: (2, n, 5)),
    "GRU": (lambda: Outputs(nn.GRU(7, 12, num_layers=2, bidirectional=True)), lambda n: (n, 3, 7)),
    "LSTM, batches": (lambda: Outputs(nn.LSTM(6, 12)), lambda n: (5, n, 6)),
}
FEW_ASKED = {"volume": 16}
"""Of how many of the sizes Python is asked at most, where that is not `MOST_ASKED`."""
SIZES = [*range(9, 45, 2), *range(10, 90, 9)]
MOST_ASKED = 12


class Asked:
    """What Python is asked for: launches, by the names of their groups."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names: list[str] = []
        self._caches: dict[int, InlineCache] = {}
        self._monkeypatch = monkeypatch
        call, make = kernel.RoutineKernel.call_and_keep, kernel.RoutineKernel._new_launch

        def watched_call(own: kernel.RoutineKernel, inputs: Any, cache: InlineCache, static: Any = ()) -> Any:
            self._caches[id(cache)] = cache
            return call(own, inputs, cache, static)

        def watched_make(own: kernel.RoutineKernel, arrays: Any) -> Any:
            self.names.append(own.name)
            return make(own, arrays)

        monkeypatch.setattr(kernel.RoutineKernel, "call_and_keep", watched_call)
        monkeypatch.setattr(kernel.RoutineKernel, "_new_launch", watched_make)

    def forget_programs(self) -> None:
        """Have Python make all launches from now on."""
        self._monkeypatch.setattr(kernel, "recorded", lambda *arguments: None)
        for cache in self._caches.values():
            cache.cell[CELL.word("programs")] = 0


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    return Asked(monkeypatch)


def scripted(layer: str) -> Any:
    flambeau.manual_seed(3)
    return flambeau.jit.script(LAYERS[layer][0]().eval())


def numbers(*shape: int) -> Tensor:
    return flambeau.from_numpy(RNG.standard_normal(shape).astype(np.float32))


@pytest.mark.parametrize("layer", LAYERS)
def test_launches_by_programs_are_those_that_python_makes(layer: str, asked: Asked) -> None:
    function, sizes = scripted(layer), LAYERS[layer][1]
    with flambeau.no_grad():
        for _ in range(3):
            function(numbers(*sizes(8)))
        inputs = [numbers(*sizes(n)) for n in SIZES]
        mine = [function(x).numpy() for x in inputs]
        count = len(asked.names) / len(set(asked.names))
        asked.names.clear()
        asked.forget_programs()
        theirs = [function(x).numpy() for x in inputs]
    for x, one, other in zip(inputs, mine, theirs, strict=True):
        np.testing.assert_array_equal(one, other, err_msg=str(x.shape))
    assert count <= FEW_ASKED.get(layer, MOST_ASKED)
    assert len(asked.names) >= len(SIZES) - count - 1, "Python makes each launch without programs"


def test_random_windows_of_many_sizes() -> None:
    rng, cases = np.random.default_rng(5), []
    while len(cases) < 8:
        case = random_case(rng)
        if case is not None:
            cases.append(case)
    for name, (x, *others), options in cases:
        function = program(name, options)
        weights = [flambeau.from_numpy(a) for a in others]
        larger = [
            flambeau.from_numpy(rng.standard_normal((*x.shape[:2], *(x.shape[2:] + rng.integers(0, 24, x.ndim - 2))))
                                .astype(x.dtype))
            for _ in range(12)
        ]  # fmt: skip
        mine = [function(one, *weights).numpy() for one in (*larger[:1] * 3, *larger)][3:]
        for one, own in zip(larger, mine, strict=True):
            eager = getattr(F, name)(one, *weights, *options) + 1.0
            np.testing.assert_array_equal(own, eager.numpy(), err_msg=f"{name} {options} {one.shape}")


def test_results_are_as_eager_ones_of_hostile_values(asked: Asked) -> None:
    layer = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)).eval()
    fast = flambeau.jit.script(layer)
    with flambeau.no_grad():
        for n in (8, 8, 8, 12, *range(9, 40)):
            x = numbers(1, 3, n, n + 1)
            x[0, 0, n // 2, 1], x[0, 1, 0, 0], x[0, 2, n - 1, n] = float("inf"), float("nan"), -0.0
            np.testing.assert_allclose(fast(x).numpy(), layer(x).numpy(), rtol=1e-5, atol=1e-5)
    assert len(asked.names) < 16


def test_other_layouts_than_those_recorded_are_asked_for() -> None:
    fast = scripted("convolution")
    with flambeau.no_grad():
        for n in (8, 8, 8, 12, 14):
            fast(numbers(1, 3, n, n + 3))
        for n in (16, 21):
            whole = numbers(1, 3, 2 * n, 2 * n + 6)
            strided = whole[:, :, ::2, ::2]
            np.testing.assert_array_equal(fast(strided).numpy(), fast(strided.contiguous()).numpy())
            turned = numbers(1, n, n + 3, 3).permute(0, 3, 1, 2)
            np.testing.assert_allclose(
                fast(turned).numpy(), fast(turned.contiguous()).numpy(), rtol=1e-5, atol=1e-6
            )


def test_sizes_that_are_refused_raise_the_operators_error() -> None:
    fast = flambeau.jit.script(nn.Conv2d(3, 4, 5).eval())
    with flambeau.no_grad():
        for n in (8, 8, 8, 12, 14, 17):
            fast(numbers(1, 3, n, n))
        with pytest.raises(RuntimeError, match="Kernel size can't be greater than actual input size"):
            fast(numbers(1, 3, 4, 9))
        assert fast(numbers(1, 3, 5, 9)).shape == (1, 4, 1, 5)


def test_gradients_of_new_sizes_are_as_in_torch(asked: Asked) -> None:
    torch = pytest.importorskip("torch")
    w = RNG.standard_normal((6, 4, 3, 3)).astype(np.float32)

    @flambeau.script
    def loss(x: Tensor, w: Tensor) -> Tensor:
        return (flambeau.conv2d(x, w, None, [1, 1], [1, 1]).relu() ** 2.0).sum()

    for n in (8, 8, 8, *range(9, 40, 3)):
        x = RNG.standard_normal((2, 4, n, n + 1)).astype(np.float32)
        mine, theirs = flambeau.from_numpy(w.copy()).requires_grad_(), torch.tensor(w, requires_grad=True)
        loss(flambeau.from_numpy(x), mine).backward()
        (torch.conv2d(torch.tensor(x), theirs, padding=1).relu() ** 2).sum().backward()
        assert mine.grad is not None
        np.testing.assert_allclose(mine.grad.numpy(), theirs.grad.numpy(), rtol=2e-4, atol=2e-3)


def test_threads_call_with_new_sizes_at_once() -> None:
    layer = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU()).eval()
    fast, failures = flambeau.jit.script(layer), []

    def call(first: int) -> None:
        with flambeau.no_grad():
            for n in range(first, first + 40):
                x = numbers(1, 3, n, n + 2)
                if not np.allclose(fast(x).numpy(), layer(x).numpy(), rtol=1e-4, atol=1e-5):
                    failures.append(n)

    with flambeau.no_grad():
        for n in (8, 8, 8, 10):
            fast(numbers(1, 3, n, n + 2))
    threads = [threading.Thread(target=call, args=(first,)) for first in (11, 12, 13)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_equal_layers_share_what_was_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded, count = kernel.recorded, []
    monkeypatch.setattr(kernel, "recorded", lambda *arguments: count.append(1) or recorded(*arguments))
    fast = flambeau.jit.script(nn.Sequential(*[nn.Conv2d(8, 8, 3, padding=1) for _ in range(5)]).eval())
    with flambeau.no_grad():
        for n in (9, 9, 9, 13):
            fast(numbers(1, 8, n, n))
    assert len(count) == 1
