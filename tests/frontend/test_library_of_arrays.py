"""NumPy's functions that are written in the language itself: what NumPy gives, dtypes and sizes too, and its errors."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

import flambeau

X, Y = np.array([1.5, -0.5, 2.0, 0.25, 1.0, 3.0]), np.array([0.5, 2.5, -1.0, 2.0, 0.5, 1.0])
Z = np.array([1.0, 2.0, 0.5, 4.0, 0.0, np.nan])
A, K = np.arange(12.0).reshape(3, 4) % 5, np.array([0, 5, 3, 7, 11, 2])
S = np.arange(16.0).reshape(4, 4) % 7 + np.eye(4)
HEAD = "import numpy as np\ndef f({names}):\n    {before}\n    return {expression}\n"
NAMES = "x: np.ndarray, y: np.ndarray, z: np.ndarray, a: np.ndarray, s: np.ndarray, k: np.ndarray"
CASES = """
np.lexsort((x, y)); np.lexsort((y, x, z)); np.lexsort((k % 2, k % 3)); np.setxor1d(x, y); np.setxor1d(k, k[:2])
np.unravel_index(7, (3, 4)); np.unravel_index(k, (3, 4)); np.indices((2, 3)); np.indices((0, 3))
np.ravel_multi_index((1, 2), (3, 4)); np.ravel_multi_index((k // 4, k % 4), (3, 4))
np.hsplit(a, 2); np.hsplit(x, 3); np.vsplit(a, 3); np.diag_indices_from(s); np.tril_indices_from(a)
np.triu_indices_from(a, 1); np.histogram2d(x, y, 3); np.histogram2d(x[:1], y[:1], 2); np.histogram_bin_edges(x, 4)
np.cbrt(x); np.cbrt(z * 1e300); np.cbrt(k - 4); np.cbrt(x * 0); np.cbrt(x / 0); np.isneginf(x / 0); np.isposinf(z)
np.array_equiv(x, x); np.array_equiv(a, a[0]); np.nancumprod(z); np.nanquantile(z, 0.3); np.nanpercentile(z, 50)
np.linalg.lstsq(a, x[:3], rcond=None); np.linalg.lstsq(s, s[:, :2]); np.linalg.lstsq(s[:, :2], x[:4])
np.linalg.lstsq(a * 0 + 1, x[:3]); np.choose(k % 2, (x, y))
np.polyadd(x, y[:3]); np.polyadd(y[:3], x); np.polysub(x, y); np.polymul(x, y); np.polyder(x); np.polyder(k, 2)
np.polyder(x[:1]); np.polyint(x); np.polyint(k, 2); np.polyfit(x, y, 2); np.polyfit(k, x, 0); np.roots(x); np.roots(k)
np.roots(x * 0); np.vander(x, 3); np.vander(x); np.vander(k, 3, increasing=True); np.vander(k[:2], 1)
np.hanning(6); np.hamming(5); np.blackman(5); np.bartlett(5); np.hanning(1); np.blackman(0); np.hamming(2)
np.fft.fftfreq(8, 0.5); np.fft.fftfreq(7); np.fft.rfftfreq(8, 0.1); np.fft.rfftfreq(5); np.fft.fftfreq(1)
np.unwrap(x * 3); np.unwrap(a * 2, axis=0); np.unwrap(x, period=2.0); np.unwrap(x, discont=3.5); np.unwrap(x[:1])
np.unwrap(np.array([0.0, np.pi, 0.0, -np.pi, 3 * np.pi])); np.cov(x, y); np.corrcoef(x, y); np.cov(a); np.corrcoef(a)
np.insert(x, 2, 5.0); np.insert(x, 1, y); np.insert(a, 1, 5.0, axis=1); np.insert(a, -1, x[:4], axis=0)
np.insert(k, 6, 7)
np.delete(x, 1); np.delete(x, [0, 2]); np.delete(a, 0, axis=0); np.delete(a, np.array([0, -1]), axis=1)
np.delete(a, 3)
np.append(a, a, axis=0); np.append(a, a[:1], axis=0); np.append(a, a[:, :1], axis=1); np.append(x, 2.0); np.append(a, x)
np.histogram(x, 4, density=True); np.histogram(x, bins=np.array([0.0, 1.0, 2.0]))
np.histogram(z[:5], y[:2], density=False)
np.histogram(x, 3, range=(0.0, 2.0), density=True)
""".replace("\n", ";")
FAILS = {
    "np.unravel_index(12, (3, 4))": ValueError, "np.ravel_multi_index((3, 0), (3, 4))": ValueError,
    "np.hsplit(a, 3)": ValueError, "np.delete(x, 6)": IndexError, "np.delete(a, [0, 4], axis=1)": IndexError,
    "np.insert(x, 7, 1.0)": IndexError, "np.insert(a, -5, 1.0, axis=0)": IndexError,
    "np.polyfit(x, y[:3], 1)": TypeError, "np.polyder(x, -1)": ValueError, "np.choose(k, (x, y))": ValueError,
    "np.histogram(x, bins=np.array([2.0, 1.0]))": ValueError, "np.histogram2d(x, y[:3], 2)": ValueError,
}  # fmt: skip


def arguments() -> list[Any]:
    return [value.copy() for value in (X, Y, Z, A, S, K)]


def functions(expression: str, before: str = "pass") -> tuple[Any, Any]:
    """A function of NumPy, and the same as a program."""
    source = HEAD.format(names=NAMES, before=before, expression=expression)
    name = f"<{expression}; {before}>"
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    space: dict[str, Any] = {}
    exec(compile(source, name, "exec"), space)
    return space["f"], flambeau.script(space["f"])


def parts(value: Any) -> list[Any]:
    return [p for v in value for p in parts(v)] if isinstance(value, tuple | list) else [np.asarray(value)]


def assert_same(found: Any, expected: Any) -> None:
    mine, theirs = parts(found), parts(expected)
    assert len(mine) == len(theirs)
    for one, other in zip(mine, theirs, strict=True):
        assert one.shape == other.shape
        assert one.dtype == other.dtype or one.ndim == 0
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("expression", [c.strip() for c in CASES.split(";") if c.strip()])
def test_library_functions_are_those_of_numpy(expression: str) -> None:
    python, program = functions(expression)
    with np.errstate(all="ignore"):
        expected = python(*arguments())
        if "roots" in expression:
            assert_same(np.sort_complex(program(*arguments())), np.sort_complex(expected))
        else:
            assert_same(program(*arguments()), expected)


@pytest.mark.parametrize("statement", ["np.put(a, k, 5.0)", "np.put(a, k[:3], x[:3])", "np.place(a, a > 2, x[:2])"])
def test_library_functions_write_what_numpy_writes(statement: str) -> None:
    python, program = functions("a", statement)
    assert_same(program(*arguments()), python(*arguments()))


@pytest.mark.parametrize("expression", FAILS)
def test_library_functions_fail_where_numpy_fails(expression: str) -> None:
    python, program = functions(expression)
    with pytest.raises(FAILS[expression]) as theirs:
        python(*arguments())
    with pytest.raises(FAILS[expression]) as ours:
        program(*arguments())
    assert str(theirs.value).split("\n")[0][:20].lower() in str(ours.value).lower()
