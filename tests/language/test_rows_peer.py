"""Rows of the language table that claim to be TorchScript's mean in TorchScript what they mean here."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from tests.language.rows import Row, load
from tests.language.test_rows import ROWS, marked, outcome
from tests.together import together

torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")


def comparable(text: str) -> str:
    """An outcome without the name of the package."""
    return text.replace("torch.", "").replace("flambeau.", "")


@together("row", marked([(s, r) for s, r in ROWS if r.torch and not r.error]))
def test_torchscript_says_the_same(row: Row) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        here, there = load(row.source), load(row.source, torch)
        expected = row.differs or tuple(outcome(call, here) for call in row.calls)
        script = torch.jit.script(there["f"])
    found = tuple(outcome(call, {**there, "f": script}) for call in row.calls)
    assert list(map(comparable, found)) == list(map(comparable, expected))


@together("row", marked([(s, r) for s, r in ROWS if r.torch and r.error]))
def test_torchscript_refuses_too(row: Row) -> None:
    def run() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            there = load(row.source, torch)
            script = torch.jit.script(there["f"])
            for call in row.calls:
                eval(call, {**there, "f": script})

    with pytest.raises(Exception, match=r"\S"):
        run()
