"""Numbers that were read from arrays, beside NumPy's scalars: the same numbers, in the same dtypes, or a refusal."""

from __future__ import annotations

import importlib.util
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.util.errors import CompileError

SIGNS = ("+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>", "==", "!=", "<", "<=", ">", ">=")
NUMBERS = ("2", "0.1", "True", "k", "t")
EXPRESSIONS = (
    *(f"a {sign} b" for sign in SIGNS), *(f"a {sign} {n}" for sign in SIGNS for n in NUMBERS),
    *(f"{n} {sign} a" for sign in SIGNS for n in ("2", "0.1", "k", "t")),
    "-a", "abs(a)", "~a", "min(a, b)", "max(a, b)", "divmod(a, b)[0]", "divmod(a, b)[1]", "pow(a, 2)", "float(a)",
    "int(a)", "bool(a)", "round(a)", "np.sqrt(abs(a))", "np.exp(a)", "np.floor(a)", "np.abs(a)", "np.maximum(a, b)",
    "np.minimum(a, 1)", "np.float32(a)", "np.float64(a)", "np.int64(a)", "np.isnan(a)", "np.add(a, b)",
    "np.power(a, b)",
    "np.arctan2(a, b)", "np.sqrt(t) * b", "np.pi * a", "x.sum()", "x.mean()", "x.max()", "x.sum() * b", "x.mean() / 3",
    "x.argmax()", "x.std()", "x.prod()", "x @ x", "x.min() + k", "len(x) * a", "sum(x)", "(a > b) + (b > a)",
    "(a > b) * 2", "a * b + a", "(a - b) ** 2", "a / b * 2", "math.sqrt(abs(a))",
)  # fmt: skip
VALUES = {
    "int8": [100, -3, 7, 0], "int16": [30000, -3, 7, 0], "int32": [2**31 - 5, -3, 7, 0], "int64": [2**62, -3, 7, 0],
    "uint8": [250, 3, 7, 0], "bool": [1, 0, 1, 1], "float16": [0.1, -3.5, 7, 0], "float32": [0.1, -3.3, 7, 1e30],
    "float64": [0.1, -3.3, 7, 1e300],
}  # fmt: skip
PAIRS = [
    *((name, name) for name in VALUES), ("float32", "float64"), ("int32", "float32"), ("int8", "uint8"),
    ("bool", "int64"),
]  # fmt: skip
CHUNK = 12
TOLERANCE = {2: 2e-3, 4: 3e-7, 8: 1e-14}


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[tuple[str, ...]], Callable[..., Any]]]:
    """A function that gives each of some expressions as an array of one, which has its dtype."""
    folder = tmp_path_factory.mktemp("elements")
    made: dict[tuple[str, ...], Any] = {}

    def function(texts: tuple[str, ...]) -> Callable[..., Any]:
        if texts not in made:
            name = f"element_programs_{len(made)}"
            items = "".join(f"np.array([{text}]), " for text in texts)
            head = "import math\nimport numpy as np\ndef f(x: np.ndarray, y: np.ndarray, k: int = 3, t: float = 0.3):\n"
            (folder / f"{name}.py").write_text(f"{head}    a = x[0]\n    b = y[1]\n    return ({items})\n")
            spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
            assert spec is not None
            assert spec.loader is not None
            module = sys.modules[name] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            made[texts] = module.f
        return made[texts]  # type: ignore[no-any-return]

    yield function
    for texts in made:
        sys.modules.pop(made[texts].__module__, None)


