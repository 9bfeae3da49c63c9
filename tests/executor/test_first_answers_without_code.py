"""A first answer does without code that would have to be compiled, where NumPy gives it sooner."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.codegen import available
from flambeau.codegen.convolutions import group_norm_rules, norms, run, window_rules, windows
from flambeau.codegen.recurrent import module
from flambeau.executor import large_calls, recurrent_kernels
from flambeau.util import at_hand

pytestmark = pytest.mark.skipif(not available(), reason="there is no native code")
IMAGE = flambeau.linspace(-1.0, 2.0, 2 * 4 * 10 * 14).reshape(2, 4, 10, 14)
STEPS = flambeau.linspace(-1.0, 1.0, 6 * 3 * 5).reshape(6, 3, 5)
ROWS = flambeau.linspace(-3.0, 3.0, 96 * 256).reshape(256, 96).t().contiguous()
DOORS = {
    "convolution": (run, "prepare"),
    "largest": (windows, "prepare_largest"),
    "windows": (window_rules, "run_of"),
    "channel norm": (norms, "normalise"),
    "group norm": (group_norm_rules, "normalise"),
    "recurrent": (recurrent_kernels, "_kernels"),
    "large": (large_calls.LargeCalls, "_new"),
}
"""Where code is asked for."""


class First(nn.Module):
    """The outputs of a recurrent layer, without its states."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        outputs: Tensor = self.layer(x)[0]
        return outputs


CASES: dict[str, tuple[str, Callable[[], nn.Module], Tensor]] = {
    "Conv2d": ("convolution", lambda: nn.Conv2d(4, 6, 3, stride=2, padding=1), IMAGE),
    "depthwise": ("convolution", lambda: nn.Conv2d(4, 4, 3, groups=4, bias=False), IMAGE),
    "ConvTranspose2d": ("convolution", lambda: nn.ConvTranspose2d(4, 3, 3, stride=2), IMAGE),
    "MaxPool2d": ("largest", lambda: nn.MaxPool2d(3, 2, 1), IMAGE),
    "AvgPool2d": ("windows", lambda: nn.AvgPool2d(3, 2), IMAGE),
    "AdaptiveAvgPool2d": ("windows", lambda: nn.AdaptiveAvgPool2d((3, 5)), IMAGE),
    "Upsample": ("windows", lambda: nn.Upsample(scale_factor=2.0, mode="bilinear"), IMAGE),
    "BatchNorm2d": ("channel norm", lambda: nn.BatchNorm2d(4, track_running_stats=False), IMAGE),
    "GroupNorm": ("group norm", lambda: nn.GroupNorm(2, 4), IMAGE),
    "LSTM": ("recurrent", lambda: First(nn.LSTM(5, 7)), STEPS),
    "GRU": ("recurrent", lambda: First(nn.GRU(5, 7)), STEPS),
    "LayerNorm": ("large", lambda: nn.LayerNorm(256), ROWS),
    "GELU": ("large", lambda: nn.GELU(), ROWS),
}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAMBEAU_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(large_calls, "_calls", {})


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The doors that are gone through from now on."""
    through: list[str] = []

    def watched(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            through.append(name)
            return real(*arguments, **options)

        return call

    for name, (owner, attribute) in DOORS.items():
        monkeypatch.setattr(owner, attribute, watched(name, getattr(owner, attribute)))
    return through


def loaded(case: str) -> tuple[Any, nn.Module]:
    """A program from an archive, whose first call is answered as it is written, and the layer that it is of."""
    flambeau.manual_seed(0)
    layer, stream = CASES[case][1](), io.BytesIO()
    flambeau.jit.save(flambeau.jit.script(layer), stream)
    stream.seek(0)
    return flambeau.jit.load(stream), layer


@pytest.mark.parametrize("case", CASES)
def test_a_first_answer_does_not_wait_for_code(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    door, _, x = CASES[case]
    program, layer = loaded(case)
    through = counted(monkeypatch)
    with flambeau.no_grad():
        first = program(x)
        assert program.explain().first_calls == 1
        assert through == []
        expected = layer(x)
        assert door in through  # what was done without is not remembered as what has no code
        assert flambeau.allclose(first, expected, rtol=1e-5, atol=1e-6)
        assert flambeau.allclose(program(x), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("case", CASES)
def test_a_first_answer_about_much_has_code(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    door, _, x = CASES[case]
    x = x.flip(0).contiguous()[:-1]  # other sizes than those that calls remember
    program, _ = loaded(case)
    through = counted(monkeypatch)
    monkeypatch.setattr(at_hand, "MANY", 1)
    with flambeau.no_grad():
        program(x)
        assert program.explain().first_calls == 1
    assert door in through


@pytest.mark.parametrize("kind", ["lstm", "gru", "rnn_tanh", "rnn_relu"])
def test_code_of_recurrent_layers_is_at_hand_once_it_was_written(kind: str) -> None:
    assert not module.is_at_hand(kind, "float64")
    for one in (module.forward, module.pack, module.product, module.code):
        one.cache_clear()
    recurrent_kernels._kernels.cache_clear()
    with at_hand.at_hand_only():
        assert recurrent_kernels.kernels(kind, np.dtype(np.float64), 10) is None
        assert recurrent_kernels.kernels(kind, np.dtype(np.float64), at_hand.MANY) is not None
        assert module.is_at_hand(kind, "float64")
        assert recurrent_kernels.kernels(kind, np.dtype(np.float64), 10) is not None


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_gradients_go_back_natively_through_what_numpy_gave(kind: str) -> None:
    flambeau.manual_seed(1)
    layer = getattr(nn, kind)(5, 7)
    with at_hand.at_hand_only():
        hurried = flambeau.autograd.grad((layer(STEPS)[0] ** 2).sum(), list(layer.parameters()))
    with at_hand.at_hand_only():
        loss = (layer(STEPS)[0] ** 2).sum()
    mixed = flambeau.autograd.grad(loss, list(layer.parameters()))
    expected = flambeau.autograd.grad((layer(STEPS)[0] ** 2).sum(), list(layer.parameters()))
    for one, two, three in zip(hurried, mixed, expected, strict=True):
        assert one is not None
        assert two is not None
        assert three is not None
        assert flambeau.allclose(one, three, rtol=1e-4, atol=1e-5)
        assert flambeau.allclose(two, three, rtol=1e-4, atol=1e-5)
