"""Layers of images in training within compiled functions: native there and back, beside PyTorch's in double."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.codegen import available
from flambeau.codegen.convolutions import channel_norms, largest, slopes
from flambeau.codegen.convolutions.vectors import Floats
from flambeau.codegen.llvm.compiler import Compiler
from flambeau.codegen.llvm.host import processor_of

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")


def numbers(seed: int, *sizes: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).standard_normal(sizes) * 2 + 1


def scripted_as(theirs: Any, ours: Any) -> Any:
    """Our module with the numbers of PyTorch's, scripted."""
    ours.double().load_state_dict({k: flambeau.tensor(v.numpy().copy()) for k, v in theirs.state_dict().items()})
    return flambeau.script(ours)


def compare(theirs: Any, ours: Any, steps: int, *sizes: int, asks: bool = True) -> Any:
    """Run both some times, there and back, and compare results, gradients and buffers; gives our report."""
    for step in range(steps):
        x, slope = numbers(2 * step, *sizes), None
        exact, mine = torch.tensor(x, requires_grad=asks), flambeau.tensor(x).requires_grad_(asks)
        # tanh on both sides, so that there is something to go through in front and behind
        expected, found = torch.tanh(theirs(torch.tanh(exact))), flambeau.tanh(ours(flambeau.tanh(mine)))
        slope = numbers(2 * step + 1, *expected.shape)
        theirs.zero_grad()
        ours.zero_grad()
        if expected.requires_grad:
            (expected * torch.tensor(slope)).sum().backward()
            (found * flambeau.tensor(slope)).sum().backward()
        pairs = [(found.detach(), expected.detach())]
        if asks:
            pairs.append((mine.grad, exact.grad))
        pairs += [(p.grad, q.grad) for p, q in zip(ours.parameters(), theirs.parameters(), strict=True)]
        pairs += list(zip(ours.buffers(), theirs.buffers(), strict=True))
        for one, other in pairs:
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-8, atol=1e-9)
    return ours.explain()


