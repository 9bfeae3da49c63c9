"""Places that whole vectors leave over, taken by themselves, beside PyTorch's convolutions in double precision."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available
from flambeau.codegen.convolutions import rests, run
from flambeau.codegen.convolutions.lines import vectors_of
from flambeau.codegen.convolutions.words import PROBLEM
from flambeau.codegen.llvm.engine import engine
from tests.codegen.test_convolutions import compare, numbers
from tests.codegen.test_few_places import block, plain
from tests.codegen.test_routines import called

torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")


def rest_bytes(x: np.ndarray, w: np.ndarray, places: tuple[int, int]) -> int:
    """What the words of a convolution without padding say of columns left over."""
    y = np.empty((len(x), len(w), *places), x.dtype)
    found = run.prepare(x, w, y, (1, 1), (0, 0), (1, 1), 1, False)
    assert found is not None
    return found._slices[0].problem.words[PROBLEM.word("rest_bytes")]


SIZES = [  # (filters, channels, rows, columns, kernel): filters leave every tile some, places leave 1 to 9 over
    (31, 70, 7, 7, 1), (16, 65, 5, 5, 1), (19, 66, 5, 7, 1), (45, 40, 9, 9, 3), (17, 300, 3, 7, 1), (23, 70, 4, 9, 2),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_places_left_over_are_as_in_torch(sizes: tuple[int, ...], dtype: str) -> None:
    filters, channels, rows, columns, kernel = sizes
    shapes = [(2, channels, rows, columns), (filters, channels, kernel, kernel), *[(filters,)] * 3]
    x, w, b, g, m = (numbers(k, *n, dtype=dtype) for k, n in enumerate(shapes))
    v, places = abs(b) + 0.5, (rows - kernel + 1, columns - kernel + 1)
    r = numbers(9, 2, filters, *places, dtype=dtype)
    xs, ws, bs, gs, ms, vs, rs = (torch.tensor(a).double() for a in (x, w, b, g, m, v, r))
    sums = torch.conv2d(xs, ws, bs)
    normed = torch.relu(torch.batch_norm(sums, gs, bs, ms, vs, False, 0.1, 1e-5, False) + rs)
    given = [flambeau.from_numpy(a) for a in (x, w, b, g, m, v, r)]
    compare(called(plain, *given[:3]), sums, sizes)
    compare(called(block, *given), normed, sizes)
    assert (rest_bytes(x, w, places) > 0) == (engine().target.vector_bits > 128)


def test_what_is_not_finite_stays_at_its_place() -> None:
    x, w = np.ones((1, 70, 7, 7), np.float32), np.ones((24, 70, 1, 1), np.float32)
    x[0, 3, 6, 6], x[0, 69, 6, 5] = np.nan, -np.inf
    y = called(plain, *[flambeau.from_numpy(a) for a in (x, w, np.zeros(24, np.float32))]).numpy()
    assert np.isnan(y[:, :, 6, 6]).all()
    assert np.isneginf(y[:, :, 6, 5]).all()
    assert (y.reshape(24, 49)[:, :47] == 70).all()


def test_weights_that_do_not_follow_each_other_have_no_columns() -> None:
    x, w = numbers(0, 1, 70, 7, 7), numbers(1, 70, 24, 1, 1).transpose(1, 0, 2, 3)
    assert rest_bytes(x, w, (7, 7)) == 0
    exact = torch.conv2d(torch.tensor(x).double(), torch.tensor(np.ascontiguousarray(w)).double())
    given = [flambeau.from_numpy(a) for a in (x, w, np.zeros(24, np.float32))]
    compare(called(plain, *given), exact, "transposed")


def test_columns_are_collected_for_filters_and_steps_enough() -> None:
    few = rests.FEWEST_FILTERS - 1
    assert rest_bytes(numbers(0, 1, 70, 7, 7), numbers(1, few, 70, 1, 1), (7, 7)) == 0
    assert rest_bytes(numbers(0, 1, 3, 7, 7), numbers(1, 32, 3, 1, 1), (7, 7)) == 0


def test_few_places_left_over_count_less_than_a_vector() -> None:
    assert vectors_of(48, 16) == 3
    assert 3 < vectors_of(49, 16) < vectors_of(52, 16) < 4
    assert vectors_of(63, 16) == 4
