"""Gradients of norms over trailing dimensions, by native code and by NumPy, beside PyTorch's in double precision."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen import available
from flambeau.codegen.convolutions import row_norm_rules, row_norms
from flambeau.codegen.convolutions.vectors import Floats
from flambeau.codegen.llvm.compiler import Compiler
from flambeau.codegen.llvm.host import processor_of
from flambeau.ops.layer_norm_gradients import gradients_kernel, rows_of_part

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")


def numbers(seed: int, *sizes: int, dtype: str = "float32") -> np.ndarray[Any, Any]:
    return (np.random.default_rng(seed).standard_normal(sizes) * 2 + 3).astype(dtype)


def loss(x: Tensor, weight: Tensor | None, bias: Tensor | None, slope: Tensor, dims: int) -> Tensor:
    sizes = [x.size(k) for k in range(x.dim() - dims, x.dim())]
    return (flambeau.nn.functional.layer_norm(x, sizes, weight, bias) * slope).sum()


compiled = flambeau.script(loss)


@pytest.mark.parametrize("is_compiled", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("sizes", "dims"), [((5, 7), 1), ((3, 4, 33), 1), ((2, 3, 4, 5), 2), ((600, 16), 1), ((19, 1), 1), ((64,), 1)]
)
def test_gradients(sizes: tuple[int, ...], dims: int, dtype: str, is_compiled: bool) -> None:
    inner = sizes[len(sizes) - dims :]
    arrays = [numbers(0, *sizes, dtype=dtype), numbers(1, *inner, dtype=dtype), numbers(2, *inner, dtype=dtype)]
    slope = numbers(3, *sizes, dtype=dtype)
    exact = [torch.tensor(a).double().requires_grad_() for a in arrays]
    total = torch.nn.functional.layer_norm(exact[0], inner, exact[1], exact[2])
    expected = torch.autograd.grad((total * torch.tensor(slope)).sum(), exact)
    allowed = {"rtol": 2e-4, "atol": 2e-3} if dtype == "float32" else {"rtol": 1e-10, "atol": 1e-11}
    for places in ((0, 1, 2), (0,), (1,), (2,)):
        mine = [flambeau.tensor(a, requires_grad=k in places) for k, a in enumerate(arrays)]
        found = (compiled if is_compiled else loss)(mine[0], mine[1], mine[2], flambeau.tensor(slope), dims)
        gradients = flambeau.autograd.grad(found, [mine[k] for k in places])
        for place, gradient in zip(places, gradients, strict=True):
            assert gradient is not None
            np.testing.assert_allclose(gradient.numpy(), expected[place].numpy(), **allowed)


def test_native_code_gives_what_numpy_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    x, slope, weight = numbers(0, 70, 3, 21), numbers(1, 70, 3, 21), numbers(2, 21)
    x[0, 0, 0], slope[3, 1, 2], x[69, 2] = np.nan, np.inf, 7
    native = row_norm_rules.gradients(slope, x, weight, 1, 1e-5)
    assert native is not None
    assert native[1].shape == (-(-210 // rows_of_part(210)), 21)
    with monkeypatch.context() as context:
        context.setattr("flambeau.util.inversions.LAYER_NORM_GRADIENTS.implementation", lambda *arguments: None)
        by_numpy = gradients_kernel(slope, x, weight, 1, 1e-5)
    for a, b in zip(native, by_numpy, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize("sizes", [(0, 4), (3, 0), (0, 0)])
def test_nothing(sizes: tuple[int, int]) -> None:
    x = flambeau.zeros(*sizes, requires_grad=True)
    weight = flambeau.ones(sizes[1], requires_grad=True)
    for function in (loss, compiled):
        total = function(x, weight, None, flambeau.zeros(*sizes), 1)
        of_x, of_weight = flambeau.autograd.grad(total, [x, weight])
        assert of_x is not None
        assert of_weight is not None
        assert (of_x.shape, of_weight.tolist()) == (x.shape, [0.0] * sizes[1])


def test_gradients_that_lie_otherwise_and_other_dtypes() -> None:
    x, weight = numbers(0, 6, 5), numbers(1, 5)
    mine = flambeau.tensor(x, requires_grad=True)
    result = flambeau.nn.functional.layer_norm(mine, [5], flambeau.tensor(weight))
    exact = torch.tensor(x, requires_grad=True)
    theirs = torch.nn.functional.layer_norm(exact, [5], torch.tensor(weight))
    turned = numbers(2, 5, 6)
    for own, other in (
        (flambeau.tensor(turned).t(), torch.tensor(turned).t()), (flambeau.ones(5).expand(6, 5), torch.ones(6, 5))
    ):  # fmt: skip
        (found,) = flambeau.autograd.grad(result, mine, own, retain_graph=True)
        (expected,) = torch.autograd.grad(theirs, exact, other, retain_graph=True)
        assert found is not None
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-4, atol=1e-5)
    half = flambeau.tensor(x).half().requires_grad_()
    (found,) = flambeau.autograd.grad(flambeau.nn.functional.layer_norm(half, [5]).float().pow(3).sum(), half)
    assert found is not None
    assert found.dtype == flambeau.float16


def test_gradients_of_gradients_and_of_batches() -> None:
    x = flambeau.tensor(numbers(0, 4, 3, dtype="float64"), requires_grad=True)
    weight = flambeau.tensor(numbers(1, 3, dtype="float64"), requires_grad=True)
    bias = flambeau.zeros(3, dtype=flambeau.float64, requires_grad=True)

    def function(a: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return flambeau.nn.functional.layer_norm(a, [3], w, b).tanh()

    assert flambeau.autograd.gradgradcheck(function, (x, weight, bias))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # an operator that runs once for each example warns
        each = flambeau.vmap(flambeau.grad(lambda row: function(row, weight.detach(), bias.detach()).sum()))(x.detach())
    whole = flambeau.grad(lambda rows: function(rows, weight.detach(), bias.detach()).sum())(x.detach())
    np.testing.assert_allclose(each.numpy(), whole.numpy())


@flambeau.script
def rows_loss(x: Tensor, weight: Tensor, bias: Tensor, slope: Tensor) -> Tensor:
    return (flambeau.nn.functional.layer_norm(x, [x.size(1)], weight, bias) * slope).sum()


@flambeau.script
def rows_gradient(x: Tensor, weight: Tensor, bias: Tensor, slope: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return flambeau.grad(rows_loss, (0, 1, 2))(x, weight, bias, slope)


def test_compiled_gradients_go_over_the_rows_once() -> None:
    arguments = (numbers(0, 9, 8), numbers(1, 8), numbers(2, 8), numbers(3, 9, 8))
    for _ in range(3):
        rows_gradient(*map(flambeau.tensor, arguments))
    report = str(rows_gradient.explain())
    assert report.count(": layer_norm_gradients") == 1
    assert "native from end to end" in report


@pytest.mark.parametrize("kind", ["float", "double"])
def test_text_is_code_for_vectors_without_masks(kind: str) -> None:
    processor = processor_of("x86-64-v2")
    assert Compiler(processor).compile(
        row_norms.rows_text(Floats(kind, processor.target)), is_glue=True, optimise=False
    )
