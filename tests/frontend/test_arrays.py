"""Programs on arrays of NumPy beside NumPy itself: equal values, dtypes and shapes, or a refusal that says why."""

from __future__ import annotations

import importlib.util
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.util.errors import CompileError

EXPRESSIONS = (
    "x + y", "x - y", "x * y", "x / y", "x // y", "x % y", "x ** 2", "x ** 2.0", "x * 1.0", "x * 2", "2 * x", "2 - x",
    "2 / x", "1.5 * x", "2.0 - x", "2 // x", "x + True", "x == y", "x < 1.5", "1 < x", "x != 2", "-x", "abs(x)",
    "x & y", "x | y", "x ^ y", "~x", "x << 1", "x.sum()", "x.prod()", "x.mean()", "x.std()", "x.var()",
    "x.std(ddof=1)", "x.max()", "x.min()", "x.argmax()", "x.argmin()", "x.any()", "x.all()", "x.cumsum()",
    "x.cumprod()", "x.copy()", "x.flatten()", "x.ravel()", "x.astype(np.int32)", "x.astype(float)", "x.astype(int)",
    "x.astype(np.float32)", "x.astype(bool)", "x.astype('int16')", "x.T", "x.transpose()", "x.shape", "x.size",
    "x.ndim", "x.round()", "x.clip(1, 2)", "x.clip(0.5, 1.5)", "x.argsort()", "x.nonzero()", "x.repeat(2)",
    "x.tolist()", "x.reshape(-1)", "len(x)", "x.real", "x.imag", "x.conj()", "np.sqrt(x)", "np.exp(x)", "np.sin(x)",
    "np.abs(x)", "np.floor(x)", "np.sum(x)", "np.mean(x)", "np.std(x)", "np.var(x)", "np.max(x)", "np.min(x)",
    "np.sort(x)", "np.argsort(x)", "np.where(x > 1, x, 0)", "np.where(x > 1, x, y)", "np.where(x > 1, 1.0, 0.0)",
    "np.maximum(x, y)", "np.minimum(x, y)", "np.maximum(x, 1)", "np.maximum(x, 1.5)", "np.zeros_like(x)",
    "np.ones_like(x)", "np.empty_like(x) * 0", "np.full_like(x, 3)", "np.cumsum(x)", "np.prod(x)",
    "np.concatenate((x, y))", "np.stack((x, y))", "np.array(x)", "np.asarray(x)", "np.zeros(x.shape)",
    "np.ones(3, dtype=np.int32)", "np.arange(5)", "np.arange(0, 1, 0.25)", "np.linspace(0, 1, 5)", "np.full(3, 2)",
    "np.full((2, 3), 1.5)", "np.eye(3)", "np.dot(x, y)", "x[0]", "x[-1]", "x[1:]", "x[::2]", "x[x > 1]",
    "x[np.array([0, 1])]", "x[[0, 1]]", "(x > 1).sum()", "(x > 1) & (y < 2)", "x.astype(np.float32) * 2.0",
    "x.astype(np.float32) + x", "x.sum() / x.size", "x.mean(axis=0)", "x.sum(axis=0)", "x.max(axis=0)",
    "x.min(axis=-1)", "x.std(axis=0)", "x.argmax(axis=0)", "x.any(axis=0)", "x.cumsum(axis=0)",
    "x.sum(axis=0, keepdims=True)", "np.sum(x, axis=0)", "np.round(x)", "np.power(x, 2)", "np.sign(x)",
    "np.square(x)", "np.log(x + 10)", "np.isnan(x)", "np.logical_and(x, y)", "np.logical_not(x)", "np.invert(x)",
    "np.all(x > 0)", "np.any(x > 1)", "np.clip(x, 1, 2)", "np.diff(x)", "np.flip(x)", "np.roll(x, 1)",
    "np.outer(x, y)", "np.count_nonzero(x)", "np.unique(x)", "np.mod(x, 3)", "np.hypot(x, y)", "np.arctan2(x, y)",
    "np.copy(x)", "np.ravel(x)", "np.reshape(x, (-1,))", "np.transpose(x)", "x[::-1]", "x[None]", "np.add(x, y)",
    "np.multiply(x, 1.5)", "np.floor_divide(x, 2)", "np.nonzero(x)", "np.argmax(x)",
    "float(x[0]) if x.ndim == 1 else 0.0", "x.searchsorted(2)", "x.take([0, 1])",
    "max(x[0], x[1]) if x.ndim == 1 else 0", "sum(x)", "x.dot(y)", "x @ y", "np.bitwise_and(x, y)", "np.tile(x, 2)",
    "np.expand_dims(x, 0)", "np.squeeze(x[None], 0)", "np.isclose(x, y)", "np.median(x)", "np.histogram(x)",
    "np.bincount(x)", "np.triu(x)", "np.trace(x)", "x.trace()", "x.diagonal()", "np.linalg.norm(x)",
    "np.vstack((x, y))", "np.hstack((x, y))", "x.swapaxes(0, 1)", "x.transpose(1, 0)", "x[0, 1]", "x[:, 0]",
    "x[0][1]", "x[1, :]", "x[:, None]", "x.reshape(2, -1)", "x.flat", "x.view(np.int8)", "np.interp(1.5, x, y)",
    "np.cross(x, y)", "x + [1]", "x.dtype == np.float64", "x % 2 == 0", "x.sum() + 1", "x[0] * 2", "x[0] + y",
    "divmod(x[0], 2) if x.ndim == 1 else 0",
)  # fmt: skip
BODIES = (
    "x += 1; return x", "x += y; return x", "x *= 1.5; return x", "x /= 2; return x", "x -= y; return x",
    "x //= 2; return x", "x **= 2; return x", "x[0] = 5; return x", "x[1:] = y[:-1]; return x",
    "x[1:] = x[:-1]; return x", "x[:] = 0; return x", "x[x > 1] = 0; return x", "x[x > 1] += 1; return x",
    "x[0], x[1] = x[1], x[0]; return x", "s = x[0]; s += x[1]; return s, x", "x[0] += 2; return x",
    "x.sort(); return x", "x.fill(2); return x", "x.fill(2.5); return x", "b = x; b += 1; return x",
    "b = x[1:]; b[0] = 7; return x", "b = x.copy(); b[0] = 7; return x", "x[0] = 2.7; return x",
    "x[::2] = 1; return x", "x[[0, 1]] = 9; return x", "x[np.array([0, 1])] += 1; return x",
    "t = x.T; t[0] = 3; return x", "x[0] = x[1] + y[0]; return x", "x[-1] = x[0]; return x",
    "r = x.ravel(); r[0] = 4; return x", "r = x.reshape(-1); r[0] = 4; return x",
    "r = x.flatten(); r[0] = 4; return x", "x[1] = y[0]; x[0] /= 2; return x", "y = y * x[0]; return y",
    "x = x * 2; x += 1; return x", "x &= y; return x", "x |= 1; return x", "x <<= 1; return x",
    "b = x * 1; b[0] = 7; return x", "b = x + 0; b[0] = 7; return x", "b = x ** 1; b[0] = 7; return x",
    "b = +x; b[0] = 7; return x", "b = np.asarray(x, dtype=np.float64); b[0] = 7; return x",
    "b = x.astype(np.float64); b[0] = 7; return x", "b = np.flip(x); b[0] = 7; return x",
    "b = x.real; b[0] = 7; return x",
    "b = x.conj(); b[0] = 7; return x", "b = x.round(); b[0] = 7; return x", "b = abs(x); b[0] = 7; return x",
    "b = np.squeeze(x[None], 0); b[0] = 7; return x", "b = x.T.T; b[0] = 7; return x",
    "b = x[...]; b[0] = 7; return x",
    "b = np.expand_dims(x, 0); b[0] = 7; return x", "b = np.array(x); b[0] = 7; return x",
    "b, *c = x; b += 1; return x",
    "b = x.swapaxes(0, 1); b[0] = 7; return x", "b = x.transpose(); b[0] = 7; return x",
    "b = x[1:][0]; b += 1; return x",
    "b = np.where(x == x, x, y); b[0] = 7; return x", "b = x.clip(None, 100); b[0] = 7; return x",
    "b = np.maximum(x, x); b[0] = 7; return x", "b = x.squeeze(axis=0); return b",
    "b = np.positive(x); b[0] = 7; return x",
    "for r in x:\n        r += 1; return x", "x += 0.5; return x", "x += True; return x", "x /= y; return x",
    "x %= y; return x", "x %= 2; return x", "x >>= 1; return x", "x ^= y; return x", "x **= 0.5; return x",
    "x += 300; return x", "x[0] = -1; return x", "x[0] = x[1] * 100; return x", "x[0] += x[1]; return x",
    "x[:] = y * 100; return x", "x *= y[0]; return x", "x += y.sum(); return x", "x[0] = y.mean(); return x",
    "x[...] = 1; return x", "x += x[0]; return x", "x -= x.mean(); return x",
)  # fmt: skip
ARRAYS = {
    "floats": ([3.0, 1.5, 2.0, 0.5], [1.0, 2.0, 3.0, 4.0], "float64"),
    "ints": ([3, 1, 2, 0], [1, 2, 3, 4], "int64"),
    "bools": ([True, False, True, False], [True, True, False, False], "bool"),
    "singles": ([3.0, 1.5, 2.0, 0.5], [1.0, 2.0, 3.0, 4.0], "float32"),
    "shorts": ([3, 1, 2, 0], [1, 2, 3, 4], "int32"),
    "bytes": ([3, 1, 2, 0], [1, 2, 3, 4], "uint8"),
    "matrix": ([[3.0, 1.5], [2.0, 0.5]], [[1.0, 2.0], [3.0, 4.0]], "float64"),
    "grid": ([[3, 1], [2, 0]], [[1, 2], [3, 4]], "int64"),
    "tiny": ([100, -1, 2, 0], [100, 2, 3, 4], "int8"),
    "halves": ([3.0, 1.5, 2.0, 0.1], [1.0, 2.0, 3.0, 4.0], "float16"),
    "complex": ([1 + 2j, 2, 3j, 1], [1, 1j, 2, 3], "complex128"),
}
REFUSED = (CompileError, RuntimeError, ValueError, TypeError, IndexError, OverflowError)


