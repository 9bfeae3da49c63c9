"""Norms of matrices along their columns by native code, there and back, beside PyTorch's in double precision."""

from __future__ import annotations

import numpy as np
import pytest

from flambeau.codegen import available
from flambeau.codegen.convolutions import column_norms, norm_gradients, norms
from tests.codegen.code_for_levels import check_code
from tests.codegen.test_channel_norms import compare_with_torch, numbers

torch = pytest.importorskip("torch")
has_code = available() and column_norms.are_columns(np.ones((2, 2)))
pytestmark = pytest.mark.skipif(not has_code, reason="needs LLVM, and vectors of 256 bits")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sizes", [(128, 64), (300, 77), (12, 513), (129, 5), (700, 1)])
@pytest.mark.parametrize("has_affine", [True, False])
def test_results_statistics_and_gradients(sizes: tuple[int, int], dtype: str, has_affine: bool) -> None:
    x, slope = numbers(0, *sizes, dtype=dtype), numbers(1, *sizes, dtype=dtype)
    assert column_norms.are_columns(x, slope)
    compare_with_torch(x, slope, has_affine)


def test_rows_may_lie_apart() -> None:
    x, slope = numbers(0, 64, 40), numbers(1, 64, 40)
    wide, far = np.concatenate([x, x], 1)[:, :40], np.repeat(slope, 2, 0)[::2]
    there = [norms.normalise(a, None, None, 1e-5) for a in (wide, x)]
    assert there[0] is not None
    assert there[1] is not None
    np.testing.assert_array_equal(there[0][0], there[1][0])
    apart, together = norm_gradients.gradients(far, wide, None, 1e-5), norm_gradients.gradients(slope, x, None, 1e-5)
    assert apart is not None
    assert together is not None
    for a, b in zip(apart, together, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("hostile", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_stays_in_its_column(hostile: float) -> None:
    x, slope = numbers(0, 200, 70), numbers(1, 200, 70)
    expected = column_norms.gradients(slope, x, None, 1e-5)[0]
    plain = column_norms.normalise(x, None, None, 1e-5)[0]
    x[7, 65] = hostile
    with_hostile = column_norms.normalise(x, None, None, 1e-5)[0], column_norms.gradients(slope, x, None, 1e-5)[0]
    for array, before in zip(with_hostile, (plain, expected), strict=True):
        assert np.isnan(array[:, 65]).any()
        others = np.delete(np.arange(70), 65)
        np.testing.assert_array_equal(array[:, others], before[:, others])


def test_other_matrices_are_left_to_planes() -> None:
    assert not column_norms.are_columns(np.ones((4, 4)).T[:, ::2])
    assert not column_norms.are_columns(np.ones((4, 4), np.int64))
    assert not column_norms.are_columns(np.ones((0, 4)))
    assert not column_norms.are_columns(np.ones((4, 4)), np.ones((4, 4), np.float32))
    assert not column_norms.are_columns(np.ones((2, 4, 4)))


@pytest.mark.parametrize("level", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("kind", ["float", "double"])
def test_the_texts_are_code_for_each_level(level: str, kind: str) -> None:
    check_code(level, kind, column_norms.forward_text, column_norms.backward_text)
