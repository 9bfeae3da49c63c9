"""NumPy's functions in programs where elements are few, none, of narrow dtypes or no numbers: dtypes, values, signs."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

import flambeau

ARRAYS = {
    "floats": np.array([3.0, 1.0, 2.0, 5.0, -1.0, 4.0]),
    "hostile": np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 2.5]),
    "none": np.zeros(0),
    "one": np.array([2.5]),
    "equal": np.full(3, 7.0),
    "ints": np.array([3, -2, 7, 0, 2**40, -(2**62)]),
    "bools": np.array([True, False, True]),
    "single": np.array([1.5, 0.25, -0.0, 3.0], np.float32),
    "bytes": np.array([250, 3, 7, 7], np.uint8),
    "rows": np.arange(12.0).reshape(3, 4)[::-1],
    "single rows": np.arange(6, dtype=np.float32).reshape(2, 3),
}
CALLS = {
    "np.cov(x)": (), "np.corrcoef(x)": (), "np.cov(x, ddof=9)": (),
    "np.quantile(x, [0.1, 1.0])": ("bools",), "np.quantile(x, np.array([0.5, 0.25], np.float32))": ("bools",),
    "np.percentile(x, 50, method='lower')": (), "np.percentile(x, [50, 20], method='higher')": (),
    "np.quantile(x, 0.5, axis=0, method='nearest')": (),
    "np.diff(x, prepend=0.0)": (), "np.diff(x, prepend=0)": (), "np.diff(x, prepend=1, append=x)": (),
    "np.average(x, weights=np.arange(x.size).reshape(x.shape) + 1)": (), "np.average(x, axis=0, weights=x * 0 + 3)": (),
    "np.heaviside(x, 0.5)": ("bools", "bytes"),
    "np.r_[x, 1.0]": ("rows", "single rows"), "np.r_[1, x]": ("rows", "single rows"), "np.r_[1, 2.0]": (),
    "np.r_[x, [1.0, 2.0]]": ("rows", "single rows"), "np.c_[x, x]": (),
    "np.dot(x, 2)": (), "x.dot(2.5)": (), "np.dot(x, x.ravel()[0])": (), "np.polyder(x)": ("rows", "single rows"),
    "np.polyint(x)": ("rows", "single rows"),
    "np.gradient(x, x)": ("rows", "single rows", "bools"),
    "np.vander(x)": ("rows", "single rows"), "np.vander(x, 3, increasing=True)": ("rows", "single rows"),
    "np.polyval([1.0, 2.0], x)": (), "np.polyval([3, -2, 1], x)": ("bools",), "np.nanmax(x, axis=0)": (),
    "np.nanmin(x, axis=-1)": (), "np.nanquantile(x, 0.4)": ("bools",),
    "np.nanquantile(x, [0.4, 1.0])": ("bools", "none"),
}  # fmt: skip


def function_of(call: str) -> Any:
    text = f"def f(x):\n    return {call}\n"
    name = f"<{call}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), scope)
    return scope["f"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", CALLS)
def test_as_numpy(call: str) -> None:
    function = function_of(call)
    scripted = flambeau.script(function)
    for name, x in ARRAYS.items():
        if name in CALLS[call]:  # NumPy refuses these, or computes in 16 bits
            continue
        try:
            with np.errstate(all="ignore"):
                expected = np.asarray(function(x))
        except (ValueError, IndexError, ZeroDivisionError):
            with pytest.raises((ValueError, IndexError, ZeroDivisionError, RuntimeError)):
                scripted(x)
            continue
        result = np.asarray(scripted(x))
        assert result.shape == expected.shape, name
        kinds = [one.dtype.kind.replace("u", "i") for one in (result, expected)]  # one number is one of Python
        assert result.dtype == expected.dtype or (not expected.shape and kinds[0] == kinds[1]), name
        np.testing.assert_allclose(result, expected, rtol=1e-6 if "single" in name else 1e-12, err_msg=name)
