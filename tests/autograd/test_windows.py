"""Writes through views while gradients are recorded: the elements of gradients, by strides and by their numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.autograd.windows import Window, _repeats

torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")

BASES: dict[str, Callable[[Any], Any]] = {
    "row-major": lambda x: x * 1,
    "columns": lambda x: (x * 1).t().contiguous().t() * 1,
    "of a view": lambda x: (x * 1).reshape(2, 2, 3).reshape(4, 3),
}
VIEWS: dict[str, Callable[[Any], Any]] = {
    "row": lambda y: y[1], "column": lambda y: y[:, 2], "part": lambda y: y[1:3, ::2], "element": lambda y: y[3, 0],
    "all": lambda y: y[...], "turned": lambda y: y.t(), "diagonal": lambda y: y[:3].diagonal(), "none": lambda y: y[4:],
    "added": lambda y: y[:, None, 1], "no columns": lambda y: y[:, 3:], "none of them": lambda y: y[:, 3:].unsqueeze(1),
}  # fmt: skip
WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "number": lambda v, w: v.fill_(2.0), "product": lambda v, w: v.mul_(3.0), "sum": lambda v, w: v.add_(w),
    "zeros": lambda v, w: v.zero_(), "function": lambda v, w: v.sigmoid_(), "copy": lambda v, w: v.copy_(w * 2),
    "mask": lambda v, w: v.masked_fill_(v > 0.2, -1.0),
}  # fmt: skip


def gradients(library: Any, base: str, view: str, write: str, twice: bool) -> Any:
    numbers = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
    x = library.from_numpy(numbers.copy()).requires_grad_()
    w = library.tensor(0.5, requires_grad=True)
    y = BASES[base](x)
    before = VIEWS[view](y)
    WRITES[write](VIEWS[view](y), w)
    result = (y * y).sum() + before.sum() * 3 + VIEWS[view](y).exp().sum()
    grads = library.autograd.grad(result, [x, w], create_graph=twice, allow_unused=True)
    if twice:
        total = sum([(g * g).sum() for g in grads if g is not None])
        grads = library.autograd.grad(total, [x, w], allow_unused=True)
    return [None if g is None else np.array(g.tolist()) for g in grads]


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("base", BASES)
def test_gradients_are_pytorchs(base: str, view: str, write: str, twice: bool) -> None:
    own = gradients(flambeau, base, view, write, twice)
    other = gradients(torch, base, view, write, twice)
    for mine, theirs in zip(own, other, strict=True):
        mine = np.zeros_like(theirs) if mine is None and theirs is not None else mine
        theirs = np.zeros_like(mine) if theirs is None and mine is not None else theirs
        if mine is not None:
            np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("view", [v for v in VIEWS if v != "none"])
def test_by_strides_and_by_numbers_are_the_same(view: str) -> None:
    base = flambeau.arange(12.0).reshape(4, 3)
    window = Window(base, VIEWS[view](base))
    whole, part = flambeau.randn(4, 3), flambeau.randn(window.view_sizes)
    with flambeau.no_grad():
        quick = [window.read(whole), window.written(whole, None), window.written(whole, part), window.spread(part)]
    slow = [window.read(whole), window.written(whole, None), window.written(whole, part), window.spread(part)]
    assert [one.tolist() for one in quick] == [one.tolist() for one in slow]


def test_elements_that_are_shown_twice_get_both_gradients() -> None:
    base = flambeau.arange(3.0)
    window = Window(base, base.unfold(0, 2, 1))
    with flambeau.no_grad():
        assert window.spread(flambeau.ones(2, 2)).tolist() == [1.0, 2.0, 1.0]
    assert [_repeats(*one) for one in (((2, 2), (1, 1)), ((3,), (0,)), ((2, 3), (3, 1)), ((1, 2), (0, 1)))] == [
        True, True, False, False,
    ]  # fmt: skip


def test_a_tensor_written_by_itself_has_the_gradient_of_both_factors() -> None:
    x = flambeau.tensor([2.0, 3.0], requires_grad=True)
    y = x * 1
    y.mul_(y)
    y.sum().backward()
    assert x.grad.tolist() == [4.0, 6.0]


def test_what_is_refused_is_refused_before_anything_is_written() -> None:
    leaf = flambeau.ones(3, requires_grad=True)
    mask = flambeau.tensor([True, False, True])
    for call in (lambda: leaf.masked_fill_(mask, 0.0), lambda: leaf[:2].mul_(2), lambda: leaf.fill_(1.0)):
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
            call()
    with flambeau.no_grad():
        view = (leaf * 1)[:2]
    assert leaf.tolist() == [1.0, 1.0, 1.0]
    with flambeau.inference_mode():
        made = flambeau.ones(3)
    y = leaf * 1
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        y.mul_(made)
    assert (view.tolist(), y.tolist()) == ([1.0, 1.0], [1.0, 1.0, 1.0])
