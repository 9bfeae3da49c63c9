"""Which saved models are native from end to end: one that stops being so fails here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available
from flambeau.testing.archives import decoded

pytestmark = pytest.mark.skipif(not available(), reason="native code needs llvmlite")
FOLDER = Path(__file__).parent.parent / "data" / "archives"
NATIVE = (
    "classes_script",
    "creation_script",
    "custom_lstm_script",
    "dlrm_script",
    "enums_script",
    "frozen_unet",
    "function_trace",
    "getstate_script",
    "hooks_script",
    "indexing_script",
    "interfaces_script",
    "linalg_script",
    "lstmcell_trace",
    "mha_script",
    "modcontainers_script",
    "nanogpt_trace",
    "newton_script",
    "nograd_script",
    "packed_lstm_script",
    "reductions_script",
    "sieve_script",
    "vae_script",
    "wordlm_lstm_trace",
)


SHORT_TASKS = ("forked_script",)
"""Those whose tasks are run where they are forked, once some calls have shown that they are short."""


@pytest.mark.parametrize("name", [*NATIVE, *SHORT_TASKS])
def test_native_archives(name: str) -> None:
    model = flambeau.jit.load(FOLDER / f"{name}.pt")
    with np.load(FOLDER / f"{name}.inputs.npz") as inputs:
        call = json.loads(str(inputs["spec"]))[0]
        arguments: list[Any] = [decoded(a, inputs) for a in call["args"]]
    model.forward.compile(*arguments)  # long programs are served as written while their plan is made
    with flambeau.no_grad():
        for _ in range(24 if name in SHORT_TASKS else 6):  # what has no loops is native from the third call on
            model(*arguments)
        found = model.explain(measure=False)
    assert found.is_native, str(found)
    assert not found.interpreted, str(found)
