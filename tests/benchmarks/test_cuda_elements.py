"""The workloads for CUDA mean the same in ours and in the references, on little data of the host."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flambeau
from benchmarks import cuda_elements
from benchmarks.cuda_element_references import REFERENCES
from flambeau.cuda import library

SMALL: dict[str, tuple[int, ...]] = {"x": (6, 6), "i": (9,), "y": (9, 6)}


@pytest.mark.parametrize("name", [n for n in cuda_elements.WORKLOADS if n not in ("gelu", "added_rows")])
def test_ours_and_the_reference(name: str) -> None:
    random = np.random.default_rng(0)
    shapes, _ = cuda_elements.WORKLOADS[name]
    given: list[Any] = []
    for key, shape in shapes.items():
        small = SMALL[key] if len(shape) == len(SMALL[key]) else (36,)
        given.append(random.integers(0, 6, size=small) if key == "i" else random.normal(size=small).astype(np.float32))
    function = cuda_elements.functions_of(flambeau.nn.functional, "flambeau")[name]
    got = flambeau.script(function)(*map(flambeau.tensor, given))
    np.testing.assert_allclose(np.asarray(got), REFERENCES[name](np, *given), rtol=1e-5, atol=1e-5)


def test_without_a_card_nothing_is_measured(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(library, "unavailable", lambda: "there is no GPU here")
    assert cuda_elements.main(["--out", str(tmp_path / "rows.json")]) == 0
    assert capsys.readouterr().out == "nothing to measure: there is no GPU here\n"
    assert not (tmp_path / "rows.json").exists()
