"""Nests run in every way that a test can run them, and are compared."""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau.te import LoopNest


def agrees(nest: LoopNest, expected: Any, *given: Any, interp: bool = True, rtol: float = 1e-5) -> None:
    """The nest gives what is expected, as machine code and in plain Python."""
    for backend in ("llvm", "interp") if interp else ("llvm",):
        result = nest.codegen(backend)(*given)
        assert result.dtype == np.asarray(expected).dtype
        np.testing.assert_allclose(result, expected, rtol=rtol, atol=1e-5, err_msg=f"{backend}\n{nest}")
