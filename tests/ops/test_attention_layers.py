"""Whole attention layers against the layers that they are the fast form of."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau.ops.attention_layers import NO_NESTED


def numbers(*sizes: int) -> flambeau.Tensor:
    return flambeau.randn(*sizes)


def test_attention_is_the_layer() -> None:
    flambeau.manual_seed(1)
    module = flambeau.nn.MultiheadAttention(8, 2, batch_first=True)
    x, y = numbers(3, 4, 8), numbers(3, 5, 8)
    padding = flambeau.tensor([[False] * 5, [False, False, True, True, True], [False, True, False, False, True]])
    weights = (module.in_proj_weight, module.in_proj_bias, module.out_proj.weight, module.out_proj.bias)
    run = flambeau.ops.aten._native_multi_head_attention
    for average in (True, False):
        found = run(x, y, y, 8, 2, *weights, padding, True, average, 1)
        wanted = module(x, y, y, key_padding_mask=padding, average_attn_weights=average)
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), atol=1e-6)
    assert run(x, x, x, 8, 2, *weights, None, False)[1].numel() == 0
    with pytest.raises(RuntimeError, match="8 features to be divisible by 3 heads"):
        run(x, x, x, 8, 3, *weights)


@pytest.mark.parametrize(("activation", "norm_first"), [("relu", False), ("gelu", True)])
def test_encoder_layer_is_the_layer(activation: str, norm_first: bool) -> None:
    flambeau.manual_seed(2)
    layer = flambeau.nn.TransformerEncoderLayer(
        8, 2, 16, 0.0, activation, batch_first=True, norm_first=norm_first
    ).eval()
    x, own = numbers(2, 4, 8), flambeau.tensor(np.triu(np.ones((4, 4), bool), 1))
    attention = layer.self_attn
    found = flambeau.ops.aten._transformer_encoder_layer_fwd(
        x, 8, 2, attention.in_proj_weight, attention.in_proj_bias, attention.out_proj.weight, attention.out_proj.bias,
        activation == "gelu", norm_first, 1e-5, layer.norm1.weight, layer.norm1.bias, layer.norm2.weight,
        layer.norm2.bias, layer.linear1.weight, layer.linear1.bias, layer.linear2.weight, layer.linear2.bias, own, 0,
    )  # fmt: skip
    np.testing.assert_allclose(found.detach().numpy(), layer(x, own).detach().numpy(), atol=1e-5)


def test_there_are_no_nested_tensors() -> None:
    x, mask = numbers(2, 3, 4), flambeau.zeros(2, 3)
    assert flambeau.ops.aten._nested_tensor_from_mask_left_aligned(x, mask) is False
    for call in (
        lambda: flambeau.ops.aten._nested_tensor_from_mask(x, mask),
        lambda: flambeau.ops.aten.to_padded_tensor(x, 0.0),
    ):
        with pytest.raises(RuntimeError, match="there are no nested tensors: keep batches"):
            call()
    assert "padded" in NO_NESTED


def test_lanczos_keeps_constants_and_random_draws_in_range() -> None:
    image = flambeau.full([1, 1, 7, 5], 2.5)
    np.testing.assert_allclose(flambeau.ops.aten._upsample_lanczos2d_aa(image, [3, 9], False).numpy(), 2.5, rtol=1e-6)
    drawn = flambeau.ops.aten.random(flambeau.zeros(200), 2, 10)
    assert set(drawn.tolist()) <= set(range(2, 10))
    out = flambeau.zeros(50)
    assert flambeau.ops.aten.random(flambeau.zeros(50), 3, 5, out=out) is out
    assert set(out.tolist()) == {3.0, 4.0}