def _alike(want: Any, got: Any) -> bool:
    if want.dtype != got.dtype or want.shape != got.shape:
        return False
    if want.dtype.kind in "fc":
        return bool(np.allclose(want, got, rtol=TOLERANCE[want.dtype.itemsize], atol=0, equal_nan=True))
    return bool(np.array_equal(want, got))


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_c07_elements_are_scalars_of_numpy(pair: tuple[str, str], functions: Callable[..., Any]) -> None:
    x, y = (np.array(VALUES[name], name) for name in pair)
    wrong, refused = [], []
    right = 0
    known: list[tuple[str, Any]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for text in EXPRESSIONS:
            try:
                (found,) = functions((text,))(x.copy(), y.copy())
            except (TypeError, ValueError, OverflowError):
                continue
            if found.dtype.name not in ("uint16", "uint32", "uint64", "object"):
                known.append((text, found))
        waiting = [known[k : k + CHUNK] for k in range(0, len(known), CHUNK)]
        while waiting:
            chunk = waiting.pop()
            try:
                results = flambeau.script(functions(tuple(t for t, _ in chunk)))(x.copy(), y.copy())
            except (RuntimeError, ValueError, OverflowError, ZeroDivisionError):
                if len(chunk) == 1:
                    refused.append(chunk[0][0])
                else:
                    waiting += [chunk[: len(chunk) // 2], chunk[len(chunk) // 2 :]]
                continue
            for (text, want), got in zip(chunk, results, strict=True):
                is_finite_here = text == "x.std()" and np.isinf(want).all() and np.isfinite(got).all()
                right += _alike(want, got)
                if not _alike(want, got) and not is_finite_here:  # squares that leave the range of float32
                    wrong.append((text, want, want.dtype, got, got.dtype))
    assert not wrong
    assert len(refused) < right / 8, refused


def singles(x: np.ndarray):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    return np.array([s * x[0]])


def weak(x: np.ndarray):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    return s / len(x)


def strong(x: np.ndarray):
    s = np.float32(0)
    for i in range(len(x)):
        s += x[i]
    return s / len(x)


def python(x: np.ndarray):
    s = 0.0
    for i in range(len(x)):
        s += float(x[i])
    return s / len(x)


def test_c07_variables_keep_what_they_hold() -> None:
    x = np.random.default_rng(3).random(100).astype(np.float32)
    for function in (singles, strong, python):
        assert np.array_equal(function(x), flambeau.script(function)(x)), function.__name__
    assert flambeau.script(singles)(x).dtype == np.float32


@flambeau.script
def listed(x: flambeau.Tensor, n: int) -> flambeau.Tensor:
    s = 0.0
    for i in range(n):
        s += float(x[i])
    return flambeau.tensor([s], dtype=flambeau.float32)


def test_c07_a_list_of_one_number_is_a_tensor_of_one_dimension() -> None:
    for _ in range(2):
        assert listed(flambeau.ones(3), 3).tolist() == [3.0]


def test_c07_what_begins_as_a_constant_is_a_scalar_from_the_start() -> None:
    x = np.array([1, 1e-4, 3], np.float32)
    assert flambeau.script(weak)(x) == weak(x) == flambeau.script(strong)(x)
    assert flambeau.script(weak)(x.astype(np.float64)) == weak(x.astype(np.float64))


def mixed(x: np.ndarray, many: bool):
    v = 0.5
    if many:
        v = x[0]
    return np.ones(2, np.float32) * v


def test_c07_a_variable_of_two_kinds_meets_an_array() -> None:
    with pytest.raises(CompileError, match=r"float\(\.\.\.\), or one of NumPy with np\.float64"):
        flambeau.script(mixed)(np.ones(2), True)
    assert flambeau.script(mixed)(np.ones(2, np.float32), True).dtype == np.float32


def too_big(x: np.ndarray, n: int):
    return x[0] + n


def test_c07_ints_of_python_have_to_fit() -> None:
    x = np.array([1], np.int8)
    assert flambeau.script(too_big)(x, 5) == 6
    with pytest.raises(OverflowError, match="Python integer 300 out of bounds for int8"):
        flambeau.script(too_big)(x, 300)
    with pytest.raises(OverflowError):
        too_big(x, 300)


def decimals(x: np.ndarray):
    return round(x[0], 2)


def decimals_instead(x: np.ndarray):
    return round(float(x[0]), 2)


def test_c07_decimals_are_numpys_or_pythons() -> None:
    x = np.array([2.675, 1.0])
    assert flambeau.script(decimals)(x) == decimals(x) != decimals_instead(x)
    assert flambeau.script(decimals_instead)(x) == decimals_instead(x)


def added(x: np.ndarray):
    return sum([x[0], x[1]])


def added_instead(x: np.ndarray):
    return np.sum(np.array([x[0], x[1]]))


def greater(x: np.ndarray, n: int):
    return max(x[0] > 1, n)


def test_c07_functions_of_elements_that_differ_say_what_to_write() -> None:
    x = np.array([2.675, 1.0])
    with pytest.raises(CompileError, match=r"write np\.sum\(np\.array\(x\)\)"):
        flambeau.script(added)(x.astype(np.float32))
    assert flambeau.script(added_instead)(x) == added_instead(x)
    with pytest.raises(CompileError, match=r"write max\(int\(x\[i\]\), n\)"):
        flambeau.script(greater)(x, 2)


def unpacked(x: np.ndarray):
    a, b, c = x
    return a + b * c


def test_c07_rows_are_unpacked() -> None:
    x = np.array([1.0, 2.0, 3.0])
    assert flambeau.script(unpacked)(x) == 7
    with pytest.raises(ValueError, match="expected 3 items to unpack"):
        flambeau.script(unpacked)(x[:2])


def helper(n: int):
    return np.zeros(n)


def helped(x: np.ndarray):
    return helper(len(x)) + x


def halves(x: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    rows: list[np.ndarray] = []
    for i in range(len(x)):
        rows.append(x[i] * 2)
    return rows[0], rows


def test_c07_arrays_of_helpers_lists_and_tuples_stay_arrays() -> None:
    assert isinstance(flambeau.script(helped)(np.ones(2)), np.ndarray)
    first, rows = flambeau.script(halves)(np.ones((2, 2)))
    assert type(first) is np.ndarray
    assert [type(row) for row in rows] == [np.ndarray, np.ndarray]


def kept(x: np.ndarray):
    values = [0.5]
    values.append(x[0])
    return values[1] * 0.1


def kept_instead(x: np.ndarray):
    values = [0.5]
    values.append(float(x[0]))
    return values[1] * 0.1


def of_their_own(x: np.ndarray):
    values = []
    values.append(x[0])
    return np.array([values[0] * 0.1])


def test_c07_lists_of_numbers_of_python_hold_none_of_fewer_bits() -> None:
    x = np.array([0.3], np.float32)
    with pytest.raises(CompileError, match=r"an np\.float32 among numbers of Python.*write float\(\.\.\.\)"):
        flambeau.script(kept)(x)
    assert flambeau.script(kept)(x.astype(np.float64)) == kept(x.astype(np.float64))
    assert flambeau.script(kept_instead)(x) == kept_instead(x)
    found = flambeau.script(of_their_own)(x)
    assert found == of_their_own(x)
    assert found.dtype == np.float32
