"""`np.histogram` in programs counts as NumPy does, however wide bins are beside the distances of floats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau


def counted(x, bins):
    return np.histogram(x, bins)


KINDS = {
    "random": lambda r, m: r.random(m),
    "on edges": lambda r, m: np.round(r.random(m) * 10) / 10,
    "whole": lambda r, m: r.integers(0, 12, m) * 1.0,
    "neighbours": lambda r, m: 1 + r.integers(0, 9, m) * 2.0**-52,
    "wide": lambda r, m: r.standard_normal(m) * 10.0 ** r.integers(-320, 307),
    "equal": lambda r, m: np.full(m, r.random()),
    "narrow": lambda r, m: 1e6 + r.random(m) * 1e-4,
    "even": lambda r, m: np.linspace(-1, 3, m),
    "singles": lambda r, m: r.random(m).astype(np.float32),
    "strided": lambda r, m: r.random((m, 2))[:, 1],
    "nothing": lambda r, m: np.zeros(0),
    "endless": lambda r, m: np.array([0.0, np.inf]),
    "nan": lambda r, m: np.array([0.0, np.nan, 1.0]),
}


def outcome(fn: Any, *arguments: Any) -> Any:
    """Counts and edges, or the text of the error."""
    try:
        counts, edges = fn(*arguments)
    except ValueError as error:
        return "Too many bins" if "Too many bins" in str(error) else "not finite"
    return counts.tolist(), counts.dtype, edges.tolist(), edges.dtype


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_counts(kind: str) -> None:
    scripted = flambeau.script(counted)
    rng = np.random.default_rng(len(kind))
    for _ in range(60):
        x, bins = KINDS[kind](rng, int(rng.integers(1, 60))), int(rng.integers(1, 40))
        assert outcome(scripted, x, bins) == outcome(counted, x, bins)
