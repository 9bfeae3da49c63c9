"""Forty training programs go the same way as in PyTorch, from the same weights."""

from __future__ import annotations

import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import flambeau
import flambeau.utils
from tests.optim.training_programs import PREAMBLE, PROGRAMS


def init_by(library: Any) -> Any:
    """What fills a module's parameters with numbers that do not depend on the library."""

    def init(module: Any) -> Any:
        draw = np.random.default_rng(5)
        with library.no_grad():
            for parameter in module.parameters():
                values = draw.standard_normal(tuple(parameter.shape)) / max(parameter.shape[-1], 1) ** 0.5
                parameter.copy_(library.tensor(values))
        return module

    return init


def run(library: Any, program: str, folder: Path) -> list[float]:
    """The losses of a program."""
    draw = np.random.default_rng(3)
    x = draw.standard_normal((28, 4))
    y = np.sin(x.sum(1, keepdims=True)) + 0.3 * x[:, :1] ** 2
    losses: list[float] = []
    default = library.get_default_dtype()
    library.set_default_dtype(library.float64)
    try:
        scope = {
            "torch": library, "losses": losses, "init": init_by(library),
            "X": library.tensor(x), "Y": library.tensor(y),
            "C": library.tensor((x[:, 0] > 0) + (x[:, 1] > 0).astype(np.int64)),
            "S": library.tensor(draw.integers(0, 7, (4, 6))),
        }  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            path = folder / f"program_for_{library.__name__}.py"
            path.write_text(PREAMBLE + program, encoding="utf-8")  # what is scripted is read from its file
            module = ModuleType(path.stem)
            vars(module).update(scope, __file__=str(path))
            exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), vars(module))
    finally:
        library.set_default_dtype(default)
    return losses


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_way_as_in_pytorch(name: str, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    mine, theirs = (run(library, PROGRAMS[name], tmp_path) for library in (flambeau, torch))
    assert len(mine) == len(theirs) > 0
    np.testing.assert_allclose(mine, theirs, rtol=1e-8, atol=1e-10)
