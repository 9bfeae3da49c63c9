"""Calls with operands that may be None, numbers or lists, or with several results: the short way of recording them
against the long one, which looks at each argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.autograd import quick_calls
from flambeau.nn import functional

Case = Callable[[Tensor, Tensor, Tensor], Any]
CASES: dict[str, Case] = {
    "linear": lambda x, w, b: functional.linear(x, w, b),
    "linear without a bias": lambda x, w, b: functional.linear(x, w),
    "layer_norm": lambda x, w, b: functional.layer_norm(x, [4], w[0], w[1]),
    "layer_norm alone": lambda x, w, b: functional.layer_norm(x, [4]),
    "conv1d": lambda x, w, b: functional.conv1d(x[None], w[:, None, :2].expand(3, 3, 2), b, padding=1),
    "cat": lambda x, w, b: flambeau.cat([x, w, x]),
    "stack": lambda x, w, b: flambeau.stack([x, w], 1),
    "cat of what asks for nothing": lambda x, w, b: flambeau.cat([x.detach(), w]),
    "clamp": lambda x, w, b: x.clamp(-0.5, 0.7) * w,
    "clamp by tensors": lambda x, w, b: x.clamp(w - 1, w),
    "clamp_min": lambda x, w, b: x.clamp(min=0.1) * w,
    "lerp": lambda x, w, b: flambeau.lerp(x, w, 0.25),
    "masked_fill": lambda x, w, b: x.masked_fill(w > 0, 0.5) * w,
    "sort": lambda x, w, b: x.sort(1)[0] * w,
    "max": lambda x, w, b: x.max(1)[0] * b,
    "topk": lambda x, w, b: x.topk(2, 1)[0],
    "split": lambda x, w, b: x.split([1, 3], 1)[1] * w[:, 1:],
    "chunk": lambda x, w, b: x.chunk(2, 1)[0] * w[:, :2],
    "unbind": lambda x, w, b: x.unbind(1)[2] * b,
    "slice": lambda x, w, b: x[1:, ::2] * 2.0,
    "index": lambda x, w, b: x[flambeau.tensor([0, 2, 0])] * w,
    "index by two": lambda x, w, b: x[flambeau.tensor([0, 2]), flambeau.tensor([1, 1])],
    "mask": lambda x, w, b: x[w.detach() > 0] * 3.0,
    "einsum": lambda x, w, b: flambeau.einsum("ij,kj->ik", x, w),
    "repeat": lambda x, w, b: x.repeat(2, 1),
    "flip": lambda x, w, b: x.flip([0, 1]) * w,
    "roll": lambda x, w, b: x.roll(1, 1) * w,
    "permute": lambda x, w, b: x.permute(1, 0) @ w,
    "logsumexp": lambda x, w, b: x.logsumexp(1) * b,
    "qr": lambda x, w, b: flambeau.linalg.qr(x[:, :3])[1],
    "complex": lambda x, w, b: (flambeau.cat([x * 1j, w * 1j]) * (1 + 2j)).abs(),
}


def _leaves() -> list[Tensor]:
    draw = np.random.default_rng(4)
    arrays = [draw.normal(size=size) for size in ((3, 4), (3, 4), (3,))]
    return [flambeau.tensor(a, requires_grad=True) for a in arrays]


def _gradients(case: Case) -> tuple[str, list[Any]]:
    leaves = _leaves()
    result = case(*leaves)
    weights = flambeau.linspace(0.5, 1.5, result.numel(), dtype=flambeau.float64).reshape(result.shape)
    first = flambeau.autograd.grad((result * weights).sum(), leaves, create_graph=True, allow_unused=True)
    asking = [g.pow(2).sum() for g in first if g is not None and g.requires_grad]
    second: Any = flambeau.autograd.grad(sum(asking), leaves, allow_unused=True) if asking else ()
    return result.grad_fn.name(), [result, *first, *second]


@pytest.mark.parametrize("name", CASES)
def test_c15_the_short_way_records_what_the_long_one_does(name: str) -> None:
    with quick_calls.careful():
        expected = _gradients(CASES[name])
    found = _gradients(CASES[name])
    assert found[0] == expected[0]
    for one, other in zip(found[1], expected[1], strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=1e-12)


def test_c15_indices_that_were_written_since_are_an_error() -> None:
    x, places = flambeau.ones(3, requires_grad=True), flambeau.tensor([0, 1])
    y = x[places]
    places.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_c15_lists_that_change_after_a_call_change_nothing() -> None:
    sizes, x = [2, 1], flambeau.ones(3, requires_grad=True)
    y = x.repeat(sizes)
    sizes[0] = 5
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_c15_saved_values_have_their_names() -> None:
    x = flambeau.ones(2, 3, requires_grad=True)
    node = x[flambeau.tensor([0])].grad_fn
    assert [t.tolist() for t in node._saved_indices] == [[0]]
    assert [n for n, _ in flambeau.cat([x, x.detach()]).grad_fn.next_functions if n is not None] != []


def test_c15_tensors_of_inference_mode_are_not_saved() -> None:
    with flambeau.inference_mode():
        places = flambeau.tensor([0, 1])
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        flambeau.ones(3, requires_grad=True)[places]
