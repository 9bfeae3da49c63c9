"""Norms of channels by native code, there and back, beside PyTorch's in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen import available
from flambeau.codegen.convolutions import channel_norms, norm_gradients, norms
from flambeau.codegen.convolutions.vectors import Floats
from flambeau.codegen.llvm.compiler import Compiler
from flambeau.codegen.llvm.host import processor_of

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")


def numbers(seed: int, *sizes: int, dtype: str = "float32") -> np.ndarray[Any, Any]:
    return (np.random.default_rng(seed).standard_normal(sizes) * 2 + 3).astype(dtype)


def compare_with_torch(x: np.ndarray[Any, Any], slope: np.ndarray[Any, Any], has_affine: bool) -> None:
    """Training results, running statistics and gradients of a batch norm beside those that PyTorch has in float64."""
    sizes, dtype = x.shape, x.dtype.name
    operands = [x, numbers(2, sizes[1], dtype=dtype), numbers(3, sizes[1], dtype=dtype)][: 3 if has_affine else 1]
    exact = [torch.tensor(a).double().requires_grad_() for a in operands]
    mine = [flambeau.tensor(a, requires_grad=True) for a in operands]
    running = [torch.zeros(sizes[1]).double(), torch.ones(sizes[1]).double()]
    own = [flambeau.zeros(sizes[1]), flambeau.ones(sizes[1])]
    theirs = torch.nn.functional.batch_norm(exact[0], *running, *exact[1:], training=True)
    ours = flambeau.nn.functional.batch_norm(mine[0], *own, *mine[1:], training=True)
    allowed = {"rtol": 1e-4, "atol": 2e-5} if dtype == "float32" else {"rtol": 1e-10, "atol": 1e-11}
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), **allowed)
    for a, b in zip(own, running, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5)
    expected = torch.autograd.grad(theirs, exact, torch.tensor(slope).double())
    found = flambeau.autograd.grad(ours, mine, flambeau.tensor(slope))
    for a, b in zip(found, expected, strict=True):
        least = 10 * allowed["atol"] * max(1.0, float(b.abs().max()))
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=allowed["rtol"], atol=least)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sizes", [(3, 4, 5, 7), (2, 3, 100), (2, 5, 3, 4, 6), (1, 2, 16), (4, 3, 64, 5)])
@pytest.mark.parametrize("has_affine", [True, False])
def test_results_statistics_and_gradients(sizes: tuple[int, ...], dtype: str, has_affine: bool) -> None:
    x, slope = numbers(0, *sizes, dtype=dtype), numbers(1, *sizes, dtype=dtype)
    assert norms.is_native(x, slope)
    compare_with_torch(x, slope, has_affine)


def test_planes_that_lie_apart_go_by_numpy_with_the_same_result() -> None:
    x = numbers(0, 3, 4, 6, 8)
    last = np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)
    assert not norms.is_native(last)
    found = [flambeau.nn.functional.batch_norm(flambeau.tensor(a), None, None, training=True) for a in (x, last)]
    np.testing.assert_allclose(found[0].numpy(), found[1].numpy(), rtol=1e-4, atol=1e-5)
    every_other = np.repeat(x, 2, axis=1)[:, ::2]  # channels may lie apart
    assert norms.is_native(every_other)
    again = flambeau.nn.functional.batch_norm(flambeau.from_numpy(every_other), None, None, training=True)
    np.testing.assert_array_equal(again.numpy(), found[0].numpy())


def test_gradients_of_gradients() -> None:
    x = flambeau.tensor(numbers(0, 2, 2, 16, dtype="float64"), requires_grad=True)
    weight = flambeau.tensor(numbers(1, 2, dtype="float64"), requires_grad=True)

    def norm(x: Any, weight: Any) -> Any:
        return flambeau.nn.functional.batch_norm(x, None, None, weight, training=True)

    assert flambeau.autograd.gradcheck(norm, (x, weight))
    assert flambeau.autograd.gradgradcheck(norm, (x, weight))


def test_a_channel_with_nan_spoils_no_other() -> None:
    x = numbers(0, 2, 3, 20)
    x[0, 1, 3] = np.nan
    found = flambeau.nn.functional.batch_norm(flambeau.tensor(x), None, None, training=True).numpy()
    assert np.isnan(found[:, 1]).all()
    assert np.isfinite(found[:, ::2]).all()


@pytest.mark.parametrize("kind", ["float", "double"])
def test_texts_are_code_for_vectors_without_masks(kind: str) -> None:
    processor = processor_of("x86-64-v2")
    for text in (channel_norms.forward_text, channel_norms.backward_text):
        assert Compiler(processor).compile(text(Floats(kind, processor.target)), is_glue=True, optimise=False)


def test_gradients_that_are_asked_for_together_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    run = norm_gradients.gradients
    monkeypatch.setattr(norm_gradients, "gradients", lambda *a: (calls.append(a), run(*a))[1])
    tensors = [flambeau.tensor(numbers(k, *sizes)).requires_grad_() for k, sizes in enumerate([(2, 3, 20), (3,), (3,)])]
    result = flambeau.nn.functional.batch_norm(tensors[0], None, None, tensors[1], tensors[2], training=True)
    all_three = flambeau.autograd.grad(result.sum(), tensors, retain_graph=True)
    assert len(calls) == 1
    for one, tensor in zip(all_three, tensors, strict=True):
        (alone,) = flambeau.autograd.grad(result.sum(), tensor, retain_graph=True)
        assert one is not None
        assert alone is not None
        np.testing.assert_array_equal(one.numpy(), alone.numpy())


@flambeau.script
def channels_loss(x: Tensor, weight: Tensor, bias: Tensor, slope: Tensor) -> Tensor:
    return (flambeau.nn.functional.batch_norm(x, None, None, weight, bias, training=True) * slope).sum()


@flambeau.script
def gradients_of_channels(
    x: Tensor, weight: Tensor, bias: Tensor, slope: Tensor
) -> tuple[Tensor, tuple[Tensor, Tensor, Tensor]]:
    return flambeau.value_and_grad(channels_loss, (0, 1, 2))(x, weight, bias, slope)


@pytest.mark.parametrize("sizes", [(2, 3, 20), (2, 3, 4, 5), (6, 3), (3, 2, 7)])
def test_compiled_gradients(sizes: tuple[int, ...]) -> None:
    arrays = [numbers(0, *sizes), numbers(1, sizes[1]), numbers(2, sizes[1]), numbers(3, *sizes)]
    exact = [torch.tensor(a).double().requires_grad_() for a in arrays[:3]]
    theirs = torch.nn.functional.batch_norm(exact[0], None, None, exact[1], exact[2], training=True)
    expected = torch.autograd.grad((theirs * torch.tensor(arrays[3])).sum(), exact)
    for _ in range(3):
        _, found = gradients_of_channels(*map(flambeau.tensor, arrays))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-3)
