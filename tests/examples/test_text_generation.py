"""Text written token by token with kept keys and values: one answer, natively from end to end, PyTorch's too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import flambeau
from examples.models import cached_gpt
from flambeau.codegen import available
from tests.examples.model_cases import peer_module

SIZES: dict[str, int] = {"words": 40, "longest": 24, "layers": 2, "heads": 2, "width": 16}
TOKENS = [[3, 1, 4], [1, 5, 9]]


def made(module: Any, name: str) -> Any:
    model = getattr(module, name)(**SIZES).eval()
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    return model


@pytest.fixture(name="growing")
def _growing() -> Any:
    flambeau.manual_seed(0)
    return made(cached_gpt, "GrowingGPT")


def same_weights(model: Any, other: Any) -> Any:
    other.load_state_dict(model.state_dict())
    return other


@pytest.mark.skipif(not available(), reason="native code needs llvmlite")
@pytest.mark.parametrize("name", ["GrowingGPT", "StaticGPT"])
def test_generation_is_native_from_end_to_end(growing: Any, name: str) -> None:
    expected = growing(flambeau.tensor(TOKENS), 12)
    assert expected.shape == (2, 15)
    scripted = flambeau.script(same_weights(growing, made(cached_gpt, name)))
    for texts in (2, 1, 2):
        tokens = flambeau.tensor(TOKENS[:texts])
        for steps in (12, 3):
            assert scripted(tokens, steps).equal(expected[:texts, : 3 + steps])
    found = scripted.explain(measure=False)
    assert found.is_native, str(found)
    assert not found.interpreted, str(found)


@pytest.mark.parametrize("name", ["GrowingGPT", "StaticGPT"])
def test_pytorch_writes_the_same(growing: Any, name: str, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    theirs = made(peer_module("cached_gpt", tmp_path), name)
    theirs.load_state_dict({k: torch.from_numpy(v.numpy().copy()) for k, v in growing.state_dict().items()})
    assert theirs(torch.tensor(TOKENS), 12).tolist() == growing(flambeau.tensor(TOKENS), 12).tolist()


def test_main_shows_the_same_text_three_times(capsys: pytest.CaptureFixture[str]) -> None:
    cached_gpt.main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert len({line[10:] for line in lines}) == 1
