"""Derivatives of functions with a call, in a branch that is not taken, whose arguments its operator refuses."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.autodiff import decompose
from flambeau.nn import functional


def attended(q: Tensor, mask: Tensor | None, is_causal: bool) -> Tensor:
    if mask is not None and is_causal:
        return functional.scaled_dot_product_attention(q, q, q, attn_mask=mask, is_causal=True)
    elif is_causal:
        return functional.scaled_dot_product_attention(q, q, q, is_causal=True)
    else:
        return functional.scaled_dot_product_attention(q, q, q, attn_mask=mask)


def gradient(function, values, mask, is_causal):
    q = flambeau.tensor(values, requires_grad=True)
    (function(q, mask, is_causal) ** 2).sum().backward()
    return q.grad.numpy()


@pytest.mark.parametrize(("has_mask", "is_causal"), [(False, False), (False, True), (True, False)])
def test_gradients_are_compiled_and_right(has_mask, is_causal):
    function = flambeau.script(attended)
    rng = np.random.default_rng(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for size in (5, 5, 3, 1, 0):
            values = rng.standard_normal((2, size, 4))
            mask = flambeau.tensor(rng.standard_normal((size, size))) if has_mask else None
            expected = gradient(attended, values, mask, is_causal)
            for _ in range(3):
                np.testing.assert_allclose(gradient(function, values, mask, is_causal), expected, rtol=1e-9, atol=1e-12)
    assert function._executor.derivatives.gradient_plans


def test_the_call_raises_where_it_is_taken():
    function = flambeau.script(attended)
    values = np.random.default_rng(2).standard_normal((2, 3, 4))
    mask = flambeau.zeros(3, 3, dtype=flambeau.float64)
    for _ in range(3):
        with pytest.raises(RuntimeError, match="attn_mask should not be set when is_causal=True"):
            gradient(function, values, mask, True)
        gradient(function, values, mask, False)


def smooth(x: Tensor) -> Tensor:
    return functional.glu(x * 2).sum()


def test_a_gradient_that_was_refused_by_mistake_is_not_lost_silently(monkeypatch):
    def refuses(*arguments, **keywords):
        raise RuntimeError("made up")

    own = decompose._body
    monkeypatch.setattr(decompose, "_body", lambda d: refuses if d.schema.name == "aten::glu" else own(d))
    function = flambeau.script(smooth)
    for values in ([0.5, -1.0], [2.0, 3.0, 1.0, 0.0]):
        with pytest.raises(RuntimeError, match=r"the derivative of glu was not made, .* made up"):
            function(flambeau.tensor(values, requires_grad=True)).backward()
    assert function(flambeau.zeros(2)).item() == 0.0
