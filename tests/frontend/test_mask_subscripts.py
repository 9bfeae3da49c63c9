"""Masks of any rank in subscripts, bools among them: what eager tensors do, every path does, and NumPy and PyTorch."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor

NAMES = {
    "m": True, "n": False, "places": [1, 0, 1], "row": [True, False, True, True], "grid": [[True, False, True]] * 4,
    "inner": [[True, False], [False, True], [True, True]],
}  # fmt: skip
AS_NUMPY = (
    "m", "n", "m, 0", ":, m", "m, :", "..., m", "..., n", "m, ...", "None, m", "m, None", "m, m", "m, n", "m, places",
    "places, m", "m, 1:", "n, 1:", "1:, m", "m, row", "row, m", "grid", "grid, 0", "grid, 1:", "..., inner",
    ":, inner", "grid, None", "None, grid", "None, grid, None", "grid, ...", "True", "False", "..., True",
    "True, places", "True, False", "None, True, 1:", "x.sum() > 0.5", "x.sum() > 1e9",
    "[True, False, True, True], 1:", "[[True, False, True]] * 4, 1:", "[0, 1], 1:", "..., [0, 1]",
)  # fmt: skip
"""Subscripts of a tensor of (4, 3, 2) that NumPy takes as PyTorch does."""
AS_TORCH = ("0, m", "0, m, 1:", "0, :, m", "m, 0, places", "m, places, 0", "m, 1:, places", "0, inner", "m, grid")
STATEMENTS = ("return x[{}]", "x[{}] = 7.5\n    return x", "x[{}] += 1\n    return x", "x[{}] *= x[{}]\n    return x")


def source_of(statement: str, subscript: str) -> str:
    parameters = ", ".join(f"{name}: Tensor" for name in ("x", *NAMES))
    return f"def f({parameters}):\n    {statement.format(subscript, subscript)}\n"


def cube() -> np.ndarray[Any, Any]:
    return np.arange(24.0).reshape(4, 3, 2) - 3


def arguments(convert: Callable[[Any], Any]) -> list[Any]:
    return [convert(cube()), *(convert(np.array(v)) for v in NAMES.values())]


def in_python(source: str, library: Any) -> Callable[..., Any]:
    names = {"Tensor": object, "flambeau": library}
    exec(source, names)
    function: Callable[..., Any] = names["f"]  # type: ignore[assignment]
    return function


def eager(source: str) -> Tensor:
    result: Tensor = in_python(source, flambeau)(*arguments(flambeau.tensor))
    return result


@pytest.mark.parametrize("statement", STATEMENTS)
def test_c05_masks_mean_what_numpy_means(statement: str) -> None:
    for subscript in AS_NUMPY:
        source = source_of(statement, subscript)
        expected = in_python(source.replace("[0, 1]", "np.array([0, 1])").replace("def f", "def f"), None)
        expected.__globals__["np"] = np
        np.testing.assert_array_equal(eager(source).numpy(), expected(*arguments(np.array)), err_msg=subscript)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="compares with PyTorch")
@pytest.mark.parametrize("statement", STATEMENTS)
def test_c05_masks_mean_what_pytorch_means(statement: str) -> None:
    torch = importlib.import_module("torch")
    for subscript in AS_NUMPY + AS_TORCH:
        source = source_of(statement, subscript)
        expected = in_python(source, torch)(*arguments(torch.tensor))
        np.testing.assert_array_equal(eager(source).numpy(), expected.numpy(), err_msg=subscript)


@pytest.mark.parametrize("backend", ["native", "interpreter", "reference"])
@pytest.mark.parametrize("statement", STATEMENTS)
def test_c05_masks_mean_the_same_compiled(statement: str, backend: str) -> None:
    for subscript in AS_NUMPY + AS_TORCH:
        source = source_of(statement, subscript)
        compiled = flambeau.jit.CompilationUnit(source)
        script = compiled.f if backend == "native" else flambeau.script(compiled.f, backend=backend)
        for _ in range(3):
            got = script(*arguments(flambeau.tensor))
            np.testing.assert_array_equal(got.numpy(), eager(source).numpy(), err_msg=subscript)
