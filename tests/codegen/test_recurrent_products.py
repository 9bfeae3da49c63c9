"""Products of recurrent layers by themselves: against exact ones, for sizes around what is copied at once."""

from __future__ import annotations

import numpy as np
import pytest

from flambeau.codegen.recurrent import module
from flambeau.codegen.recurrent.products import BYTES_AT_ONCE, ROWS_AT_ONCE
from flambeau.codegen.recurrent.words import OUTER, PACK, PRODUCT, block

TOLERANCE = {"float32": 2e-5, "float64": 1e-13}


def _address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def _wide(draw: np.random.Generator, rows: int, columns: int, dtype: str, apart: int) -> np.ndarray:
    """Rows with other numbers between them."""
    return draw.standard_normal((rows, columns + apart)).astype(dtype)[:, :columns]


def _aligned(numbers: int, dtype: str) -> np.ndarray:
    size = np.dtype(dtype).itemsize
    memory = np.full(numbers + 64 // size, np.nan, dtype)
    start = -_address(memory) // size % (64 // size)
    return memory[start : start + numbers]


def _outer(left: np.ndarray, right: np.ndarray, result: np.ndarray) -> None:
    module.outer(left.dtype.name)(block(
        OUTER, rows=len(left), left=_address(left), left_step=left.strides[0], left_columns=left.shape[1],
        right=_address(right), right_step=right.strides[0], columns=right.shape[1], result=_address(result),
        result_step=result.strides[0],
    ))  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_of_products_of_columns(dtype: str) -> None:
    draw = np.random.default_rng(0)
    at_once = BYTES_AT_ONCE // np.dtype(dtype).itemsize
    every_rows = [0, 1, 5, ROWS_AT_ONCE - 1, ROWS_AT_ONCE, ROWS_AT_ONCE + 1, 128, 3 * ROWS_AT_ONCE + 7]
    every_columns = [1, 2, 7, at_once - 1, at_once, at_once + 1, 2 * at_once + 5]
    for rows in every_rows:
        for left_columns in every_columns:
            columns, apart = int(draw.integers(1, 150)), int(draw.integers(0, 9))
            left, right = _wide(draw, rows, left_columns, dtype, apart), _wide(draw, rows, columns, dtype, apart)
            around = draw.standard_normal((left_columns, columns + 3)).astype(dtype)
            result = around.copy()
            _outer(left, right, result[:, :columns])
            exact = around[:, :columns] + left.astype(np.longdouble).T @ right.astype(np.longdouble)
            bound = TOLERANCE[dtype] * max(1.0, float(np.abs(exact).max()))
            np.testing.assert_allclose(result[:, :columns], exact.astype(dtype), rtol=0, atol=bound)
            np.testing.assert_array_equal(result[:, columns:], around[:, columns:])


def test_numbers_that_are_none_stay_in_their_sums() -> None:
    left, right = np.ones((130, 200), np.float32), np.ones((130, 90), np.float32)
    left[129, 199], right[0, 3], left[64, 5] = np.nan, np.inf, -0.0
    result = np.zeros((200, 90), np.float32)
    _outer(left, right, result)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(result, left.T @ right)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rows", [1, 6, ROWS_AT_ONCE + 1, 128, 2 * ROWS_AT_ONCE + 5])
def test_products_of_rows_with_panels(dtype: str, rows: int) -> None:
    draw = np.random.default_rng(rows)
    folded, columns = (int(n) for n in draw.integers(1, 200, 2))
    left, weights = _wide(draw, rows, folded, dtype, 3), _wide(draw, folded, columns, dtype, 2)
    size, start = np.dtype(dtype).itemsize, draw.standard_normal(columns).astype(dtype)
    panels = _aligned(-(-columns // module.lanes(dtype)) * module.lanes(dtype) * folded, dtype)
    module.pack(dtype)(block(
        PACK, folded=folded, columns=columns, weights=_address(weights), column_step=size,
        number_step=weights.strides[0], panels=_address(panels), panel_step=folded, before=0, groups=1,
    ))  # fmt: skip
    around = draw.standard_normal((rows + 1, columns + 3)).astype(dtype)
    result = around.copy()
    module.product(dtype)(block(
        PRODUCT, rows=rows, folded=folded, columns=columns, left=_address(left), left_step=left.strides[0],
        panels=_address(panels), start=_address(start), start_step=0, result=_address(result),
        result_step=result.strides[0],
    ))  # fmt: skip
    exact = left.astype(np.longdouble) @ weights.astype(np.longdouble) + start
    bound = TOLERANCE[dtype] * max(1.0, float(np.abs(exact).max()))
    np.testing.assert_allclose(result[:rows, :columns], exact.astype(dtype), rtol=0, atol=bound)
    np.testing.assert_array_equal(result[:, columns:], around[:, columns:])
    np.testing.assert_array_equal(result[rows], around[rows])
