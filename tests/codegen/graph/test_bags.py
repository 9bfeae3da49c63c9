"""Bags of rows in native functions: sums by vectors, bit for bit as eager calls and, in order, as loops have them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available
from flambeau.codegen.graph.routines import bags
from flambeau.codegen.llvm.builder import ModuleBuilder
from flambeau.codegen.llvm.engine import engine
from tests.codegen.test_routines import called

pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")
Array = np.ndarray[Any, Any]
SUMS = "    return flambeau.embedding_bag(t, r, o)[0] + 0.5\n"
MEANS = "    return flambeau.embedding_bag(t, r, o, False, 1)[0] + 0.5\n"


def program(body: str) -> Any:
    return flambeau.jit.CompilationUnit(f"def f(t: Tensor, r: Tensor, o: Tensor) -> Tensor:\n{body}").f


def one_by_one(table: Array, rows: Array, starts: Array) -> Array:
    """Each row added to its bag, in order."""
    sums, ends = np.zeros((len(starts), table.shape[1]), table.dtype), [*starts[1:], len(rows)]
    with np.errstate(all="ignore"):
        for bag, (start, end) in enumerate(zip(starts, ends, strict=True)):
            for row in rows[start:end]:
                sums[bag] += table[row]
    return sums


def arrays(width: int, dtype: str, index: str) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(width)
    table = rng.standard_normal((50, width)).astype(dtype)
    table[7], table[8, 0], table[9] = -0.0, np.inf, 1e30
    table[10, -1] = np.nan
    starts = np.array([0, 0, 1, 4, 4, 30, 57], index)
    return table, rng.integers(0, 50, 60).astype(index), starts


@pytest.mark.parametrize("index", ["int64", "int32"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("width", [1, 3, 4, 8, 15, 16, 17, 33, 64, 71, 96, 130])
def test_sums_are_those_of_rows_one_by_one(width: int, dtype: str, index: str) -> None:
    function = program(SUMS)
    table, rows, starts = arrays(width, dtype, index)
    expected = one_by_one(table, rows, starts)
    lying = [
        (table, rows, starts),
        (np.asfortranarray(table), np.repeat(rows, 3)[::3], np.repeat(starts, 2)[::2]),
        (np.pad(table, ((0, 0), (2, 3)))[:, 2:-3], np.repeat(rows, 2)[1::2], starts),
    ]
    for some in lying:
        given = [flambeau.from_numpy(a) for a in some]
        found = called(function, *given).numpy()
        np.testing.assert_array_equal(found, expected + np.asarray(0.5, dtype))
        np.testing.assert_array_equal(found, (flambeau.embedding_bag(*given)[0] + 0.5).numpy())


def test_means_are_sums_by_how_many_there_are() -> None:
    table, rows, starts = arrays(33, "float32", "int64")
    given = [flambeau.from_numpy(a) for a in (table, rows, starts)]
    counts = np.maximum(np.diff([*starts, len(rows)]), 1)[:, None].astype(np.float32)
    expected = one_by_one(table, rows, starts) / counts + np.float32(0.5)
    np.testing.assert_array_equal(called(program(MEANS), *given).numpy(), expected)


@pytest.mark.parametrize("row", [50, -1, 1 << 40, -(1 << 62)])
@pytest.mark.parametrize("at", [0, 31, 59])
def test_rows_that_are_none_of_the_table_are_refused(row: int, at: int) -> None:
    function, (table, rows, starts) = program(SUMS), arrays(20, "float32", "int64")
    given = [flambeau.from_numpy(a) for a in (table, rows, starts)]
    expected = called(function, *given).numpy()
    wrong = rows.copy()
    wrong[at] = row
    with pytest.raises(RuntimeError, match=f"found idx to be {row}"):
        function(given[0], flambeau.from_numpy(wrong), given[2])
    np.testing.assert_array_equal(function(*given).numpy(), expected)


def test_there_are_functions_for_all_dtypes_of_both() -> None:
    m = ModuleBuilder({})
    bags.add_sums_of_bags(m, engine().target)
    text = m.text()
    assert len(bags.SYMBOLS) == 4
    assert all(f"@{symbol}(" in text for symbol in bags.SYMBOLS)
    assert "prefetch" in text
