"""What users write over whole tensors, at sizes from 0: eager tensors as PyTorch, compiled code as eager tensors."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.util.errors import ExecutionError
from tests.executor.whole_tensor_programs import ALL, sources

SIZES = ((3, 4), (1, 4), (3, 1), (0, 4), (3, 0), (0, 0), (5, 5))


@pytest.fixture(autouse=True)
def _no_refused_code() -> Iterator[None]:
    """What LLVM refuses is a mistake, though the interpreter steps in."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", message="native code for")
        yield


def arguments(a: int, b: int, convert: Callable[[Any], Any]) -> list[Any]:
    draw = np.random.default_rng(10 * a + b)
    floats = [draw.integers(-3, 4, shape).astype(np.float32) for shape in ((a, b), (b,), (a, b), (), (7, 3))]
    places, mask, m = draw.integers(0, 7, (a, b)), draw.random(a) < 0.5, draw.random(()) < 0.5
    return [convert(np.array(v)) for v in (*floats, places, mask, m)] + [bool(a % 2), 2, 0.5]


def flat(values: Any) -> list[Any]:
    items = values if isinstance(values, tuple) else (values,)
    return [np.array(v.numpy() if hasattr(v, "numpy") else v) for v in items]


def outcome(function: Callable[..., Any], given: list[Any]) -> list[Any] | str:
    """Results and what is left in the arguments, or the words of an error."""
    try:
        results = flat(function(*given))
    except ExecutionError as error:
        return str(error).strip().splitlines()[-1].partition(": ")[2]
    except (RuntimeError, IndexError, ValueError) as error:
        return str(error).strip().splitlines()[-1]
    return results + flat(tuple(g for g in given if hasattr(g, "numpy")))


def assert_same(expected: list[Any] | str, got: list[Any] | str, what: str) -> None:
    if isinstance(expected, str) or isinstance(got, str):
        assert isinstance(expected, str) is isinstance(got, str), f"{what}: {expected} and {got}"
        return
    for a, b in zip(expected, got, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype), what
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5, err_msg=what)


def in_python(source: str, library: Any) -> Callable[..., Any]:
    names: dict[str, Any] = {"np": library, "Tensor": object}
    exec(source, names)
    function: Callable[..., Any] = names["f"]
    return function


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="compares with PyTorch")
@pytest.mark.parametrize("kind", ALL)
def test_eager_as_pytorch(kind: str) -> None:
    torch = importlib.import_module("torch")
    for line, source in sources(kind).items():
        for sizes in SIZES:
            expected = outcome(in_python(source, torch), arguments(*sizes, torch.from_numpy))
            got = outcome(in_python(source, flambeau), arguments(*sizes, flambeau.from_numpy))
            assert_same(expected, got, f"{line} at {sizes}")


@pytest.mark.parametrize("kind", ALL)
def test_compiled_as_eager(kind: str) -> None:
    for line, source in sources(kind).items():
        python = in_python(source, flambeau)
        script = flambeau.jit.CompilationUnit(source.replace("np.", "flambeau.")).f
        for sizes in SIZES:
            expected = outcome(python, arguments(*sizes, flambeau.from_numpy))
            for _ in range(2):
                got = outcome(script, arguments(*sizes, flambeau.from_numpy))
                assert_same(expected, got, f"{line} at {sizes}")
                if isinstance(expected, str):
                    assert expected in got, f"{line} at {sizes}: {expected} and {got}"


def test_there_are_many() -> None:
    assert sum(len(sources(kind)) for kind in ALL) > 150