def _module(tmp: Path, text: str, name: str) -> ModuleType:
    path = tmp / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[tuple[str, Callable[..., Any]]]]:
    """Each expression and body as a function of two arrays."""
    head = "(x: np.ndarray, y: np.ndarray):\n    "
    texts = [f"return {e}" for e in EXPRESSIONS] + [b.replace("; ", "\n    ") for b in BODIES]
    text = "import numpy as np\n" + "".join(f"def f{k}{head}{t}\n" for k, t in enumerate(texts))
    module = _module(tmp_path_factory.mktemp("arrays"), text, "array_programs")
    yield [(t, getattr(module, f"f{k}")) for k, t in enumerate(texts)]
    del sys.modules["array_programs"]


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and a.ndim:
        is_alike = isinstance(b, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape
        return is_alike and np.allclose(a, b, rtol=2e-3 if a.dtype == np.float16 else 1e-5, equal_nan=True)
    if isinstance(a, tuple | list):
        return type(a) is type(b) and len(a) == len(b) and all(map(_same, a, b))
    return not isinstance(b, flambeau.Tensor | np.ndarray) and bool(np.isclose(a, b, equal_nan=True))


@pytest.mark.parametrize("kind", ARRAYS)
def test_c07_arrays_mean_what_numpy_means(kind: str, programs: list[tuple[str, Callable[..., Any]]]) -> None:
    first, second, dtype = ARRAYS[kind]
    wrong, right, refused = [], 0, 0
    for text, function in programs:
        x, y = np.array(first, dtype), np.array(second, dtype)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                expected = function(x.copy(), y.copy())
            except REFUSED:
                continue
            try:
                found = flambeau.script(function)(x.copy(), y.copy())
            except REFUSED:
                refused += 1
                continue
        if _same(expected, found):
            right += 1
        else:
            wrong.append((text, expected, found))
    assert not wrong
    assert right > refused


@flambeau.script
def bubble(a: np.ndarray) -> None:
    n = len(a)
    for i in range(n):
        for j in range(n - 1 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]


@flambeau.script
def doubled(a: np.ndarray) -> np.ndarray:
    return a * 2


@flambeau.script
def itself(a: np.ndarray) -> np.ndarray:
    a[0] = 9
    return a


@flambeau.script
def row(a: np.ndarray, k: int) -> np.ndarray:
    return a[k]


def swap(a: np.ndarray, i: int, j: int) -> None:
    a[i], a[j] = a[j], a[i]


@flambeau.script
def reverse(a: np.ndarray) -> np.ndarray:
    n = a.shape[0]
    for i in range(n // 2):
        swap(a, i, n - 1 - i)
    return a


def test_c07_elements_are_numbers() -> None:
    for dtype in ("float64", "float32", "int64", "int32", "uint8"):
        a = np.random.default_rng(1).permutation(50).astype(dtype)
        bubble(a)
        assert a.tolist() == list(range(50))
        assert reverse(a).tolist() == list(range(49, -1, -1))


def test_c22_arrays_come_back() -> None:
    a = np.arange(4.0)
    assert isinstance(doubled(a), np.ndarray)
    assert itself(a) is a
    grid = np.zeros((3, 2))
    part = row(grid, 1)
    part[0] = 5
    assert grid[1, 0] == 5


def test_c22_what_users_of_numpy_write() -> None:
    def f(x: np.ndarray) -> dict[int, float]:
        d = {}
        for k in range(len(x)):
            d[k] = x[k]
        d[99] = max(x[0], 2.5)
        y = x.copy()
        y[0] = 7
        return d

    found = flambeau.script(f)(np.array([1.0, 2.0]))
    assert found == {0: 1.0, 1: 2.0, 99: 2.5}


def test_c07_what_differs_is_refused_with_what_to_write() -> None:
    def backwards(x: np.ndarray) -> np.ndarray:
        y = x[::-1]
        y[0] = 1.0
        return x

    def instead(x: np.ndarray) -> np.ndarray:
        return np.flip(x, 0).copy()

    def listed(x: np.ndarray) -> np.ndarray:
        return x + [1.0]  # noqa: RUF005

    with pytest.raises(CompileError, match=r"x\[::-1\]\.copy\(\) says that the elements in reverse order"):
        flambeau.script(backwards)
    assert flambeau.script(instead)(np.arange(3)).tolist() == [2, 1, 0]
    with pytest.raises(CompileError, match=r"np\.array\(\.\.\.\)"):
        flambeau.script(listed)


def test_c07_advice_names_what_exists() -> None:
    from flambeau.frontend.emit.numpy.ndarray_methods import INSTEAD
    from flambeau.frontend.emit.numpy.numpy_advice import MEANS_THE_SAME, name_of

    for name in MEANS_THE_SAME:
        function: Any = np
        for part in name.split(".")[1:]:
            function = getattr(function, part, None)
        assert function is None or name_of(function, function.__module__) == name, "None: not in this NumPy"
    for name in INSTEAD:
        assert name == "ptp" or hasattr(np.ndarray, name)


def test_functions_of_numpy_that_programs_do_not_have_are_refused_with_what_the_package_has() -> None:
    def product(x: Tensor) -> Tensor:
        return np.tensordot(x, x, 1)  # type: ignore[return-value]

    def powers(x: Tensor) -> Tensor:
        return x + np.logspace(0, 2, 3)  # type: ignore[return-value]

    def joined(x: Tensor) -> Tensor:
        return np.kron(x, x)  # type: ignore[return-value]

    def frequencies(x: Tensor) -> Tensor:
        return x + np.fft.fftfreq(4)

    def least(x: Tensor) -> Tensor:
        return np.linalg.lstsq(x, x)[0]  # type: ignore[return-value]

    for function, text in (
        (product, "np.tensordot is for arrays: annotate what it is given as np.ndarray, or write flambeau.tensordot"),
        (powers, "np.logspace makes an array, and this program has none: write flambeau.logspace, which is told how"),
        (joined, "np.kron is for arrays: annotate what it is given as np.ndarray, or write flambeau.kron"),
        (frequencies, "np.fft.fftfreq makes an array, and this program has none: write flambeau.fft.fftfreq"),
        (least, "np.linalg.lstsq is for arrays: annotate what it is given as np.ndarray"),
    ):
        with pytest.raises(CompileError, match=text):
            flambeau.script(function)


def test_c07_a_loop_over_elements_is_native() -> None:
    a = np.random.default_rng(1).random(300)
    for _ in range(3):
        bubble(a)
    (plan,) = bubble._executor.plans
    assert plan.compiled is not None
    assert not plan.compiled.reason


def test_c07_flipped_arrays_are_copies_that_the_program_asks_for() -> None:
    def flipped(x: np.ndarray) -> np.ndarray:
        y = np.flip(x)
        y[0] = 9
        return x

    def instead(x: np.ndarray) -> np.ndarray:
        y = np.flip(x).copy()
        y[0] = 9
        return x - y

    with pytest.raises(CompileError, match=r"x\[::-1\]\.copy\(\) says that the elements in reverse order"):
        flambeau.script(flipped)
    assert flambeau.script(instead)(np.arange(3)).tolist() == [-9, 0, 2]


ARRAYS_BY_NAME = """\
from __future__ import annotations
import numpy.typing as npt
from typing import Any
Array = npt.NDArray[Any]
def doubled(x: Array) -> Array:
    y = x.copy()
    y *= 2
    return y
def twice(x: Array) -> Array:
    return doubled(doubled(x))
"""


def test_a_name_for_arrays_is_one_in_annotations_that_are_texts(tmp_path: Path) -> None:
    module = _module(tmp_path, ARRAYS_BY_NAME, "arrays_by_name")
    assert flambeau.script(module.twice)(np.arange(3.0)).tolist() == [0.0, 4.0, 8.0]
    del sys.modules["arrays_by_name"]
