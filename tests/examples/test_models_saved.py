"""The models of the examples as archives: PyTorch gives the same, and loaded here they stay."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, jit
from tests.examples.model_cases import CASES, inputs, made

torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def theirs(value: Any) -> Any:
    """A value with PyTorch's tensors."""
    if isinstance(value, Tensor):
        return torch.from_numpy(np.array(value.numpy(force=True)))
    return type(value)(map(theirs, value)) if isinstance(value, list | tuple) else value


def assert_close(ours: Any, found: Any) -> None:
    if isinstance(found, torch.Tensor):
        assert torch.allclose(ours, found.detach(), 1e-3, 1e-4)
    elif isinstance(found, list | tuple):
        for mine, other in zip(ours, found, strict=True):
            assert_close(mine, other)
    else:
        assert ours == found


@pytest.mark.parametrize("case", CASES)
def test_saved(case: str) -> None:
    model = made(case)
    scripted = flambeau.script(model)
    data = scripted.save_to_buffer()
    loaded = torch.jit.load(io.BytesIO(data))
    torch.set_num_threads(1)
    assert_close(theirs(model(*inputs(case))), loaded(*theirs(inputs(case))))
    again = jit.load(io.BytesIO(data))
    assert again.code == scripted.code
    assert list(again.state_dict()) == list(scripted.state_dict())


@pytest.mark.parametrize("case", ["actor_critic", "word_language"])
def test_loaded_here(case: str) -> None:
    model = made(case)
    traced = flambeau.trace(model, inputs(case), check_trace=False)
    for program in (traced, jit.freeze(flambeau.script(model))):
        loaded = jit.load(io.BytesIO(flambeau.jit.saving.save_to_buffer(program)))
        assert_close(theirs(model(*inputs(case))), theirs(loaded(*inputs(case))))
