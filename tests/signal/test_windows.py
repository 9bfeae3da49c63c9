"""Windows beside PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.signal import windows
from tests.together import together

CASES: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in windows.__all__ if name != "general_cosine"),
    ("exponential", {"tau": 2.5}),
    ("gaussian", {"std": 0.4}),
    ("kaiser", {"beta": 0.0}),
    ("general_cosine", {"a": [0.3]}),
    ("general_cosine", {"a": (0.3, 0.2, 0.5, 0.1)}),
    ("general_hamming", {"alpha": 0.7}),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sym", [True, False])
@pytest.mark.parametrize("length", [0, 1, 2, 5, 8])
@together(("name", "more"), CASES)
def test_same_as_torch(name: str, more: dict[str, Any], length: int, sym: bool, dtype: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    from torch.signal import windows as theirs

    mine = getattr(windows, name)(length, sym=sym, dtype=getattr(flambeau, dtype), **more)
    expected = getattr(theirs, name)(length, sym=sym, dtype=getattr(torch, dtype), **more)
    assert mine.dtype == getattr(flambeau, dtype)
    np.testing.assert_allclose(mine.numpy(), expected.numpy(), rtol=1e-5 if dtype == "float32" else 1e-11, atol=1e-6)


def test_options() -> None:
    assert windows.exponential(4, center=1, sym=False).argmax() == 1
    assert windows.hann(3, requires_grad=True).requires_grad
    assert windows.hann(3, device="meta").device.type == "meta"
    assert windows.hann(3).dtype == flambeau.get_default_dtype()
    assert windows.hann(3, layout=flambeau.strided).shape == (3,)


@pytest.mark.parametrize(
    ("run", "error", "text"),
    [
        (lambda: windows.hann(-1), ValueError, "hann requires non-negative window length, got M=-1"),
        (lambda: windows.hann(3, dtype=flambeau.int64), ValueError, "hann expects float32 or float64 dtypes"),
        (lambda: windows.hann(3, dtype=flambeau.float16), ValueError, "hann expects float32 or float64 dtypes"),
        (lambda: windows.hann(3, layout="sparse"), ValueError, "hann is implemented for strided tensors only"),
        (lambda: windows.gaussian(3, std=0), ValueError, "Standard deviation must be positive, got: 0"),
        (lambda: windows.exponential(3, tau=-1), ValueError, "Tau must be positive"),
        (lambda: windows.exponential(3, center=1), ValueError, "Center must be None for symmetric windows"),
        (lambda: windows.kaiser(3, beta=-1), ValueError, "beta must be non-negative"),
        (lambda: windows.general_cosine(3, a=1), TypeError, "Coefficients must be a list/tuple"),  # type: ignore
        (lambda: windows.general_cosine(3, a=[]), ValueError, "Coefficients cannot be empty"),
    ],
)
def test_refused(run: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        run()
