"""Whole models, frozen: nothing is read of them any more, and they do what they did."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import flambeau
from tests.examples.model_cases import CASES, flat, inputs, made

MODELS = ("mnist", "vae", "word_language", "nano_gpt", "recommender", "dcgan", "transformer_encoder", "pde-wave")


@pytest.mark.parametrize("is_traced", [False, True], ids=["script", "trace"])
@pytest.mark.parametrize("case", [c for c in MODELS if c in CASES])
def test_frozen_models(case: str, is_traced: bool) -> None:
    model = made(case)
    want = flat(model(*inputs(case)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled = flambeau.trace(model, inputs(case)) if is_traced else flambeau.script(model)
    frozen = flambeau.jit.freeze(compiled)
    for kind in ("prim::GetAttr", "prim::CallMethod", "aten::batch_norm", "aten::dropout"):
        assert frozen.graph.find(kind) is None
    for x, y in zip(flat(frozen(*inputs(case))), want, strict=True):
        np.testing.assert_allclose(x.numpy(), y.detach().numpy(), rtol=1e-4, atol=1e-4)