@pytest.mark.parametrize(
    ("kind", "sizes"),
    [
        ("BatchNorm1d", (6, 5)), ("BatchNorm1d", (8, 130)), ("BatchNorm1d", (4, 3, 7)), ("BatchNorm1d", (3, 5, 40)),
        ("BatchNorm2d", (4, 3, 2, 2)), ("BatchNorm2d", (2, 3, 1, 1)), ("BatchNorm2d", (2, 5, 5, 7)),
        ("BatchNorm3d", (2, 3, 2, 3, 4)),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "options",
    [{}, {"affine": False}, {"momentum": None}, {"track_running_stats": False}, {"momentum": 0.3, "eps": 0.1}],
)
def test_batch_norm_is_native_there_and_back(kind: str, sizes: tuple[int, ...], options: dict[str, Any]) -> None:
    theirs = getattr(torch.nn, kind)(sizes[1], **options).double()
    ours = scripted_as(theirs, getattr(nn, kind)(sizes[1], **options))
    report = compare(theirs, ours, 5, *sizes)
    if options.get("momentum", 0) is not None:  # the average over all batches asks a tensor for its number
        assert not report.interpreted, str(report)


def test_without_gradients_running_statistics_move_as_well() -> None:
    for sizes in ((4, 3, 6, 6), (6, 3)):
        kind = "BatchNorm2d" if len(sizes) == 4 else "BatchNorm1d"
        theirs = getattr(torch.nn, kind)(3, affine=False).double()
        compare(theirs, scripted_as(theirs, getattr(nn, kind)(3, affine=False)), 5, *sizes, asks=False)


def test_evaluation_after_training_goes_by_what_was_learned() -> None:
    theirs = torch.nn.BatchNorm2d(3).double()
    ours = scripted_as(theirs, nn.BatchNorm2d(3))
    compare(theirs, ours, 4, 4, 3, 6, 6)
    compare(theirs.eval(), ours.eval(), 4, 4, 3, 6, 6)
    compare(theirs.train(), ours.train(), 2, 5, 3, 4, 9)


@pytest.mark.parametrize("sizes", [(2, 4, 2), (2, 4)])
def test_what_does_not_fit_is_refused_as_eager_calls_do(sizes: tuple[int, ...]) -> None:
    ours = flambeau.script(nn.BatchNorm1d(3))
    for _ in range(4):
        with pytest.raises(RuntimeError, match="running_mean should contain 4 elements not 3"):
            ours(flambeau.ones(*sizes))
    one = flambeau.script(nn.BatchNorm1d(3))
    for _ in range(4):
        with pytest.raises(ValueError, match="Expected more than 1 value per channel when training"):
            one(flambeau.ones(1, 3))
    assert one.running_mean.tolist() == [0.0, 0.0, 0.0]


def test_channels_that_lie_innermost() -> None:
    theirs = torch.nn.BatchNorm2d(3).double()
    ours = scripted_as(theirs, nn.BatchNorm2d(3))
    x = np.moveaxis(numbers(0, 4, 5, 6, 3), -1, 1)
    for _ in range(4):
        expected, found = theirs(torch.from_numpy(x)), ours(flambeau.from_numpy(x))
        np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(ours.running_var.numpy(), theirs.running_var.numpy(), rtol=1e-9)


class Pooled(nn.Module):
    def __init__(self, kind: str, *options: Any) -> None:
        super().__init__()
        self.pool = getattr(nn, kind)(*options)

    def forward(self, x: Tensor) -> Tensor:
        return self.pool(x) * 2.0


class TorchPooled(torch.nn.Module):
    def __init__(self, kind: str, *options: Any) -> None:
        super().__init__()
        self.pool = getattr(torch.nn, kind)(*options)

    def forward(self, x: Any) -> Any:
        return self.pool(x) * 2.0


@pytest.mark.parametrize(
    ("kind", "options", "sizes"),
    [
        ("MaxPool2d", (2,), (2, 3, 8, 9)), ("MaxPool2d", (3, 2, 1), (2, 3, 9, 7)),
        ("MaxPool2d", (2, 1, 0, 2), (1, 2, 6, 6)), ("MaxPool2d", (2,), (3, 8, 9)),
        ("MaxPool1d", (3, 2, 1), (2, 3, 20)), ("MaxPool1d", (2,), (3, 9)),
        ("MaxPool2d", ((2, 3), (1, 2), (1, 0), 1, False, True), (2, 2, 7, 8)),
    ],
)  # fmt: skip
def test_largest_of_windows_with_their_places(kind: str, options: tuple[Any, ...], sizes: tuple[int, ...]) -> None:
    report = compare(TorchPooled(kind, *options), scripted_as(torch.nn.ReLU(), Pooled(kind, *options)), 5, *sizes)
    assert not report.interpreted, str(report)


@pytest.mark.parametrize(
    ("kind", "options", "sizes"),
    [
        ("Conv1d", (4, 6, 3, 2, 1), (2, 4, 11)), ("Conv2d", (4, 6, 3, 1, 1, 1, 2), (3, 4, 7, 6)),
        ("Conv2d", (4, 4, (3, 2), (2, 1), (1, 0), (1, 2), 4), (2, 4, 9, 8)),
        ("Conv3d", (2, 3, 2, 1, 1), (2, 2, 4, 5, 3)),
        ("ConvTranspose2d", (4, 3, 3, 2, 1, 1), (2, 4, 5, 4)),
    ],
)  # fmt: skip
def test_gradients_of_weights_of_convolutions(kind: str, options: tuple[Any, ...], sizes: tuple[int, ...]) -> None:
    theirs = getattr(torch.nn, kind)(*options).double()
    report = compare(theirs, scripted_as(theirs, getattr(nn, kind)(*options)), 5, *sizes)
    assert not report.interpreted, str(report)


@pytest.mark.parametrize(
    ("kind", "options", "sizes"),
    [
        ("Conv1d", (4, 6, 3, 2, 1), (2, 4, 11)), ("Conv2d", (4, 6, 3, 1, 1, 1, 2), (3, 4, 7, 6)),
        ("Conv2d", (4, 4, (3, 2), (2, 1), (1, 0), (1, 2), 4), (2, 4, 9, 8)),
        ("Conv3d", (2, 3, 2, 1, 1), (2, 2, 4, 5, 3)),
    ],
)  # fmt: skip
def test_what_is_not_finite_spoils_only_its_own_sums(
    kind: str, options: tuple[Any, ...], sizes: tuple[int, ...]
) -> None:
    """Rows are multiplied with zeros between them, so elements are then summed one by one."""
    theirs, x = getattr(torch.nn, kind)(*options).double(), numbers(0, *sizes)
    ours = scripted_as(theirs, getattr(nn, kind)(*options))
    x[(0, 1, *[0] * (len(sizes) - 2))] = np.inf
    for _ in range(5):
        expected, found = theirs(torch.tensor(x)), ours(flambeau.tensor(x))
        slope = np.abs(numbers(1, *expected.shape)) + 0.5
        theirs.zero_grad()
        ours.zero_grad()
        (expected * torch.tensor(slope)).sum().backward()
        (found * flambeau.tensor(slope)).sum().backward()
    np.testing.assert_allclose(ours.weight.grad.numpy(), theirs.weight.grad.numpy(), rtol=1e-8)
    kinds = np.isfinite(ours.weight.grad.numpy())
    assert kinds.any()
    assert not kinds.all()


@pytest.mark.parametrize("kind", ["float", "double"])
def test_texts_are_code_for_vectors_without_masks(kind: str) -> None:
    processor = processor_of("x86-64-v2")
    for text in (channel_norms.training_text, largest.largest_text, slopes.slopes_text):
        assert Compiler(processor).compile(text(Floats(kind, processor.target)), is_glue=True, optimise=False)
