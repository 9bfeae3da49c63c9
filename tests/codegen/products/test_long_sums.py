"""Long sums of products in stretches: exact where all sums are, whatever the form; of many steps, with errors of short
sums.
"""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen import available
from flambeau.codegen.products.tiling import LONG, STRETCH
from flambeau.nn import functional as F  # noqa: N812

pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")

DEPTHS = [LONG, LONG + STRETCH // 2 - 1, LONG + STRETCH // 2, LONG + STRETCH, 5 * STRETCH // 2 + LONG + 3, 1153]
"""Steps, around those at which a stretch more begins."""
LANES = 16
"""Of vectors of 512 bits: where factors lie step by step, a stretch has as many steps in each lane."""
FORMS = {
    "tiles": (11, 37, False), "tiles of one row": (1, 21, False), "packed": (37, 517, False), "turned": (29, 35, True),
    "dots": (7, 19, True), "few dots": (1, 5, True), "streamed": (1, 517, False),
}  # fmt: skip
"""Rows, columns, and whether columns lie across."""


@flambeau.script
def product(x: Tensor, y: Tensor) -> Tensor:
    return x @ y


def integers(seed: int, *shape: int, dtype: str) -> np.ndarray:
    return np.random.default_rng(seed).integers(-9, 10, shape).astype(dtype)


def multiplied(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return product(flambeau.from_numpy(x), flambeau.from_numpy(y)).numpy()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("form", FORMS)
def test_no_step_is_left_out_or_taken_twice(form: str, dtype: str) -> None:
    rows, columns, lies_across = FORMS[form]
    for depth in DEPTHS if "dots" not in form else [d * LANES + 5 for d in DEPTHS]:
        x, y = integers(0, rows, depth, dtype=dtype), integers(1, depth, columns, dtype=dtype)
        y = np.asfortranarray(y) if lies_across else y
        want = (x.astype(np.int64) @ y.astype(np.int64)).astype(dtype)
        np.testing.assert_array_equal(multiplied(x, y), want, f"{depth} steps")
        if rows == 1:
            np.testing.assert_array_equal(multiplied(x[0], y), want[0], f"{depth} steps")


@pytest.mark.parametrize("form", FORMS)
def test_many_steps_have_errors_of_short_sums(form: str) -> None:
    rows, columns, lies_across = FORMS[form]
    depth = 300_000 if "dots" in form else 4608
    rng = np.random.default_rng(0)
    x = rng.standard_normal((rows, depth), dtype=np.float32)
    y = rng.standard_normal((depth, columns), dtype=np.float32) / np.float32(np.sqrt(depth))
    y = np.asfortranarray(y) if lies_across else y
    exact = x.astype(np.float64) @ y.astype(np.float64)
    assert np.abs(multiplied(x, y) - exact).max() < 2.5e-6  # one after another: 4e-6 to 1.2e-5


def test_stretches_of_half_precision_and_of_stacks_add_up() -> None:
    x, y = integers(0, 3, 9, 700, dtype="float32"), integers(1, 3, 700, 40, dtype="float32")
    np.testing.assert_array_equal(multiplied(x, y), x @ y)
    small = [flambeau.from_numpy(a % 2).to(flambeau.bfloat16) for a in (x[0], y[0])]
    want = flambeau.from_numpy((x[0] % 2) @ (y[0] % 2)).to(flambeau.bfloat16)
    assert bool((product(*small) == want).all())


@flambeau.script
def layer(x: Tensor, w: Tensor, b: Tensor, u: Tensor, c: Tensor, h: Tensor) -> Tensor:
    return flambeau.gru(x, h, [w, u, b, c], True, 1, 0.0, False, False, False)[0]


def test_recurrent_layers_of_many_features_have_errors_of_short_sums() -> None:
    rng, features, units = np.random.default_rng(0), 4608, 24
    x = rng.standard_normal((3, 8, features), dtype=np.float32)
    w = rng.standard_normal((3 * units, features), dtype=np.float32) / np.float32(np.sqrt(features))
    u = np.zeros((3 * units, units), np.float32)
    zeros, start = np.zeros(3 * units, np.float32), np.zeros((1, 8, units), np.float32)
    got = layer(*map(flambeau.from_numpy, (x, w, zeros, u, zeros, start))).numpy()
    exact = layer(*[flambeau.from_numpy(a).double() for a in (x, w, zeros, u, zeros, start)]).numpy()
    assert np.abs(got - exact).max() < 1.5e-6


@flambeau.script
def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v)


def test_attention_over_many_keys_has_errors_of_short_sums() -> None:
    rng = np.random.default_rng(0)
    q, k = (rng.standard_normal((1, 2, n, 16), dtype=np.float32) for n in (40, 5000))
    v = rng.standard_normal((1, 2, 5000, 24), dtype=np.float32) * 40
    got = attend(*map(flambeau.from_numpy, (q, k, v))).numpy()
    exact = attend(*[flambeau.from_numpy(a).double() for a in (q, k, v)]).numpy()
    assert np.abs(got - exact).max() < 1e-5
