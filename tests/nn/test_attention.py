"""Attention: masks of every kind, weights, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import nn

torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")

Q = np.random.default_rng(0).standard_normal((5, 2, 8)).astype(np.float32)
K = np.random.default_rng(1).standard_normal((4, 2, 8)).astype(np.float32)
HIDE = np.triu(np.ones((5, 4), bool), 1)
PAD = np.array([[False, False, True, True], [False, False, False, False]])

MASKS: dict[str, dict[str, Any]] = {
    "none": {},
    "bool": {"attn_mask": HIDE},
    "float": {"attn_mask": np.where(HIDE, -2.0, 0.5).astype(np.float32)},
    "per head": {"attn_mask": np.stack([HIDE] * 4)},
    "padding": {"key_padding_mask": PAD},
    "both": {"attn_mask": HIDE, "key_padding_mask": PAD},
}


@pytest.mark.parametrize("options", [{}, {"add_bias_kv": True, "add_zero_attn": True}], ids=["plain", "more keys"])
@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("masks", MASKS.values(), ids=MASKS)
def test_masks(masks: dict[str, Any], need_weights: bool, options: dict[str, Any]) -> None:
    theirs = torch.nn.MultiheadAttention(8, 2, **options)
    mine = nn.MultiheadAttention(8, 2, **options)
    mine.load_state_dict({k: flambeau.from_numpy(v.numpy().copy()) for k, v in theirs.state_dict().items()})
    want = theirs(*map(torch.from_numpy, (Q, K, K)), need_weights=need_weights,
                  **{k: torch.from_numpy(v) for k, v in masks.items()})  # fmt: skip
    given = {k: flambeau.from_numpy(v) for k, v in masks.items()}
    for layer in (mine, flambeau.script(mine, backend="interpreter")):
        found = layer(*map(flambeau.from_numpy, (Q, K, K)), need_weights=need_weights, **given)
        np.testing.assert_allclose(found[0].detach().numpy(), want[0].detach().numpy(), rtol=1e-4, atol=1e-5)
        assert (found[1] is None) == (want[1] is None)
        if want[1] is not None:
            np.testing.assert_allclose(found[1].detach().numpy(), want[1].detach().numpy(), rtol=1e-4, atol=1e-5)


def test_weights_of_each_head() -> None:
    x = flambeau.from_numpy(Q)
    assert nn.MultiheadAttention(8, 2)(x, x, x, average_attn_weights=False)[1].shape == (2, 2, 5, 5)


@pytest.mark.filterwarnings("ignore:.*:UserWarning:torch")
def test_transformer_with_a_causal_mask() -> None:
    options = {"nhead": 2, "num_encoder_layers": 1, "num_decoder_layers": 1, "dim_feedforward": 16, "dropout": 0.0}
    theirs = torch.nn.Transformer(8, **options)
    mine = nn.Transformer(8, **options)
    mine.load_state_dict({k: flambeau.from_numpy(v.numpy().copy()) for k, v in theirs.state_dict().items()})
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    want = theirs(torch.from_numpy(K), torch.from_numpy(Q), tgt_mask=torch.from_numpy(mask.numpy()),
                  src_key_padding_mask=torch.from_numpy(PAD))  # fmt: skip
    for model in (mine, flambeau.script(mine)):
        found = model(
            flambeau.from_numpy(K), flambeau.from_numpy(Q), tgt_mask=mask, src_key_padding_mask=flambeau.from_numpy(PAD)
        )
        np.testing.assert_allclose(found.detach().numpy(), want.detach().numpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("run", "error", "text"),
    [
        (lambda: nn.MultiheadAttention(8, 3), ValueError, "embed_dim must be divisible by num_heads, got 8 and 3"),
        (lambda: nn.MultiheadAttention(0, 3), ValueError, "must be greater than 0"),
        (lambda: _call(flambeau.ones(8)), RuntimeError, "unbatched 2D or batched 3D tensor but received 1-D"),
        (lambda: _call(flambeau.ones(5, 8), key=flambeau.ones(4, 2, 8)), RuntimeError, "expected `key` and `value`"),
        (
            lambda: _call(flambeau.ones(5, 2, 8), key_padding_mask=flambeau.ones(5)),
            RuntimeError, "expected `key_padding_mask` to be None or 2-D but found 1-D",
        ),
        (lambda: _call(flambeau.ones(5, 2, 8), attn_mask=flambeau.ones(5)), RuntimeError, "attn_mask's dimension 1"),
        (
            lambda: _call(flambeau.ones(5, 2, 8), attn_mask=flambeau.ones(5, 4)),
            RuntimeError, r"shape of the 2D attn_mask is flambeau\.Size\(\[5, 4\]\), but should be \(5, 5\)",
        ),
        (
            lambda: _call(flambeau.ones(5, 2, 8), attn_mask=flambeau.ones(2, 5, 5)),
            RuntimeError, r"3D attn_mask is .*, but should be \(\d+, 5, 5\): one for each head",
        ),
        (lambda: _call(flambeau.ones(5, 2, 8), is_causal=True), RuntimeError, "Need attn_mask"),
        (lambda: nn.TransformerEncoderLayer(8, 2, activation="odd"), RuntimeError, "activation should be relu/gelu"),
        (
            lambda: nn.Transformer(8, 2, 1, 1, 8)(flambeau.ones(2, 1, 7), flambeau.ones(2, 1, 8)),
            RuntimeError, "must be equal to d_model",
        ),
    ],
)  # fmt: skip
def test_refusals(run: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        run()


def _call(query: flambeau.Tensor, key: flambeau.Tensor | None = None, **options: Any) -> Any:
    other = query if key is None else key
    return nn.MultiheadAttention(8, 2)(query, other, other, **options)
