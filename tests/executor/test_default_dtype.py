"""Plans do not outlive the default dtype they were made under."""

from __future__ import annotations

import pytest

import flambeau


@pytest.mark.parametrize("backend", ["interpreter", "native"])
def test_a_new_default_makes_new_plans(backend: str) -> None:
    unit = flambeau.CompilationUnit("def f(n: int):\n    x = flambeau.zeros([n]) + 0.1\n    return x, x.dtype\n")
    f = flambeau.script(unit.f, backend=backend)
    try:
        for dtype in (flambeau.float32, flambeau.float64, flambeau.float64, flambeau.float32):
            flambeau.set_default_dtype(dtype)
            for _ in range(2):
                x, code = f(2)
                assert x.dtype is dtype
                assert code == dtype.code
                assert flambeau.equal(x, flambeau.full((2,), 0.1, dtype=dtype))
    finally:
        flambeau.set_default_dtype(flambeau.float32)
