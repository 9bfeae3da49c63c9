"""float16 in native code, beside NumPy: every one there and back, what lies between two, moved without a change.

And other ways to make tensors that are native: `complex` of two parts, `logspace`, `asarray` of lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen import available
from tests.codegen.graph import one_meaning

pytestmark = pytest.mark.skipif(not available(), reason="native code needs llvmlite")
NAN, INF = float("nan"), float("inf")
ALL = np.arange(1 << 16, dtype=np.uint16).view(np.float16)


def widened(x: Tensor) -> tuple[Tensor, Tensor]:
    return x.to(flambeau.float32), x.to(flambeau.float64)


def narrowed(x: Tensor) -> tuple[Tensor, Tensor]:
    return x.to(flambeau.float16), x.half()


def served(function: Any, x: Tensor) -> Any:
    scripted = flambeau.script(function)
    for _ in range(4):
        result = scripted(x)
    assert scripted.explain(measure=False).is_native, str(scripted.explain(measure=False))
    return result


def test_every_one_is_widened() -> None:
    single, double = served(widened, flambeau.from_numpy(ALL.reshape(256, 256)))
    numbers = ~np.isnan(ALL)  # an instruction may quiet a nan
    got, wanted = single.numpy().reshape(-1), ALL.astype(np.float32)
    np.testing.assert_array_equal(got.view(np.uint32)[numbers], wanted.view(np.uint32)[numbers])
    assert np.isnan(got[~numbers]).all()
    np.testing.assert_array_equal(double.numpy().reshape(-1), ALL.astype(np.float64))


def test_every_one_and_what_lies_between_is_narrowed() -> None:
    finite = np.unique(ALL[np.isfinite(ALL)].astype(np.float64))
    middle = (finite[1:] + finite[:-1]) / 2
    near = np.concatenate([finite, middle, np.nextafter(middle, INF), np.nextafter(middle, -INF)]).astype(np.float32)
    words = np.random.default_rng(0).integers(0, 1 << 32, 200_000, dtype=np.uint32).view(np.float32)
    ends = np.array([65519.996, 65520.0, -65520.0, 1e-8, -3e-8, INF, -INF, NAN, 0.0, -0.0, 1e38, 2**-25], np.float32)
    values = np.concatenate([near, words[~np.isnan(words)], ends])
    for x in served(narrowed, flambeau.from_numpy(values)):
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(x.numpy().view(np.uint16), values.astype(np.float16).view(np.uint16))


@pytest.mark.parametrize(
    "body",
    [
        "x.to(flambeau.float16)", "x.half().float()", "x.half()[1:, 0]", "x.half().t().clone()", "x.half().reshape(-1)",
        "flambeau.cat([x.half(), x.half()])", "x.half()[flambeau.tensor([0, -1])]", "x.half().contiguous().size(0)",
    ],
)  # fmt: skip
def test_they_are_moved(body: str) -> None:
    text = f"def f(x: Tensor):\n    return {body}\n"
    x = flambeau.tensor([[1.5, NAN, -0.0], [INF, 1e-7, 7.1]])
    for view in (x, x.t(), x[:, ::2], x[:, :1].expand(2, 4)):
        one_meaning.agree(text, lambda view=view: (view,))


@pytest.mark.parametrize(
    "body", ["x.half() * 2", "x.to(flambeau.bfloat16)", "x.half().sum()", "x.to(flambeau.int64).half()"]
)
def test_what_would_be_computed_is_not_native_and_right(body: str) -> None:
    text = f"def f(x: Tensor):\n    return {body}, x + 1\n"
    one_meaning.agree(text, lambda: (flambeau.tensor([[1.5, -0.0], [3.0, 7.1]]),), is_native=False)


def test_of_no_elements() -> None:
    one_meaning.agree("def f(x: Tensor):\n    return x.half(), x.half().float()\n", lambda: (flambeau.zeros(0, 3),))


def test_complex_numbers_of_two_parts() -> None:
    text = "def f(x: Tensor, y: Tensor):\n    return flambeau.complex(x, y)\n"
    for dtype in (flambeau.float32, flambeau.float64):
        x = flambeau.tensor([[1.0, NAN, INF], [-0.0, 2.5, -7.0]], dtype=dtype)
        for a, b in ((x, x * 2), (x.t(), x.t()), (x[:, ::2], x[:, 1:]), (x[:1], x), (x[2:], x[2:]), (x, x[:, :2])):
            one_meaning.agree(text, lambda a=a, b=b: (a, b), is_native=a.shape == b.shape)


def powers(n: int) -> tuple[Tensor, Tensor]:
    return flambeau.logspace(0, 2, n), flambeau.logspace(-1.0, 1.5, n, 2.0, dtype=flambeau.float64)


def listed(a: float, b: int) -> np.ndarray:
    return np.asarray([a, 2.0 * b, -1.0]) * 2.0


def test_powers_of_evenly_spaced_numbers() -> None:
    scripted = flambeau.script(powers)
    for n in (0, 1, 2, 7):
        for _ in range(4):
            for found, wanted in zip(scripted(n), powers(n), strict=True):
                assert found.dtype is wanted.dtype
                np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-6 if n else 0)
    assert scripted.explain(measure=False).is_native, str(scripted.explain(measure=False))
    with pytest.raises(RuntimeError, match="number of steps must be non-negative"):
        scripted(-1)


def test_arrays_of_lists() -> None:
    scripted = flambeau.script(listed)
    for _ in range(4):
        np.testing.assert_array_equal(scripted(1.5, 3), listed(1.5, 3))
    assert scripted.explain(measure=False).is_native, str(scripted.explain(measure=False))
