"""Random programs saved and loaded: they give what they gave, and PyTorch can read them."""

from __future__ import annotations

import io
from typing import Any

import pytest

import flambeau
from flambeau import jit
from flambeau.jit.saving import save_to_buffer
from tests.random_programs import check, generate
from tests.random_programs.modules import check as modules_check
from tests.random_programs.modules import generate as modules_generate
from tests.random_programs.objects import generate as objects_generate


def scripted(family: str, seed: int) -> Any:
    filename = f"<saved {family} {seed}>"
    if family == "modules":
        module = modules_check.make(modules_generate.generate(seed).source(), filename, seed % 2 == 0)
        return flambeau.script(module, backend="interpreter")
    source = (generate if family == "general" else objects_generate).generate(seed).source()
    return flambeau.script(check.compile_source(source, filename)["main"], backend="interpreter")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("family", ["general", "objects", "modules"])
def test_programs_survive(family: str, seed: int) -> None:
    program = scripted(family, seed)
    data = save_to_buffer(program)
    loaded = jit.load(io.BytesIO(data))
    given = check.arguments(seed)
    assert check.difference(check.outcome(program, given), check.outcome(loaded, given)) is None
    assert save_to_buffer(jit.load(io.BytesIO(data))) is not None


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("family", ["general", "objects", "modules"])
def test_pytorch_reads_them(family: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    for seed in range(10, 13):
        loaded = torch.jit.load(io.BytesIO(save_to_buffer(scripted(family, seed))))
        assert loaded.forward.graph is not None
